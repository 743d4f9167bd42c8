"""Forward proxy: keep-alive, pipelining, HTTP/1.0, the pool of origin connections."""
import signal
import time

import wire
from lab import between, check, same, scenario
from origin import reply

GROUP = "forward"


@scenario("fwd.keep-alive", "One client connection, many requests, many origins")
def _(lab):
    one, two, proxy = lab.origin(), lab.origin(), lab.proxy()
    one.page("/p", body="one")
    two.page("/p", body="two")
    with proxy.client() as client:
        for _ in range(5):
            same(client.get(one.url("/p")).text, "one", "the first origin")
            same(client.get(two.url("/p")).text, "two", "the second origin")
        answer = client.get(one.url("/p"), "Connection: close")
        check("close" in answer.fields.tokens("Connection"), "Connection: close is answered so")
        check(client.ends_within(3), "and done")


@scenario("fwd.persistence-off", "client_persistent_connections off, server_persistent_connections off")
def _(lab):
    origin = lab.origin()
    origin.page("/p")
    proxy = lab.proxy("client_persistent_connections off")
    with proxy.client() as client:
        check("close" in client.get(origin.url("/p")).fields.tokens("Connection"), "Connection: close to the client")
        check(client.ends_within(3), "and done")
    proxy = lab.proxy("server_persistent_connections off")
    before = origin.connections
    with proxy.client() as client:
        for _ in range(3):
            client.get(origin.url("/p"))
    same(origin.connections - before, 3, "connections at the origin")


@scenario("fwd.pipelining", "Ten pipelined requests are answered in order, slow ones first")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("pipeline_prefetch 9")

    @origin.on("/n")
    def _(x):
        number = int(x.request.target.split("=")[1])
        time.sleep(0.02 * (10 - number))
        x.reply(200, body=f"answer {number}")
    with proxy.client() as client:
        client.send("".join(f"GET {origin.url('/n')}?i={i} HTTP/1.1\r\nHost: {origin.authority}\r\n\r\n" for i in range(10)))
        for i in range(10):
            same(client.reply().text, f"answer {i}", "in order")
        check(client.is_open(), "nothing is left over and the connection stays")


@scenario("fwd.pipelining-mixed", "Pipelined POST, error, hit and HEAD keep their order")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("acl no urlpath_regex ^/forbidden\nhttp_access deny no\nhttp_access allow all")
    origin.page("/hit", "Cache-Control: max-age=60", body="hit")

    @origin.on("/post")
    def _(x):
        x.reply(200, body=b"got " + x.request.body)
    proxy.get(origin.url("/hit"))
    with proxy.client() as client:
        host = f"Host: {origin.authority}\r\n"
        client.send(f"POST {origin.url('/post')} HTTP/1.1\r\n{host}Content-Length: 3\r\n\r\nabc"
                    f"GET {origin.url('/hit')} HTTP/1.1\r\n{host}\r\n"
                    f"HEAD {origin.url('/hit')} HTTP/1.1\r\n{host}\r\n"
                    f"GET {origin.url('/forbidden')} HTTP/1.1\r\n{host}\r\n"
                    f"POST {origin.url('/post')} HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\n3\r\nxyz\r\n0\r\n\r\n"
                    f"GET {origin.url('/hit')} HTTP/1.1\r\n{host}\r\n")
        same(client.reply().text, "got abc", "POST")
        same(client.reply().text, "hit", "GET")
        same(client.reply("HEAD").status, 200, "HEAD")
        same(client.reply().status, 403, "denied")
        same(client.reply().text, "got xyz", "chunked POST")
        same(client.reply().text, "hit", "GET again")


@scenario("fwd.http10", "HTTP/1.0 clients: closed by default, kept on request, never chunked")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/length", body="known")

    @origin.on("/chunked")
    def _(x):
        x.head(200, "Transfer-Encoding: chunked")
        for piece in ("un", "known"):
            x.chunk(piece)
        x.last_chunk()
    with proxy.client() as client:
        client.ask("GET", origin.url("/length"), version="1.0")
        same(client.reply().text, "known", "by length")
        check(client.ends_within(3), "closed by default")
    with proxy.client() as client:
        for _ in range(3):
            answer = client.get(origin.url("/length"), "Connection: keep-alive", version="1.0")
            same((answer.text, answer.framing), ("known", "length"), "kept on request")
            check("keep-alive" in answer.fields.tokens("Connection"), "Connection: keep-alive is answered")
    with proxy.client() as client:
        answer = client.get(origin.url("/chunked"), "Connection: keep-alive", version="1.0")
        same((answer.text, answer.has("Transfer-Encoding")), ("unknown", False), "dechunked")
        # A body that was whole before the answer began has a length; else its end is that of the connection.
        check(answer.framing == "length" or client.stream.eof or client.ends_within(3), "the end of the body is told")


@scenario("fwd.old-origin", "HTTP/1.0 origins: with and without keep-alive")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()

    @origin.on("/close")
    def _(x):
        x.send("HTTP/1.0 200 OK\r\n\r\nto the end")
        x.close()

    @origin.on("/keep")
    def _(x):
        x.send("HTTP/1.0 200 OK\r\nContent-Length: 4\r\nConnection: keep-alive\r\n\r\nkept")
    for _ in range(2):
        same(proxy.get(origin.url("/close")).text, "to the end", "closed")
        answer = proxy.get(origin.url("/keep"))
        same((answer.text, answer.version), ("kept", "1.1"), "kept")


