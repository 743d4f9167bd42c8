"""TLS on both sides: https_port, https origins, cache_peer … tls."""
import os
import shutil
import socket
import ssl
import time

import certs
from client import tls_context
from lab import check, contains, one_of, same, scenario
from proxy import free_port

GROUP = "tls"


def https_proxy(lab, target, port_options="", config="", peer_options=""):
    port = free_port()
    proxy = lab.proxy(f"https_port 127.0.0.1:{port} accel defaultsite=one.test {port_options}\n"
                      f"cache_peer {target.host} parent {target.port} 0 no-query originserver no-digest {peer_options}\n{config}")
    proxy.port = port
    return proxy


def cert(name):
    return f"tls-cert={certs.path(name + '.pem')} tls-key={certs.path(name + '.key')}"


def common_name(client):
    return dict(x[0] for x in client.sock.getpeercert()["subject"])["commonName"]


@scenario("tls.port", "https_port serves a site; the certificate verifies; keep-alive and hits work")
def _(lab):
    origin = lab.origin()
    origin.page("/p", "Cache-Control: max-age=60", body="page")
    proxy = https_proxy(lab, origin, cert("one"))
    with proxy.client(tls=tls_context(certs.path("ca.pem")), server_name="one.test") as client:
        for _ in range(3):
            same(client.get("/p", host="one.test").text, "page", "reply")
        same(common_name(client), "one.test", "certificate")
    same(len(origin.requests()), 1, "requests at the origin")
    contains(proxy.log_line("/p"), "https://one.test/p", "log")


@scenario("tls.both-in-one", "tls-cert may hold the key too", gnutls="TLS is rudimentary in this build")
def _(lab):
    origin = lab.origin()
    proxy = https_proxy(lab, origin, f"cert={certs.path('one.both.pem')}")
    with proxy.client(tls=tls_context(certs.path("ca.pem")), server_name="one.test") as client:
        same(client.get("/p", host="one.test").status, 404, "reply")


@scenario("tls.sni", "Two certificates on one port, chosen by SNI; the first without it", squid="the OpenSSL build always sends the last one")
def _(lab):
    origin = lab.origin()
    origin.page("/p")
    proxy = https_proxy(lab, origin, f"{cert('one')} {cert('two')}")
    for name, expected in (("one.test", "one.test"), ("two.test", "two.test"), ("www.two.test", "two.test"), ("WWW.ONE.TEST", "one.test"), (None, "one.test"), ("unknown.test", "one.test")):
        context = tls_context(certs.path("ca.pem"))
        context.check_hostname = False
        with proxy.client(tls=context, server_name=name) as client:
            same(common_name(client), expected, f"SNI {name}")
            same(client.get("/p", host="two.test").status, 200, "reply")


@scenario("tls.min-version", "tls-min-version refuses older clients", gnutls="TLS is rudimentary in this build")
def _(lab):
    origin = lab.origin()
    origin.page("/p")
    strict = https_proxy(lab, origin, f"{cert('one')} tls-min-version=1.3")
    normal = https_proxy(lab, origin, cert("one"))
    old = lambda: tls_context(high=ssl.TLSVersion.TLSv1_2)
    with normal.client(tls=old(), server_name="one.test") as client:
        same(client.sock.version(), "TLSv1.2", "by default 1.2 is fine")
    with strict.client(tls=tls_context(), server_name="one.test") as client:
        same(client.sock.version(), "TLSv1.3", "1.3")
    try:
        strict.client(tls=old(), server_name="one.test")
        lab.fail("a TLS 1.2 client was accepted")
    except (ssl.SSLError, OSError):
        pass


@scenario("tls.cipher", "cipher= and options= narrow the choice", gnutls="ignores them")
def _(lab):
    origin = lab.origin()
    proxy = https_proxy(lab, origin, f"{cert('one')} cipher=ECDHE-ECDSA-AES128-GCM-SHA256 options=NO_TLSv1_3")
    with proxy.client(tls=tls_context(), server_name="one.test") as client:
        same((client.sock.version(), client.sock.cipher()[0]), ("TLSv1.2", "ECDHE-ECDSA-AES128-GCM-SHA256"), "negotiated")


@scenario("tls.resumption", "A session is resumed on the next connection", gnutls="does not")
def _(lab):
    origin = lab.origin()
    origin.page("/p")
    proxy = https_proxy(lab, origin, cert("one"))
    for high in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context = tls_context(high=high)
        session = None
        for number in range(3):
            raw = socket.create_connection(("127.0.0.1", proxy.port), 5)
            sock = context.wrap_socket(raw, server_hostname="one.test", session=session)
            sock.sendall(b"GET /p HTTP/1.1\r\nHost: one.test\r\nConnection: close\r\n\r\n")
            while sock.recv(4096):
                pass
            same(sock.session_reused, number > 0, f"{high.name}: connection {number} resumes")
            session = sock.session
            sock.close()


