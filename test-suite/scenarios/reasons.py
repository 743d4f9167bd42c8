"""Why: each reason of src/http/cache_reason.h made by real traffic, and told alike by the access log (%loligo::reason), by
Cache-Status and by mgr:reasons, which counts it exactly once."""
import re
import time

from disk_lab import ALWAYS_FROM_DISK, cache_dir, settled
from lab import check, contains, same, scenario
from origin import http_date, reply

GROUP = "log"
SQUID = "tells no reasons"
LONG = "Cache-Control: max-age=600"


def page(proxy):
    """mgr:reasons as {word: count}."""
    lines = proxy.manager("reasons").splitlines()
    check(re.fullmatch(r"Family +Reason +Count +Meaning", lines[0]), f"the first line: {lines[0]!r}")
    rows = [re.fullmatch(r"(\S+) +(\1\.\S+) +(\d+) (\S.*)", line) for line in lines[1:]]
    check(all(rows), f"rows: {[line for line, row in zip(lines[1:], rows) if not row]}")
    return {row[2]: int(row[3]) for row in rows}


class Teller:
    """A proxy whose every answer is held against the three places that tell why."""

    def __init__(self, lab, config="", **more):
        self.lab, self.origin = lab, lab.origin()
        self.proxy = lab.proxy(f"logformat why %rm %ru %>Hs [%loligo::reason]\naccess_log stdio:{lab.folder}/proxy/why.log why\n" + config, **more)
        self.counts, self.expected = page(self.proxy), []

    def logged(self):
        """The log tells of all requests so far, one after the other. (It is written about once a second.)"""
        def lines():
            return [line for line in self.proxy.log("why.log") if not re.search("^PURGE|squid-internal-mgr|cache_object", line)]
        self.lab.eventually(lambda: len(lines()) >= len(self.expected), "all log lines")
        for line, (what, words) in zip(lines(), self.expected):
            contains(line, f" [{','.join(words) or '-'}]", what)

    def tell(self, path, *fields, words=(), status=200, said=None, method="GET", body=b""):
        """One request. `words`: all of its reasons; `said`: the beginning of Cache-Status behind our name, None = there is none."""
        what = f"{method} {path} {fields}"
        self.expected.append((what, words))
        answer = self.proxy.ask(method, self.origin.url(path), *fields, **({"body": body} if body else {}))
        same(answer.status, status, f"{what}: status")
        self.status_tells(answer, words, said, what)
        self.counted({word: 1 for word in words}, what)
        return answer

    def status_tells(self, answer, words, said, what):
        value = answer.get("Cache-Status")
        if said is None:
            same(value, None, f"{what}: Cache-Status")
            return
        detail = f";detail={'+'.join(words)}" if words else ""
        check(re.fullmatch(rf"proxy\.test;{said}{re.escape(detail)}", value or ""), f"{what}: Cache-Status is {value!r}, expected {said} and {detail}")

    def counted(self, wanted, what):
        """What mgr:reasons has counted since the last look."""
        def news():
            now = page(self.proxy)
            return {word: now[word] - self.counts[word] for word in now if now[word] != self.counts[word]}
        try:
            self.lab.eventually(lambda: news() == wanted, what, timeout=2)
        except AssertionError:
            same(news(), wanted, f"{what}: mgr:reasons")
        self.counts = page(self.proxy)


MISS = r"fwd=uri-miss;fwd-status=\d+"
KEPT = MISS + r";stored;ttl=-?\d+"


