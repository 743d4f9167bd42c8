"""Directives that no other scenario covers: each fails when the directive's value is ignored."""
import socket
import time

import wire
from lab import between, check, contains, one_of, same, scenario
from proxy import free_port

GROUP = "directives"
PEER = "cache_peer 127.0.0.1 parent {} 0 no-query no-digest {}\n"


@scenario("dir.always-direct", "always_direct, never_direct, prefer_direct: around the parent, only through it, first direct")
def _(lab):
    origin, parent = lab.origin(name="origin"), lab.origin(name="parent")
    for each in (origin, parent):
        each.page("/p", body=each.name)
        each.page("/direct", body=each.name)
    for lines, path, expected in (("", "/p", "parent"), ("acl d urlpath_regex ^/direct\nalways_direct allow d", "/direct", "origin"),
                                  ("acl d urlpath_regex ^/direct\nalways_direct allow d", "/p", "parent"), ("never_direct allow all", "/p", "parent"),
                                  ("prefer_direct on", "/p", "origin"), ("prefer_direct off", "/p", "parent")):
        proxy = lab.proxy(PEER.format(parent.port, "default") + lines)
        same(proxy.get(origin.url(path)).text, expected, f"{lines!r} {path}")
        proxy.stop()
    dead = lab.origin(name="dead")
    dead.stop()
    fallback = lab.proxy(PEER.format(dead.port, "default connect-timeout=1"))
    same(fallback.get(origin.url("/p"), timeout=8).text, "origin", "a dead parent: direct")
    strict = lab.proxy(PEER.format(dead.port, "default connect-timeout=1") + "never_direct allow all\nforward_timeout 3 seconds")
    one_of(strict.get(origin.url("/p"), timeout=8).status, (502, 503, 504), "a dead parent and never_direct")


@scenario("dir.nonhierarchical", "nonhierarchical_direct: POST and CONNECT past the parent, or through it")
def _(lab):
    origin, parent = lab.origin(name="origin"), lab.origin(name="parent")
    for each in (origin, parent):
        each.page("/p", body=each.name)
    for value, expected in (("on", "origin"), ("off", "parent")):
        proxy = lab.proxy(PEER.format(parent.port, "default") + f"nonhierarchical_direct {value}\nminimum_direct_hops 0\nminimum_direct_rtt 0")
        same(proxy.get(origin.url("/p")).text, "parent", f"{value}: GET")
        same(proxy.ask("POST", origin.url("/p"), body="x").text, expected, value)


@scenario("dir.peer-target", "A parent gets absolute-form, an originserver origin-form; default comes last")
def _(lab):
    parent, other = lab.origin(name="parent"), lab.origin(name="other")
    for each in (parent, other):
        each.page("/p", body=each.name)
    proxy = lab.proxy(PEER.format(parent.port, "name=last default") + PEER.format(other.port, "name=first") + "never_direct allow all")
    proxy.get("http://far.test/p")
    served = parent.requests() + other.requests()
    same([r.target for r in served], ["http://far.test/p"], "target")
    same(served[0].get("Host"), "far.test", "Host")


@scenario("dir.outgoing-address", "tcp_outgoing_address chooses our own address by rule")
def _(lab):
    origin = lab.origin()
    seen = []

    @origin.on(None)
    def _(x):
        seen.append(x.sock.getpeername()[0])
        x.reply(200)
    proxy = lab.proxy("acl guests src 127.0.0.71\ntcp_outgoing_address 127.0.0.81 guests\ntcp_outgoing_address 127.0.0.82")
    proxy.get(origin.url("/"), source="127.0.0.71")
    proxy.get(origin.url("/"), source="127.0.0.72")
    same(seen, ["127.0.0.81", "127.0.0.82"], "addresses at the origin")


@scenario("dir.uri-whitespace", "uri_whitespace strip, deny, encode, chop, allow")
def _(lab):
    origin = lab.origin()

    @origin.on(None)
    def _(x):
        x.reply(200, body=x.request.target)

    def ask(value):
        proxy = lab.proxy(f"uri_whitespace {value}")
        with proxy.client() as client:
            client.send(f"GET {origin.url('/a b')} HTTP/1.1\r\nHost: {origin.authority}\r\nConnection: close\r\n\r\n")
            answer = client.reply()
        proxy.stop()
        return answer.status, answer.text if answer.status == 200 else ""
    one_of(ask("deny")[0], (400, 403), "deny")
    allowed = "/a b" if lab.kind == "squid" else "/a%20b"
    for value, target in (("encode", "/a%20b"), ("strip", "/ab"), ("chop", "/a"), ("allow", allowed)):
        same(ask(value), (200, target), value)


