"""Accelerator: which site a request is for, and which origin it goes to."""
import base64
import time

from lab import between, check, contains, one_of, same, scenario
from proxy import free_port

GROUP = "accel"


def echo(origin, path=None):
    @origin.on(path)
    def _(x):
        x.reply(200, "X-Host: " + x.request.get("Host", "none"), body=f"{origin.name} {x.request.target}")


def peer(origin, options=""):
    return f"cache_peer {origin.host} parent {origin.port} 0 no-query originserver no-digest {options}\n"


@scenario("accel.defaultsite", "defaultsite names the site of requests without Host, not of those with one")
def _(lab):
    origin = lab.origin()
    echo(origin)
    proxy = lab.proxy(peer(origin), "accel defaultsite=main.test")
    same(proxy.get("/p", version="1.0", host="").get("X-Host"), "main.test", "no Host")
    same(proxy.get("/p?q=1", host="other.test").get("X-Host"), "other.test", "a Host of its own")
    same(origin.last().target, "/p?q=1", "the target at the origin")
    contains(proxy.log_line("/p?"), "http://other.test/p?", "log")


@scenario("accel.no-vhost", "no-vhost: every request is for defaultsite, whatever its Host")
def _(lab):
    origin = lab.origin()
    echo(origin)
    proxy = lab.proxy(peer(origin), "accel defaultsite=main.test no-vhost")
    same(proxy.get("/p", host="other.test").get("X-Host"), "main.test", "Host at the origin")
    contains(proxy.log_line("/p"), "http://main.test/p", "log")


@scenario("accel.vhost", "vhost is accepted (the default today); without a site and without Host: 400")
def _(lab):
    origin = lab.origin()
    echo(origin)
    proxy = lab.proxy(peer(origin), "accel vhost")
    same(proxy.get("/p", host="any.test").get("X-Host"), "any.test", "Host at the origin")
    plain = lab.proxy(peer(origin), "accel")
    same(plain.get("/p", host="any.test").get("X-Host"), "any.test", "accel alone")
    between(plain.get("/p", version="1.0", host="").status, 400, 599, "no Host at all")


@scenario("accel.vport", "vport: the port of the URL is that of the listener, or the one named")
def _(lab):
    origin = lab.origin()
    echo(origin)
    port = free_port()
    proxy = lab.proxy(peer(origin) + f"http_port 127.0.0.1:{port} accel defaultsite=main.test vport")
    proxy.port = port
    proxy.get("/vport", version="1.0", host="")
    contains(proxy.log_line("/vport"), f"http://main.test:{port}/vport", "vport: log")
    proxy = lab.proxy(peer(origin), "accel defaultsite=main.test vport=8080")
    proxy.get("/vport", version="1.0", host="")
    contains(proxy.log_line("/vport"), "http://main.test:8080/vport", "vport=8080: log")


@scenario("accel.host-port", "A port in Host belongs to the site's name")
def _(lab):
    origin = lab.origin()
    origin.page("/p", "Cache-Control: max-age=60")
    proxy = lab.proxy(peer(origin), "accel defaultsite=main.test")
    for host in ("a.test", "a.test:80", "A.test", "a.test."):
        proxy.get("/p", host=host)
    between(len(origin.requests("/p")), 1, 2, "one object (a trailing dot may be another)")
    proxy.get("/p", host="a.test:8080")
    check(len(origin.requests("/p")) >= 2, "another port is another site")


@scenario("accel.bad-host", "Host that is none: 400, nothing reaches the origin", squid="takes defaultsite for some of them")
def _(lab):
    origin = lab.origin()
    echo(origin)
    proxy = lab.proxy(peer(origin), "accel defaultsite=main.test")
    for host in ("a.test/evil", "a test", "user@a.test", "a.test:port", "[::1", "a.test:80:80", "<b>"):
        with proxy.client() as client:
            client.send(f"GET /p HTTP/1.1\r\nHost: {host}\r\n\r\n")
            answer = client.reply()
        if answer.status == 200:
            lab.fail(f"Host {host!r} reached the origin as {origin.last().get('Host')!r}")
        between(answer.status, 400, 499, f"Host {host!r}")


