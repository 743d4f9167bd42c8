"""Every timeout directive with a short value: what it ends, and that it ends it in time."""
import signal
import socket
import time

import wire
from lab import between, check, contains, one_of, same, scenario

GROUP = "timeouts"


def ends(lab, client, low, high, what):
    took = lab.stopwatch()
    check(client.ends_within(high + 1), f"{what}: the connection is closed")
    between(took(), low, high * lab.patience, f"{what}: seconds")


@scenario("time.request-start", "request_start_timeout: a connection without a first byte is closed")
def _(lab):
    proxy = lab.proxy("request_start_timeout 1 second\nrequest_timeout 20 seconds\nclient_idle_pconn_timeout 20 seconds")
    with proxy.client() as client:
        ends(lab, client, 0.6, 4, "a silent connection")


@scenario("time.request-trickle", "request_timeout is one deadline for a whole head: a trickle does not extend it")
def _(lab):
    proxy = lab.proxy("request_timeout 2 seconds\nrequest_start_timeout 20 seconds")
    with proxy.client() as client:
        took = lab.stopwatch()
        client.send("GET http://127.0.0.1:9/ HTTP/1.1\r\nHost: x\r\nX-Slow: ")
        ended = False
        while took() < 6 and not ended:
            try:
                client.send("y")
            except OSError:
                ended = True
                break
            ended = client.ends_within(0.3) or bool(client.stream.buffer)
        check(ended, "the trickle is ended")
        between(took(), 1.4, 5, "after how many seconds")


@scenario("time.request-second", "request_timeout holds for later requests of a connection too", squid="waits on")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("request_timeout 1 second\nclient_idle_pconn_timeout 20 seconds")
    origin.page("/p")
    with proxy.client() as client:
        client.get(origin.url("/p"))
        client.send("GET http://127.0.0.1:9/ HT")
        took = lab.stopwatch()
        ended = lab.eventually(lambda: client.ends_within(0.2) or client.stream.buffer, "the cut head is ended", timeout=5)
        check(ended, "ended")
        between(took(), 0.5, 4, "seconds")


@scenario("time.client-idle", "client_idle_pconn_timeout: an idle keep-alive connection is closed")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("client_idle_pconn_timeout 2 seconds")
    origin.page("/p")
    with proxy.client() as client:
        for _ in range(5):
            client.get(origin.url("/p"))
            time.sleep(0.6)
        check(client.is_open(), "a connection in use stays open")
        client.get(origin.url("/p"))
        ends(lab, client, 0.9, 5, "an idle one")
        same(bytes(client.stream.buffer), b"", "bytes before the end")


@scenario("time.server-idle", "server_idle_pconn_timeout: a pooled connection is closed")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("server_idle_pconn_timeout 1 second")
    origin.page("/p")
    proxy.get(origin.url("/p"))
    proxy.get(origin.url("/p"))
    same((origin.connections, len(origin.open)), (1, 1), "connections at first")
    took = lab.stopwatch()
    lab.eventually(lambda: not origin.open, "the pooled connection is closed", timeout=5)
    between(took(), 0.5, 4, "seconds")
    proxy.get(origin.url("/p"))
    same(origin.connections, 2, "connections in all")


@scenario("time.pconn-lifetime", "pconn_lifetime: a connection that is too old is not used again")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("pconn_lifetime 1 second")
    origin.page("/p")
    for _ in range(2):
        proxy.get(origin.url("/p"))
    same(origin.connections, 1, "connections within the lifetime")
    time.sleep(2.2)
    for _ in range(2):
        proxy.get(origin.url("/p"))
    same(origin.connections, 2, "connections after it")


@scenario("time.read", "read_timeout: an origin that never answers: 504; one that falls silent midway: a broken body")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("read_timeout 2 seconds")

    @origin.on("/never")
    def _(x):
        time.sleep(7)
        x.close()

    @origin.on("/half")
    def _(x):
        x.head(200, "Content-Length: 100", "Cache-Control: max-age=60")
        x.send("half")
        time.sleep(7)
        x.close()

    @origin.on("/steady")
    def _(x):
        x.head(200, "Content-Length: 8")
        for byte in "steadily":
            x.send(byte)
            time.sleep(0.3)
    took = lab.stopwatch()
    answer = proxy.get(origin.url("/never"), timeout=8)
    same(answer.status, 504, "status")
    contains(answer.get("X-Squid-Error", ""), "ERR_READ_TIMEOUT", "X-Squid-Error")
    between(took(), 0.9, 5.5, "seconds")
    took = lab.stopwatch()
    answer = proxy.get(origin.url("/half"), timeout=8)
    same((answer.body, answer.whole), (b"half", False), "half a body is shown as broken")
    between(took(), 0.9, 5.5, "seconds")
    same(proxy.get(origin.url("/steady"), timeout=8).text, "steadily", "slow but steady is fine")


@scenario("time.connect", "connect_timeout: an address that does not answer: 503 or 504")
def _(lab):
    blocked = socket.socket()
    blocked.bind(("127.0.0.1", 0))
    blocked.listen(0)
    port = blocked.getsockname()[1]
    fillers = []
    for _ in range(3):
        filler = socket.socket()
        filler.setblocking(False)
        filler.connect_ex(("127.0.0.1", port))
        fillers.append(filler)
    proxy = lab.proxy("connect_timeout 1 second\nforward_timeout 3 seconds\nforward_max_tries 1")
    took = lab.stopwatch()
    answer = proxy.get(f"http://127.0.0.1:{port}/", timeout=9)
    one_of(answer.status, (503, 504), "status")
    contains(answer.get("X-Squid-Error", ""), "ERR_CONNECT_FAIL", "X-Squid-Error")
    between(took(), 0.6, 6, "seconds")