@scenario("dir.uri-whitespace-rest", "uri_whitespace strip: what comes in drops, and behind it, is read as ever",
          squid="mends other things too, or waits")
def _(lab):
    origin = lab.origin()

    @origin.on(None)
    def _(x):
        x.reply(200, body=x.request.target.encode() + x.request.body)
    proxy = lab.proxy("uri_whitespace strip\nrequest_header_max_size 4 KB")
    text = f"POST {origin.url('/a b')} HTTP/1.1\r\nHost: {origin.authority}\r\nContent-Length: 3\r\n\r\nx y"
    with proxy.client() as client:
        for part in (text[:8], text[8:9], text[9:40], text[40:-2], text[-2:] + text + text[:-3].replace(" HTTP/1.1", "  HTTP/1.1", 1)):
            client.send(part)
            time.sleep(0.05)
        for _ in range(2):
            same(client.reply().text, "/abx y", "one after the other")
        client.send("end")
        same(client.reply().text, "/abend", "the last")
    for odd in ("GET /a b\r\n\r\n", "GET /a b HTTP/1.1\nHost: h\r\n\r\n", "GET http://x y.test/ HTTP/1.1 \r\nHost: h\r\n\r\n",
                "GET /a\x01 b HTTP/1.1\r\nHost: h\r\n\r\n"):
        with proxy.client() as client:
            client.send(odd)
            same(client.reply().status, 400, repr(odd))
            check(client.ends_within(3), "closed")
    with proxy.client() as client:
        client.send("GET http://x.test/" + "a b" * 2000)
        one_of(client.reply().status, (400, 414), "a line without end")


@scenario("dir.relaxed-parser", "relaxed_header_parser off is stricter than on")
def _(lab):
    origin = lab.origin()
    origin.page("/p")
    odd = f"GET  {origin.url('/p')} HTTP/1.1\r\nHost: {origin.authority}\r\n\r\n"
    proxy = lab.proxy("relaxed_header_parser off")
    with proxy.client() as client:
        client.send(odd)
        same(client.reply().status, 400, "off")


@scenario("dir.surrogate", "httpd_accel_surrogate_id: Surrogate-Capability; Surrogate-Control is followed and not passed on",
          squid="takes a max-age without '+' for the past")
def _(lab):
    origin = lab.origin()
    orders = {"/all": "max-age=60", "/ours": "no-store, max-age=60;front1", "/theirs": "max-age=60;front2", "/stale": "max-age=0+60",
              "/remote": "max-age=60, no-store-remote"}
    for path, order in orders.items():
        origin.page(path, f"Surrogate-Control: {order}", "Cache-Control: private, no-store", 'ETag: "e"', "Content-Type: text/plain")
    origin.page("/no", "Surrogate-Control: no-store", "Cache-Control: max-age=60")

    def hit(proxy, path):
        for _ in range(2):
            answer = proxy.get(path, host="site.test")
            check(not answer.has("Surrogate-Control"), f"{path}: Surrogate-Control stays here")
        return "HIT" in answer.get("X-Cache")
    for lines, name, hits in (("httpd_accel_surrogate_id front1", "front1", ("/all", "/ours", "/stale", "/remote")),
                              ("httpd_accel_surrogate_id front2\nhttp_accel_surrogate_remote on", "front2", ("/all", "/theirs", "/stale")),
                              ("visible_hostname seen.test", "seen.test", ("/all", "/stale", "/remote"))):
        proxy = lab.accelerator(origin, lines)
        same([path for path in (*orders, "/no") if hit(proxy, path)], list(hits), f"{lines!r}: hits")
        same(origin.last().get("Surrogate-Capability"), f'{name}="Surrogate/1.0"', "Surrogate-Capability")
        behind = proxy.get("/all", 'Surrogate-Capability: far="Surrogate/1.0"', host="site.test")
        same(behind.get("Surrogate-Control"), "max-age=60", "for a surrogate behind it")
        proxy.get("/new", 'Surrogate-Capability: far="Surrogate/1.0"', host="site.test")
        same(origin.last().get("Surrogate-Capability"), f'far="Surrogate/1.0", {name}="Surrogate/1.0"', "both names")
    proxy = lab.proxy()
    same(proxy.get(origin.url("/all")).get("Surrogate-Control"), "max-age=60", "a forward proxy is no surrogate")
    same((origin.last().get("Surrogate-Capability"), hit_of(proxy, origin.url("/all"))), (None, False), "and follows Cache-Control")