@scenario("accel.act-as-origin", "act-as-origin: Date and Expires as if from here, no Age")
def _(lab):
    origin = lab.origin()
    origin.page("/p", "Cache-Control: max-age=60")
    proxy = lab.proxy(peer(origin), "accel defaultsite=main.test act-as-origin")
    proxy.get("/p", host="main.test")
    time.sleep(1.2)
    hit = proxy.get("/p", host="main.test")
    same(len(origin.requests()), 1, "requests at the origin")
    check(not hit.has("Age"), "no Age")


@scenario("accel.allow-direct", "Without a peer for it: refused, unless allow-direct")
def _(lab):
    origin = lab.origin()
    origin.page("/p", body="direct")
    hosts = "127.0.0.1 site.test\n"
    strict = lab.proxy("", "accel defaultsite=site.test", hosts=hosts)
    between(strict.get("/p", host=f"site.test:{origin.port}").status, 400, 599, "no peer")
    same(origin.connections, 0, "connections at the origin")
    free = lab.proxy("", "accel defaultsite=site.test allow-direct", hosts=hosts)
    same(free.get("/p", host=f"site.test:{origin.port}").text, "direct", "allow-direct")


@scenario("accel.ignore-cc", "ignore-cc: a reload by the client does not reach the origin")
def _(lab):
    origin = lab.origin()
    origin.page("/p", "Cache-Control: max-age=60")
    for options, expected in (("", 2), ("ignore-cc", 1)):
        origin.forget()
        proxy = lab.proxy(peer(origin), f"accel defaultsite=main.test {options}")
        for field in ("Accept: */*", "Cache-Control: no-cache"):
            proxy.get("/p", field, host="main.test")
        same(len(origin.requests()), expected, f"{options or 'default'}: requests at the origin")


@scenario("accel.absolute", "Absolute-form at an accelerator: its host counts; CONNECT is refused")
def _(lab):
    origin = lab.origin()
    echo(origin)
    proxy = lab.proxy(peer(origin), "accel defaultsite=main.test")
    same(proxy.get("http://abs.test/p", host="other.test").get("X-Host"), "abs.test", "Host at the origin")
    same(origin.last().target, "/p", "the target")
    between(proxy.ask("CONNECT", origin.authority).status, 400, 599, "CONNECT")


@scenario("accel.sites", "Several sites by domain to several origins (cache_peer_access)")
def _(lab):
    first, second, rest = lab.origin(name="first"), lab.origin(name="second"), lab.origin(name="rest")
    for each in (first, second, rest):
        echo(each)
    proxy = lab.proxy(peer(first, "name=first") + peer(second, "name=second") + peer(rest, "name=rest") + """
        acl one dstdomain one.test
        acl two dstdomain .two.test
        cache_peer_access first allow one
        cache_peer_access first deny all
        cache_peer_access second allow two
        cache_peer_access second deny all
        cache_peer_access rest deny one
        cache_peer_access rest deny two
        cache_peer_access rest allow all""", "accel defaultsite=one.test")
    for host, name in (("one.test", "first"), ("two.test", "second"), ("www.two.test", "second"), ("three.test", "rest"), ("notone.test", "rest")):
        same(proxy.get("/p", host=host).text, f"{name} /p", host)


@scenario("accel.cache-key", "The same path on two sites is two objects")
def _(lab):
    origin = lab.origin()

    @origin.on("/p")
    def _(x):
        x.reply(200, "Cache-Control: max-age=60", body="of " + x.request.get("Host"))
    proxy = lab.proxy(peer(origin), "accel defaultsite=one.test")
    for _ in range(2):
        for host in ("one.test", "two.test"):
            same(proxy.get("/p", host=host).text, f"of {host}", host)
    same(len(origin.requests()), 2, "requests at the origin")


