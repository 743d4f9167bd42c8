"""Several clients on one fetch: collapsed forwarding, following a growing object, clients that stall or leave."""
import time

from lab import between, check, contains, same, scenario

GROUP = "cache"


@scenario("share.collapse", "collapsed_forwarding on: 50 clients at once make one request")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("collapsed_forwarding on")

    @origin.on("/p")
    def _(x):
        time.sleep(0.5)
        x.reply(200, "Cache-Control: max-age=60", body="shared")
    same(set(lab.together(50, lambda i: proxy.get(origin.url("/p"), timeout=10).text)), {"shared"}, "replies")
    same(len(origin.requests("/p")), 1, "requests at the origin")
    contains(proxy.log_line("TCP_CF_"), "/200", "log")


@scenario("share.collapse-off", "collapsed_forwarding off (the default): each makes its own")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()

    @origin.on("/p")
    def _(x):
        time.sleep(0.5)
        x.reply(200, "Cache-Control: max-age=60", body="own")
    lab.together(5, lambda i: proxy.get(origin.url("/p"), timeout=10).text)
    same(len(origin.requests("/p")), 5, "requests at the origin")


@scenario("share.collapse-accel", "Without the directive an accelerator collapses; with off it does not", squid="its default is off")
def _(lab):
    origin = lab.origin()

    @origin.on("/p")
    def _(x):
        time.sleep(0.5)
        x.reply(200, "Cache-Control: max-age=60", body="shared")
    for line, count in (("", 1), ("collapsed_forwarding off", 5), ("collapsed_forwarding accel", 1)):
        proxy = lab.accelerator(origin, line)
        origin.forget()
        same(set(lab.together(5, lambda i: proxy.get("/p", host="site.test", timeout=10).text)), {"shared"}, "replies")
        same(len(origin.requests("/p")), count, f"requests at the origin with {line or 'nothing said'}")


@scenario("share.uncacheable", "What may not be shared frees the waiters at once, each with a reply of its own")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("collapsed_forwarding on")

    @origin.on("/p")
    def _(x):
        time.sleep(0.4)
        x.reply(200, "Cache-Control: private", body=f"for {x.request.get('X-Who')}")
    took = lab.stopwatch()
    answers = lab.together(20, lambda i: proxy.get(origin.url("/p"), f"X-Who: {i}", timeout=15).text)
    same(answers, [f"for {i}" for i in range(20)], "replies")
    same(len(origin.requests("/p")), 20, "requests at the origin")
    check(took() < 4, f"all within {took():.1f} s: they do not queue one behind the other")


@scenario("share.vary", "Waiters of another variant go their own way")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("collapsed_forwarding on")

    @origin.on("/p")
    def _(x):
        time.sleep(0.4)
        x.reply(200, "Cache-Control: max-age=60", "Vary: X-Who", body=f"for {x.request.get('X-Who')}")
    answers = lab.together(12, lambda i: proxy.get(origin.url("/p"), f"X-Who: {i % 3}", timeout=15).text)
    same(answers, [f"for {i % 3}" for i in range(12)], "replies")


@scenario("share.collapse-error", "The one request fails: every waiter gets an answer")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("collapsed_forwarding on")

    @origin.on("/p")
    def _(x):
        time.sleep(0.4)
        x.close()
    statuses = lab.together(10, lambda i: proxy.get(origin.url("/p"), timeout=15).status)
    check(all(s >= 500 for s in statuses), f"statuses {statuses}")


@scenario("share.leader-leaves", "The first client leaves: the others still get the object")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("collapsed_forwarding on")

    @origin.on("/p")
    def _(x):
        x.head(200, "Cache-Control: max-age=60", "Content-Length: 100000")
        for _ in range(10):
            x.send(b"p" * 10_000)
            time.sleep(0.1)
    leader = proxy.client()
    leader.ask("GET", origin.url("/p"))
    origin.wait_for(1)
    others = [lab.background(lambda: proxy.get(origin.url("/p"), timeout=15)) for _ in range(5)]
    time.sleep(0.4)
    leader.reset()
    for each in others:
        answer = each.result()
        same((answer.status, len(answer.body), answer.whole), (200, 100_000, True), "reply")
    between(len(origin.requests("/p")), 1, 2, "requests at the origin")