def hit_of(proxy, url):
    return "HIT" in proxy.get(url).get("X-Cache")


@scenario("dir.names", "visible_hostname and unique_hostname in fields and on pages")
def _(lab):
    origin = lab.origin()
    origin.page("/p")
    proxy = lab.proxy("visible_hostname shown.test\nunique_hostname own.test")
    answer = proxy.get(origin.url("/p"))
    contains(answer.get("Via"), "own.test", "Via has the unique name")
    contains(answer.get("X-Cache"), "own.test", "X-Cache")
    page = proxy.get(f"http://127.0.0.1:{free_port()}/", timeout=8)
    contains(page.text, "shown.test", "the page has the visible name")


@scenario("dir.quick-abort-pct", "quick_abort_pct: a fetch that is nearly complete is finished")
def _(lab):
    for value, expected in (("50", 1), ("99", 2)):
        origin, proxy = lab.origin(), lab.proxy(f"quick_abort_min 0 KB\nquick_abort_max 1000 KB\nquick_abort_pct {value}")

        @origin.on("/slow")
        def _(x):
            x.head(200, "Cache-Control: max-age=60", "Content-Length: 100000")
            x.send(b"s" * 80_000)
            time.sleep(0.8)
            x.send(b"s" * 20_000)
        with proxy.client() as client:
            client.ask("GET", origin.url("/slow"))
            client.stream.until(b"\r\n\r\n", time.monotonic() + 5)
            client.stream.exactly(80_000, time.monotonic() + 5)
            time.sleep(0.2)
            client.reset()
        time.sleep(1.0)
        same(len(proxy.get(origin.url("/slow")).body), 100_000, "the next reply is whole")
        same(len(origin.requests("/slow")), expected, f"quick_abort_pct {value}: requests at the origin")


@scenario("dir.quick-abort-max", "quick_abort_max and quick_abort_min -1 KB")
def _(lab):
    def asked(config):
        origin, proxy = lab.origin(), lab.proxy(config)

        @origin.on("/slow")
        def _(x):
            x.head(200, "Cache-Control: max-age=60", "Content-Length: 200000")
            try:
                for _ in range(10):
                    x.send(b"s" * 20_000)
                    time.sleep(0.1)
            except OSError:
                x.close()
        with proxy.client() as client:
            client.ask("GET", origin.url("/slow"))
            client.stream.until(b"\r\n\r\n", time.monotonic() + 5)
            client.reset()
        time.sleep(1.3)
        same(len(proxy.get(origin.url("/slow")).body), 200_000, "the next reply is whole")
        return len(origin.requests("/slow"))
    same(asked("quick_abort_min 0 KB\nquick_abort_max 0 KB"), 2, "0 and 0")
    same(asked("quick_abort_min -1 KB"), 1, "min -1: always finished")
    same(asked("quick_abort_min 500 KB"), 1, "min 500 KB: little is left")


@scenario("dir.collapsed-access", "collapsed_forwarding_access decides who may collapse")
def _(lab):
    origin = lab.origin()
    for path in ("/yes", "/no"):
        @origin.on(path)
        def _(x):
            time.sleep(0.4)
            x.reply(200, "Cache-Control: max-age=60")
    proxy = lab.proxy("collapsed_forwarding on\nacl no urlpath_regex ^/no\ncollapsed_forwarding_access deny no\ncollapsed_forwarding_access allow all")
    for path, expected in (("/yes", 1), ("/no", 4)):
        lab.together(4, lambda i: proxy.get(origin.url(path)))
        same(len(origin.requests(path)), expected, f"{path}: requests at the origin")


@scenario("dir.reply-body-limit", "reply_body_max_size: 403 instead of a body that is too large")
def _(lab):
    origin = lab.origin()
    origin.page("/small", body=b"s" * 5_000)
    origin.page("/large", body=b"l" * 50_000)
    proxy = lab.proxy("reply_body_max_size 10 KB all")
    same(proxy.get(origin.url("/small")).status, 200, "small")
    same(proxy.get(origin.url("/large")).status, 403, "large")


@scenario("dir.reply-body-limit-open", "reply_body_max_size: a body of unknown length is cut off at the limit, visibly")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("reply_body_max_size 10 KB all")

    @origin.on("/chunked")
    def _(x):
        x.head(200, "Transfer-Encoding: chunked")
        try:
            for _ in range(50):
                x.chunk("c" * 1000)
                time.sleep(0.02)
        except OSError:
            pass
        x.close()
    try:
        answer = proxy.get(origin.url("/chunked"), timeout=8)
        check(not answer.whole and len(answer.body) < 30_000, "cut off")
    except wire.Gone:
        pass


