"""The native access log: one scenario for each kind of line, from the traffic that makes it."""
import re
import time

from lab import between, check, lacks, one_of, same, scenario
from origin import reply
from proxy import free_port

GROUP = "log"
FRESH = "Cache-Control: max-age=600"   # well above minimum_expiry_time, whatever second it is
TEXT = "Content-Type: text/plain"


def line_is(lab, proxy, parts, tag, status, method, url, hierarchy, peer, type, size=None):
    """The line that holds `parts`, field by field. size = what the client received, or None."""
    entry = proxy.entry(*parts)
    same((entry.tag, entry.status, entry.method, entry.url, entry.user), (tag, status, method, url, "-"), "tag, status, method, URL, user")
    same((entry.hierarchy, entry.peer, entry.type), (hierarchy, peer, type), "hierarchy, peer, type")
    same(entry.client, "127.0.0.1", "client")
    between(entry.time, time.time() - 30, time.time() + 1, "time")
    check(re.match(r"^\d{10}\.\d{3} [ \d]{6} 127\.0\.0\.1 ", entry.line), f"the columns of {entry.line!r}")
    if size is not None:
        same(entry.bytes, size, "bytes to the client")
    return entry


def size_of(reply_):
    """Bytes of a reply on the wire (not for chunked ones)."""
    return len(reply_.raw) + len(reply_.body)


def kind(name, title, config="", squid=None, hosts=""):
    """A scenario for one kind of line: the function gets lab, origin, proxy."""
    def register(function):
        def run(lab):
            origin = lab.origin()
            function(lab, origin, lab.proxy(config, hosts=hosts))
        run.__globals__["GROUP"] = GROUP
        return scenario(f"log.{name}", title, squid=squid)(run)
    return register


@kind("miss", "TCP_MISS/200 … HIER_DIRECT")
def _(lab, origin, proxy):
    origin.page("/p", FRESH, TEXT)
    answer = proxy.get(origin.url("/p"))
    line_is(lab, proxy, ("/p",), "TCP_MISS", "200", "GET", origin.url("/p"), "HIER_DIRECT", "127.0.0.1", "text/plain", size_of(answer))


@kind("mem-hit", "TCP_MEM_HIT/200 … HIER_NONE/-; the type without its parameters")
def _(lab, origin, proxy):
    origin.page("/p", FRESH, "Content-Type: text/html;charset=utf-8")
    proxy.get(origin.url("/p"))
    answer = proxy.get(origin.url("/p"))
    line_is(lab, proxy, ("_HIT",), "TCP_MEM_HIT", "200", "GET", origin.url("/p"), "HIER_NONE", "-", "text/html", size_of(answer))


@kind("mem-hit-206", "TCP_MEM_HIT/206")
def _(lab, origin, proxy):
    origin.page("/p", FRESH, TEXT)
    proxy.get(origin.url("/p"))
    answer = proxy.get(origin.url("/p"), "Range: bytes=0-1")
    line_is(lab, proxy, ("/206",), "TCP_MEM_HIT", "206", "GET", origin.url("/p"), "HIER_NONE", "-", "text/plain", size_of(answer))


@kind("inm-hit", "TCP_INM_HIT/304 and TCP_IMS_HIT/304")
def _(lab, origin, proxy):
    date = "Mon, 01 Jan 2024 00:00:00 GMT"
    origin.page("/p", FRESH, TEXT, 'ETag: "a"', f"Last-Modified: {date}")
    proxy.get(origin.url("/p"))
    answer = proxy.get(origin.url("/p"), 'If-None-Match: "a"')
    line_is(lab, proxy, ("INM",), "TCP_INM_HIT", "304", "GET", origin.url("/p"), "HIER_NONE", "-", "text/plain", size_of(answer))
    answer = proxy.get(origin.url("/p"), f"If-Modified-Since: {date}")
    line_is(lab, proxy, ("IMS",), "TCP_IMS_HIT", "304", "GET", origin.url("/p"), "HIER_NONE", "-", "text/plain", size_of(answer))


