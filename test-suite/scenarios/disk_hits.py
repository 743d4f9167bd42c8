"""The disk cache as clients see it: what survives a restart, and what a hit from disk looks like."""
import os
import re
import signal
import time

import certs
import client
import disk_lab
from disk_lab import ALWAYS_FROM_DISK, Puller, Source, body_of, cache_dir, disk_proxy, folder, settled, start_and_time, stop_cleanly
from lab import between, check, contains, same, scenario
from origin import reply
from proxy import free_port, is_sanitized

GROUP = "disk"
FRESH = "Cache-Control: max-age=3600"


def restart(proxy):
    stop_cleanly(proxy)
    proxy.start()


@scenario("disk.restart", "Objects survive SIGTERM, byte for byte, and the log says TCP_HIT, then TCP_MEM_HIT")
def _(lab):
    source, proxy = Source(lab), disk_proxy(lab, cache_dir(lab))
    pull = Puller(lab, proxy, source)
    paths = [f"/{size}/r{n}" for n, size in enumerate((0, 1, 100, 4095, 4096, 4097, 10_000, 65_536, 300_000, 1_000_000))]
    for path in paths:
        pull.right(path)
    settled(lab, proxy)
    pull.close()
    restart(proxy)
    for path in paths:
        pull.right(path)
    same(source.total(), len(paths), "requests at the origin")
    pull.right(paths[6])
    same([proxy.entry(paths[6] + " ").tag], ["TCP_MISS"], "the first tag")
    lab.eventually(lambda: sum(paths[6] + " " in line for line in proxy.log()) == 3, "three lines")
    same([line.split()[3] for line in proxy.log() if paths[6] + " " in line], ["TCP_MISS/200", "TCP_HIT/200", "TCP_MEM_HIT/200"], "tags")


def fill(lab, proxy, source, paths, threads=6):
    def work(i):
        pull = Puller(lab, proxy, source)
        for path in paths[i::threads]:
            pull.right(path)
        pull.close()
    lab.together(threads, work)


@scenario("disk.ready", "With 10,000 objects the first disk hit comes within 0.2 s of the start, and all are there", timeout=150, squid="rebuilds its index first")
def _(lab):
    source, proxy = Source(lab), disk_proxy(lab, cache_dir(lab, mb=400) + "access_log none")
    paths = [f"/{500 + n % 4000}/ready/{n}" for n in range(10_000)]
    fill(lab, proxy, source, paths)
    settled(lab, proxy)
    pull, took = Puller(lab, proxy, source), []
    asked = source.total()
    plain = disk_lab.plain_start(lab)
    for number in (17, 5000, 9999, 1234, 8765):      # the best counts: other tests share the machine
        stop_cleanly(proxy)
        seconds, answer = start_and_time(lab, proxy, pull, paths[number])
        disk_lab.correct(paths[number], answer, 0, 0)
        took.append(round(seconds, 3))
    plain = max(plain, disk_lab.plain_start(lab))
    check(min(took) < max(0.2 * lab.patience, plain + 0.15), f"seconds to the first hit: {took}; without a disk cache {plain:.3f}")
    same(source.total(), asked, "requests at the origin")
    fill(lab, proxy, source, paths)
    same(source.total(), asked, "requests at the origin for all of them")


@scenario("disk.vary", "Variants survive a restart; one that the origin replaced does not come back")
def _(lab):
    origin, proxy = lab.origin(), disk_proxy(lab, cache_dir(lab))
    by = ["X-Kind"]

    @origin.on("/p")
    def _(x):
        x.reply(200, FRESH, f"Vary: {by[0]}", body=f"{x.request.get('X-Kind')}/{x.request.get('X-Other')}/{by[0]}")
    kinds = ("a", "b", "c")
    for kind in kinds:
        proxy.get(origin.url("/p"), f"X-Kind: {kind}")
    settled(lab, proxy)
    restart(proxy)
    for _ in range(2):
        for kind in kinds:
            same(proxy.get(origin.url("/p"), f"X-Kind: {kind}").text, f"{kind}/None/X-Kind", "variant")
    same(len(origin.requests()), 3, "requests at the origin")
    by[0] = "X-Other"
    same(proxy.get(origin.url("/p"), "X-Kind: d", "X-Other: 1").text, "d/1/X-Other", "another Vary")
    settled(lab, proxy)
    restart(proxy)
    for kind in kinds:
        same(proxy.get(origin.url("/p"), f"X-Kind: {kind}", "X-Other: 2").text.split("/")[2], "X-Other", f"{kind} of the old Vary")