@scenario("reason.lookups", "Why a request was no hit: each reason in log, Cache-Status and mgr:reasons", squid=SQUID)
def _(lab):
    t = Teller(lab, "acl rule urlpath_regex ^/rule\ncache deny rule\nacl nohit urlpath_regex ^/nohit\nsend_hit deny nohit\nrefresh_pattern /ims 0 20% 4320 refresh-ims\nrefresh_pattern . 0 20% 4320\n"
               "acl purge method PURGE\nhttp_access allow purge\nhttp_access allow all")
    o = t.origin
    o.page("/p", LONG, 'ETag: "a"')
    t.tell("/p", words=["miss.absent"], said=KEPT)
    t.tell("/p", said=r"hit;ttl=(600|59\d)")
    t.tell("/p", 'If-None-Match: "a"', status=304, said=r"hit;ttl=(600|59\d)")
    t.tell("/p", method="HEAD", said=r"hit;ttl=(600|59\d)")
    forward = r"fwd=request;fwd-status=200;stored;ttl=(600|59\d)"
    t.tell("/p", "Cache-Control: no-cache", words=["request.no-cache"], said=forward)
    t.tell("/p", "Cache-Control: no-cache", "Pragma: no-cache", words=["request.no-cache"], said=forward)
    t.tell("/p", "Pragma: no-cache", words=["request.pragma"], said=forward)
    t.tell("/p", "Cache-Control: max-age=0", words=["request.max-age"], said=forward)
    t.tell("/p", "Cache-Control: min-fresh=9999", words=["request.min-fresh"], said=forward)
    o.page("/ims", LONG, "Last-Modified: " + http_date(-9000))
    t.tell("/ims", words=["miss.absent"], said=KEPT)
    t.tell("/ims", "If-Modified-Since: " + http_date(-100), words=["request.if-modified-since"], said=r"fwd=request;fwd-status=200;stored;ttl=\d+")
    o.page("/vary", LONG, "Vary: X-Kind")
    t.tell("/vary", "X-Kind: 1", words=["miss.absent"], said=KEPT)
    t.tell("/vary", "X-Kind: 2", words=["miss.variant"], said=r"fwd=vary-miss;fwd-status=200;stored;ttl=\d+")
    o.page("/rule", LONG)
    t.tell("/rule", words=["bypass.cache-rule", "not-stored.cache-rule"], said="fwd=bypass;fwd-status=200")
    o.page("/nohit", LONG)
    t.tell("/nohit", words=["miss.absent"], said=KEPT)
    t.tell("/nohit", words=["bypass.send-hit-rule"], said=r"fwd=bypass;fwd-status=200;stored;ttl=\d+")
    t.tell("/p", method="POST", body="x", words=["bypass.method", "not-stored.method"], said="fwd=method;fwd-status=200")
    t.tell("/p", method="DELETE", words=["bypass.method", "not-stored.method"], said="fwd=method;fwd-status=200")
    t.tell("/p", method="GET", body="x", words=["bypass.request-body", "not-stored.request-body"], said="fwd=bypass;fwd-status=200")
    t.tell("/p", words=["miss.absent"], said=KEPT)
    t.proxy.ask("PURGE", o.url("/any"), "X-Ban-Url: /p$")
    t.logged()
    answer = t.proxy.get(o.url("/p"))
    check(re.search(r"detail=miss\.(purged|absent)$", answer.get("Cache-Status")), answer.get("Cache-Status"))   # the thread that looks through all may have been there before


@scenario("reason.stale", "Why a stale reply was validated, or served all the same", squid=SQUID)
def _(lab):
    t = Teller(lab, "refresh_pattern . 0 20% 4320 max-stale=1\nacl purge method PURGE\nhttp_access allow purge\nhttp_access allow all")
    o = t.origin
    stale = r"fwd=stale;fwd-status=304;stored;ttl=-?\d+"
    for path, control in (("/old", "max-age=0"), ("/must", "max-age=0, must-revalidate"), ("/shared", "s-maxage=0"), ("/no-cache", "max-age=600, no-cache"),
                          ("/swr", "max-age=0, stale-while-revalidate=600"), ("/soft", "max-age=600")):
        page_of(o, path, control)
        t.tell(path, words=["miss.absent"], said=KEPT)
    t.tell("/old", words=["stale.expired"], said=stale)
    t.tell("/old", "Cache-Control: no-cache", words=["stale.expired"], said=r"fwd=stale;fwd-status=200;stored;ttl=0")
    t.tell("/must", words=["stale.expired"], said=stale)
    t.tell("/must", "Cache-Control: max-stale", words=["stale.must-revalidate"], said=stale)
    t.tell("/shared", "Cache-Control: max-stale", words=["stale.must-revalidate"], said=stale)
    t.tell("/no-cache", words=["stale.no-cache"], said=stale)
    t.tell("/old", "Cache-Control: max-stale", words=["served-stale.max-stale"], said=r"hit;ttl=-?\d+")
    time.sleep(2.1)
    t.tell("/old", "Cache-Control: max-stale=1", words=["stale.max-stale"], said=stale)
    t.tell("/swr", words=["served-stale.while-revalidate"], said=r"hit;ttl=-\d+")
    same(t.proxy.ask("PURGE", o.url("/soft"), "Soft-Purge: 1").status, 200, "PURGE")
    t.tell("/soft", words=["stale.purged"], said=stale)
    # The server fails.
    for path in ("/old", "/must", "/shared", "/no-cache"):
        o.on(path)(lambda x: x.reply(503))
    failed = r"fwd=stale;fwd-status=503"
    t.tell("/old", words=["stale.expired", "served-stale.if-error"], said=failed + r";stored;ttl=-?\d+")
    t.tell("/must", words=["stale.expired", "not-served.must-revalidate", "not-stored.negative"], said=failed, status=503)
    t.tell("/no-cache", words=["stale.no-cache", "not-served.no-cache", "not-stored.negative"], said=failed, status=503)
    t.tell("/old", "Cache-Control: no-cache", words=["stale.expired", "not-stored.negative"], said=failed, status=503)
    time.sleep(2.1)
    t.tell("/old", words=["stale.expired", "not-served.too-stale", "not-stored.negative"], said=failed, status=503)
    o.on("/old")(lambda x: x.reset())
    t.tell("/old", words=["stale.expired", "not-served.too-stale"], status=502)
    t.logged()