@kind("refresh-unmodified", "TCP_REFRESH_UNMODIFIED/200, and /304 for a client with the same validator")
def _(lab, origin, proxy):
    origin.script("/p", reply(200, "Cache-Control: max-age=0", TEXT, 'ETag: "a"', body="x"), reply(304, 'ETag: "a"', "Cache-Control: max-age=0"))
    proxy.get(origin.url("/p"))
    answer = proxy.get(origin.url("/p"))
    line_is(lab, proxy, ("REFRESH",), "TCP_REFRESH_UNMODIFIED", "200", "GET", origin.url("/p"), "HIER_DIRECT", "127.0.0.1", "text/plain", size_of(answer))


@kind("refresh-modified", "TCP_REFRESH_MODIFIED/200")
def _(lab, origin, proxy):
    origin.script("/p", reply(200, "Cache-Control: max-age=0", 'ETag: "a"', body="x"), reply(200, TEXT, 'ETag: "b"', body="y"))
    proxy.get(origin.url("/p"))
    answer = proxy.get(origin.url("/p"))
    line_is(lab, proxy, ("REFRESH",), "TCP_REFRESH_MODIFIED", "200", "GET", origin.url("/p"), "HIER_DIRECT", "127.0.0.1", "text/plain", size_of(answer))


@kind("refresh-fail-err", "TCP_REFRESH_FAIL_ERR/500")
def _(lab, origin, proxy):
    origin.script("/p", reply(200, "Cache-Control: max-age=0, must-revalidate", 'ETag: "a"', body="x"), reply(500, TEXT, body="broken"))
    proxy.get(origin.url("/p"))
    proxy.get(origin.url("/p"))
    line_is(lab, proxy, ("REFRESH",), "TCP_REFRESH_FAIL_ERR", "500", "GET", origin.url("/p"), "HIER_DIRECT", "127.0.0.1", "text/plain")


@kind("refresh-fail-old", "TCP_REFRESH_FAIL_OLD/200", squid="passes the error on")
def _(lab, origin, proxy):
    origin.script("/p", reply(200, "Cache-Control: max-age=1, stale-if-error=600", TEXT, 'ETag: "a"', body="x"), reply(500, body="broken"))
    proxy.get(origin.url("/p"))
    time.sleep(2.1)
    same(proxy.get(origin.url("/p")).text, "x", "the old reply")
    line_is(lab, proxy, ("REFRESH",), "TCP_REFRESH_FAIL_OLD", "200", "GET", origin.url("/p"), "HIER_DIRECT", "127.0.0.1", "text/plain")


@kind("negative-hit", "TCP_NEGATIVE_HIT/404", "negative_ttl 60 seconds")
def _(lab, origin, proxy):
    origin.page("/p", TEXT, status=404)
    proxy.get(origin.url("/p"))
    proxy.get(origin.url("/p"))
    line_is(lab, proxy, ("TCP_MISS",), "TCP_MISS", "404", "GET", origin.url("/p"), "HIER_DIRECT", "127.0.0.1", "text/plain")
    line_is(lab, proxy, ("NEGATIVE",), "TCP_NEGATIVE_HIT", "404", "GET", origin.url("/p"), "HIER_NONE", "-", "text/plain")


@kind("reload", "A client's reload of a stored object is a plain TCP_MISS (or TCP_CLIENT_REFRESH_MISS)")
def _(lab, origin, proxy):
    origin.page("/p", FRESH, TEXT)
    proxy.get(origin.url("/p"))
    proxy.get(origin.url("/p"), "Cache-Control: no-cache")
    lines = proxy.log_lines(2)
    one_of(lines[1].split()[3], ("TCP_MISS/200", "TCP_CLIENT_REFRESH_MISS/200"), "tag")


@kind("only-if-cached", "TCP_MISS/504 for only-if-cached")
def _(lab, origin, proxy):
    answer = proxy.get(origin.url("/p"), "Cache-Control: only-if-cached")
    line_is(lab, proxy, ("/p",), "TCP_MISS", "504", "GET", origin.url("/p"), "HIER_NONE", "-", "text/html", size_of(answer))


