"""Access rules: each acl type with a request that matches and one that does not; order, negation, the implied last line."""
import time

import wire

from lab import between, check, contains, same, scenario
from proxy import free_port

GROUP = "access"
HOSTS = "127.0.0.1 one.test www.one.test two.test\n127.0.0.2 other.test\n"


def refused(lab, proxy, url, *fields, method="GET", **more):
    return proxy.ask(method, url, *fields, **more).status == 403


# name, acl lines (the acl is called x), requests it matches, requests it does not: (host, path, fields, method, source)
def request(host="one.test", path="/p", *fields, method="GET", source=None):
    return host, path, fields, method, source


TYPES = (
    ("src", "src 127.0.0.20 127.0.0.32/30 127.0.0.40-127.0.0.44 127.0.1.0/255.255.255.0",
     [request(source=s) for s in ("127.0.0.20", "127.0.0.33", "127.0.0.35", "127.0.0.42", "127.0.1.9")],
     [request(source=s) for s in ("127.0.0.21", "127.0.0.36", "127.0.0.45", "127.0.2.1")]),
    ("dst", "dst 127.0.0.2", [request("other.test"), request("127.0.0.2")], [request("one.test"), request("127.0.0.1")]),
    ("dstdomain", "dstdomain .one.test", [request("one.test"), request("www.one.test"), request("ONE.test")], [request("two.test"), request("127.0.0.9")]),
    ("dstdom_regex", "dstdom_regex -i ^W+\\.", [request("www.one.test")], [request("one.test"), request("two.test")]),
    ("port", "port {port} 1-2", [request()], []),
    ("port-other", "port 80 443 1-100", [], [request()]),
    ("method", "method POST FROB", [request(method="POST"), request(method="FROB")], [request(), request(method="PUT")]),
    ("proto", "proto HTTP", [request()], []),
    ("proto-other", "proto FTP HTTPS", [], [request()]),
    ("url_regex", "url_regex ^http://one.test:[0-9]+/a -i /SECRET$", [request(path="/abc"), request("two.test", "/secret")], [request(path="/b"), request(path="/secrets")]),
    ("url_regex-decoded", "url_regex /for.bidden", [request(path="/for-bidden")], [request(path="/forbidden")]),
    ("urlpath_regex", "urlpath_regex \\.exe(\\?|$) q=1", [request(path="/a.exe"), request(path="/a.exe?x"), request(path="/p?q=1")], [request(path="/a.exes")]),
    ("browser", "browser -i mozilla", [request("one.test", "/p", "User-Agent: Mozilla/5.0")], [request("one.test", "/p", "User-Agent: curl"), request()]),
    ("referer_regex", "referer_regex ^http://bad", [request("one.test", "/p", "Referer: http://bad.test/")], [request("one.test", "/p", "Referer: http://good.test/"), request()]),
    ("req_header", "req_header X-Kind -i ^b(ad|old)$", [request("one.test", "/p", "X-Kind: BAD")], [request("one.test", "/p", "X-Kind: badly"), request()]),
    ("req_mime_type", "req_mime_type ^text/", [request("one.test", "/p", "Content-Type: text/x", method="POST")], [request("one.test", "/p", "Content-Type: a/text", method="POST")]),
    ("localip", "localip 127.0.0.1", [request()], []),
    ("localport", "localport 1-1023", [], [request()]),
    ("any-of", "any-of a b", [request(path="/a"), request(path="/b")], [request(path="/c")]),
    ("all-of", "all-of a !b", [request(path="/a")], [request(path="/b"), request(path="/ab")]),
    ("random-all", "random 1/1", [request()], []),
    ("time-now", "time 00:00-24:00", [request()], []),
    ("time-days", "time {today} 00:00-23:59", [request()], []),
    ("time-never", "time {tomorrow}", [], [request()]),
)


def register(name, definition, matching, others):
    @scenario(f"acl.{name}", f"acl type: {definition}")
    def _(lab):
        origin = lab.origin()
        days = "SMTWHFA"
        today = int(time.strftime("%w"))
        text = definition.format(port=origin.port, today=days[today], tomorrow=days[(today + 2) % 7])
        proxy = lab.proxy(f"acl a urlpath_regex a\nacl b urlpath_regex b\nacl x {text}\nhttp_access deny x\nhttp_access allow all", hosts=HOSTS)
        for cases, expected in ((matching, True), (others, False)):
            for host, path, fields, method, source in cases:
                body = b"x" if method == "POST" else None
                answer = proxy.ask(method, f"http://{host}:{origin.port}{path}", *fields, source=source, body=body, timeout=10)
                same(answer.status == 403, expected, f"{method} {host}{path} {fields} from {source}: refused")


for row in TYPES:
    register(*row)


