"""mgr:explain: what would become of a request, and why; it changes and counts nothing."""
import re
import time
from urllib.parse import quote

from disk_lab import ALWAYS_FROM_DISK, cache_dir, settled
from lab import between, check, contains, lacks, same, scenario
from origin import http_date
from reasons import page

GROUP = "manager"
SQUID = "has no such page"
LONG = "Cache-Control: max-age=600"


def query(url, method=None, headers=(), **more):
    parts = ["url=" + quote(url, safe="")] + ["header=" + quote(h, safe="") for h in headers]
    return "explain?" + "&".join(parts + ([f"method={method}"] if method else []) + [f"{k}={quote(str(v), safe='')}" for k, v in more.items()])


def explain(proxy, url, method=None, headers=(), status=200, **more):
    """The page as [(label, text)], and its text."""
    answer = proxy.get("/squid-internal-mgr/" + query(url, method, headers, **more), host=f"127.0.0.1:{proxy.port}")
    same(answer.status, status, f"status of {url} {more}: {answer.text}")
    same(answer.get("Content-Type"), "text/plain;charset=utf-8", "type")
    rows = [(line[:16].strip().rstrip(":"), line[16:]) for line in answer.text.splitlines()]
    return Page(rows, answer.text)


class Page:
    def __init__(self, rows, text):
        self.rows, self.text = rows, text

    def all(self, label):
        return [text for name, text in self.rows if name == label]

    def one(self, label, pattern):
        """The one line of that label matches."""
        found = self.all(label)
        check(len(found) == 1 and re.fullmatch(pattern, found[0]), f"{label}: {found}, expected {pattern} in\n{self.text}")
        return re.fullmatch(pattern, found[0])

    def none(self, label):
        same(self.all(label), [], label)


def places(id, title):
    def register(function):
        for place in ("memory", "disk"):
            def run(lab, place=place):
                store = cache_dir(lab) + ALWAYS_FROM_DISK if place == "disk" else ""
                function(lab, place, store)
            scenario(f"explain.{id}-{place}", f"{title} ({place})", squid=SQUID)(run)
    return register


def kept(lab, proxy, place):
    if place == "disk":
        settled(lab, proxy)


@places("hit", "A stored page: key, place, validators, the arithmetic of freshness, until when, a hit")
def _(lab, place, store):
    origin, proxy = lab.origin(), lab.proxy(store)
    origin.page("/p", LONG, 'ETag: "a"', "Last-Modified: " + http_date(-5000), "Age: 50", body="12345")
    proxy.get(origin.url("/p"))
    kept(lab, proxy, place)
    got = explain(proxy, origin.url("/p"))
    got.one("Request", "GET " + re.escape(origin.url("/p")))
    got.one("Port", rf"\S+ \(forward, \S+proxy\.conf:\d+\), chosen by the URL")
    got.one("URL", re.escape(origin.url("/p")))
    got.one("http_access", r"allowed by \S+proxy\.conf:\d+ \(allow all\)")
    got.one("cache", "allowed: there is no such line")
    got.one("Key", "[0-9A-F]{32}")
    got.one("Stored", rf"{place}, 5 bytes: selected")
    got.one("Status", "200")
    got.one("ETag", '"a"')
    got.one("Last-Modified", ".* GMT")
    got.one("Cache-Control", "max-age=600")
    got.one("Lifetime", "600 s: max-age")
    age = got.one("Age", r"(\d+) s = (\d+) s when it came \(.* GMT\) \+ (\d+) s here")
    between(int(age[1]), 50, 53, "age")
    left = got.one("Fresh until", r".* GMT: 600 s - (\d+) s = (\d+) s left")
    same(int(left[1]) + int(left[2]), 600, "what is left")
    got.one("Outcome", "a hit")
    got.none("Reason")
    got.none("Path")
    got.one("Answer", f"200 from {place}")
    explain(proxy, origin.url("/p"), headers=['If-None-Match: "a"']).one("Answer", f"304 from {place}")
    wants = explain(proxy, origin.url("/p"), headers=["Cache-Control: no-cache"])
    wants.one("Outcome", "fetched anew")
    wants.one("Reason", r"request\.no-cache: .*")
    wants = explain(proxy, origin.url("/p"), headers=["Cache-Control: max-age=0"])
    wants.one("Outcome", "validated with the server")
    same(wants.all("Asks")[0], 'If-None-Match: "a"', "the validator")