def page_of(origin, path, control):
    """A page that knows its validator."""
    def answer(x):
        if "If-None-Match" in x.request.fields:
            x.reply(304, f"Cache-Control: {control}", 'ETag: "1"')
        else:
            x.reply(200, f"Cache-Control: {control}", 'ETag: "1"', body="page")
    origin.on(path)(answer)


@scenario("reason.reload", "A reload that the server fails does not get the old copy, where it was validated (reload_into_ims)", squid=SQUID)
def _(lab):
    t = Teller(lab, "reload_into_ims on")
    page_of(t.origin, "/p", "max-age=600")
    t.tell("/p", words=["miss.absent"], said=KEPT)
    t.origin.on("/p")(lambda x: x.reply(503))
    t.tell("/p", "Cache-Control: no-cache", words=["request.no-cache", "not-served.reload", "not-stored.negative"], said="fwd=request;fwd-status=503", status=503)
    t.logged()


@scenario("reason.offline", "offline_mode serves what is stale, and says so", squid=SQUID)
def _(lab):
    t = Teller(lab, "offline_mode on")
    page_of(t.origin, "/p", "max-age=0")
    t.tell("/p", words=["miss.absent"], said=KEPT)
    t.tell("/p", words=["served-stale.offline"], said=r"hit;ttl=-?\d+")
    t.logged()


NOT_STORED = (
    ("/private", (LONG + ", private",), 200, "private"),
    ("/no-store", (LONG + ", no-store",), 200, "no-store"),
    ("/star", (LONG, "Vary: *"), 200, "vary-star"),
    ("/nothing", (), 200, "no-lifetime-or-validator"),
    ("/short", ("Cache-Control: max-age=5",), 200, "no-lifetime-or-validator"),
    ("/part", (LONG, "Content-Range: bytes 0-4/9"), 206, "partial-content"),
    ("/beyond", (LONG, "Content-Range: bytes */9"), 416, "range-not-satisfiable"),
    ("/proxy", (LONG,), 407, "status"),
    ("/error", (), 500, "negative"),
    ("/cookie", (LONG, "Set-Cookie: a=1"), 200, "set-cookie"),
    ("/nostore", (LONG,), 200, "store-miss-rule"),
)


@scenario("reason.not-stored", "Why a reply was not stored, by what it says and by the rules", squid=SQUID)
def _(lab):
    t = Teller(lab, "stored_set_cookie no-store\nacl nostore urlpath_regex ^/nostore\nstore_miss deny nostore\nminimum_object_size 3 bytes\n"
               "maximum_object_size 9 KB\nmaximum_object_size_in_memory 9 KB")
    o = t.origin
    for path, fields, status, why in NOT_STORED:
        o.page(path, *fields, body="12345", status=status)
        t.tell(path, words=["miss.absent", "not-stored." + why], status=status, said=rf"fwd=uri-miss;fwd-status={status}")
    o.page("/p", LONG)
    t.tell("/p", "Cache-Control: no-store", words=["miss.absent", "not-stored.request-no-store"], said=MISS)
    t.tell("/p", "Authorization: Basic eDp5", words=["miss.absent", "not-stored.authorization"], said=MISS)
    t.tell("/p", method="HEAD", words=["miss.absent", "not-stored.method"], said=MISS)
    o.page("/large", LONG, body=b"x" * 10_000)
    t.tell("/large", words=["miss.absent", "not-stored.too-large"], said=MISS)
    o.page("/tiny", LONG, body=b"x")
    t.tell("/tiny", words=["miss.absent", "not-stored.too-small"], said=MISS)
    t.logged()