@scenario("acl.order", "Lines in order, acls of a line together, the first match decides")
def _(lab):
    origin = lab.origin()
    proxy = lab.proxy("""
        acl a urlpath_regex ^/a
        acl b urlpath_regex b$
        http_access allow a b
        http_access deny a
        http_access allow b
        http_access deny all""")
    for path, denied in (("/ab", False), ("/a", True), ("/b", False), ("/c", True)):
        same(refused(lab, proxy, origin.url(path)), denied, path)


@scenario("acl.implied", "No line matches: the opposite of the last one; no line at all: deny")
def _(lab):
    origin = lab.origin()
    for lines, path, denied in (("http_access deny a", "/x", False), ("http_access allow a", "/x", True), ("http_access deny a\nhttp_access allow b", "/x", True)):
        proxy = lab.proxy(f"acl a urlpath_regex ^/a\nacl b urlpath_regex ^/b\n{lines}")
        same(refused(lab, proxy, origin.url(path)), denied, lines)
        proxy.stop()
    proxy = lab.proxy("http_access allow all", start=False)
    proxy.config = proxy.config.replace("http_access allow all\n", "")
    proxy.write("proxy.conf", proxy.config)
    proxy.start()
    same(refused(lab, proxy, origin.url("/x")), True, "no http_access line")


@scenario("acl.negation", "! negates, also a list acl; several lines of one name are one list")
def _(lab):
    origin = lab.origin()
    proxy = lab.proxy("acl good urlpath_regex ^/a\nacl good urlpath_regex ^/b\nhttp_access deny !good\nhttp_access allow all")
    same([refused(lab, proxy, origin.url(p)) for p in ("/a", "/b", "/c")], [False, False, True], "refused")


@scenario("acl.list-file", "A list file: comments, blanks, CRLF, values beside it; a missing one warns by name", squid="drops the values behind the file")
def _(lab):
    origin = lab.origin()
    path = lab.folder + "/list.txt"
    with open(path, "w") as out:
        out.write("# comment\n\n   one.test   \r\n.two.test # behind\nthree.test\n")
    proxy = lab.proxy(f'acl x dstdomain "{path}" four.test\nhttp_access deny x\nhttp_access allow all', hosts="127.0.0.1 one.test two.test www.two.test three.test four.test five.test\n")
    same([refused(lab, proxy, f"http://{n}.test:{origin.port}/") for n in ("one", "two", "www.two", "three", "four", "five")], [True] * 5 + [False], "refused")
    absent = lab.proxy(f'acl x dstdomain "{lab.folder}/absent.txt"\nhttp_access deny x\nhttp_access allow all', start=False)
    _, text = absent.parse()
    contains(text, "absent.txt", "the file is named")


@scenario("acl.list-reload", "A changed list file takes effect on reload")
def _(lab):
    origin = lab.origin()
    path = lab.folder + "/list.txt"
    with open(path, "w") as out:
        out.write("^/one\n")
    proxy = lab.proxy(f'acl x urlpath_regex "{path}"\nhttp_access deny x\nhttp_access allow all')
    same([refused(lab, proxy, origin.url(p)) for p in ("/one", "/two")], [True, False], "before")
    with open(path, "w") as out:
        out.write("^/two\n")
    proxy.reload()
    lab.eventually(lambda: proxy.status(origin.url("/two")) == 403, "the new list")
    same(refused(lab, proxy, origin.url("/one")), False, "the old entry")


@scenario("acl.maxconn", "maxconn: more connections from one client than allowed")
def _(lab):
    origin = lab.origin()
    proxy = lab.proxy("acl many maxconn 3\nhttp_access deny many\nhttp_access allow all")
    clients = [proxy.client(source="127.0.0.61") for _ in range(5)]
    time.sleep(0.2)
    same(clients[0].get(origin.url("/")).status, 403, "one of five")
    same(proxy.get(origin.url("/"), source="127.0.0.62").status, 404, "another client")
    for client in clients[1:]:
        client.close()
    lab.eventually(lambda: proxy.status(origin.url("/"), source="127.0.0.61") == 404, "after they left")


@scenario("acl.client-limit", "client_ip_max_connections")
def _(lab):
    origin = lab.origin()
    proxy = lab.proxy("client_ip_max_connections 3")
    clients = [proxy.client(source="127.0.0.63") for _ in range(3)]
    for client in clients:
        same(client.get(origin.url("/")).status, 404, "up to the limit")
    served = []
    for _ in range(3):      # Squid allows one more than the number
        extra = proxy.client(source="127.0.0.63")
        try:
            served.append(extra.get(origin.url("/")).status)
        except (OSError, wire.Gone):
            served.append(None)
        clients.append(extra)
    check(served[1:] == [None, None] or set(served[1:]) == {403}, f"those above the limit are turned away: {served}")
    same(proxy.get(origin.url("/"), source="127.0.0.64").status, 404, "another client")


