"""Forward proxy: the fields it adds and removes; loops; its own addresses; rules on fields."""
import re
import time

from lab import between, check, contains, lacks, one_of, same, scenario
from origin import reply
from proxy import free_port

GROUP = "forward"


@scenario("field.via", "Via on both sides, appended; via off")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/p", "Via: 1.0 inner")
    answer = proxy.get(origin.url("/p"), "Via: 1.1 outer")
    check(re.match(r"^1\.1 outer, 1\.1 proxy\.test\b", ", ".join(origin.last().fields.all("Via"))), f"request: {origin.last().fields.all('Via')}")
    check(re.match(r"^1\.0 inner, 1\.1 proxy\.test\b", ", ".join(answer.fields.all("Via"))), f"reply: {answer.fields.all('Via')}")
    quiet = lab.proxy("via off")
    answer = quiet.get(origin.url("/p"), "Via: 1.1 outer")
    same((origin.last().fields.all("Via"), answer.fields.all("Via")), (["1.1 outer"], ["1.0 inner"]), "via off")


@scenario("field.via-version", "Via tells the version of the message that came", squid="says 1.1 for an HTTP/1.0 reply")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()

    @origin.on("/p")
    def _(x):
        x.send("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n")
    answer = proxy.get(origin.url("/p"), version="1.0")
    contains(origin.last().get("Via"), "1.0 proxy.test", "the request came by HTTP/1.0")
    contains(answer.get("Via"), "1.0 proxy.test", "so did the reply")


@scenario("field.forwarded-for", "forwarded_for on, off, transparent, delete, truncate")
def _(lab):
    origin = lab.origin()
    origin.page("/p")
    for form, plain, chained in (("on", ["127.0.0.1"], ["10.1.2.3, 127.0.0.1"]), ("off", ["unknown"], ["10.1.2.3, unknown"]),
                                 ("transparent", [], ["10.1.2.3"]), ("delete", [], []), ("truncate", ["127.0.0.1"], ["127.0.0.1"])):
        proxy = lab.proxy(f"forwarded_for {form}")
        proxy.get(origin.url("/p"))
        same(origin.last().fields.all("X-Forwarded-For"), plain, f"{form}: a plain request")
        proxy.get(origin.url("/p"), "X-Forwarded-For: 10.1.2.3")
        same([", ".join(origin.last().fields.all("X-Forwarded-For"))] if origin.last().has("X-Forwarded-For") else [], chained, f"{form}: a chained one")
        proxy.stop()


@scenario("field.x-cache", "X-Cache and X-Cache-Lookup tell hit from miss")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/p", "Cache-Control: max-age=60")
    for what in ("MISS", "HIT"):
        answer = proxy.get(origin.url("/p"))
        same(answer.get("X-Cache"), f"{what} from proxy.test", "X-Cache")
        same(answer.get("X-Cache-Lookup"), f"{what} from proxy.test:{proxy.port}", "X-Cache-Lookup")


@scenario("field.lookup-words", "X-Cache-Lookup tells what was found, Cache-Status why it was not enough", squid="other words in Cache-Status")
def _(lab):
    origin = lab.origin()
    origin.page("/old", "Cache-Control: max-age=0", 'ETag: "a"')
    origin.page("/p", "Cache-Control: max-age=600")
    origin.page("/vary", "Cache-Control: max-age=600", "Vary: X-Kind")
    proxy = lab.proxy("acl no urlpath_regex ^/no\nhttp_access deny no\nhttp_access allow all")
    steps = (("GET", "/p", (), "MISS", "MISS", "fwd=uri-miss"), ("GET", "/p", (), "HIT", "HIT", "hit"),
             ("GET", "/p", ("Cache-Control: no-cache",), "MISS", "HIT", "fwd=request"), ("POST", "/p", (), "MISS", "NONE", "fwd=method"),
             ("GET", "/old", (), "MISS", "MISS", "fwd=uri-miss"), ("GET", "/old", (), "MISS", "HIT", "fwd=stale"),
             ("GET", "/vary", ("X-Kind: 1",), "MISS", "MISS", "fwd=uri-miss"), ("GET", "/vary", ("X-Kind: 2",), "MISS", "MISS", "fwd=vary-miss"),
             ("GET", "/absent", ("Cache-Control: only-if-cached",), "MISS", "MISS", None), ("GET", "/no", (), "MISS", "NONE", None))
    for method, path, fields, outcome, lookup, status in steps:
        answer = proxy.ask(method, origin.url(path), *fields)
        what = f"{method} {path} {fields}"
        same(answer.get("X-Cache"), f"{outcome} from proxy.test", f"{what}: X-Cache")
        same(answer.get("X-Cache-Lookup"), f"{lookup} from proxy.test:{proxy.port}", f"{what}: X-Cache-Lookup")
        if status:
            contains(answer.get("Cache-Status", ""), f"proxy.test;{status}", f"{what}: Cache-Status")