@kind("origin-statuses", "TCP_MISS with the origin's 302, 404, 501, 204")
def _(lab, origin, proxy):
    origin.page("/302", TEXT, "Location: /x", status=302)
    origin.page("/404", TEXT, status=404)
    origin.page("/501", TEXT, status=501)
    origin.page("/204", status=204)
    client = proxy.client()
    for status, method in ((302, "GET"), (404, "HEAD"), (501, "OPTIONS"), (204, "DELETE")):
        client.request(method, origin.url(f"/{status}"))
        line_is(lab, proxy, (f"/{status} ",), "TCP_MISS", str(status), method, origin.url(f"/{status}"), "HIER_DIRECT", "127.0.0.1", "-" if status == 204 else "text/plain")


@kind("denied", "TCP_DENIED/403", "acl no urlpath_regex ^/no\nhttp_access deny no\nhttp_access allow all")
def _(lab, origin, proxy):
    answer = proxy.get(origin.url("/no"))
    line_is(lab, proxy, ("/no",), "TCP_DENIED", "403", "GET", origin.url("/no"), "HIER_NONE", "-", "text/html", size_of(answer))


@kind("denied-302", "TCP_DENIED/302 (deny_info with a URL)",
      "acl no urlpath_regex ^/no\ndeny_info 302:http://help.test/ no\nhttp_access deny no\nhttp_access allow all")
def _(lab, origin, proxy):
    answer = proxy.get(origin.url("/no"))
    same((answer.status, answer.get("Location")), (302, "http://help.test/"), "the redirect")
    one_of(proxy.entry("/no").line.split()[3], ("TCP_DENIED/302",), "tag")


@kind("denied-reply", "TCP_DENIED_REPLY/403 (http_reply_access)", "acl text rep_mime_type ^text/plain\nhttp_reply_access deny text\nhttp_reply_access allow all")
def _(lab, origin, proxy):
    origin.page("/p", TEXT, body="not this")
    answer = proxy.get(origin.url("/p"))
    same(answer.status, 403, "status")
    lacks(answer.text, "not this", "the page")
    entry = proxy.entry("/p")
    same((entry.tag, entry.status, entry.hierarchy), ("TCP_DENIED_REPLY", "403", "HIER_DIRECT"), "line")


@kind("unknown-name", "TCP_MISS/502 or 503 for a name that does not resolve")
def _(lab, origin, proxy):
    dns = lab.dns()
    other = lab.proxy(f"dns_nameservers {dns.address}")
    answer = other.get("http://nosuch.test/", timeout=10)
    line_is(lab, other, ("nosuch",), "TCP_MISS", str(answer.status), "GET", "http://nosuch.test/", "HIER_NONE", "-", "text/html", size_of(answer))


@kind("refused", "TCP_MISS/503 … HIER_DIRECT/address for a refused connection", "connect_timeout 1 second\nforward_timeout 2 seconds")
def _(lab, origin, proxy):
    url = f"http://127.0.0.9:{free_port()}/refused"
    answer = proxy.get(url, timeout=10)
    line_is(lab, proxy, ("refused",), "TCP_MISS", "503", "GET", url, "HIER_DIRECT", "127.0.0.9", "text/html", size_of(answer))


@kind("timed-out", "TCP_MISS/504 for an origin that does not answer", "read_timeout 1 second")
def _(lab, origin, proxy):
    @origin.on("/slow")
    def _(x):
        time.sleep(4)
        x.close()
    proxy.get(origin.url("/slow"), timeout=8)
    entry = line_is(lab, proxy, ("/slow",), "TCP_MISS", "504", "GET", origin.url("/slow"), "HIER_DIRECT", "127.0.0.1", "text/html")
    between(entry.elapsed, 700, 5000, "elapsed milliseconds")


@kind("collapsed", "TCP_CF_MISS/200 or TCP_CF_HIT/200 … HIER_NONE for a follower", "collapsed_forwarding on")
def _(lab, origin, proxy):
    @origin.on("/p")
    def _(x):
        time.sleep(0.4)
        x.reply(200, FRESH, TEXT)
    lab.together(4, lambda i: proxy.get(origin.url("/p")))
    lines = proxy.log_lines(4)
    tags = sorted(line.split()[3] for line in lines)
    check("TCP_MISS/200" in tags and any(t.startswith("TCP_CF_") for t in tags), f"tags {tags}")
    follower = next(t for t in tags if "_CF_" in t).split("/")[0]
    one_of(follower, ("TCP_CF_MISS", "TCP_CF_HIT"), "a follower's tag")
    line_is(lab, proxy, (follower,), follower, "200", "GET", origin.url("/p"), "HIER_NONE", "-", "text/plain")