@scenario("acl.myportname", "myportname tells the ports apart")
def _(lab):
    origin = lab.origin()
    ports = free_port(), free_port()
    proxy = lab.proxy(f"http_port 127.0.0.1:{ports[0]} name=staff\nhttp_port 127.0.0.1:{ports[1]} name=guests\n"
                      "acl guests myportname guests\nhttp_access deny guests\nhttp_access allow all")
    for port, denied in zip(ports, (False, True)):
        proxy.port = port
        same(refused(lab, proxy, origin.url("/")), denied, f"port {port}")


@scenario("acl.reply", "http_reply_access with rep_mime_type, rep_header, http_status")
def _(lab):
    origin = lab.origin()
    origin.page("/video", "Content-Type: video/mp4")
    origin.page("/marked", "X-Mark: bad things")
    origin.page("/error", status=500)
    origin.page("/fine", "Content-Type: text/plain", "X-Mark: good")
    proxy = lab.proxy("""
        acl video rep_mime_type -i ^VIDEO/
        acl marked rep_header X-Mark ^bad
        acl broken http_status 500-599
        http_reply_access deny video
        http_reply_access deny marked
        http_reply_access deny broken
        http_reply_access allow all""")
    same([proxy.get(origin.url(p)).status for p in ("/video", "/marked", "/error", "/fine")], [403, 403, 403, 200], "statuses")


@scenario("acl.random", "random 1/2 refuses about half")
def _(lab):
    origin = lab.origin()
    origin.page("/", "Cache-Control: max-age=60")
    proxy = lab.proxy("acl half random 1/2\nhttp_access deny half\nhttp_access allow all")
    with proxy.client() as client:
        denied = sum(client.get(origin.url("/")).status == 403 for _ in range(300))
    between(denied, 100, 200, "refused of 300")


@scenario("acl.peername", "peername tells the peer, here for our own address towards it")
def _(lab):
    one, two = lab.origin(name="one"), lab.origin(name="two")
    seen = {"one": set(), "two": set()}
    for each in (one, two):
        @each.on("/p")
        def _(x):
            seen[x.origin.name].add(x.sock.getpeername()[0])
            x.reply(200)
    proxy = lab.proxy(f"cache_peer 127.0.0.1 parent {one.port} 0 no-query originserver name=one round-robin\ncache_peer 127.0.0.1 parent {two.port} 0 no-query originserver name=two round-robin\n"
                      "acl two peername two\ntcp_outgoing_address 127.0.0.83 two", "accel defaultsite=site.test")
    for i in range(6):
        proxy.get(f"/p?{i}", host="site.test")
    same(seen, {"one": {"127.0.0.1"}, "two": {"127.0.0.83"}}, "our addresses at the peers")


@scenario("acl.predefined", "all, localhost, to_localhost, manager, CONNECT are there; redefining them is quiet")
def _(lab):
    origin = lab.origin()
    proxy = lab.proxy("acl localhost src 127.0.0.1/32 ::1\nacl manager proto cache_object\nacl CONNECT method CONNECT\nhttp_access deny to_localhost CONNECT\nhttp_access allow localhost\nhttp_access deny all")
    same(proxy.ask("CONNECT", origin.authority).status, 403, "to_localhost CONNECT")
    same(proxy.get(origin.url("/")).status, 404, "localhost")


@scenario("acl.large", "A list of 20,000 domains, patterns and networks works and starts soon", timeout=90)
def _(lab):
    origin = lab.origin()
    with open(lab.folder + "/domains", "w") as out:
        out.writelines(f".d{i}.test\n" for i in range(20_000))
    with open(lab.folder + "/networks", "w") as out:
        out.writelines(f"10.{i // 250}.{i % 250}.0/24\n" for i in range(20_000))
    with open(lab.folder + "/patterns", "w") as out:
        out.writelines(f"/banner{i}/[a-z]+\\.gif$\n" for i in range(3_000))
    took = lab.stopwatch()
    proxy = lab.proxy(f'acl d dstdomain "{lab.folder}/domains"\nacl n src "{lab.folder}/networks"\nacl p urlpath_regex "{lab.folder}/patterns"\n'
                      "http_access deny d\nhttp_access deny n\nhttp_access deny p\nhttp_access allow all", hosts="127.0.0.1 x.d19999.test free.test\n")
    check(took() < 15, f"started after {took():.1f} s")
    same([refused(lab, proxy, f"http://{h}:{origin.port}{p}") for h, p in (("x.d19999.test", "/"), ("free.test", "/"), ("free.test", "/banner2999/x.gif"), ("free.test", "/banner2999/x.png"))],
         [True, False, True, False], "refused")


@scenario("acl.url-decoded", "Percent-encoding hides nothing from url_regex and dstdomain")
def _(lab):
    origin = lab.origin()
    proxy = lab.proxy("acl x url_regex /secret\nhttp_access deny x\nhttp_access allow all", hosts=HOSTS)
    same([refused(lab, proxy, origin.url(p)) for p in ("/secret", "/%73ecret", "/secre%74", "/other")], [True, True, True, False], "refused")