@places("no-trace", "It leaves no trace: counters, reasons, uses, the store and the origin are as before")
def _(lab, place, store):
    origin, proxy = lab.origin(), lab.proxy(store)
    origin.page("/p", LONG)
    proxy.get(origin.url("/p"))
    kept(lab, proxy, place)

    def state():
        counters = proxy.counters()
        told = {name: counters[name] for name in ("client_http.hits", "client_http.errors", "server.all.requests", "swap.ins", "swap.outs")}
        disk = "" if place == "memory" else "\n".join(re.findall(r"^.*(?:finds|found|found_now|reads|pool_reads)\b.*$", proxy.manager("store_io"), re.M))
        return told, page(proxy), disk
    uses = re.findall(r"\d+ refs", proxy.manager("objects"))
    before = state()
    for _ in range(5):
        explain(proxy, origin.url("/p")).one("Outcome", "a hit")
        explain(proxy, origin.url("/other")).one("Reason", r"miss\.absent: .*")
    after = state()
    for was, now, what in zip(before, after, ("counters", "reasons", "store_io")):
        same(now, was, what)
    same(re.findall(r"\d+ refs", proxy.manager("objects")), uses, "uses")
    same(len(origin.requests()), 1, "requests at the origin")


@places("stale", "A stale page: since when, why, what is asked of whom; served stale where the client allows")
def _(lab, place, store):
    origin, proxy = lab.origin(), lab.proxy(store)
    origin.page("/p", "Cache-Control: max-age=1, stale-if-error=70", 'ETag: "a"')
    origin.page("/must", "Cache-Control: s-maxage=1", 'ETag: "a"')
    for path in ("/p", "/must"):
        proxy.get(origin.url(path))
    kept(lab, proxy, place)
    time.sleep(2.1)
    got = explain(proxy, origin.url("/p"))
    got.one("Fresh until", r".* GMT: 1 s - \d+ s = over since \d+ s")
    got.one("Once stale", "stale-if-error 70 s")
    got.one("Outcome", "validated with the server")
    got.one("Reason", r"stale\.expired: .*")
    got.one("Asks", 'If-None-Match: "a"')
    got.one("Path", rf"first HIER_DIRECT 127\.0\.0\.1:{origin.port}")
    got.one("Reply", "stored where what it says allows it")
    got = explain(proxy, origin.url("/p"), headers=["Cache-Control: max-stale"])
    got.one("Outcome", "a hit, stale")
    got.one("Reason", r"served-stale\.max-stale: .*")
    got = explain(proxy, origin.url("/must"), headers=["Cache-Control: max-stale"])
    got.one("Lifetime", "1 s: s-maxage")
    got.one("Reason", r"stale\.must-revalidate: .*")
    got.one("Once stale", "never served stale .*")
    got = explain(proxy, origin.url("/p"), headers=["Cache-Control: only-if-cached"])
    got.one("Answer", "504: .*")


@places("vary", "Variants: which one is selected, by which values; a request that none is for")
def _(lab, place, store):
    origin, proxy = lab.origin(), lab.proxy(store)
    origin.page("/p", LONG, "Vary: X-Kind")
    for kind in ("red", "blue"):
        proxy.get(origin.url("/p"), f"X-Kind: {kind}")
    kept(lab, proxy, place)
    got = explain(proxy, origin.url("/p"), headers=["X-Kind: red"])
    same(len(got.all("Stored")), 2, f"variants in {got.text}")
    same(sorted(": selected; Vary x-kind" in line for line in got.all("Stored")), [False, True], got.text)
    contains("\n".join(got.all("Stored")), 'not selected; Vary x-kind: it is for "x-kind: blue", this request has "x-kind: red"', "the other")
    got.one("Vary", "X-Kind")
    got.one("Outcome", "a hit")
    got = explain(proxy, origin.url("/p"), headers=["X-Kind: green"])
    got.one("Outcome", "a miss")
    got.one("Reason", r"miss\.variant: .*")
    got.none("Status")