@scenario("fwd.pool", "Origin connections are used again, one at a time")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/p")
    for _ in range(6):
        proxy.get(origin.url("/p"))
    same(origin.connections, 1, "connections for requests one after the other")

    @origin.on("/slow")
    def _(x):
        time.sleep(0.3)
        x.reply(200)
    lab.together(5, lambda i: proxy.get(origin.url("/slow")))
    same(origin.connections, 5, "connections for five at once")


@scenario("fwd.pool-not", "A connection is not used again after Connection: close or an unfinished body")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/close", "Connection: close")
    for _ in range(2):
        same(proxy.get(origin.url("/close")).status, 200, "status")
    same(origin.connections, 2, "connections")

    @origin.on("/extra")
    def _(x):
        x.send(reply(200, body="body").replace(b"@date-of-sending@", b"x") + b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nEVIL")
    origin.page("/next", body="next")
    proxy.get(origin.url("/extra"))
    time.sleep(0.1)
    same(proxy.get(origin.url("/next")).text, "next", "bytes after a reply never answer the next request")


@scenario("fwd.stale-pool", "A pooled connection found closed: GET is sent again")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/p", body="page")

    @origin.on("/fragile")
    def _(x):
        fresh = len([r for r in origin.requests() if r.connection == x.request.connection]) == 1
        if fresh:
            return x.reply(200, body="page")
        x.close()       # the race: the request arrives, the connection ends
    for i in range(4):
        answer = proxy.get(origin.url("/fragile"))
        same((answer.status, answer.text), (200, "page"), f"request {i}")
    origin.drop_connections()
    same(proxy.get(origin.url("/p")).status, 200, "after the origin closed it while idle")


@scenario("fwd.stale-pool-post", "A pooled connection found closed: a POST already sent is not repeated by itself")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/p")

    @origin.on("/order")
    def _(x):
        x.close()
    proxy.get(origin.url("/p"))
    with proxy.client() as client:
        client.send(f"POST {origin.url('/order')} HTTP/1.1\r\nHost: {origin.authority}\r\nContent-Length: 9\r\n\r\nbuy stock")
        try:
            between(client.reply(timeout=10).status, 500, 599, "status")
        except wire.Gone:
            pass
    time.sleep(0.3)
    same(len(origin.requests("/order")), 1, "orders at the origin")


@scenario("fwd.client-gone", "A client that leaves before the reply frees the origin connection")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    gone = []

    @origin.on("/never")
    def _(x):
        gone.append(x.gone_within(5))
        x.close()
    client = proxy.client()
    client.ask("GET", origin.url("/never"))
    origin.wait_for(1, "/never")
    client.close()
    lab.eventually(lambda: gone, "the origin's connection ends", timeout=6)
    same(gone, [True], "dropped by the proxy")
    proxy.log_line("TCP_MISS_ABORTED/000", "/never")


@scenario("fwd.half-closed", "A client that closes its sending side gets its reply (half_closed_clients on)", squid="closes the connection at once")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("half_closed_clients on")

    @origin.on("/slow")
    def _(x):
        time.sleep(0.3)
        x.reply(200, body="late")
    with proxy.client() as client:
        client.ask("GET", origin.url("/slow"))
        client.half_close()
        same(client.reply().text, "late", "reply")


@scenario("fwd.slow-bytes", "Requests that come byte by byte, and several in one piece with a cut")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/p", body="page")
    request = f"GET {origin.url('/p')} HTTP/1.1\r\nHost: {origin.authority}\r\n\r\n"
    with proxy.client() as client:
        for byte in request:
            client.send(byte)
        same(client.reply().text, "page", "byte by byte")
        client.send("\r\n" + request + request[:20])
        same(client.reply().text, "page", "an empty line before")
        time.sleep(0.1)
        client.send(request[20:])
        same(client.reply().text, "page", "the cut one")


@scenario("fwd.end-with-bytes", "The client's end that comes in one event with its last bytes is noticed at once")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("request_timeout 1 minute\nclient_idle_pconn_timeout 1 minute")
    origin.page("/page", "Cache-Control: max-age=600")
    proxy.get(origin.url("/page"))
    head = f"POST {origin.url('/upload')} HTTP/1.1\r\nHost: {origin.authority}\r\nTransfer-Encoding: chunked\r\n\r\n"
    last_bytes = {
        "a body cut off": (head, "5\r\nhello\r\n"),
        "a head cut off": (f"GET {origin.url('/page')} HTTP/1.1\r\n", "Host: "),
        "a request answered from the cache": (f"GET {origin.url('/page')} HTTP/1.1\r\n", f"Host: {origin.authority}\r\n\r\n"),
    }
    for what, (first, last) in last_bytes.items():
        client = proxy.client()
        client.send(first)
        time.sleep(0.1)                      # the proxy waits for more
        proxy.signal(signal.SIGSTOP)         # so that the rest and the end are one event
        client.send(last)
        client.half_close()
        proxy.signal(signal.SIGCONT)
        if what.startswith("a request"):
            client.reply()
        check(client.ends_within(2), f"{what}: the proxy still holds the connection")
        client.close()
