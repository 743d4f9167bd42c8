"""Forward proxy: methods, bodies, trailers, interim replies, Expect."""
import time

import wire
from lab import between, check, contains, lacks, one_of, same, scenario
from origin import reply

GROUP = "forward"


@scenario("fwd.absolute", "Absolute-form becomes origin-form; path, query and Host arrive as sent")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/a/b;c", body="page")
    answer = proxy.get(origin.url("/a/b;c?q=1&r=%20x&s=~"), "X-Odd: a,b ; c", "Accept: */*")
    same((answer.status, answer.text), (200, "page"), "reply")
    asked = origin.last()
    same((asked.method, asked.target, asked.version), ("GET", "/a/b;c?q=1&r=%20x&s=~", "1.1"), "request line")
    same((asked.get("Host"), asked.get("X-Odd"), asked.get("Accept")), (origin.authority, "a,b ; c", "*/*"), "fields")
    empty = proxy.get(f"http://{origin.authority}")
    same((empty.status, origin.last().target), (404, "/"), "an empty path")
    proxy.get(f"HTTP://LOCALHOST:{origin.port}/Case")
    same(origin.last().target, "/Case", "the path keeps its case")


@scenario("fwd.host", "Host follows the absolute URI, not what the client says")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/p")
    same(proxy.get(origin.url("/p"), host="elsewhere.test").status, 200, "another Host")
    same(origin.last("/p").get("Host"), origin.authority, "Host at the origin")
    same(len(origin.last("/p").fields.all("Host")), 1, "Host fields")
    with proxy.client() as client:
        client.send(f"GET {origin.url('/p')} HTTP/1.1\r\n\r\n")
        one_of(client.reply().status, (400, 200), "no Host in HTTP/1.1")
    same(proxy.get(origin.url("/p"), version="1.0", host="").status, 200, "no Host in HTTP/1.0")
    same(origin.last("/p").get("Host"), origin.authority, "Host for an HTTP/1.0 client")


@scenario("fwd.two-hosts", "Two Host fields are refused", squid="takes the first one of absolute-form requests")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    with proxy.client() as client:
        client.send(f"GET {origin.url('/p')} HTTP/1.1\r\nHost: {origin.authority}\r\nHost: other.test\r\n\r\n")
        same(client.reply().status, 400, "status")
        check(client.ends_within(3), "the connection ends")
    same(origin.connections, 0, "connections at the origin")


@scenario("fwd.methods", "Every method and unknown ones pass, with and without bodies")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()

    @origin.on("/m")
    def _(x):
        x.reply(200, "X-Method: " + x.request.method, body=x.request.body)
    for method in ("GET", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "PROPFIND", "REPORT", "MKCOL", "LOCK", "FROBNICATE", "X-Y_Z"):
        body = b"" if method == "GET" else b"with " + method.encode()
        answer = proxy.ask(method, origin.url("/m"), body=body or None)
        same((answer.status, answer.get("X-Method"), answer.body), (200, method, body), method)
    head = proxy.ask("HEAD", origin.url("/m"))
    same((head.status, head.body, head.get("X-Method")), (200, b"", "HEAD"), "HEAD")
    same(proxy.ask("POST", origin.url("/m"), body=b"").status, 200, "POST with an empty body")


@scenario("fwd.method-case", "A method is case-sensitive", squid="takes get for GET")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/m")
    same(proxy.ask("get", origin.url("/m")).status, 200, "status")
    same(origin.last("/m").method, "get", "method at the origin")


@scenario("fwd.options-star", "OPTIONS for a server as a whole")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()

    @origin.on(None)
    def _(x):
        x.reply(200, "Allow: GET")
    same(proxy.ask("OPTIONS", f"http://{origin.authority}").status, 200, "status")
    one_of(origin.last().target, ("*", "/"), "target at the origin")


@scenario("fwd.trace", "TRACE and OPTIONS with Max-Forwards")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()

    @origin.on("/t")
    def _(x):
        x.reply(200, "X-Left: " + x.request.get("Max-Forwards", "none"))
    same(proxy.ask("TRACE", origin.url("/t"), "Max-Forwards: 3").get("X-Left"), "2", "Max-Forwards counts down")
    origin.forget()
    here = proxy.ask("TRACE", origin.url("/t"), "Max-Forwards: 0")
    same((here.status, here.get("Content-Type")), (200, "message/http"), "TRACE ends here")
    contains(here.text, "TRACE ", "the echo")
    same(origin.requests(), [], "requests at the origin")