@scenario("explain.lifetimes", "Which rule gives the lifetime: Expires, the heuristic of a refresh_pattern line, its minimum, override-expire", squid=SQUID)
def _(lab):
    origin = lab.origin()
    proxy = lab.proxy("refresh_pattern /min 5 20% 4320\nrefresh_pattern /over 10 20% 4320 override-expire\nrefresh_pattern . 0 50% 4320")
    date = http_date()
    origin.page("/expires", f"Date: {date}", "Expires: " + http_date(300))
    origin.page("/guess", f"Date: {date}", "Last-Modified: " + http_date(-2000))
    origin.page("/min", 'ETag: "a"')
    origin.page("/over", "Cache-Control: max-age=1")
    for path in ("/expires", "/guess", "/min", "/over"):
        proxy.get(origin.url(path))
    got = explain(proxy, origin.url("/expires"))
    got.one("Lifetime", r"(299|300|301) s: Expires - Date \(.* GMT - .* GMT\)")
    got = explain(proxy, origin.url("/guess"))
    got.one("Lifetime", r"(999|1000|1001) s: it says nothing itself: 50 % of Date - Last-Modified \((1999|2000|2001) s\), at most 259200 s")
    got.one("refresh_pattern", r"\S+proxy\.conf:\d+ \(\. 0 50% 4320\)")
    explain(proxy, origin.url("/min")).one("Lifetime", "300 s: it says nothing itself: the minimum of refresh_pattern, 300 s")
    got = explain(proxy, origin.url("/over"))
    got.one("Lifetime", r"600 s: max-age, at least 600 s \(override-expire\)")
    got.one("refresh_pattern", r"\S+proxy\.conf:\d+ \(/over 10 20% 4320 override-expire\)")


@scenario("explain.rules", "The rules that decide, by file and line: http_access, cache, send_hit, store_miss, miss_access, paths", squid=SQUID)
def _(lab):
    origin = lab.origin()
    for path in ("/p", "/nohit"):
        origin.page(path, LONG)
    proxy = lab.proxy("acl denied urlpath_regex ^/denied\nacl far src 10.0.0.0/8\nacl nocache urlpath_regex ^/nocache\nacl nohit urlpath_regex ^/nohit\nacl nostore urlpath_regex ^/nostore\n"
                      "acl nomiss urlpath_regex ^/nomiss\nacl nopath urlpath_regex ^/nopath\nacl purge method PURGE\nhttp_access deny denied\nhttp_access deny far\nhttp_access allow all\ncache deny nocache\n"
                      f"send_hit deny nohit\nstore_miss deny nostore\nmiss_access deny nomiss\nnever_direct allow nopath\ncache_peer 127.0.0.1 parent {origin.port} 0 no-query no-digest name=up\n"
                      "cache_peer_access up deny nopath\ncache_peer_access up allow all")
    line = {text: number for number, text in enumerate(proxy.config.splitlines(), 1)}

    def by(text):
        return rf"denied by \S+proxy\.conf:{line[text]} \({text.split(' ', 1)[1]}\)"
    got = explain(proxy, origin.url("/denied"))
    got.one("http_access", by("http_access deny denied"))
    got.one("Answer", "403.*denied")
    got.none("Key")
    got = explain(proxy, origin.url("/p"), client="10.1.2.3")
    got.one("Client", r"10\.1\.2\.3")
    got.one("http_access", by("http_access deny far"))
    got = explain(proxy, origin.url("/nocache"))
    got.one("cache", by("cache deny nocache"))
    got.one("Reason", r"bypass\.cache-rule: .*")
    got.one("Reply", r"not-stored\.cache-rule: .*")
    proxy.get(origin.url("/nohit"))
    got = explain(proxy, origin.url("/nohit"))
    got.one("send_hit", by("send_hit deny nohit"))
    got.one("Reason", r"bypass\.send-hit-rule: .*")
    got = explain(proxy, origin.url("/nostore"))
    got.one("store_miss", by("store_miss deny nostore"))
    got.one("Reply", r"not-stored\.store-miss-rule: .*")
    same(got.all("Path")[0], f"first FIRSTUP_PARENT up (127.0.0.1:{origin.port})", "the first path")
    got = explain(proxy, origin.url("/nomiss"))
    got.one("miss_access", by("miss_access deny nomiss"))
    got.one("Answer", "403: .*")
    explain(proxy, origin.url("/nopath")).one("Answer", "503: .*")
    got = explain(proxy, origin.url("/p"), method="POST")
    got.one("Reason", r"bypass\.method: .*")
    explain(proxy, origin.url("/p"), headers=["Cache-Control: no-store"]).one("Reply", r"not-stored\.request-no-store: .*")
    explain(proxy, "some.test:443", method="CONNECT").one("Answer", "a tunnel.*")
    same(len(origin.requests()), 1, "requests at the origin")


@scenario("explain.names", "Rules that need a name's addresses: said, and nobody is asked", squid=SQUID)
def _(lab):
    dns = lab.dns()
    dns.add("site.test", "127.0.0.1")
    proxy = lab.proxy(f"dns_nameservers {dns.address}\nacl there dst 127.0.0.0/8\nhttp_access allow manager\nhttp_access deny there\nhttp_access allow all")
    got = explain(proxy, "http://site.test/")
    contains("\n".join(got.all("Note")), "http_access asks for the addresses of the host", "the note")
    explain(proxy, "http://127.0.0.1:9/").one("http_access", r"denied by .* \(deny there\)")


