"""Forward proxy: CONNECT."""
import socket
import threading
import time

from client import tls_context
from lab import between, check, contains, lacks, one_of, same, scenario
from proxy import free_port
from tcp_server import TcpServer
import certs

GROUP = "forward"


def read_all(sock):
    parts = []
    while True:
        data = sock.recv(65536)
        if not data:
            return b"".join(parts)
        parts.append(data)


@scenario("tunnel.bytes", "CONNECT passes bytes both ways; the log counts what went to the client")
def _(lab):
    def talk(sock):
        sock.sendall(b"greeting")
        data = sock.recv(100)
        sock.sendall(data.upper())
        sock.recv(100)
    server, proxy = TcpServer(lab, talk), lab.proxy()
    with proxy.client() as client:
        answer = client.request("CONNECT", server.authority)
        same(answer.status, 200, "status")
        check(not answer.has("Content-Length") and not answer.has("Transfer-Encoding"), "no framing fields in the reply")
        head = len(answer.raw)
        same(client.read(8), b"greeting", "the server speaks first")
        client.send("hello")
        same(client.read(5), b"HELLO", "and answers")
        client.close()
    entry = proxy.entry("CONNECT")
    same((entry.tag, entry.status, entry.url, entry.hierarchy, entry.peer), ("TCP_TUNNEL", "200", server.authority, "HIER_DIRECT", "127.0.0.1"), "log")
    same(entry.bytes, head + 13, "bytes to the client")


@scenario("tunnel.early", "Bytes that follow the CONNECT head in the same piece are passed on")
def _(lab):
    server, proxy = TcpServer(lab, lambda s: s.sendall(b"got " + s.recv(100))), lab.proxy()
    with proxy.client() as client:
        client.send(f"CONNECT {server.authority} HTTP/1.1\r\nHost: {server.authority}\r\n\r\nearly")
        same(client.reply("CONNECT").status, 200, "status")
        same(client.read(9), b"got early", "the server's answer")


@scenario("tunnel.client-half-close", "The client closes its sending side: the server sees it and answers to the end",
          squid="ends the whole tunnel")
def _(lab):
    def talk(sock):
        data = read_all(sock)
        time.sleep(0.2)
        sock.sendall(b"%d bytes, " % len(data))
        time.sleep(0.2)
        sock.sendall(b"the end")
    server, proxy = TcpServer(lab, talk), lab.proxy()
    with proxy.client() as client:
        client.request("CONNECT", server.authority)
        client.send(b"x" * 100_000)
        client.half_close()
        same(client.rest(), b"100000 bytes, the end", "the answer after the half-close")


@scenario("tunnel.server-half-close", "The server closes its sending side: the client may go on sending", squid="ends the whole tunnel")
def _(lab):
    got = []

    def talk(sock):
        sock.sendall(b"all I have")
        sock.shutdown(socket.SHUT_WR)
        got.append(read_all(sock))
    server, proxy = TcpServer(lab, talk), lab.proxy()
    with proxy.client() as client:
        client.request("CONNECT", server.authority)
        same(client.rest(), b"all I have", "the server's side to its end")
        time.sleep(0.2)
        client.send("still ")
        time.sleep(0.2)
        client.send("here")
        client.half_close()
        lab.eventually(lambda: got, "the server has read to the end")
    same(got, [b"still here"], "what the client sent after it")


@scenario("tunnel.reset", "A reset on one side ends the other")
def _(lab):
    ended = []

    def talk(sock):
        sock.sendall(b"hi")
        try:
            ended.append(sock.recv(10))
        except OSError:
            ended.append(b"")
    server, proxy = TcpServer(lab, talk), lab.proxy()
    client = proxy.client()
    client.request("CONNECT", server.authority)
    client.read(2)
    client.reset()
    lab.eventually(lambda: ended == [b""], "the server's side ends")


@scenario("tunnel.tls", "TLS through a tunnel, verified end to end")
def _(lab):
    origin, proxy = lab.origin(tls=certs.server_context("origin")), lab.proxy()
    origin.page("/p", body="secret page")
    with proxy.client() as client:
        same(client.request("CONNECT", origin.authority).status, 200, "CONNECT")
        client.start_tls(tls_context(certs.path("ca.pem")), "origin.test")
        same(client.get("/p", host="origin.test").text, "secret page", "through TLS")
    lacks(proxy.read("access.log"), "/p", "the log does not see inside")


@scenario("tunnel.rules", "The recommended rules: CONNECT only to SSL_ports")
def _(lab):
    allowed = TcpServer(lab, lambda s: s.sendall(b"in"))
    other = TcpServer(lab, lambda s: s.sendall(b"in"))
    proxy = lab.proxy(f"acl SSL_ports port {allowed.port}\nhttp_access deny CONNECT !SSL_ports\nhttp_access allow all")
    same(proxy.ask("CONNECT", allowed.authority).status, 200, "an allowed port")
    denied = proxy.ask("CONNECT", other.authority)
    same(denied.status, 403, "another port")
    contains(denied.get("X-Squid-Error", ""), "ERR_ACCESS_DENIED", "X-Squid-Error")
    entry = proxy.entry("CONNECT", "TCP_DENIED")
    same((entry.status, entry.hierarchy, entry.peer), ("403", "HIER_NONE", "-"), "log")