@scenario("dir.error-connection", "persistent_connection_after_error off: closed after an error")
def _(lab):
    proxy = lab.proxy("persistent_connection_after_error off")
    with proxy.client() as client:
        answer = client.get(f"http://127.0.0.1:{free_port()}/", timeout=8)
        between(answer.status, 500, 599, "status")
        check(client.stream.eof or client.ends_within(3), "closed")


@scenario("dir.retry-on-error", "retry_on_error: another address is tried after a 503")
def _(lab):
    first, second = lab.origin(name="first"), lab.origin(name="second")
    first.page("/p", status=503, body="down")
    second.page("/p", body="up")
    config = PEER.format(first.port, "originserver name=first") + PEER.format(second.port, "originserver name=second")
    for value, expected in (("off", 503), ("on", 200)):
        proxy = lab.proxy(config + f"retry_on_error {value}", "accel defaultsite=site.test")
        same(proxy.get("/p", host="site.test").status, expected, value)


@scenario("dir.forward-tries", "connect-fail-limit and peer_connect_timeout bound the wait for a silent peer")
def _(lab):
    blocked = socket.socket()
    blocked.bind(("127.0.0.1", 0))
    blocked.listen(0)
    port = blocked.getsockname()[1]
    fillers = [socket.socket() for _ in range(3)]
    for filler in fillers:
        filler.setblocking(False)
        filler.connect_ex(("127.0.0.1", port))
    origin = lab.origin()
    origin.page("/p", body="page")
    proxy = lab.proxy(PEER.format(port, "originserver name=dead") + PEER.format(origin.port, "originserver name=good") + "peer_connect_timeout 1 second", "accel defaultsite=site.test")
    took = lab.stopwatch()
    same(proxy.get("/p", host="site.test", timeout=10).text, "page", "reply")
    between(took(), 0, 5, "seconds")


@scenario("dir.memory-mode", "memory_replacement_policy: every spelling starts and keeps the bound")
def _(lab):
    for policy in ("lru", "heap LRU", "heap GDSF", "heap LFUDA", "s3fifo", "adaptive"):
        origin, proxy = lab.origin(), lab.proxy(f"memory_replacement_policy {policy}\ncache_mem 4 MB")
        for i in range(40):
            origin.page(f"/{i}", "Cache-Control: max-age=600", body=b"m" * 300_000)
            proxy.get(origin.url(f"/{i}"))
        time.sleep(1.2)
        hits = 0
        for i in range(40):
            answer = proxy.get(origin.url(f"/{i}"), "Cache-Control: only-if-cached")
            hits += answer.status == 200
        between(hits, 3, 14, f"{policy}: objects of 300 KB in 4 MB")
        proxy.stop()


@scenario("dir.replacement", "memory_replacement_policy decides who goes: small objects survive larger ones under heap GDSF, and not under lru")
def _(lab):
    for policy, least, most in (("lru", 0, 0), ("heap GDSF", 20, 20), ("adaptive", 18, 20)):
        origin, proxy = lab.origin(), lab.proxy(f"memory_replacement_policy {policy}\ncache_mem 4 MB")
        for i in range(20):
            origin.page(f"/small/{i}", "Cache-Control: max-age=600", body=b"s" * 5_000)
        for i in range(20):
            origin.page(f"/large/{i}", "Cache-Control: max-age=600", body=b"l" * 400_000)
        for kind in ("small", "large"):
            for i in range(20):
                same(proxy.get(origin.url(f"/{kind}/{i}")).status, 200, "status")
        hits = sum(proxy.get(origin.url(f"/small/{i}"), "Cache-Control: only-if-cached").status == 200 for i in range(20))
        between(hits, least, most, f"{policy}: small objects that are still there")
        proxy.stop()


@scenario("dir.memory-cache-mode", "memory_cache_mode disk: nothing is kept in memory without a disk cache, and that is told")
def _(lab):
    origin = lab.origin()
    origin.page("/p", "Cache-Control: max-age=60")
    for mode, expected in (("always", 1), ("network", 1), ("disk", 2)):
        origin.forget()
        proxy = lab.proxy(f"memory_cache_mode {mode}")
        for _ in range(2):
            proxy.get(origin.url("/p"))
        same(len(origin.requests("/p")), expected, mode)
    contains(proxy.parse()[1], "memory_cache_mode disk keeps nothing", "-k parse")