@scenario("disk.many-variants", "Twenty variants of one URL, each its own body after a restart")
def _(lab):
    origin, proxy = lab.origin(), disk_proxy(lab, cache_dir(lab) + ALWAYS_FROM_DISK)
    origin.on("/p")(lambda x: x.reply(200, FRESH, "Vary: X-Kind", body=x.request.get("X-Kind") * 5000))
    for restarted in (False, True):
        for n in range(20):
            same(proxy.get(origin.url("/p"), f"X-Kind: <{n}>").text, f"<{n}>" * 5000, "body")
        if not restarted:
            settled(lab, proxy)
            restart(proxy)
    same(len(origin.requests()), 20, "requests at the origin")


@scenario("disk.freshened", "A 304 renews the head on disk: after a restart hits carry the new fields, and the body is the old one", squid="keeps the old head on disk")
def _(lab):
    origin, proxy = lab.origin(), disk_proxy(lab, cache_dir(lab))
    body = body_of("/120000/f")
    for path in ("/mem", "/disk"):
        origin.script(path, reply(200, 'ETag: "a"', "Cache-Control: max-age=1", "X-Turn: first", body=body),
                      reply(304, 'ETag: "a"', FRESH, "X-Turn: second"))
        proxy.get(origin.url(path))
    settled(lab, proxy, 2.2)
    same(proxy.get(origin.url("/mem")).get("X-Turn"), "second", "freshened from memory")
    restart(proxy)
    same(proxy.get(origin.url("/disk")).get("X-Turn"), "second", "freshened from disk")
    settled(lab, proxy)
    restart(proxy)
    for path in ("/mem", "/disk"):
        for _ in range(2):
            answer = proxy.get(origin.url(path))
            same((answer.status, answer.get("X-Turn"), answer.body == body), (200, "second", True), path)
        same(len(origin.requests(path)), 2, f"{path}: requests at the origin")
        same(origin.last(path).get("If-None-Match"), '"a"', "the stored validator")


@scenario("disk.replaced", "A reload that brings a new version: the old one never comes back, also after a restart")
def _(lab):
    source, proxy = Source(lab), disk_proxy(lab, cache_dir(lab))
    pull = Puller(lab, proxy, source)
    paths = [f"/{20_000 + n}/new" for n in range(20)]
    for version in range(4):
        for path in paths:
            same(pull.right(path, *(("Cache-Control: no-cache",) if version else ())).version, version, "version")
            if version < 3:
                source.bump(path)
        settled(lab, proxy, 0.4)
    settled(lab, proxy)
    pull.close()
    restart(proxy)
    asked = source.total()
    for path in paths:
        same(pull.right(path).version, 3, "version after the restart")
    same(source.total(), asked, "requests at the origin")


@scenario("disk.uncacheable", "What may not be stored is not: no-store, private, a body cut short, a POST")
def _(lab):
    origin, proxy = lab.origin(), disk_proxy(lab, cache_dir(lab))
    secret = body_of("/50000/secret")
    origin.page("/no-store", "Cache-Control: no-store", body=secret)
    origin.page("/private", "Cache-Control: private, max-age=60", body=secret)

    @origin.on("/cut")
    def _(x):
        x.head(200, FRESH, "Content-Length: 100000")
        x.send(secret)
        x.reset()
    for path in ("/no-store", "/private", "/cut"):
        for _ in range(2):
            with proxy.client() as c:
                c.ask("GET", origin.url(path))
                check(c.reply().whole == (path != "/cut"), "whole or not")
    proxy.ask("POST", origin.url("/private"), body="x")
    settled(lab, proxy)
    same(len(origin.requests("/cut")), 2, "requests for what was cut")
    stop_cleanly(proxy)
    for name in disk_lab.files(folder(lab)):
        with open(name, "rb") as file:
            data = file.read()
        for path in ("/no-store", "/private"):
            check(origin.url(path).encode() not in data, f"{path} is named in {os.path.basename(name)}")


LARGE = "maximum_object_size 200 MB\ncollapsed_forwarding on\n"