@kind("purge", "PURGE: TCP_MISS/200 and TCP_MISS/404", "acl purge method PURGE\nhttp_access allow purge\nhttp_access allow all")
def _(lab, origin, proxy):
    origin.page("/p", FRESH, TEXT)
    proxy.get(origin.url("/p"))
    for status in ("200", "404"):
        answer = proxy.ask("PURGE", origin.url("/p"))
        entry = proxy.entry("PURGE", f"TCP_MISS/{status}")
        same((entry.status, entry.bytes, entry.url, entry.hierarchy, entry.peer, entry.type), (status, size_of(answer), origin.url("/p"), "HIER_NONE", "-", "-"), "line")


@kind("aborted", "TCP_MISS_ABORTED/000 0 for a client that leaves before the reply")
def _(lab, origin, proxy):
    @origin.on("/slow")
    def _(x):
        time.sleep(2)
        x.reply(200)
    client = proxy.client()
    client.ask("GET", origin.url("/slow"))
    origin.wait_for(1)
    time.sleep(0.3)
    client.reset()
    entry = line_is(lab, proxy, ("ABORTED",), "TCP_MISS_ABORTED", "000", "GET", origin.url("/slow"), "HIER_DIRECT", "127.0.0.1", "-", 0)
    between(entry.elapsed, 200, 1500, "elapsed milliseconds")


@kind("aborted-midway", "TCP_MISS_ABORTED/200 for one that leaves midway")
def _(lab, origin, proxy):
    @origin.on("/slow")
    def _(x):
        x.head(200, "Content-Length: 1000000", TEXT)
        try:
            for _ in range(20):
                x.send(b"s" * 1000)
                time.sleep(0.1)
        except OSError:
            pass
        x.close()
    client = proxy.client()
    client.ask("GET", origin.url("/slow"))
    lab.eventually(lambda: client.stream.fill(time.monotonic() + 5), "the first bytes")
    client.reset()
    entry = proxy.entry("ABORTED")
    same((entry.tag, entry.status, entry.type), ("TCP_MISS_ABORTED", "200", "text/plain"), "line")


@kind("tunnel", "TCP_TUNNEL/200 and the denied, unresolved and refused CONNECT",
      "acl no port 22\nhttp_access deny CONNECT no\nhttp_access allow all\nconnect_timeout 1 second\nforward_timeout 2 seconds")
def _(lab, origin, proxy):
    origin.page("/p")
    with proxy.client() as client:
        client.request("CONNECT", origin.authority)
        client.get("/p", host=origin.authority)
    line_is(lab, proxy, ("TCP_TUNNEL",), "TCP_TUNNEL", "200", "CONNECT", origin.authority, "HIER_DIRECT", "127.0.0.1", "-")
    answer = proxy.ask("CONNECT", "127.0.0.1:22")
    line_is(lab, proxy, (":22",), "TCP_DENIED", "403", "CONNECT", "127.0.0.1:22", "HIER_NONE", "-", "text/html", size_of(answer))
    target = f"127.0.0.9:{free_port()}"
    proxy.ask("CONNECT", target, timeout=10)
    entry = proxy.entry(target)
    same((entry.tag, entry.status, entry.hierarchy, entry.peer), ("NONE_NONE", "503", "HIER_DIRECT", "127.0.0.9"), "a refused one")


@kind("invalid", "NONE_NONE/400 error:invalid-request")
def _(lab, origin, proxy):
    with proxy.client() as client:
        client.send("GARBAGE\r\n\r\n")
        answer = client.reply()
        line_is(lab, proxy, ("NONE_NONE",), "NONE_NONE", str(answer.status), "GARBAGE", "error:invalid-request", "HIER_NONE", "-", "text/html", size_of(answer))