@scenario("tls.plain-http", "Plain HTTP on a TLS port, a cut handshake and a silent one end without harm", gnutls="TLS is rudimentary in this build")
def _(lab):
    origin = lab.origin()
    origin.page("/p")
    proxy = https_proxy(lab, origin, cert("one"), "request_timeout 2 seconds\nrequest_start_timeout 2 seconds")
    with proxy.client() as client:
        client.send("GET / HTTP/1.1\r\nHost: one.test\r\n\r\n")
        try:
            client.rest(timeout=8)
        except Exception as error:   # noqa: BLE001
            check("reset" in str(error).lower() or "broken" in str(error).lower(), f"ended: {error}")
    with proxy.client() as client:
        client.send(b"\x16\x03\x01\x02\x00\x01\x00\x01")
        client.reset()
    silent = proxy.client()
    check(silent.ends_within(10), "a silent handshake is ended")
    with proxy.client(tls=tls_context(), server_name="one.test") as client:
        same(client.get("/p", host="one.test").status, 200, "it still serves")


@scenario("tls.large", "10 MB through TLS, to the byte, pipelined behind a small one")
def _(lab):
    origin = lab.origin()
    body = bytes(range(251)) * 40_000
    origin.page("/big", body=body)
    origin.page("/small", body="small")
    proxy = https_proxy(lab, origin, cert("one"))
    with proxy.client(tls=tls_context(), server_name="one.test", timeout=15) as client:
        client.send("GET /small HTTP/1.1\r\nHost: one.test\r\n\r\nGET /big HTTP/1.1\r\nHost: one.test\r\n\r\n")
        same(client.reply().text, "small", "small")
        check(client.reply().body == body, "the big one to the byte")


@scenario("tls.bad-cert", "A certificate that is not there, or whose key does not fit: named, exit 1", squid="does not name the file")
def _(lab):
    for options in (f"tls-cert={lab.folder}/none.pem", f"tls-cert={certs.path('one.pem')} tls-key={certs.path('two.key')}"):
        proxy = lab.proxy(f"https_port 127.0.0.1:{free_port()} accel defaultsite=one.test {options}", start=False)
        code, text = proxy.run("-N")
        check(code != 0, f"{options}: exit code {code}")
        contains(text + proxy.read("cache.log"), ".pem", f"{options}: the file is named")


def tls_origin(lab, name, **more):
    origin = lab.origin(tls=certs.server_context(name), **more)
    origin.page("/p", body="by TLS")
    return origin


@scenario("tls.peer", "cache_peer … tls: the origin's certificate is verified", gnutls="TLS is rudimentary in this build")
def _(lab):
    good, stranger = tls_origin(lab, "origin"), tls_origin(lab, "stranger")
    ca = certs.path("ca.pem")

    def status(origin, options, **more):
        proxy = lab.accelerator(origin, peer_options=options, **more)
        answer = proxy.get("/p", host="site.test", timeout=8)
        proxy.stop()
        return answer.status
    same(status(good, f"tls tls-cafile={ca} ssldomain=origin.test"), 200, "the right CA and name")
    same(status(good, f"ssl sslcafile={ca} ssldomain=origin.test"), 200, "the old spelling")
    one_of(status(stranger, f"tls tls-cafile={ca} ssldomain=origin.test"), (502, 503), "a stranger's CA")
    one_of(status(good, "tls ssldomain=origin.test"), (502, 503), "the system's CAs only")
    same(status(stranger, "tls sslflags=DONT_VERIFY_PEER"), 200, "DONT_VERIFY_PEER")


@scenario("tls.peer-name", "cache_peer … tls: the name must fit; DONT_VERIFY_DOMAIN forgoes it", squid="checks the name in spite of DONT_VERIFY_DOMAIN")
def _(lab):
    good = tls_origin(lab, "origin")
    ca = certs.path("ca.pem")
    for options, allowed in (("ssldomain=wrong.test", (502, 503)), ("ssldomain=wrong.test sslflags=DONT_VERIFY_DOMAIN", (200,))):
        proxy = lab.accelerator(good, peer_options=f"tls tls-cafile={ca} {options}")
        one_of(proxy.get("/p", host="site.test", timeout=8).status, allowed, options)


@scenario("tls.peer-sni", "cache_peer … tls sends the name as SNI", gnutls="TLS is rudimentary in this build")
def _(lab):
    context, names = certs.server_context("origin"), []
    context.sni_callback = lambda sock, name, ctx: names.append(name)
    origin = lab.origin(tls=context)
    origin.page("/p")
    proxy = lab.accelerator(origin, peer_options=f"tls tls-cafile={certs.path('ca.pem')} ssldomain=origin.test")
    same(proxy.get("/p", host="site.test", timeout=8).status, 200, "status")
    same(names, ["origin.test"], "SNI")