@scenario("share.followers-leave", "The first client leaves, then those who followed: the origin is let go", squid="goes on for a while")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("collapsed_forwarding on\nquick_abort_min 0 KB\nquick_abort_max 0 KB")
    gone = []

    @origin.on("/p")
    def _(x):
        x.head(200, "Cache-Control: max-age=60", "Content-Length: 400000")
        x.send(b"p" * 10_000)
        gone.append(x.gone_within(4))
    clients = [proxy.client() for _ in range(3)]
    for client in clients:
        client.ask("GET", origin.url("/p"))
        client.stream.until(b"\r\n\r\n", time.monotonic() + 5)
    clients[0].reset()
    time.sleep(0.3)
    same(len(origin.open), 1, "connections to the origin while others follow")
    for client in clients[1:]:
        client.reset()
    lab.eventually(lambda: gone == [True], "the connection is dropped")
    same(len(origin.requests("/p")), 1, "requests at the origin")


@scenario("share.slow-head", "A reply that takes a second is kept all the same: its lifetime counts, not what is left of it")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("collapsed_forwarding on")

    @origin.on("/p")
    def _(x):
        time.sleep(1.2)
        x.reply(200, "Cache-Control: max-age=60", body="shared")
    same(set(lab.together(5, lambda i: proxy.get(origin.url("/p"), timeout=10).text)), {"shared"}, "replies")
    proxy.get(origin.url("/p"))
    same(len(origin.requests("/p")), 1, "requests at the origin")


@scenario("share.always-stale", "What is stale as it comes does not queue the waiters one behind the other")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("collapsed_forwarding on")

    @origin.on("/p")
    def _(x):
        time.sleep(0.4)
        x.reply(200, "Cache-Control: max-age=0", 'ETag: "a"', body="stale")
    took = lab.stopwatch()
    same(set(lab.together(10, lambda i: proxy.get(origin.url("/p"), timeout=15).text)), {"stale"}, "replies")
    check(took() < 2.5, f"all within {took():.1f} s")


@scenario("share.workers", "workers 2: clients of both follow one fetch; PURGE reaches the variants that either stored", squid="needs shared memory and a parent process")
def _(lab):
    origin = lab.origin()
    proxy = lab.proxy("workers 2\ncollapsed_forwarding on\nacl purge method PURGE\nhttp_access allow purge\nhttp_access allow all")
    body = growing(origin)
    # The kernel deals the connections out: of 16, both workers get some.
    answers = lab.together(16, lambda i: proxy.get(origin.url("/grow"), timeout=15))
    check(all(a.whole and a.body == body for a in answers), "bodies to the byte")
    same(len(origin.requests("/grow")), 1, "requests at the origin")

    @origin.on("/v")
    def _(x):
        x.reply(200, "Cache-Control: max-age=60", "Vary: X-Kind", body=x.request.get("X-Kind"))
    kinds = [str(i) for i in range(16)]
    for _ in range(2):
        same([proxy.get(origin.url("/v"), f"X-Kind: {kind}").text for kind in kinds], kinds, "variants")
    same(len(origin.requests("/v")), 16, "each was fetched once")
    same(proxy.ask("PURGE", origin.url("/v")).status, 200, "PURGE")
    for kind in kinds:
        same(proxy.get(origin.url("/v"), f"X-Kind: {kind}", "Cache-Control: only-if-cached").status, 504, f"variant {kind} is gone")
    same(proxy.ask("PURGE", origin.url("/v")).status, 404, "nothing is left")