@kind("too-large", "NONE_NONE/4xx error:request-too-large", "request_header_max_size 8 KB")
def _(lab, origin, proxy):
    with proxy.client() as client:
        client.send("GET http://x.test/ HTTP/1.1\r\nX-Long: " + "v" * 20_000)
        answer = client.reply()
    one_of(answer.status, (400, 414, 431), "status")
    entry = proxy.entry("NONE_NONE")
    same((entry.url, entry.hierarchy), ("error:request-too-large", "HIER_NONE"), "line")


@kind("no-request", "NONE_NONE/000 0 - error:transaction-end-before-headers for a connection without a request")
def _(lab, origin, proxy):
    with proxy.client():
        pass
    line_is(lab, proxy, ("error:",), "NONE_NONE", "000", "-", "error:transaction-end-before-headers", "HIER_NONE", "-", "-", 0)


@kind("trace", "NONE_NONE/200 … message/http for TRACE answered here")
def _(lab, origin, proxy):
    answer = proxy.ask("TRACE", origin.url("/"), "Max-Forwards: 0")
    line_is(lab, proxy, ("TRACE",), "NONE_NONE", "200", "TRACE", origin.url("/"), "HIER_NONE", "-", "message/http", size_of(answer))


@kind("manager", "TCP_MISS/200 for a manager page; a denied one TCP_DENIED/403",
      "acl me src 127.0.0.1\nhttp_access allow manager me\nhttp_access deny manager\nhttp_access allow all")
def _(lab, origin, proxy):
    proxy.get("cache_object://localhost/menu", version="1.0", host="")
    entry = proxy.entry("/menu")
    same((entry.tag, entry.status, entry.url, entry.hierarchy, entry.type), ("TCP_MISS", "200", "cache_object://localhost/menu", "HIER_NONE", "text/plain"), "line")
    proxy.get("cache_object://localhost/info", version="1.0", host="", source="127.0.0.5")
    entry = proxy.entry("/info")
    same((entry.tag, entry.status, entry.client), ("TCP_DENIED", "403", "127.0.0.5"), "a denied one")


@scenario("log.parents", "FIRSTUP_PARENT, ROUNDROBIN_PARENT, DEFAULT_PARENT … / address")
def _(lab):
    origin = lab.origin()
    origin.page("/p", TEXT)
    for options, codes in (("", ("FIRSTUP_PARENT",)), ("round-robin", ("ROUNDROBIN_PARENT",)), ("default", ("FIRSTUP_PARENT", "DEFAULT_PARENT", "ANY_OLD_PARENT"))):
        proxy = lab.accelerator(origin, peer_options=options)
        proxy.get("/p", host="site.test")
        entry = proxy.entry("/p")
        one_of(entry.hierarchy, codes, options or "plain")
        same((entry.peer, entry.url), ("127.0.0.1", "http://site.test/p"), "peer and URL")


@kind("keep-alive", "Several requests on one connection: a line each, elapsed counts from the request")
def _(lab, origin, proxy):
    @origin.on("/p")
    def _(x):
        time.sleep(0.2)
        x.reply(200)
    with proxy.client() as client:
        for i in range(3):
            client.get(origin.url(f"/p?{i}"))
            time.sleep(0.4)
    lines = proxy.log_lines(3)
    same(len(lines), 3, "lines")
    for line in lines:
        between(int(line.split()[1]), 150, 380, "elapsed milliseconds")


@kind("chunked-size", "Bytes of a chunked reply are what went over the wire")
def _(lab, origin, proxy):
    @origin.on("/p")
    def _(x):
        x.head(200, TEXT, "Transfer-Encoding: chunked")
        x.chunk("x" * 1000)
        x.last_chunk()
    with proxy.client() as client:
        client.ask("GET", origin.url("/p"), "Connection: close")
        whole = client.rest()
    same(proxy.entry("/p").bytes, len(whole), "bytes to the client")


@kind("old-client", "HTTP/1.0 and IPv6 clients, another address")
def _(lab, origin, proxy):
    origin.page("/p")
    proxy.get(origin.url("/p"), version="1.0", source="127.9.8.7")
    same(proxy.entry("/p").client, "127.9.8.7", "client")