BODIES = (b"", b"x", b"0\r\n\r\n", bytes(range(256)) * 300, b"z" * 1_000_000)


@scenario("fwd.reply-length", "Reply bodies by Content-Length, to the byte")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    with proxy.client() as client:
        for number, body in enumerate(BODIES):
            origin.page(f"/{number}", body=body)
            answer = client.get(origin.url(f"/{number}"))
            same((answer.status, answer.framing, answer.get("Content-Length")), (200, "length", str(len(body))), "framing")
            check(answer.body == body, f"body {number} to the byte")


@scenario("fwd.drops", "A head that comes in single bytes is read as one that comes at once")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/p", body="page")
    with proxy.client() as client:
        head = f"GET {origin.url('/p')} HTTP/1.1\r\nHost: {origin.authority}\r\nX-Long: {'l' * 300}\r\n\r\n"
        for _ in range(2):
            for byte in head:
                client.send(byte)
            same(client.reply().text, "page", "reply")


@scenario("fwd.reply-chunked", "Chunked replies, whatever their chunks")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    for number, body in enumerate(BODIES):
        @origin.on(f"/{number}")
        def _(x, body=body):
            x.head(200, "Transfer-Encoding: chunked")
            for i in range(0, len(body), 30_000):
                x.chunk(body[i:i + 30_000])
            x.last_chunk()
    with proxy.client() as client:
        for number, body in enumerate(BODIES):
            answer = client.get(origin.url(f"/{number}"))
            # Framing ends at each hop (RFC 9112 section 6.1): a reply that has come whole may go on with its length.
            same((answer.status, answer.framing in ("chunked", "length"), answer.whole), (200, True, True), "framing")
            check(answer.body == body, f"body {number} to the byte")

    @origin.on("/odd")
    def _(x):
        x.head(200, "Transfer-Encoding: Chunked")
        for piece in (b"5;name=value\r\nabcde\r\n", b"00003 ;a=\"b\"\r\nfgh\r", b"\n", b"1", b"\r\ni\r\n0;last\r\n", b"\r\n"):
            x.send(piece)
            time.sleep(0.02)
    same(proxy.get(origin.url("/odd")).text, "abcdefghi", "extensions and odd cuts")


@scenario("fwd.reply-to-close", "A reply without length ends with its connection and is whole")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()

    @origin.on("/p")
    def _(x):
        x.head(200)
        for piece in ("one ", "two ", "three"):
            x.send(piece)
            time.sleep(0.05)
        x.close()
    with proxy.client() as client:
        answer = client.get(origin.url("/p"))
        same((answer.text, answer.framing), ("one two three", "chunked"), "HTTP/1.1 client")
        same(client.get(origin.url("/p")).text, "one two three", "the connection goes on")


@scenario("fwd.reply-streams", "Bytes reach the client as they come, not at the end")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()

    @origin.on("/p")
    def _(x):
        x.head(200, "Content-Length: 6")
        x.send("abc")
        time.sleep(1.5)
        x.send("def")
    with proxy.client() as client:
        client.ask("GET", origin.url("/p"))
        took = lab.stopwatch()
        contains(client.stream.until(b"\r\n\r\n", time.monotonic() + 5), b"200 OK", "head")
        same(client.read(3), b"abc", "the first half")
        check(took() < 1.0, f"the first half came after {took():.2f} s")
        same(client.read(3), b"def", "the second half")


@scenario("fwd.request-bodies", "Request bodies by length and chunked, to the byte")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()

    @origin.on("/p")
    def _(x):
        x.reply(200, body=str(len(x.request.body)))
    with proxy.client(timeout=10) as client:
        for body in BODIES:
            same(client.request("POST", origin.url("/p"), body=body).text, str(len(body)), "length as counted at the origin")
            check(origin.last("/p").body == body, "the body to the byte")
            pieces = b"".join(wire.chunk(body[i:i + 20_000]) for i in range(0, len(body), 20_000)) + b"0\r\n\r\n"
            answer = client.request("PUT", origin.url("/p"), "Transfer-Encoding: chunked", body=pieces)
            same(answer.text, str(len(body)), "chunked: length as counted at the origin")
            check(origin.last("/p").body == body, "chunked: the body to the byte")


