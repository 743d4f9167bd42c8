"""Forward proxy: error pages, hostile requests, large transfers."""
import re
import time

import wire
from lab import between, check, contains, lacks, one_of, same, scenario
from proxy import free_port

GROUP = "forward"


@scenario("err.names", "Each failure has its ERR_ name, a status, a page of HTML and no caching")
def _(lab):
    origin = lab.origin()
    proxy = lab.proxy("acl no urlpath_regex ^/forbidden\nhttp_access deny no\nhttp_access allow all\nconnect_timeout 1 second\nforward_timeout 2 seconds",
                      hosts="")

    @origin.on("/nothing")
    def _(x):
        x.close()

    @origin.on("/garbage")
    def _(x):
        x.send("HTTP/1.1 abc\r\n\r\n")
        x.close()
    for url, statuses, names in ((origin.url("/forbidden"), (403,), ("ERR_ACCESS_DENIED",)),
                                 (f"http://127.0.0.1:{free_port()}/", (503,), ("ERR_CONNECT_FAIL",)),
                                 (origin.url("/nothing"), (502,), ("ERR_ZERO_SIZE_OBJECT",)),
                                 (origin.url("/garbage"), (502,), ("ERR_INVALID_RESP",)),
                                 ("gopher2://x.test/", (400, 501), ("ERR_UNSUP_REQ", "ERR_INVALID_URL"))):
        answer = proxy.get(url, timeout=10)
        one_of(answer.status, statuses, url)
        one_of(answer.get("X-Squid-Error", "").split(" ")[0], names, f"{url}: X-Squid-Error")
        contains(answer.get("Content-Type", ""), "text/html", f"{url}: Content-Type")
        contains(answer.text.lower(), "<html", f"{url}: page")
        lacks(answer.get("Cache-Control", ""), "max-age", f"{url}: Cache-Control")


@scenario("err.escape", "A page echoes nothing unescaped: URL, method, host, fields")
def _(lab):
    origin = lab.origin()
    proxy = lab.proxy("acl no urlpath_regex forbidden\nhttp_access deny no\nhttp_access allow all")
    attack = '<script>alert("1")</script>\'&'
    for request in (f"GET http://{origin.authority}/forbidden?{attack} HTTP/1.1\r\nHost: {origin.authority}\r\n\r\n",
                    f"GET http://{origin.authority}/forbidden HTTP/1.1\r\nHost: {attack}\r\nReferer: {attack}\r\nUser-Agent: {attack}\r\n\r\n",
                    f"{attack} http://{origin.authority}/ HTTP/1.1\r\nHost: x.test\r\n\r\n",
                    f"GET http://{attack}/ HTTP/1.1\r\nHost: x.test\r\n\r\n",
                    f"GET {attack} HTTP/1.1\r\nHost: x.test\r\n\r\n",
                    f"CONNECT {attack}:443 HTTP/1.1\r\nHost: x.test\r\n\r\n",
                    f"GET http://{origin.authority}/forbidden HTTP/9.9{attack}\r\n\r\n"):
        with proxy.client() as client:
            client.send(request)
            answer = client.reply(timeout=10)
            between(answer.status, 400, 599, request[:60])
            lacks(answer.text, "<script>alert", request[:60])
            lacks(answer.raw.decode("latin-1"), "<script>", request[:60])


@scenario("err.head", "HEAD gets an error without a body and the connection stays in step")
def _(lab):
    origin = lab.origin()
    proxy = lab.proxy("acl no urlpath_regex ^/forbidden\nhttp_access deny no\nhttp_access allow all")
    origin.page("/p", body="page")
    with proxy.client() as client:
        answer = client.request("HEAD", origin.url("/forbidden"))
        same((answer.status, answer.body), (403, b""), "HEAD")
        if "close" not in answer.fields.tokens("Connection"):
            same(client.get(origin.url("/p")).text, "page", "the next request")