@scenario("dir.hosts-check", "check_hostnames and allow_underscore")
def _(lab):
    origin = lab.origin()
    origin.page("/p")
    hosts = "127.0.0.1 under_score.test plain.test\n"
    for lines, expected in (("", True), ("check_hostnames on\nallow_underscore off", False)):
        proxy = lab.proxy(lines, hosts=hosts)
        same(proxy.get(f"http://under_score.test:{origin.port}/p", timeout=8).status == 200, expected, lines or "default")


@scenario("dir.internal-static", "global_internal_static off: only our own name answers /squid-internal-static")
def _(lab):
    origin = lab.origin()
    origin.page("/squid-internal-static/x", body="the origin's")
    origin.page("/squid-internal-other/x", body="the origin's")
    for value, expected in (("off", [200, 1]), ("on", [404, 0])):
        origin.forget()
        proxy = lab.proxy(f"global_internal_static {value}")
        status = proxy.get(origin.url("/squid-internal-static/x")).status
        same([status, len(origin.requests())], expected, f"{value}: status, requests at the origin")
        same(proxy.get(origin.url("/squid-internal-other/x")).text, "the origin's", f"{value}: another path")


@scenario("dir.hostname-aliases", "hostname_aliases: a request for such a name at our port is for the proxy itself")
def _(lab):
    origin = lab.origin()
    origin.page("/squid-internal-mgr/menu", body="the origin's")
    hosts = "127.0.0.1 alias.test other.test\n"
    proxy = lab.proxy("hostname_aliases cache.test alias.test", hosts=hosts)
    for name in ("proxy.test", "ALIAS.test", "cache.test"):
        contains(proxy.get(f"http://{name}:{proxy.port}/squid-internal-mgr/menu").text, "Cache Manager Menu", name)
    same(proxy.get(f"http://alias.test:{proxy.port}/page").status, 403, "a loop")
    same(proxy.get(f"http://alias.test:{origin.port}/squid-internal-mgr/menu").text, "the origin's", "another port")
    text = lab.proxy(hosts=hosts).get(f"http://alias.test:{proxy.port}/page").text
    check("Cache Manager Menu" not in text, "without the directive the name is anybody's")


@scenario("dir.several-ports", "Several http_port lines, IPv6 too, all serve")
def _(lab):
    origin = lab.origin()
    origin.page("/p")
    ports = [free_port() for _ in range(3)]
    lab.proxy(f"http_port 127.0.0.1:{ports[0]}\nhttp_port [::1]:{ports[1]}\nhttp_port {ports[2]}")
    for address, port in (("127.0.0.1", ports[0]), ("::1", ports[1]), ("127.0.0.1", ports[2]), ("::1", ports[2])):
        with lab.client((address, port)) as client:
            same(client.get(origin.url("/p")).status, 200, f"{address} {port}")


@scenario("dir.workers", "workers 2: both serve, the numbers are sums", squid="needs shared memory and a parent process")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("workers 2")
    origin.page("/p", "Cache-Control: max-age=60")
    before = proxy.counters()["client_http.requests"]
    for _ in range(40):
        same(proxy.get(origin.url("/p")).status, 200, "status")
    between(proxy.counters()["client_http.requests"] - before, 40, 42, "requests counted")
    between(len(origin.requests("/p")), 1, 2, "requests at the origin: one cache")


@scenario("dir.x-forwarded", "follow_x_forwarded_for: rules and log see the client behind a trusted proxy")
def _(lab):
    origin = lab.origin()
    proxy = lab.proxy("follow_x_forwarded_for allow localhost\nfollow_x_forwarded_for deny all\nacl bad src 10.6.6.6\nhttp_access deny bad\nhttp_access allow all")
    same(proxy.get(origin.url("/a"), "X-Forwarded-For: 10.6.6.6").status, 403, "from a trusted proxy")
    same(proxy.get(origin.url("/b"), "X-Forwarded-For: 10.6.6.7").status, 404, "another client")
    contains(proxy.log_line("/b"), " 10.6.6.7 ", "log")


@scenario("dir.client-pconn-peer", "Idle client connections cost no thread and little memory: 500 of them", squid="takes 17 KB each")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/p", "Cache-Control: max-age=60")
    proxy.get(origin.url("/p"))
    before = proxy.memory()
    held = [proxy.client() for _ in range(500)]
    for client in held:
        client.get(origin.url("/p"))
    between(proxy.memory() - before, 0, 500 * 12, "KB for 500 idle connections")
    check(all(client.is_open() for client in held), "all stay open")