@scenario("accel.round-robin", "round-robin shares evenly; weight shifts it", squid=None)
def _(lab):
    origins = [lab.origin(name=f"o{i}") for i in range(3)]
    for each in origins:
        echo(each)
    proxy = lab.proxy("".join(peer(o, f"name={o.name} round-robin") for o in origins), "accel defaultsite=main.test")
    for i in range(30):
        proxy.get(f"/{i}", host="main.test")
    for each in origins:
        between(len(each.requests()), 8, 12, f"requests of 30 at {each.name}")
    contains(proxy.log_line("/7 "), "ROUNDROBIN_PARENT/127.0.0.1", "log")
    for o in origins:
        o.forget()
    proxy = lab.proxy(peer(origins[0], "name=o0 round-robin weight=3") + peer(origins[1], "name=o1 round-robin"), "accel defaultsite=main.test")
    for i in range(40):
        proxy.get(f"/{i}", host="main.test")
    between(len(origins[0].requests()), 26, 34, "requests of 40 at the heavier")


@scenario("accel.login", "login=user:pass, PASS and PASSTHRU")
def _(lab):
    origin = lab.origin()
    origin.page("/p")
    mine, given = ("Basic " + base64.b64encode(s.encode()).decode() for s in ("site:pass word", "user:theirs"))
    for options, sent, expected in (("login=site:pass%20word", (), mine), ("", (), None), ("", ("Authorization: " + given,), None),
                                    ("login=PASS", ("Authorization: " + given,), given), ("login=PASSTHRU", ("Authorization: " + given,), given)):
        proxy = lab.proxy(peer(origin, options), "accel defaultsite=main.test")
        proxy.get("/p", *sent, host="main.test")
        if options or not sent:
            same(origin.last().get("Authorization"), expected, f"{options or 'no login'}: Authorization")
        proxy.stop()


@scenario("accel.max-conn", "max-conn bounds the connections to an origin; the next one takes the rest")
def _(lab):
    first, second = lab.origin(name="first"), lab.origin(name="second")
    for each in (first, second):
        @each.on("/slow")
        def _(x):
            time.sleep(0.6)
            x.reply(200)
    proxy = lab.proxy(peer(first, "name=first max-conn=2") + peer(second, "name=second"), "accel defaultsite=main.test")

    def ask(i):
        time.sleep(i * 0.05)
        return proxy.get(f"/slow?{i}", host="main.test").status
    same(set(lab.together(6, ask)), {200}, "replies")
    same((first.used(), second.used()), (2, 4), "connections at the first and the second")


@scenario("accel.forceddomain", "forceddomain replaces Host for the origin only")
def _(lab):
    origin = lab.origin()
    echo(origin)
    proxy = lab.proxy(peer(origin, "forceddomain=inner.test"), "accel defaultsite=main.test")
    same(proxy.get("/p", host="outer.test").get("X-Host"), "inner.test", "Host at the origin")
    contains(proxy.log_line("/p"), "http://outer.test/p", "log")


@scenario("accel.dead-origin", "A dead origin is skipped and taken back", squid=None)
def _(lab):
    first, second = lab.origin(name="first"), lab.origin(name="second")
    for each in (first, second):
        echo(each)
    proxy = lab.proxy(peer(first, "name=first round-robin connect-fail-limit=2 connect-timeout=1") + peer(second, "name=second round-robin") +
                      "dead_peer_timeout 2 seconds", "accel defaultsite=main.test")
    for i in range(4):
        proxy.get(f"/warm{i}", host="main.test")
    check(first.requests() and second.requests(), "both serve at first")
    first.stop()
    for i in range(12):
        took = lab.stopwatch()
        answer = proxy.get(f"/down{i}", host="main.test", timeout=8)
        same((answer.status, answer.text), (200, f"second /down{i}"), "while one is down")
        check(took() < 3, f"after {took():.1f} s")
    pages = proxy.manager("server_list")
    contains(pages, "Status     : Down", "the manager's peer list")
    first.forget()
    first.listen()

    def asked():
        proxy.get(f"/back{time.time()}", host="main.test", timeout=8)
        return first.requests()
    lab.eventually(asked, "the first is taken back", timeout=15)