@scenario("err.after-denied-body", "A denied POST with a body leaves the connection in step, or closed")
def _(lab):
    origin = lab.origin()
    proxy = lab.proxy("acl no urlpath_regex ^/forbidden\nhttp_access deny no\nhttp_access allow all")
    origin.page("/p", body="page")
    smuggled = f"GET {origin.url('/smuggled')} HTTP/1.1\r\nHost: x.test\r\n\r\n"
    with proxy.client() as client:
        client.send(f"POST {origin.url('/forbidden')} HTTP/1.1\r\nHost: {origin.authority}\r\nContent-Length: {len(smuggled)}\r\n\r\n{smuggled}"
                    f"GET {origin.url('/p')} HTTP/1.1\r\nHost: {origin.authority}\r\n\r\n")
        same(client.reply().status, 403, "denied")
        try:
            same(client.reply().text, "page", "the next request")
        except wire.Gone:
            pass
    same(origin.requests("/smuggled"), [], "the body was never taken for a request")


BAD_HEADS = ("GARBAGE\r\n\r\n", "GET\r\n\r\n", "GET http://x.test/ HTTP/1.1 extra\r\n\r\n", "GET http://x.test/ HTTQ/1.1\r\n\r\n",
             "GET http://x.test/ HTTP/1.1\r\nHost x.test\r\n\r\n", "GET http://x.test/ HTTP/1.1\r\nHost : x.test\r\n\r\n",
             "GET http://x.test/ HTTP/1.1\r\nA\0B: x\r\n\r\n",
             "POST http://127.0.0.1:9/ HTTP/1.1\r\nHost: x\r\nContent-Length: abc\r\n\r\n",
             "POST http://127.0.0.1:9/ HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
             "POST http://127.0.0.1:9/ HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
             "POST http://127.0.0.1:9/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\nx",
             "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "\0" * 20 + "\r\n\r\n")
BAD_URLS = ("GET http://x.test:port/ HTTP/1.1\r\nHost: x\r\n\r\n", "GET http://[::1/ HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET http:/// HTTP/1.1\r\nHost: x\r\n\r\n")


@scenario("err.malformed", "Malformed requests: an error, the connection closed, a log line")
def _(lab):
    proxy = lab.proxy("connect_timeout 1 second\nforward_timeout 1 second\nrequest_timeout 3 seconds")
    for number, bad in enumerate(BAD_HEADS + BAD_URLS):
        with proxy.client() as client:
            client.send(bad)
            try:
                between(client.reply(timeout=6).status, 400, 599, repr(bad[:60]))
            except wire.Gone:
                pass
            if bad in BAD_HEADS:
                check(client.stream.eof or client.ends_within(5), f"{bad[:60]!r}: closed")
        lines = proxy.log_lines(number + 1)
        check(all(len(line.split()) >= 10 for line in lines), f"{bad[:60]!r}: a whole log line")
    check(proxy.alive(), "it still runs")


@scenario("err.customized", "deny_info: another status, a redirect, a page of one's own")
def _(lab):
    origin = lab.origin()
    origin.page("/p")
    folder = lab.make_folder("errors")
    with open(folder + "/ERR_MINE", "w") as out:
        out.write("<html>no %U for %i</html>\n")
    proxy = lab.proxy(f"""
        acl one urlpath_regex ^/one
        acl two urlpath_regex ^/two
        acl three urlpath_regex ^/three
        deny_info 404:ERR_ACCESS_DENIED one
        deny_info http://help.test/?u=%u two
        deny_info {folder}/ERR_MINE three
        http_access deny one
        http_access deny two
        http_access deny three
        http_access allow all""")
    same(proxy.get(origin.url("/one")).status, 404, "another status")
    moved = proxy.get(origin.url("/two"))
    one_of(moved.status, (302, 307), "a redirect")
    check(moved.get("Location", "").startswith("http://help.test/?u="), f"Location: {moved.get('Location')}")


@scenario("err.language", "The page speaks the client's language where it has it")
def _(lab):
    proxy = lab.proxy("http_access deny all")
    plain = proxy.get("http://x.test/")
    same(plain.get("Content-Language"), "en", "by default")
    contains(plain.get("Vary", ""), "Accept-Language", "Vary")
    proxy.get("http://x.test/", "Accept-Language: de-AT, de;q=0.9, en;q=0.1")


@scenario("err.suppress-version", "httpd_suppress_version_string hides the version; visible_hostname and cache_mgr are on the page")
def _(lab):
    proxy = lab.proxy("http_access deny all\nhttpd_suppress_version_string on\nvisible_hostname named.test\ncache_mgr help@named.test")
    answer = proxy.get("http://x.test/")
    check(not re.search(r"(squid|loligo)/\d", answer.raw.decode("latin-1") + answer.text, re.I), "no version in fields or page")
    contains(answer.text, "named.test", "the host name")
    contains(answer.text, "help@named.test", "the address")
    open_one = lab.proxy("http_access deny all")
    check(re.search(r"(squid|loligo)/\d", open_one.get("http://x.test/").get("Server", ""), re.I), "the version by default")


@scenario("large.slow-reader", "200 MB through a slow reader: whole, in bounded memory", timeout=90)
def _(lab):
    stream_through(lab, 200_000_000, 60)


@scenario("large.10gb", "10 GB through a slow reader: whole, in bounded memory", long=True, timeout=900)
def _(lab):
    stream_through(lab, 10_000_000_000, 800)


def stream_through(lab, size, seconds):
    origin, proxy = lab.origin(), lab.proxy()
    block = bytes(range(250)) * 4000

    @origin.on("/big")
    def _(x):
        x.send(wire.head("HTTP/1.1 200 OK", f"Content-Length: {size}", "Cache-Control: max-age=60"))
        x.sock.settimeout(seconds)
        for _ in range(size // len(block)):
            x.sock.sendall(block)
    origin.page("/small")
    for _ in range(20):
        proxy.get(origin.url("/small"))
    idle, peak = proxy.memory(), 0
    with proxy.client(receive_buffer=65536) as client:
        client.ask("GET", origin.url("/big"))
        client.stream.until(b"\r\n\r\n", time.monotonic() + 5)
        client.sock.settimeout(20)
        got, buffer = len(client.stream.buffer), bytearray(1 << 20)
        whole = block + block
        check(bytes(client.stream.buffer) == whole[:got], "the first bytes")
        time.sleep(1.5)       # the origin could send everything meanwhile
        while got < size:
            count = client.sock.recv_into(buffer)
            check(count, f"the transfer goes on after {got} bytes")
            start = got % len(block)
            if buffer[:count] != whole[start:start + count] and count <= len(block):
                lab.fail(f"wrong bytes near {got}")
            got += count
            if got % 50 < 3:
                peak = max(peak, proxy.memory())
            if got % len(block) < 4096:
                time.sleep(0.002)
        same(got, size, "bytes")
        peak = max(peak, proxy.memory())
    between(max(peak, proxy.memory("VmHWM")) - idle, 0, 65_536, "memory over idle, KB")


@scenario("large.slow-upload", "200 MB uploaded to a slow origin: whole, in bounded memory", timeout=90,
          squid="takes it for an aborted request and resets the client")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    size, got = 200_000_000, [0]

    @origin.on("/up", early=True)
    def _(x):
        time.sleep(1.5)
        x.sock.settimeout(30)
        got[0] = len(x.stream.buffer)
        x.stream.buffer.clear()
        buffer = bytearray(1 << 20)
        while got[0] < size:
            count = x.sock.recv_into(buffer)
            if not count:
                return x.close()
            got[0] += count
        x.reply(200, body="done")
    origin.page("/small")
    for _ in range(20):
        proxy.get(origin.url("/small"))
    idle = proxy.memory()
    with proxy.client(timeout=60) as client:
        client.send(f"PUT {origin.url('/up')} HTTP/1.1\r\nHost: {origin.authority}\r\nContent-Length: {size}\r\n\r\n")
        block = b"u" * 1_000_000
        for _ in range(size // len(block)):
            client.sock.sendall(block)
        same(client.reply(timeout=30).text, "done", "reply")
    same(got[0], size, "bytes at the origin")
    between(proxy.memory("VmHWM") - idle, 0, 65_536, "memory over idle, KB")


@scenario("large.stalled-client", "A client that stops reading: the origin is held back, memory stays")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    sent = [0]

    @origin.on("/big")
    def _(x):
        x.send(wire.head("HTTP/1.1 200 OK", "Content-Length: 1000000000"))
        x.sock.settimeout(2)
        try:
            while True:
                sent[0] += x.sock.send(b"b" * 65536)
        except OSError:
            x.close()
    proxy.get(origin.url("/small"))
    idle = proxy.memory()
    with proxy.client(receive_buffer=4096) as client:
        client.ask("GET", origin.url("/big"))
        time.sleep(2.5)
        check(sent[0] < 100_000_000, f"held back after {sent[0]} bytes")
        between(proxy.memory() - idle, 0, 65_536, "memory over idle, KB")