@scenario("time.forward", "forward_timeout ends the search for a way")
def _(lab):
    dns = lab.dns()
    blocked = socket.socket()
    blocked.bind(("0.0.0.0", 0))
    blocked.listen(0)
    port = blocked.getsockname()[1]
    fillers = []
    for _ in range(3):
        filler = socket.socket()
        filler.setblocking(False)
        filler.connect_ex(("127.0.0.1", port))
        fillers.append(filler)
    dns.add("many.test", *(f"127.0.0.{i}" for i in range(1, 9)))
    proxy = lab.proxy(f"dns_nameservers {dns.address}\nconnect_timeout 2 seconds\nforward_timeout 3 seconds")
    took = lab.stopwatch()
    answer = proxy.get(f"http://many.test:{port}/", timeout=15)
    one_of(answer.status, (503, 504), "status")
    between(took(), 1.0, 8, "seconds (eight addresses of 2 s each would take 16)")


@scenario("time.write", "write_timeout: an origin that does not read the request body is given up", squid="takes it for an aborted request")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("write_timeout 1 second\nread_timeout 30 seconds")

    @origin.on("/up", early=True)
    def _(x):
        time.sleep(8)
        x.close()
    with proxy.client(timeout=10) as client:
        took = lab.stopwatch()
        client.send(f"POST {origin.url('/up')} HTTP/1.1\r\nHost: {origin.authority}\r\nContent-Length: 100000000\r\n\r\n")

        def push():
            try:
                for _ in range(100):
                    client.sock.sendall(b"x" * 1_000_000)
            except OSError:
                pass
        lab.background(push)
        try:
            one_of(client.reply(timeout=7).status, (502, 503, 504), "status")
        except wire.Gone:
            pass
        between(took(), 0.6, 6, "seconds")


@scenario("time.client-write", "write_timeout: a client that does not read its reply is cut off")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("write_timeout 1 second\nread_timeout 20 seconds\nclient_lifetime 1 day")
    dropped = []

    @origin.on("/big")
    def _(x):
        x.head(200, "Content-Length: 400000000")
        try:
            for _ in range(400):
                x.send(b"x" * 1_000_000)
        except OSError:
            dropped.append(True)
        x.close()
    with proxy.client(receive_buffer=4096) as client:
        client.ask("GET", origin.url("/big"))
        lab.eventually(lambda: dropped, "the fetch ends", timeout=8)


@scenario("time.lifetime", "client_lifetime: no connection lives longer")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("client_lifetime 2 seconds")

    @origin.on("/drip")
    def _(x):
        x.head(200, "Content-Length: 100")
        for _ in range(40):
            x.send("d")
            time.sleep(0.2)
    with proxy.client() as client:
        client.ask("GET", origin.url("/drip"))
        took = lab.stopwatch()
        try:
            answer = client.reply(timeout=8)
            check(not answer.whole, "cut short")
        except wire.Gone:
            pass
        between(took(), 1.0, 6, "seconds")


@scenario("time.shutdown", "shutdown_lifetime: requests under way may finish, then it ends")
def _(lab):
    origin = lab.origin()

    @origin.on("/slow")
    def _(x):
        time.sleep(1.0)
        x.reply(200, body="finished")
    proxy = lab.proxy("shutdown_lifetime 4 seconds")
    pending = lab.background(lambda: proxy.get(origin.url("/slow"), timeout=8))
    origin.wait_for(1, "/slow")
    proxy.expect_death = True
    proxy.signal(signal.SIGTERM)
    same(pending.result(8).text, "finished", "the request under way")
    try:
        proxy.get(origin.url("/slow"))
        lab.fail("a new connection is accepted while shutting down")
    except (OSError, wire.Gone):
        pass
    same(proxy.wait_exit(8), 0, "exit code")


@scenario("time.shutdown-cut", "shutdown_lifetime cuts what takes longer")
def _(lab):
    origin = lab.origin()

    @origin.on("/slow")
    def _(x):
        time.sleep(10)
        x.close()
    proxy = lab.proxy("shutdown_lifetime 1 second")
    pending = lab.background(lambda: proxy.get(origin.url("/slow"), timeout=12))
    origin.wait_for(1, "/slow")
    proxy.expect_death = True
    took = lab.stopwatch()
    proxy.signal(signal.SIGTERM)
    proxy.wait_exit(6)
    check(took() < 5, f"ended after {took():.1f} s")
    try:
        pending.result(5)
    except (OSError, wire.Gone):
        pass


@scenario("time.retries", "connect_retries tries a refused address again; forward_max_tries bounds the tries")
def _(lab):
    origin = lab.origin()
    origin.page("/p", body="page")
    dns = lab.dns()
    dns.add("many.test", *(f"127.0.0.{i}" for i in range(100, 108)), "127.0.0.1")
    proxy = lab.proxy(f"dns_nameservers {dns.address}\nforward_max_tries 3\nconnect_timeout 2 seconds\nforward_timeout 5 seconds")
    answer = proxy.get(f"http://many.test:{origin.port}/p", timeout=10)
    one_of(answer.status, (503, 504), "three tries find only dead addresses")
    proxy = lab.proxy(f"dns_nameservers {dns.address}\nforward_max_tries 25\nconnect_timeout 2 seconds\nforward_timeout 5 seconds")
    same(proxy.get(f"http://many.test:{origin.port}/p", timeout=10).text, "page", "25 tries reach the good one")