@scenario("accel.all-dead", "Every origin dead: 503 at once, and served again afterwards")
def _(lab):
    origin = lab.origin()
    echo(origin)
    proxy = lab.proxy(peer(origin, "connect-fail-limit=2 connect-timeout=1") + "dead_peer_timeout 2 seconds\nforward_timeout 3 seconds", "accel defaultsite=main.test")
    origin.stop()
    for i in range(5):
        took = lab.stopwatch()
        one_of(proxy.get(f"/{i}", host="main.test", timeout=8).status, (502, 503, 504), "status")
        check(took() < 5, f"after {took():.1f} s")
    origin.listen()
    lab.eventually(lambda: proxy.status("/back", host="main.test", timeout=8) == 200, "served again", timeout=15)


@scenario("accel.failover-post", "A refused connection is no answer: a POST goes to the next origin, once")
def _(lab):
    first, second = lab.origin(name="first"), lab.origin(name="second")
    echo(second)
    first.stop()
    proxy = lab.proxy(peer(first, "name=first default") + peer(second, "name=second"), "accel defaultsite=main.test")
    answer = proxy.ask("POST", "/p", body="order", host="main.test", timeout=8)
    same((answer.status, answer.text), (200, "second /p"), "reply")
    same([r.body for r in second.requests()], [b"order"], "orders")


@scenario("accel.lifetimes", "refresh_pattern gives each URL its lifetime, first match wins")
def _(lab):
    origin = lab.origin()
    modified = "Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT"
    for path in ("/img/a.png", "/news", "/other"):
        origin.page(path, modified)
    origin.page("/img/b.png")
    proxy = lab.proxy(peer(origin) + """
        refresh_pattern -i \\.PNG$ 10 20% 20
        refresh_pattern ^http://main.test/news 0 0% 0
        refresh_pattern . 0 20% 4320""", "accel defaultsite=main.test")
    for path, expected in (("/img/a.png", 1), ("/img/b.png", 1), ("/news", 2), ("/other", 1)):
        for _ in range(2):
            proxy.get(path, host="main.test")
        same(len(origin.requests(path)), expected, f"{path}: requests at the origin")


@scenario("accel.beside-forward", "An accelerator port and a forward port in one proxy keep their kinds")
def _(lab):
    origin = lab.origin()
    echo(origin)
    accel, forward = free_port(), free_port()
    proxy = lab.proxy(f"http_port 127.0.0.1:{forward}\nhttp_port 127.0.0.1:{accel} accel defaultsite=main.test name=site\n"
                      f"{peer(origin)}acl site myportname site\ncache_peer_access {origin.host} allow site\ncache_peer_access {origin.host} deny all")
    proxy.port = forward
    same(proxy.get(origin.url("/f")).get("X-Host"), origin.authority, "forward")
    between(proxy.get("/f", host=f"127.0.0.1:9").status, 400, 499, "origin-form at the forward port")
    proxy.port = accel
    same(proxy.get("/a", host="main.test").get("X-Host"), "main.test", "accelerator")


@scenario("accel.expect-close", "Connection reuse towards the origin, 1xx, chunked uploads through an accelerator")
def _(lab):
    origin = lab.origin()

    @origin.on("/up")
    def _(x):
        x.reply(200, body=str(len(x.request.body)))
    proxy = lab.proxy(peer(origin), "accel defaultsite=main.test")
    with proxy.client() as client:
        for _ in range(3):
            same(client.request("POST", "/up", "Transfer-Encoding: chunked", body="5\r\nabcde\r\n0\r\n\r\n", host="main.test").text, "5", "chunked upload")
            same(client.request("POST", "/up", "Expect: 100-continue", body="abc", host="main.test").text, "3", "with Expect")
    for _ in range(3):
        proxy.get("/down", host="main.test")
    same(origin.used("/down"), 1, "connections for the GETs")