@scenario("reason.not-kept", "A reply that was to be stored and did not stay: it grew, was too little, broke off, was given up", squid=SQUID)
def _(lab):
    t = Teller(lab, "minimum_object_size 3 bytes\nmaximum_object_size_in_memory 9 KB\nquick_abort_min 0 KB\nquick_abort_max 0 KB")
    o = t.origin

    def chunked(size):
        def answer(x):
            x.head(200, LONG, "Transfer-Encoding: chunked")
            time.sleep(0.2)
            for _ in range(0, size, 1000):
                x.chunk(b"y" * min(size, 1000))
            x.last_chunk()
        return answer
    o.on("/grows")(chunked(20_000))
    late(t, "/grows", "not-stored.too-large")
    o.on("/little")(chunked(1))
    late(t, "/little", "not-stored.too-small")

    @o.on("/cut")
    def _(x):
        x.head(200, LONG, "Content-Length: 5000")
        x.send(b"z" * 1000)
        time.sleep(0.2)
        x.reset()
    late(t, "/cut", "not-stored.body-cut", broken=True)
    t.logged()

    @o.on("/left")
    def _(x):
        x.head(200, LONG, "Content-Length: 5000")
        x.send(b"z" * 1000)
        x.gone_within(5)
        x.close()
    with t.proxy.client() as client:
        client.ask("GET", o.url("/left"))
        o.wait_for(1, "/left")
        time.sleep(0.3)
    t.counted({"miss.absent": 1, "not-stored.abandoned": 1}, "/left")


def late(t, path, word, broken=False):
    """What is known only after the head has gone to the client: in the log and counted; Cache-Status thought otherwise."""
    t.expected.append((path, ["miss.absent", word]))
    try:
        t.proxy.get(t.origin.url(path))
        check(not broken, f"{path} should have broken off")
    except Exception as error:   # noqa: BLE001 - a cut body
        check(broken, f"{path}: {error}")
    t.counted({"miss.absent": 1, word: 1}, path)


@scenario("reason.freshened-away", "A 304 that takes the copy away tells why", squid=SQUID)
def _(lab):
    t = Teller(lab)
    o = t.origin
    for path, control, vary, word in (("/a", "no-store", (), "no-store"), ("/b", "private", (), "private"), ("/c", "max-age=0", ("Vary: X-Other",), "vary-changed")):
        o.script(path, reply(200, "Cache-Control: max-age=0", 'ETag: "1"', body="page"), reply(304, f"Cache-Control: {control}", 'ETag: "1"', *vary))
        t.tell(path, words=["miss.absent"], said=KEPT)
        t.tell(path, words=["stale.expired", "not-stored." + word], said="fwd=stale;fwd-status=304")
    t.logged()


@scenario("reason.purged-meanwhile", "Purged while it was fetched: passed on, not stored", squid=SQUID)
def _(lab):
    t = Teller(lab, "acl purge method PURGE\nhttp_access allow purge\nhttp_access allow all")

    @t.origin.on("/slow")
    def _(x):
        same(t.proxy.ask("PURGE", t.origin.url("/slow")).status, 404, "PURGE")
        x.reply(200, LONG)
    answer = t.proxy.get(t.origin.url("/slow"))
    t.status_tells(answer, ["miss.absent", "not-stored.purged-meanwhile"], "fwd=uri-miss;fwd-status=200", "/slow")
    t.expected.append(("/slow", ["miss.absent", "not-stored.purged-meanwhile"]))
    t.logged()
    t.counted({"miss.absent": 1, "not-stored.purged-meanwhile": 1}, "/slow")


@scenario("reason.not-served", "Why a client got something else: 504, 403, 503 of our own, without Cache-Status (RFC 9211 section 2)", squid=SQUID)
def _(lab):
    t = Teller(lab, "acl noreply urlpath_regex ^/noreply\nhttp_reply_access deny noreply\nhttp_reply_access allow all\nacl big urlpath_regex ^/big\nreply_body_max_size 1 KB big\n"
               "acl nomiss urlpath_regex ^/nomiss\nmiss_access deny nomiss\nacl nopath urlpath_regex ^/nopath\nnever_direct allow nopath\n"
               "acl denied urlpath_regex ^/denied\nhttp_access deny denied\nhttp_access allow all")
    t.origin.page("/noreply", LONG)
    t.origin.page("/big", LONG, body=b"x" * 5000)
    t.tell("/absent", "Cache-Control: only-if-cached", words=["miss.absent", "not-served.only-if-cached"], status=504)
    t.tell("/nomiss", words=["miss.absent", "not-served.miss-access"], status=403)
    t.tell("/nopath", words=["miss.absent", "not-served.no-path"], status=503)
    t.tell("/noreply", words=["miss.absent", "not-served.reply-rule"], status=403)
    t.tell("/noreply", words=["not-served.reply-rule"], status=403)
    t.tell("/big", words=["miss.absent", "not-served.reply-too-large"], status=403)
    t.tell("/denied", status=403)   # http_access: nothing that caching has to do with
    t.logged()