@scenario("fwd.request-streams", "A request body is sent on while it comes")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/p")
    with proxy.client() as client:
        client.send(f"POST {origin.url('/p')} HTTP/1.1\r\nHost: {origin.authority}\r\nContent-Length: 6\r\n\r\nabc")
        origin_reads = lab.eventually(lambda: origin.connections, "the origin is reached before the body is complete")
        same(origin_reads, 1, "connections")
        client.send("def")
        same(client.reply().status, 200, "status")
    same(origin.last("/p").body, b"abcdef", "body")


@scenario("fwd.early-reply", "A reply before the request body ends (413) reaches the client")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()

    @origin.on("/up", early=True)
    def _(x):
        x.reply(413, "Connection: close", body="too much")
        x.close()
        time.sleep(0.3)
    with proxy.client() as client:
        client.send(f"POST {origin.url('/up')} HTTP/1.1\r\nHost: {origin.authority}\r\nContent-Length: 1000000\r\n\r\n" + "x" * 1000)
        answer = client.reply()
        same((answer.status, answer.text), (413, "too much"), "reply")


@scenario("fwd.trailers", "Trailers pass both ways", squid="drops trailers")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()

    @origin.on("/p")
    def _(x):
        x.head(200, "Transfer-Encoding: chunked", "Trailer: X-Sum")
        x.chunk("body")
        x.last_chunk("X-Sum: 42")
    with proxy.client() as client:
        answer = client.request("POST", origin.url("/p"), "TE: trailers", "Transfer-Encoding: chunked", "Trailer: X-Mine",
                                body="4\r\nsent\r\n0\r\nX-Mine: 7\r\n\r\n")
        same((answer.text, answer.trailers.get("X-Sum")), ("body", "42"), "the reply's trailer")
    same((origin.last().body, origin.last().trailers.get("X-Mine")), (b"sent", "7"), "the request's trailer")


@scenario("fwd.trailer-smuggling", "Framing fields in a trailer do not become fields")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()

    @origin.on("/p")
    def _(x):
        x.head(200, "Transfer-Encoding: chunked", "Cache-Control: max-age=60")
        x.chunk("body")
        x.last_chunk("Content-Length: 1", "Set-Cookie: a=b", "Cache-Control: no-store")
    for what in ("miss", "hit"):
        answer = proxy.get(origin.url("/p"))
        same((answer.text, answer.get("Set-Cookie")), ("body", None), what)
        check(not answer.trailers.all("Content-Length"), f"{what}: no Content-Length in the trailer")


@scenario("fwd.interim", "1xx replies are relayed to HTTP/1.1 clients and kept from HTTP/1.0 ones")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()

    @origin.on("/p")
    def _(x):
        x.send(wire.head("HTTP/1.1 103 Early Hints", "Link: </style.css>; rel=preload"))
        time.sleep(0.05)
        x.send(wire.head("HTTP/1.1 102 Processing"))
        x.reply(200, body="done")
    answer = proxy.get(origin.url("/p"))
    same((answer.text, [i.status for i in answer.interim]), ("done", [103, 102]), "HTTP/1.1 client")
    contains(answer.interim[0].get("Link", ""), "style.css", "the hint's field")
    old = proxy.get(origin.url("/p"), version="1.0")
    same((old.text, old.interim), ("done", []), "HTTP/1.0 client")


@scenario("fwd.interim-flood", "An origin that sends 1xx without end is cut off")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("read_timeout 5 seconds")

    @origin.on("/p")
    def _(x):
        for _ in range(200_000):
            x.send(b"HTTP/1.1 102 Processing\r\n\r\n")
    with proxy.client() as client:
        client.ask("GET", origin.url("/p"))
        answer = client.reply(timeout=10)
        between(answer.status, 500, 599, "status")