def growing(origin, size=200_000, pieces=20, pause=0.08, framing="length"):
    body = bytes(range(250)) * (size // 250)

    @origin.on("/grow")
    def _(x):
        if framing == "length":
            x.head(200, "Cache-Control: max-age=60", f"Content-Length: {len(body)}")
        else:
            x.head(200, "Cache-Control: max-age=60", "Transfer-Encoding: chunked")
        step = len(body) // pieces
        for i in range(0, len(body), step):
            (x.send if framing == "length" else x.chunk)(body[i:i + step])
            time.sleep(pause)
        if framing != "length":
            x.last_chunk()
    return body


@scenario("share.follow", "A second client joins midway: both get it whole, from one fetch")
def _(lab):
    for framing in ("length", "chunked"):
        origin, proxy = lab.origin(), lab.proxy("collapsed_forwarding on")
        body = growing(origin, framing=framing)
        first = lab.background(lambda: proxy.get(origin.url("/grow"), timeout=15))
        origin.wait_for(1)
        time.sleep(0.7)
        with proxy.client() as client:
            client.ask("GET", origin.url("/grow"))
            took = lab.stopwatch()
            client.stream.until(b"\r\n\r\n", time.monotonic() + 5)
            while len(client.stream.buffer) < 40_000:
                client.stream.fill(time.monotonic() + 5)
            check(took() < 0.6, f"{framing}: what is there already comes at once ({took():.2f} s)")
        second = proxy.get(origin.url("/grow"), timeout=15)
        check(second.body == body and second.whole, f"{framing}: the second client's body")
        check(first.result().body == body, f"{framing}: the first client's body")
        same(len(origin.requests("/grow")), 1, f"{framing}: requests at the origin")


@scenario("share.http10-follower", "An HTTP/1.0 client and a HEAD join a growing chunked object")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("collapsed_forwarding on")
    body = growing(origin, framing="chunked")
    first = lab.background(lambda: proxy.get(origin.url("/grow"), timeout=15))
    origin.wait_for(1)
    time.sleep(0.4)
    head = lab.background(lambda: proxy.ask("HEAD", origin.url("/grow"), timeout=15))
    old = proxy.get(origin.url("/grow"), version="1.0", timeout=15)
    check(old.body == body and not old.has("Transfer-Encoding"), "HTTP/1.0 client")
    same(head.result().status, 200, "HEAD")
    check(first.result().body == body, "the first client")


@scenario("share.stalled", "A client that stalls does not stop the other", squid="the slowest reader holds back the fetch")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("collapsed_forwarding on\nmaximum_object_size_in_memory 30 MB\nmaximum_object_size 30 MB\ncache_mem 64 MB")
    size = 20_000_000

    @origin.on("/p")
    def _(x):
        x.head(200, "Cache-Control: max-age=60", f"Content-Length: {size}")
        time.sleep(0.5)
        for _ in range(20):
            x.send(b"p" * 1_000_000)
    stalled = proxy.client(receive_buffer=4096)
    stalled.ask("GET", origin.url("/p"))
    origin.wait_for(1)
    answer = proxy.get(origin.url("/p"), timeout=15)
    same((len(answer.body), answer.whole), (size, True), "the other client")
    same(len(origin.requests("/p")), 1, "requests at the origin")
    late = stalled.reply(timeout=15)
    same((len(late.body), late.whole), (size, True), "the stalled one, when it reads at last")


@scenario("share.stalled-uncacheable", "A stalled client of what may not be kept does not stop another client's own fetch")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("collapsed_forwarding on")
    size = 30_000_000

    @origin.on("/p")
    def _(x):
        x.head(200, "Cache-Control: no-store", f"Content-Length: {size}")
        for _ in range(30):
            x.send(b"p" * 1_000_000)
    stalled = proxy.client(receive_buffer=4096)
    stalled.ask("GET", origin.url("/p"))
    origin.wait_for(1)
    answer = proxy.get(origin.url("/p"), timeout=15)
    same((len(answer.body), answer.whole), (size, True), "the other client")
    between(proxy.memory("VmHWM"), 0, 200_000, "peak memory, KB")


@scenario("share.slow-and-fast", "Ten clients at ten speeds on one object: each to the byte")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("collapsed_forwarding on\nmaximum_object_size_in_memory 10 MB\ncache_mem 64 MB")
    body = bytes(range(250)) * 12_000
    origin.page("/p", "Cache-Control: max-age=60", body=body)

    def take(i):
        with proxy.client(receive_buffer=8192, timeout=20) as client:
            client.ask("GET", origin.url("/p"))
            client.stream.until(b"\r\n\r\n", time.monotonic() + 10)
            got = client.stream.buffer
            while len(got) < len(body):
                client.stream.fill(time.monotonic() + 10)
                time.sleep(0.0004 * i)
            return bytes(got) == body
    same(set(lab.together(10, take)), {True}, "bodies to the byte")
    same(len(origin.requests("/p")), 1, "requests at the origin")


@scenario("share.revalidation", "A stale object under many requests at once: few revalidations, right answers")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("collapsed_forwarding on")

    @origin.on("/p")
    def _(x):
        time.sleep(0.3)
        if x.request.has("If-None-Match"):
            return x.reply(304, 'ETag: "a"', "Cache-Control: max-age=60")
        x.reply(200, 'ETag: "a"', "Cache-Control: max-age=1", body="body")
    proxy.get(origin.url("/p"))
    time.sleep(2.1)
    same(set(lab.together(30, lambda i: proxy.get(origin.url("/p"), timeout=10).text)), {"body"}, "replies")
    between(len(origin.requests("/p")), 2, 4, "requests at the origin")


@scenario("share.aborted-origin", "The origin breaks off midway: every follower sees a broken body and nothing is kept")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("collapsed_forwarding on")

    @origin.on("/p")
    def _(x):
        x.head(200, "Cache-Control: max-age=60", "Content-Length: 100000")
        for _ in range(5):
            x.send(b"p" * 10_000)
            time.sleep(0.1)
        x.close()
    answers = lab.together(5, lambda i: proxy.get(origin.url("/p"), timeout=10))
    check(not any(a.whole for a in answers), "broken for all")
    before = len(origin.requests("/p"))
    proxy.get(origin.url("/p"))
    same(len(origin.requests("/p")), before + 1, "the next request goes to the origin")