@scenario("field.cache-status", "Cache-Status on hits and misses (RFC 9211)", squid="5.7 has none")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/p", "Cache-Control: max-age=60")
    contains(proxy.get(origin.url("/p")).get("Cache-Status", ""), "fwd=", "a miss")
    hit = proxy.get(origin.url("/p")).get("Cache-Status", "")
    check(re.search(r";\s*hit\b", hit), f"a hit: {hit!r}")


@scenario("field.loop", "A request that carries our own Via is a loop")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/p")
    answer = proxy.get(origin.url("/p"), "Via: 1.1 proxy.test (other/1.0)")
    one_of(answer.status, (200, 403, 508), "status")
    lab.eventually(lambda: "oop" in proxy.read("cache.log"), "cache.log speaks of a loop", timeout=3)
    same(proxy.get(origin.url("/p"), "Via: 1.1 notproxy.test").status, 200, "a name that only ends alike")


@scenario("field.loop-pair", "Two proxies that send everything to each other: the loop ends")
def _(lab):
    ports = free_port(), free_port()
    pair = []
    for own, other in (ports, ports[::-1]):
        proxy = lab.proxy(f"http_port 127.0.0.1:{own}\nvisible_hostname p{own}.test\n"
                          f"cache_peer 127.0.0.1 parent {other} 0 no-query no-digest default\nnever_direct allow all")
        proxy.port = own
        pair.append(proxy)
    took = lab.stopwatch()
    between(pair[0].get("http://127.0.0.1:9/x", timeout=10).status, 400, 599, "status")
    check(took() < 8, "soon")
    check(len(pair[0].log()) < 60, "not many turns")


@scenario("field.own-address", "Absolute-form naming our own listening address is ours, not a request to ourselves",
          squid="forwards it to itself")
def _(lab):
    proxy = lab.proxy()
    for host in (f"127.0.0.1:{proxy.port}", f"proxy.test:{proxy.port}"):
        answer = proxy.get(f"http://{host}/squid-internal-mgr/menu")
        same(answer.status, 200, f"the manager at {host}")


@scenario("field.cache-hop", "No Cache-Control of ours changes what the origin may see of the client's wish")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/p")
    proxy.get(origin.url("/p"), "Cache-Control: no-transform, max-age=7, custom=x")
    asked = origin.last().fields.tokens("Cache-Control")
    for token in ("no-transform", "max-age=7", "custom=x"):
        check(token in asked, f"{token} arrives in {asked}")


@scenario("field.order", "Fields of the same name keep their order, on both sides")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/p", "Set-Cookie: a=1", "X-Two: x", "Set-Cookie: b=2", "Cache-Control: max-age=60")
    answer = proxy.get(origin.url("/p"), "X-One: 1", "Cookie: c=1", "X-One: 2")
    same(answer.fields.all("Set-Cookie"), ["a=1", "b=2"], "reply")
    hit = proxy.get(origin.url("/p"))
    one_of(hit.fields.all("Set-Cookie"), ([], ["a=1", "b=2"]), "a hit: both cookies, or none as in Squid")
    same(origin.last().fields.all("X-One"), ["1", "2"], "request")