@scenario("reason.collapsed", "One that waited for another's fetch: collapsed, with the reason it waited for", squid=SQUID)
def _(lab):
    t = Teller(lab, "collapsed_forwarding on")

    @t.origin.on("/slow")
    def _(x):
        time.sleep(0.5)
        x.reply(200, LONG)
    answers = lab.together(4, lambda i: t.proxy.get(t.origin.url("/slow")))
    values = sorted(a.get("Cache-Status") for a in answers)
    check(re.fullmatch(r"proxy\.test;fwd=uri-miss;fwd-status=200;stored;ttl=\d+;detail=miss\.absent", values[0]), values[0])
    for value in values[1:]:
        check(re.fullmatch(r"proxy\.test;fwd=uri-miss;stored;collapsed;ttl=\d+;detail=miss\.absent", value), value)
    t.counted({"miss.absent": 4}, "/slow")
    same(len(t.origin.requests("/slow")), 1, "requests at the origin")


@scenario("reason.proxy-only", "A peer that keeps it, and a proxy without a cache", squid=SQUID)
def _(lab):
    origin = lab.origin()
    origin.page("/p", LONG)
    for config, word in ((f"cache_peer 127.0.0.1 parent {origin.port} 0 no-query originserver no-digest proxy-only\nnever_direct allow all", "proxy-only"),
                         ("cache_mem 0", "caching-off")):
        proxy = lab.proxy(config)
        same(proxy.get(origin.url("/p")).get("Cache-Status"), f"proxy.test;fwd=uri-miss;fwd-status=200;detail=miss.absent+not-stored.{word}", config)
        same(page(proxy)["not-stored." + word], 1, "mgr:reasons")
        proxy.stop()


@scenario("reason.disk", "The same words for what is on disk alone: hit, variant, purged, expired", squid=SQUID)
def _(lab):
    t = Teller(lab, cache_dir(lab) + ALWAYS_FROM_DISK + "acl purge method PURGE\nhttp_access allow purge\nhttp_access allow all")
    o = t.origin
    o.page("/p", LONG)
    o.page("/vary", LONG, "Vary: X-Kind")
    page_of(o, "/old", "max-age=0")
    t.tell("/p", words=["miss.absent"], said=KEPT)
    t.tell("/vary", "X-Kind: 1", words=["miss.absent"], said=KEPT)
    t.tell("/old", words=["miss.absent"], said=KEPT)
    settled(lab, t.proxy)
    t.tell("/p", said=r"hit;ttl=\d+")
    t.tell("/vary", "X-Kind: 2", words=["miss.variant"], said=r"fwd=vary-miss;fwd-status=200;stored;ttl=\d+")
    t.tell("/old", words=["stale.expired"], said=r"fwd=stale;fwd-status=304;stored;ttl=-?\d+")
    t.logged()
    t.proxy.ask("PURGE", o.url("/any"), "X-Ban-Url: /p$")
    answer = t.proxy.get(o.url("/p"))
    # The thread that looks through all may have been there before.
    check(re.search(r"detail=miss\.(purged|absent)$", answer.get("Cache-Status")), answer.get("Cache-Status"))


@scenario("reason.menu", "mgr:reasons is in the menu, one row for each reason, open to all as other counters", squid=SQUID)
def _(lab):
    proxy = lab.proxy("workers 2")
    contains(proxy.manager("menu"), " reasons", "the menu")
    check(len(page(proxy)) > 40, "rows")
    same(set(page(proxy).values()), {0}, "counts at the start")
    for _ in range(8):
        proxy.get("http://127.0.0.1:1/", "Cache-Control: only-if-cached")
    same({word: n for word, n in page(proxy).items() if n}, {"miss.absent": 8, "not-served.only-if-cached": 8}, "counts of two workers")