@scenario("tls.outgoing", "https:// origins through tls_outgoing_options: CA and name are verified", gnutls="TLS is rudimentary in this build")
def _(lab):
    good, stranger = tls_origin(lab, "origin"), tls_origin(lab, "stranger")
    hosts = "127.0.0.1 origin.test wrong.test\n"
    proxy = lab.proxy(f"tls_outgoing_options cafile={certs.path('ca.pem')}", hosts=hosts)
    same(proxy.get(f"https://origin.test:{good.port}/p", timeout=8).text, "by TLS", "verified")
    one_of(proxy.get(f"https://origin.test:{stranger.port}/p", timeout=8).status, (502, 503), "a stranger's CA")
    answer = proxy.get(f"https://origin.test:{stranger.port}/p", timeout=8)
    contains(answer.get("X-Squid-Error", ""), "ERR_SECURE_CONNECT_FAIL", "X-Squid-Error")
    plain = lab.proxy("", hosts=hosts)
    one_of(plain.get(f"https://origin.test:{good.port}/p", timeout=8).status, (502, 503), "the system's CAs only")


@scenario("tls.outgoing-name", "https:// origins: the name must fit", gnutls="does not check names")
def _(lab):
    good = tls_origin(lab, "origin")
    proxy = lab.proxy(f"tls_outgoing_options cafile={certs.path('ca.pem')}", hosts="127.0.0.1 wrong.test\n")
    one_of(proxy.get(f"https://wrong.test:{good.port}/p", timeout=8).status, (502, 503), "status")


@scenario("tls.outgoing-min", "tls_outgoing_options min-version", squid="does not heed it")
def _(lab):
    context = certs.server_context("origin")
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    origin = lab.origin(tls=context)
    origin.page("/p")
    hosts = "127.0.0.1 origin.test\n"
    for options, allowed in (("", (200,)), ("min-version=1.3", (502, 503))):
        proxy = lab.proxy(f"tls_outgoing_options cafile={certs.path('ca.pem')} {options}", hosts=hosts)
        one_of(proxy.get(f"https://origin.test:{origin.port}/p", timeout=8).status, allowed, options or "default")


@scenario("tls.pool", "TLS connections to the origin are pooled too; a stale one is replaced", gnutls="TLS is rudimentary in this build")
def _(lab):
    origin = tls_origin(lab, "origin")
    proxy = lab.accelerator(origin, peer_options=f"tls tls-cafile={certs.path('ca.pem')} ssldomain=origin.test")
    for _ in range(4):
        same(proxy.get("/p", host="site.test").status, 200, "status")
    same(origin.used(), 1, "connections")
    origin.drop_connections()
    time.sleep(0.2)
    same(proxy.get("/p", host="site.test").status, 200, "after the origin closed it")


@scenario("tls.truncated", "An origin that ends TLS without close_notify midway: the body is shown as broken", gnutls="TLS is rudimentary in this build")
def _(lab):
    origin = lab.origin(tls=certs.server_context("origin"))

    @origin.on("/cut")
    def _(x):
        x.head(200, "Content-Length: 100", "Cache-Control: max-age=60")
        x.send("ten bytes.")
        x.close()
    proxy = lab.accelerator(origin, peer_options=f"tls tls-cafile={certs.path('ca.pem')} ssldomain=origin.test")
    for count in (1, 2):
        check(not proxy.get("/cut", host="site.test").whole, "broken")
        same(len(origin.requests()), count, "requests at the origin")


@scenario("tls.reload", "A new certificate is used after a reload; open connections go on", squid="closes its port for a moment")
def _(lab):
    origin = lab.origin()
    origin.page("/p")
    folder = lab.make_folder("certs")
    for kind in ("pem", "key"):
        shutil.copy(certs.path("one." + kind), f"{folder}/site.{kind}")
        os.chmod(f"{folder}/site.{kind}", 0o644)
    proxy = https_proxy(lab, origin, f"tls-cert={folder}/site.pem tls-key={folder}/site.key")
    context = tls_context(certs.path("ca.pem"))
    context.check_hostname = False
    kept = proxy.client(tls=context, server_name="one.test")
    same(kept.get("/p", host="one.test").status, 200, "before")
    for kind in ("pem", "key"):
        shutil.copy(certs.path("two." + kind), f"{folder}/site.{kind}")
    proxy.reload()

    def name_now():
        with proxy.client(tls=context, server_name="one.test") as client:
            return common_name(client) == "two.test"
    lab.eventually(name_now, "the new certificate")
    same(kept.get("/p", host="one.test").status, 200, "the connection from before")