def check_large(lab, proxy, source, path, size):
    """Whole, in parts, HEAD and conditions: all from disk."""
    body = body_of(path)
    with proxy.client(timeout=30) as c:
        url = source.url(path)
        for value, part in ((f"{size // 2}-{size // 2 + 99_999}", body[size // 2:size // 2 + 100_000]), ("0-0", body[:1]), ("-70000", body[-70_000:]),
                            (f"{size - 5}-", body[-5:]), ("1000000-3000000", body[1_000_000:3_000_001])):
            answer = c.get(url, f"Range: bytes={value}")
            check((answer.status, answer.body == part) == (206, True), f"bytes={value}: {answer.status}, {len(answer.body)} bytes")
        same(c.get(url, f"Range: bytes={size}-").status, 416, "a range behind the end")
        answer = c.request("HEAD", url)
        same((answer.status, answer.get("Content-Length")), (200, str(size)), "HEAD")
        same(c.get(url, 'If-None-Match: "v0"').status, 304, "If-None-Match that holds")
        answer = c.get(url, 'If-None-Match: "v9"')
        check(answer.status == 200 and answer.body == body, "If-None-Match that does not")
        same(c.get(url, "Range: bytes=1-2", 'If-Range: "v9"').status, 200, "If-Range that does not hold")


def large(lab, size):
    source, proxy = Source(lab), disk_proxy(lab, LARGE + cache_dir(lab, mb=400))
    pull, path = Puller(lab, proxy, source, timeout=60), f"/{size}/large"
    pull.right("/1000/first")
    before = None if lab.kind == "squid" else proxy.memory("VmHWM")
    for _ in range(3):      # what comes faster than the disk writes is not stored
        pull.right(path)
        settled(lab, proxy)
        if pull.has(path):
            break
    asked = source.asked[path]
    pull.right(path)
    check_large(lab, proxy, source, path, size)
    pull.close()
    if before:
        between(proxy.memory("VmHWM") - before, 0, 50_000, "memory it took, KB")
    restart(proxy)
    check_large(lab, proxy, source, path, size)
    pull.right(path)
    same(source.asked[path], asked, "requests at the origin")


@scenario("disk.large-5", "5 MB: whole, ranges, HEAD and conditions from disk, before and after a restart", squid="no ETag in its 304, collapses nothing")
def _(lab):
    large(lab, 5_000_000)


@scenario("disk.large-50", "50 MB likewise, and memory stays small", timeout=120, squid="as above")
def _(lab):
    large(lab, 50_000_001)


@scenario("disk.streaming", "A large object streams to disk while clients follow, also one that comes in the middle: at the origin's pace, every byte right, from disk afterwards")
def _(lab):
    origin, proxy = lab.origin(), disk_proxy(lab, LARGE + cache_dir(lab, mb=400))
    body = body_of("/24000000/streams")

    @origin.on("/p")
    def _(x):
        time.sleep(0.3)
        x.head(200, FRESH, f"Content-Length: {len(body)}")
        for at in range(0, len(body), 1_000_000):
            x.sock.sendall(body[at:at + 1_000_000])
            time.sleep(0.1)

    def follow(i):
        began = time.monotonic()
        with proxy.client(timeout=30) as c:
            c.ask("GET", origin.url("/p"))
            c.stream.until(b"\r\n\r\n", time.monotonic() + 20)
            head_after = time.monotonic() - began
            return head_after, c.read(len(body), timeout=20) == body
    both = lab.background(lambda: lab.together(2, follow))
    time.sleep(1.2)
    for head_after, right in [follow(2)] + both.result():
        check(right, "every byte")
        check(head_after < 1.0 * lab.patience, f"answered before the end ({head_after:.1f} s)")
    settled(lab, proxy)
    asked = len(origin.requests("/p"))
    restart(proxy)
    check(proxy.get(origin.url("/p"), timeout=30).body == body, "from disk")
    same(len(origin.requests("/p")), asked, "requests at the origin")


@scenario("disk.collapsed", "Two at once for a large object that only the disk keeps: one request at the origin")
def _(lab):
    origin, proxy = lab.origin(), disk_proxy(lab, LARGE + cache_dir(lab, mb=400))
    body = body_of("/8000000/c")

    @origin.on("/p")
    def _(x):
        time.sleep(0.5)
        x.reply(200, FRESH, body=body)
    check(all(lab.together(2, lambda i: proxy.get(origin.url("/p"), timeout=30).body == body)), "every byte")
    same(len(origin.requests("/p")), 1, "requests at the origin")


@scenario("disk.joined-late", "Clients that come while a large object arrives, at any moment, fast and slow, over TLS too: every byte, one request at the origin for each of the two URLs", timeout=120,
          gnutls="TLS is rudimentary in this build", squid="TLS ports need another configuration")
def _(lab):
    source = Source(lab)
    source.pause = 0.05
    path, body = "/60000000/late", body_of("/60000000/late")
    config = LARGE + cache_dir(lab, mb=400) + f"cache_peer 127.0.0.1 parent {source.port} 0 no-query originserver no-digest\ncache_mem 16 MB\nworkers 2\n"
    proxy = disk_proxy(lab, config, start=False)
    tls_port = free_port()
    proxy.configure(f"http_port 127.0.0.1:{proxy.port} accel defaultsite=site.test\nhttps_port 127.0.0.1:{tls_port} accel defaultsite=site.test "
                    f"tls-cert={certs.path('one.both.pem')}\n" + config)
    proxy.start()
    before = 0 if is_sanitized(lab.binary) else proxy.memory("VmHWM")

    def one(i):
        time.sleep(0.4 * i)
        slow = i % 3 == 2
        tls = client.tls_context(certs.path("ca.pem")) if i % 2 else None
        with client.Client(lab, ("127.0.0.1", tls_port if tls else proxy.port), tls=tls, server_name="one.test", timeout=60 * lab.patience,
                           receive_buffer=65536 if slow else None) as c:
            c.ask("GET", path, host="site.test")
            head = c.stream.until(b"\r\n\r\n", time.monotonic() + 20)
            contains(head.decode(), "200 OK", "head")
            got = bytearray()
            while len(got) < len(body):
                got += c.stream.exactly(min(1_000_000, len(body) - len(got)), time.monotonic() + 30 * lab.patience)
                time.sleep(0.1 if slow else 0)
            return got == body
    check(all(lab.together(8, one)), "every byte")
    same(source.asked[path], 2, "requests at the origin")
    if before:
        between(proxy.memory("VmHWM") - before, 0, 60_000, "memory it took, KB")
    settled(lab, proxy)
    with proxy.client(timeout=30) as c:
        check(c.get(path, host="site.test").body == body, "whole from disk")
    same(source.asked[path], 2, "requests at the origin")


@scenario("disk.streaming-slow", "One client that reads slowly, one that reads at once: neither the fetch nor the other wait; the slow one gets no wrong byte", squid="the fetch waits for the slow one")
def _(lab):
    source, proxy = Source(lab), disk_proxy(lab, LARGE + cache_dir(lab, mb=400))
    path = "/30000000/slow"
    with proxy.client(receive_buffer=8192, timeout=40) as slow:
        fast = lab.background(lambda: Puller(lab, proxy, source).right(path))
        slow.ask("GET", source.url(path))
        took = lab.stopwatch()
        fast.result()
        check(took() < 8 * lab.patience, f"the fast one took {took():.1f} s")
        answer, body = slow.reply(timeout=40), body_of(path)
        check(answer.body == body[:len(answer.body)] and answer.whole == (len(answer.body) == len(body)), f"the slow one: {len(answer.body)} bytes")
    settled(lab, proxy)
    asked = source.total()
    Puller(lab, proxy, source).right(path)
    same(source.total(), asked, "requests at the origin for what is on disk")


@scenario("disk.aborted", "A client leaves in the middle of a large fetch: no half object is ever served")
def _(lab):
    origin, proxy = lab.origin(), disk_proxy(lab, LARGE + cache_dir(lab) + "quick_abort_min 0 KB\nquick_abort_max 0 KB")
    body = body_of("/8000000/a")
    slow = [True]

    @origin.on("/p")
    def _(x):
        x.head(200, FRESH, f"Content-Length: {len(body)}")
        for at in range(0, len(body), 500_000):
            x.sock.sendall(body[at:at + 500_000])
            time.sleep(0.05 if slow[0] else 0)
    for _ in range(3):
        with proxy.client() as c:
            c.ask("GET", origin.url("/p"))
            c.read(300_000)
            c.reset()
    time.sleep(0.5)
    slow[0] = False
    restart(proxy)
    for _ in range(2):
        check(proxy.get(origin.url("/p"), timeout=20).body == body, "the whole")


@scenario("disk.huge", "10 GB through the proxy onto disk and back, every byte right, memory small", long=True, timeout=1500, squid="no such promise")
def _(lab):
    size, block = 10 << 30, 1 << 20
    base = disk_lab.chunk_of("huge", 0, 0, 2 * block)
    part = lambda n: base[n * 7919 % block:][:block]
    origin, proxy = lab.origin(), disk_proxy(lab, "maximum_object_size 12 GB\n" + cache_dir(lab, mb=16_000) + "cache_mem 32 MB")

    @origin.on("/p")
    def _(x):
        x.head(200, FRESH, f"Content-Length: {size}", 'ETag: "v0"')
        began = time.monotonic()
        for n in range(size // block):
            x.sock.sendall(part(n))
            time.sleep(max(0, began + n / 80 - time.monotonic()))     # 80 MB/s: what comes faster than the disk is not stored
    for turn in range(2):
        with proxy.client(timeout=600) as c:
            c.ask("GET", origin.url("/p"))
            head = c.stream.until(b"\r\n\r\n", time.monotonic() + 20)
            contains(head.decode(), f"Content-Length: {size}", "head")
            for n in range(size // block):
                check(c.stream.exactly(block, time.monotonic() + 60) == part(n), f"megabyte {n}")
        between(proxy.memory("VmHWM"), 0, 300_000, "memory, KB")
        settled(lab, proxy, 3)
    same(len(origin.requests("/p")), 1, "requests at the origin")
    n = 7000
    same(proxy.get(origin.url("/p"), f"Range: bytes={n * block}-{n * block + 999}").body == part(n)[:1000], True, "a range")


@scenario("disk.tls", "A large hit from disk over TLS", gnutls="TLS is rudimentary in this build")
def _(lab):
    source = Source(lab)
    config = LARGE + cache_dir(lab) + f"cache_peer 127.0.0.1 parent {source.port} 0 no-query originserver no-digest"
    path, body = "/6000000/tls", body_of("/6000000/tls")
    proxy = disk_proxy(lab, config, start=False)
    proxy.configure(f"https_port 127.0.0.1:{proxy.port} accel defaultsite=site.test tls-cert={certs.path('one.both.pem')}\n" + config)
    if lab.kind == "squid":
        proxy.run("-z", "-N")
    proxy.start()
    for turn in range(3):
        with proxy.client(tls=client.tls_context(certs.path("ca.pem")), server_name="one.test", timeout=20) as c:
            check(c.get(path, host="site.test").body == body, "whole")
            check(c.get(path, "Range: bytes=4000000-4000999", host="site.test").body == body[4_000_000:4_001_000], "a range")
        if turn == 1:
            settled(lab, proxy)
            restart(proxy)
        else:
            settled(lab, proxy, 0.8)
    same(source.asked[path], 1, "requests at the origin")


@scenario("disk.pipelined", "Hits from disk, from memory and misses on one connection, pipelined: in order, every byte right")
def _(lab):
    source, proxy = Source(lab), disk_proxy(lab, cache_dir(lab))
    pull = Puller(lab, proxy, source)
    paths = [f"/{size}/pipe{n}" for n, size in enumerate((10, 200_000, 3000, 900_000, 1, 40_000) * 4)]
    for path in paths[::2]:
        pull.right(path)
    settled(lab, proxy)
    pull.close()
    restart(proxy)
    for _ in range(2):
        with proxy.client(timeout=15) as c:
            c.send("".join(f"GET {source.url(path)} HTTP/1.1\r\nHost: x\r\n\r\n" for path in paths))
            for path in paths:
                answer = c.reply(timeout=15)
                check(answer.status == 200 and answer.body == body_of(path), f"{path}: {answer.status}, {len(answer.body)} bytes")
    same(source.total(), len(paths), "requests at the origin")


@scenario("disk.reload", "SIGHUP keeps the store; hits go on and survive a restart")
def _(lab):
    source, proxy = Source(lab), disk_proxy(lab, cache_dir(lab) + ALWAYS_FROM_DISK)
    pull = Puller(lab, proxy, source)
    paths = [f"/{30_000 + n}/h" for n in range(60)]
    for path in paths:
        pull.right(path)
    settled(lab, proxy)
    for _ in range(3):
        proxy.signal(signal.SIGHUP)
        for path in paths:
            pull.right(path)
    same(source.total(), len(paths), "requests at the origin")
    pull.close()
    restart(proxy)
    for path in paths:
        pull.right(path)
    same(source.total(), len(paths), "requests at the origin after a restart")


@scenario("disk.pages", "mgr:storedir, mgr:info and mgr:counters tell what is on disk", squid="counts a swap-in twice")
def _(lab):
    source, proxy = Source(lab), disk_proxy(lab, cache_dir(lab, mb=100) + ALWAYS_FROM_DISK)
    pull = Puller(lab, proxy, source)
    paths = [f"/100000/page{n}" for n in range(60)]
    for path in paths:
        pull.right(path)
    settled(lab, proxy)
    for path in paths[:25]:
        pull.right(path)
    time.sleep(0.3)
    text = proxy.manager("storedir")
    contains(text, folder(lab), "storedir: the directory")
    number = lambda pattern, page: float((re.search(pattern, page) or lab.fail(f"{pattern!r} is not in {page!r}"))[1])
    between(number(r"Current Store Swap Size *: +([\d.]+) KB", text), 6000 * 0.97, 6000 * 1.3, "storedir: KB stored")
    same(number(r"Maximum Swap Size *: +(\d+) KB", text), 102_400, "storedir: KB allowed")
    between(number(r"Current Capacity *: +([\d.]+)% used", text), 5.6, 8, "storedir: percent")
    info = proxy.manager("info")
    between(number(r"Storage Swap size:\t(\d+) KB", info), 6000 * 0.97, 6000 * 1.3, "info: KB stored")
    between(number(r"Storage Swap capacity:\t *([\d.]+)% used", info), 5.6, 8, "info: percent")
    between(number(r"(\d+) on-disk objects", info), 60, 62, "info: objects on disk")
    between(number(r"(\d+) StoreEntries\n", info), 60, 62, "info: entries")
    counters = proxy.counters()
    between(counters["swap.outs"], 60, 62, "swap.outs")
    between(counters["swap.ins"], 25, 26, "swap.ins")
    one = proxy.manager("storedir")
    check(one.count("Store Directory #") in (0, 1), "one directory")
    both = disk_proxy(lab, cache_dir(lab, "both", mb=100))
    pull_both = Puller(lab, both, source)
    for path in paths:
        pull_both.right(path)
    settled(lab, both)
    info = both.manager("info")
    for what in ("StoreEntries", "StoreEntries with MemObjects", "on-disk objects"):
        between(number(rf"(\d+) {what}\n", info), 60, 62, f"info, objects in memory and on disk: {what}")


@scenario("disk.log-tags", "access.log: TCP_HIT from disk, TCP_MEM_HIT from memory, TCP_REFRESH_UNMODIFIED for a stale one on disk, TCP_MISS else")
def _(lab):
    origin, proxy = lab.origin(), disk_proxy(lab, cache_dir(lab))
    origin.page("/p", FRESH, body=body_of("/50000/p"))
    origin.script("/stale", reply(200, 'ETag: "a"', "Cache-Control: max-age=1", body="x" * 9000), reply(304, 'ETag: "a"', FRESH))
    proxy.get(origin.url("/p"))
    proxy.get(origin.url("/stale"))
    settled(lab, proxy, 2.2)
    restart(proxy)
    for path in ("/p", "/p", "/stale", "/stale"):
        same(proxy.get(origin.url(path)).status, 200, "status")
    proxy.ask("HEAD", origin.url("/p"))
    lines = proxy.log_lines(7)
    same([line.split()[3].split("/")[0] for line in lines],
         ["TCP_MISS", "TCP_MISS", "TCP_HIT", "TCP_MEM_HIT", "TCP_REFRESH_UNMODIFIED", "TCP_MEM_HIT", "TCP_MEM_HIT"], "tags")
    between(int(lines[2].split()[4]), 50_000, 50_500, "bytes of the disk hit")
    contains(lines[2], "HIER_NONE/-", "hierarchy of a hit")