@scenario("tunnel.refused", "CONNECT to a closed port 503, to an unknown name 503 or 502; the client gets a page")
def _(lab):
    dns = lab.dns()
    proxy = lab.proxy(f"dns_nameservers {dns.address}\nconnect_timeout 2 seconds\nforward_timeout 3 seconds")
    answer = proxy.ask("CONNECT", f"127.0.0.1:{free_port()}", timeout=10)
    same(answer.status, 503, "a closed port")
    contains(answer.get("X-Squid-Error", ""), "ERR_CONNECT_FAIL", "X-Squid-Error")
    answer = proxy.ask("CONNECT", "no-such-name.test:443", timeout=10)
    one_of(answer.status, (500, 502, 503), "an unknown name")
    check(answer.get("X-Squid-Error", "").startswith(("ERR_DNS_FAIL", "ERR_CANNOT_FORWARD")), f"X-Squid-Error: {answer.get('X-Squid-Error')}")


@scenario("tunnel.targets", "What is not host:port is refused")
def _(lab):
    proxy = lab.proxy()
    for target in ("127.0.0.1", "http://127.0.0.1:80/", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:99999", ":80", "/", "127.0.0.1:80:80"):
        with proxy.client() as client:
            client.send(f"CONNECT {target} HTTP/1.1\r\nHost: x.test\r\n\r\n")
            between(client.reply("CONNECT", timeout=8).status, 400, 599, target)


@scenario("tunnel.idle", "A silent tunnel ends after read_timeout")
def _(lab):
    server, proxy = TcpServer(lab, read_all), lab.proxy("read_timeout 2 seconds")
    with proxy.client() as client:
        client.request("CONNECT", server.authority)
        for _ in range(7):
            time.sleep(0.4)
            client.send("x")
        check(client.is_open(), "a tunnel in use stays open")
        took = lab.stopwatch()
        check(client.ends_within(6), "a silent one is closed")
        between(took(), 1.0, 5.5, "after how long")


@scenario("tunnel.bulk", "100 MB both ways at once, to the byte, in bounded memory")
def _(lab):
    size, block = 100_000_000, bytes(range(256)) * 256

    def talk(sock):
        sender = threading.Thread(target=lambda: [sock.sendall(block) for _ in range(size // len(block))], daemon=True)
        sender.start()
        got = 0
        while got < size // len(block) * len(block):
            got += len(sock.recv(1 << 20))
        sender.join()
        sock.sendall(b"%012d" % got)
    server, proxy = TcpServer(lab, talk), lab.proxy()
    total = size // len(block) * len(block)
    with proxy.client(timeout=40) as client:
        client.request("CONNECT", server.authority)
        before = proxy.memory()
        sender = lab.background(lambda: [client.sock.sendall(block) for _ in range(size // len(block))])
        got, same_bytes = 0, True
        data = bytearray(client.stream.buffer)
        while got < total + 12:
            if not data:
                client.sock.settimeout(30)
                data = bytearray(client.sock.recv(1 << 20))
                check(data, "the tunnel stays open")
            start = got % 65536
            piece = data[:min(len(data), 65536 - start)] if got < total else data
            if got < total and piece != block[start:start + len(piece)]:
                same_bytes = False
            got += len(piece)
            last = bytes(piece)
            del data[:len(piece)]
        sender.result(10)
        check(same_bytes, "the bytes are right")
        same(int(last[-12:]), total, "bytes that reached the server")
    between(proxy.memory("VmHWM") - before, 0, 16_000, "memory it took, KB")


@scenario("tunnel.stalled", "A side that does not read holds back the other, in bounded memory")
def _(lab):
    sent = [0]

    def talk(sock):
        sock.settimeout(2)
        try:
            while sent[0] < 200_000_000:
                sent[0] += sock.send(b"z" * 65536)
        except TimeoutError:
            pass
    server, proxy = TcpServer(lab, talk), lab.proxy()
    with proxy.client() as client:
        client.request("CONNECT", server.authority)
        before = proxy.memory()
        time.sleep(2.5)
        check(sent[0] < 60_000_000, f"the server was held back after {sent[0]} bytes")
        between(proxy.memory() - before, 0, 16_000, "memory it took, KB")


@scenario("tunnel.peer", "CONNECT through a parent proxy (never_direct)")
def _(lab):
    origin = lab.origin()
    origin.page("/p", body="page")
    parent = lab.proxy("visible_hostname parent.test")
    proxy = lab.proxy(f"cache_peer 127.0.0.1 parent {parent.port} 0 no-query no-digest default\nnever_direct allow all\nnonhierarchical_direct off")
    with proxy.client() as client:
        same(client.request("CONNECT", origin.authority).status, 200, "CONNECT")
        same(client.get("/p", host=origin.authority).text, "page", "through both")
    contains(parent.log_line("CONNECT"), "TCP_TUNNEL/200", "the parent's log")
    one_of(proxy.entry("CONNECT").hierarchy, ("FIRSTUP_PARENT", "DEFAULT_PARENT", "SINGLE_PARENT", "ANY_OLD_PARENT"), "hierarchy code")