@scenario("fwd.expect", "Expect: 100-continue: the origin's 100 reaches the client, then the body passes")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()

    @origin.on("/yes", early=True)
    def _(x):
        check("100-continue" in x.request.fields.tokens("Expect"), "Expect arrives")
        x.send("HTTP/1.1 100 Continue\r\n\r\n")
        x.reply(200, body=x.read_body())

    @origin.on("/no", early=True)
    def _(x):
        x.reply(417, "Connection: close", body="no")
        x.close()
    with proxy.client() as client:
        client.send(f"POST {origin.url('/yes')} HTTP/1.1\r\nHost: {origin.authority}\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
        same(client.stream.until(b"\r\n\r\n", time.monotonic() + 5)[:12], b"HTTP/1.1 100", "100 comes before the body is sent")
        client.send("later")
        same(client.reply().text, "later", "the body")
    with proxy.client() as client:
        client.send(f"POST {origin.url('/no')} HTTP/1.1\r\nHost: {origin.authority}\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
        answer = client.reply()
        same((answer.status, answer.interim), (417, []), "a refusal instead")


@scenario("fwd.expect-other", "Another expectation: 417 or passed on, never a hang")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/p")
    one_of(proxy.get(origin.url("/p"), "Expect: miracles").status, (200, 417), "status")


@scenario("fwd.204-304", "Replies without a body leave the connection in step")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.script("/204", reply(204))
    origin.script("/304", reply(304, 'ETag: "a"'))
    origin.script("/304l", reply(304, 'ETag: "a"', "Content-Length: 500"))
    origin.page("/page", body="page")
    with proxy.client() as client:
        for _ in range(2):
            same(client.get(origin.url("/204")).status, 204, "204")
            for path in ("/304", "/304l"):
                same(client.get(origin.url(path), 'If-None-Match: "a"').status, 304, path)
            head = client.request("HEAD", origin.url("/page"))
            same((head.status, head.get("Content-Length")), (200, "4"), "HEAD")
            same(client.get(origin.url("/page")).text, "page", "the page after them")


@scenario("fwd.large-head", "Long URLs and fields pass up to the limits; beyond them 414 and 431")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()

    @origin.on(None)
    def _(x):
        x.reply(200, body=str(len(x.request.target)))
    same(proxy.get(origin.url("/" + "u" * 7000)).text, "7001", "a URL of 7000 bytes")
    same(proxy.get(origin.url("/p"), "X-Long: " + "v" * 20_000).status, 200, "a field of 20,000 bytes")
    same(len(origin.last().get("X-Long")), 20_000, "the field at the origin")
    tight = lab.proxy("request_header_max_size 8 KB")
    one_of(tight.get(origin.url("/p"), "X-Long: " + "v" * 20_000).status, (400, 431), "beyond request_header_max_size")
    one_of(tight.get(origin.url("/" + "u" * 20_000)).status, (400, 414, 431), "a URL beyond it")


@scenario("fwd.reply-head-limit", "reply_header_max_size: a larger head from the origin is 502")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("reply_header_max_size 8 KB")
    origin.page("/small", "X-Long: " + "v" * 4_000)
    origin.page("/large", "X-Long: " + "v" * 20_000)
    same(proxy.get(origin.url("/small")).status, 200, "below")
    same(proxy.get(origin.url("/large")).status, 502, "above")


@scenario("fwd.body-limit", "request_body_max_size: 413")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("request_body_max_size 10 KB")
    origin.page("/p")
    same(proxy.ask("POST", origin.url("/p"), body=b"x" * 9_000).status, 200, "below")
    same(proxy.ask("POST", origin.url("/p"), body=b"x" * 11_000).status, 413, "above")
    with proxy.client() as client:
        client.send(f"POST {origin.url('/p')} HTTP/1.1\r\nHost: {origin.authority}\r\nTransfer-Encoding: chunked\r\n\r\n")
        try:
            for _ in range(20):
                client.send(wire.chunk("x" * 1000))
            client.send("0\r\n\r\n")
        except OSError:
            pass
        try:
            one_of(client.reply().status, (413, 502), "chunked, above")
        except wire.Gone:
            pass


@scenario("fwd.garbage", "An origin that speaks no HTTP: 502, nothing of it passes", squid="passes it on as HTTP/0.9")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    for name, data in (("ssh", b"SSH-2.0-OpenSSH\r\n"), ("nul", b"\0\0\0\0\r\n\r\n"), ("status", b"HTTP/1.1 2000 OK\r\n\r\nevil"),
                       ("lengths", b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nevil!"),
                       ("nothing", b"")):
        @origin.on("/" + name)
        def _(x, data=data):
            x.send(data)
            x.close()
        answer = proxy.get(origin.url("/" + name))
        same(answer.status, 502, name)
        lacks(answer.text, "evil", name)


@scenario("fwd.utf8-target", "Bytes above 0x7f in a target reach the origin, and the log, as they came")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    paths = (b"/caf\xc3\xa9", b"/\xff\xfe?\x80")
    for path in paths:
        with proxy.client() as client:
            client.send(b"GET " + origin.url("").encode() + path + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            same(client.reply().status, 404, "the origin's status")
    same([r.target.encode("latin-1") for r in origin.requests()], list(paths), "targets at the origin")
    for path in paths:
        logged = path.split(b"?")[0].decode(errors="surrogateescape")     # strip_query_terms
        lab.eventually(lambda: logged in proxy.read("access.log"), "in the log")