@scenario("explain.round-robin", "A look is no turn of a round", squid=SQUID)
def _(lab):
    first, second = lab.origin(), lab.origin(name="second")
    peers = "".join(f"cache_peer 127.0.0.1 parent {o.port} 0 no-query no-digest round-robin name=p{i}\n" for i, o in enumerate((first, second)))
    proxy = lab.proxy(peers + "never_direct allow all")
    for _ in range(4):
        same(explain(proxy, "http://site.test/").all("Path")[0][:28], "first ROUNDROBIN_PARENT p0 (", "the first path")


@scenario("explain.accelerator", "On an accelerator's port: by number, by a path; the site, Surrogate-Control, the URL that is the key", squid=SQUID)
def _(lab):
    origin = lab.origin()
    origin.page("/p", "Cache-Control: no-store", 'Surrogate-Control: max-age=300')
    proxy = lab.accelerator(origin)
    same(proxy.get("/p", host="site.test").status, 200, "status")
    got = explain(proxy, "/p", headers=["Host: site.test"])
    got.one("Port", r"\S+ \(accel, .*")
    got.one("URL", "http://site.test/p")
    got.one("Lifetime", "300 s: max-age")
    got.one("Outcome", "a hit")
    explain(proxy, "/p", headers=["Host: site.test"], port=proxy.port).one("Port", r"\S+ \(accel, [^)]*\)")
    contains(explain(proxy, "/p", port=9, status=400).text, "no listening port 9", "another port")


@scenario("explain.purges", "What a purge has taken, or made stale, is told; the ban is named", squid=SQUID)
def _(lab):
    origin = lab.origin()
    origin.page("/soft", LONG)
    proxy = lab.proxy("acl purge method PURGE\nhttp_access allow purge\nhttp_access allow all")
    proxy.get(origin.url("/soft"))
    same(proxy.ask("PURGE", origin.url("/soft"), "Soft-Purge: 1").status, 200, "PURGE")
    got = explain(proxy, origin.url("/soft"))
    contains("\n".join(text for name, text in got.rows), "ended by a soft purge", "the lifetime")
    got.one("Reason", r"stale\.purged: .*")


@scenario("explain.errors", "Errors are explained, escaped and bounded; both spellings; a password; usage", squid=SQUID)
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()

    def ask(text, status):
        answer = proxy.get("/squid-internal-mgr/" + text, host=f"127.0.0.1:{proxy.port}")
        same(answer.status, status, f"status of {text[:80]}")
        return answer.text
    contains(ask("explain", 200), "explain?url=URL", "usage")
    for text, why in (("explain?method=GET", "url= is missing"), ("explain?url=http://a/&url=http://b/", "twice"), ("explain?url=http://a/%zz", "%"), ("explain?url", "name=value"),
                      ("explain?url=http://a/&colour=red", "the names are"), ("explain?url=http://a/&port=0", "port="), ("explain?url=http://a/&port=99999", "port="),
                      ("explain?url=http://a/&client=me", "client="), ("explain?url=http://a/&header=A:%20b%0d%0aX:%20y", "control"), ("explain?url=http://a/&header=no%20colon", "no request"),
                      ("explain?url=http://a/&method=G%20ET", "no request"), ("explain?url=http://a/%00", "control"),
                      ("explain?url=http://a/" + "".join(f"&header=A:{i}" for i in range(65)), "more than 64"), ("explain?url=http://a/" + "x" * 17000, "longer")):
        contains(ask(text, 400), why, text[:80])
    contains(ask("explain?url=ftp://a/", 200), "501", "a scheme")
    contains(ask("explain?url=/p", 200), "400", "a path on a forward port")
    # Both spellings, through a raw request of the old one.
    with proxy.client() as client:
        client.send(f"GET cache_object://127.0.0.1/{query(origin.url('/p'))} HTTP/1.0\r\n\r\n")
        contains(client.reply().text, "miss.absent", "the old spelling")
    lacks(ask(query(origin.url("/p"), headers=["X: \x80\xff<script>"]), 200), "\x00", "the page")
    contains(proxy.manager("menu"), " explain", "the menu")
    guarded = lab.proxy("cachemgr_passwd secret explain")
    same(guarded.get("/squid-internal-mgr/explain?url=http://a/", host=f"127.0.0.1:{guarded.port}").status, 401, "without the password")
    with guarded.client() as client:
        client.send("GET cache_object://127.0.0.1/explain@secret?url=http://a/ HTTP/1.0\r\n\r\n")
        contains(client.reply().text, "miss.absent", "with the password")