@scenario("field.date", "A reply without Date gets one; Server and unknown fields are the origin's")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.script("/p", reply(200, "Server: apple", "X-Unknown: \xe9t\xe9", date=False))
    answer = proxy.get(origin.url("/p"))
    check(answer.has("Date"), "Date")
    same((answer.get("Server"), answer.get("X-Unknown")), ("apple", "\xe9t\xe9"), "fields")


@scenario("field.access", "request_header_access, reply_header_access, *_replace, *_add")
def _(lab):
    origin = lab.origin()
    origin.page("/p", "Server: apple", "X-Secret: 1", "X-Public: 2")
    proxy = lab.proxy("""
        acl odd urlpath_regex odd
        request_header_access User-Agent deny all
        request_header_replace User-Agent nobody
        request_header_access Referer deny !odd
        request_header_add X-Added "from %>a" all
        reply_header_access Server deny all
        reply_header_access X-Secret deny all
        reply_header_add X-Told yes all""")
    answer = proxy.get(origin.url("/p"), "User-Agent: me", "Referer: http://x.test/", "X-Stays: 1")
    asked = origin.last()
    same((asked.get("User-Agent"), asked.get("Referer"), asked.get("X-Stays"), asked.get("X-Added")), ("nobody", None, "1", "from 127.0.0.1"), "request")
    same((answer.get("Server"), answer.get("X-Secret"), answer.get("X-Public"), answer.get("X-Told")), (None, None, "2", "yes"), "reply")
    proxy.get(origin.url("/odd"), "Referer: http://x.test/")
    same(origin.last().get("Referer"), "http://x.test/", "a rule with an acl")


@scenario("field.add-codes", "Codes in an added field cannot make a field of their own; filters reach partial and unchanged replies")
def _(lab):
    origin = lab.origin()
    origin.page("/p", "Server: apple", "ETag: \"1\"", "Cache-Control: max-age=60", body="0123456789")
    proxy = lab.proxy('request_header_add X-Path "%>rp" all\nrequest_header_add X-Agent "%{User-Agent}>h" all\nreply_header_access Server deny all')
    proxy.get(origin.url("/p?a%0d%0aX-Evil:%201"), "User-Agent: a\tb")
    check(not origin.last().has("X-Evil"), "no field of its own")
    contains(origin.last().get("X-Path"), "/p?a", "the path")
    proxy.get(origin.url("/p"))
    for field, status in (("Range: bytes=2-3", 206), ('If-None-Match: "1"', 304)):
        answer = proxy.get(origin.url("/p"), field)
        same((answer.status, answer.get("Server")), (status, None), field)


@scenario("field.access-all", "request_header_access All deny: only what is named passes; Other for unknown names")
def _(lab):
    origin = lab.origin()
    origin.page("/p")
    proxy = lab.proxy("request_header_access Host allow all\nrequest_header_access Accept allow all\nrequest_header_access All deny all")
    proxy.get(origin.url("/p"), "Accept: a/b", "User-Agent: me", "X-Own: 1")
    asked = origin.last()
    same((asked.get("Host"), asked.get("Accept"), asked.get("User-Agent"), asked.get("X-Own")), (origin.authority, "a/b", None, None), "All")
    proxy = lab.proxy("request_header_access Other deny all")
    proxy.get(origin.url("/p"), "Accept: a/b", "X-Own: 1")
    same((origin.last().get("Accept"), origin.last().get("X-Own")), ("a/b", None), "Other")


@scenario("field.proxy-authorization", "Proxy-Authorization is for us and stays here; Authorization passes")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/p")
    proxy.get(origin.url("/p"), "Proxy-Authorization: Basic eDp5", "Authorization: Basic dTpw")
    same((origin.last().get("Proxy-Authorization"), origin.last().get("Authorization")), (None, "Basic dTpw"), "at the origin")


@scenario("field.userinfo", "User and password in the URL become Authorization or are refused, and are not logged with the password")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/p")
    answer = proxy.get(f"http://user:secretpass@{origin.authority}/p")
    one_of(answer.status, (200, 400), "status")
    if answer.status == 200:
        lacks(origin.last().get("Host"), "@", "Host")
    time.sleep(0.2)
    lacks(proxy.read("access.log"), "secretpass", "the log")
