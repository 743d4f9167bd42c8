"""Ranges answered from parts: what 206s brought is kept and joined, and only what is missing is fetched. run.py --store
disk and both run these with the parts on disk alone, and in both places."""
import random
import re
import threading
import time

from disk_lab import cache_dir, chunk_of, disk_proxy, kill_hard, settled, stop_cleanly
from lab import between, check, contains, same, scenario
from origin import http_date
from wire import Gone, WireError

GROUP = "cache"
SIZE = 100_000
FRESH = "Cache-Control: max-age=600"


def bytes_of(version, first, end):
    """Every byte follows from its place and the version."""
    word = lambda n: b"%s%011d\n" % (version.encode()[:4].rjust(4, b"."), n)
    text = b"".join(word(n) for n in range(first // 16, (end + 15) // 16))
    return text[first % 16:first % 16 + end - first]


class Parts:
    """An origin that answers ranges, and keeps account of the bytes it sent for them."""

    def __init__(self, lab, fields=(FRESH,), size=SIZE, version="v1"):
        self.origin, self.fields, self.size, self.version = lab.origin(), fields, size, version
        self.etag = None                    # a function of the version, where it is not the version itself
        self.before = lambda x, first, end: None
        self.sent, self.asked, self.lock = [], [], threading.Lock()
        self.origin.on("/p")(self.answer)
        self.url = self.origin.url("/p")

    def tag(self):
        return self.etag(self.version) if self.etag else f'"{self.version}"'

    def answer(self, x):
        wanted, condition = x.request.get("Range"), x.request.get("If-Range")
        with self.lock:
            self.asked.append(wanted)
        common = [*self.fields, f"Date: {http_date()}", f"ETag: {self.tag()}", "Content-Type: text/plain"]
        if x.request.get("If-None-Match") == self.tag():
            return x.reply(304, *common)
        if not (wanted or "").startswith("bytes=") or (condition and condition != self.tag()):
            return x.reply(200, *common, body=bytes_of(self.version, 0, self.size))
        first, last = re.fullmatch(r"bytes=(\d*)-(\d*)", wanted).groups()
        first, end = (self.size - int(last), self.size) if not first else (int(first), min(int(last or self.size), self.size - 1) + 1)
        if first >= self.size:
            return x.reply(416, f"Content-Range: bytes */{self.size}")
        if self.before(x, first, end):
            return None
        with self.lock:
            self.sent.append((first, end))
        return x.reply(206, *common, f"Content-Range: bytes {first}-{end - 1}/{self.size}", body=bytes_of(self.version, first, end))

    def take_asked(self):
        with self.lock:
            asked, self.asked = self.asked, []
        return asked

    def total_and_distinct(self):
        """Bytes sent, and how many different ones."""
        return total_and_distinct(self.sent)


def total_and_distinct(intervals):
    total, distinct, at = sum(e - f for f, e in intervals), 0, 0
    for first, end in sorted(intervals):
        distinct += max(0, end - max(first, at))
        at = max(at, end)
    return total, distinct


def right(parts, proxy, first, end, *fields, version=None, **more):
    """A 206 with exactly those bytes."""
    answer = proxy.get(parts.url, f"Range: bytes={first}-{end - 1}", *fields, **more)
    same((answer.status, answer.get("Content-Range")), (206, f"bytes {first}-{end - 1}/{parts.size}"), f"the answer to {first}-{end - 1}")
    check(answer.body == bytes_of(version or parts.version, first, end), f"bytes {first}-{end - 1}")
    return answer


def stored():
    time.sleep(0.05)    # a part is known as complete a moment after its client has it


@scenario("sparse.part", "A part answers itself and what lies in it, without the origin; headers and log say hit", squid="keeps no parts")
def _(lab):
    parts, proxy = Parts(lab), lab.proxy()
    first = right(parts, proxy, 1000, 3000)
    contains(first.get("Cache-Status"), "fwd=uri-miss", "the first")
    stored()
    for begin, end in ((1000, 3000), (1500, 1600), (1000, 1001), (2999, 3000)):
        answer = right(parts, proxy, begin, end)
        contains(answer.get("X-Cache"), "HIT from", "X-Cache")
        contains(answer.get("Cache-Status"), ";hit", "Cache-Status")
        same((answer.get("Content-Type"), answer.get("ETag"), answer.get("Content-Length")), ("text/plain", '"v1"', str(end - begin)), "fields")
        check(answer.get("Age") is not None, "an Age")
    same(parts.take_asked(), ["bytes=1000-2999"], "what the origin was asked for")
    same(len([line for line in proxy.log_lines(5) if re.search(r"TCP_(MEM_)?HIT/206", line)]), 4, "hits in the log")


@scenario("sparse.join", "Parts that came in any order are joined; only gaps are fetched", squid="keeps no parts")
def _(lab):
    parts, proxy = Parts(lab), lab.proxy()
    for begin, end in ((50_000, 60_000), (20_000, 30_000), (40_000, 50_000), (0, 1000)):
        right(parts, proxy, begin, end)
    stored()
    parts.take_asked()
    right(parts, proxy, 45_000, 55_000)
    same(parts.take_asked(), [], "nothing is missing")
    answer = right(parts, proxy, 25_000, 45_000)
    same(parts.take_asked(), ["bytes=30000-39999"], "the gap in the middle")
    contains(answer.get("Cache-Status"), "fwd=partial", "Cache-Status")
    contains(answer.get("X-Cache"), "MISS from", "X-Cache")
    contains(proxy.log_line("TCP_MISS/206", "HIER_DIRECT"), "20", "log")
    same(parts.origin.last().get("If-Range"), '"v1"', "If-Range at the origin")
    stored()
    right(parts, proxy, 500, 70_000)
    same(parts.take_asked(), ["bytes=1000-19999", "bytes=60000-69999"], "gaps before, between and behind")
    stored()
    right(parts, proxy, 0, 70_000)
    same(parts.take_asked(), [], "all of it is there")
    same(*parts.total_and_distinct(), "bytes fetched, and different ones")


@scenario("sparse.forms", "Suffixes, open ends, several ranges, ranges past the end, HTTP/1.0", squid="keeps no parts")
def _(lab):
    parts, proxy = Parts(lab), lab.proxy()
    right(parts, proxy, 90_000, 100_000)
    right(parts, proxy, 0, 10_000)
    stored()
    parts.take_asked()
    for value, first, end in (("-10", 99_990, 100_000), ("95000-", 95_000, 100_000), ("99000-9999999999999999999999", 99_000, 100_000)):
        answer = proxy.get(parts.url, f"Range: bytes={value}")
        same((answer.status, answer.body), (206, bytes_of("v1", first, end)), value)
    answer = proxy.get(parts.url, "Range: bytes=100000-100001")
    same((answer.status, answer.get("Content-Range")), (416, "bytes */100000"), "past the end")
    answer = proxy.get(parts.url, "Range: bytes=0-9,99990-,5000-5009")
    same(answer.status, 206, "several")
    boundary = answer.get("Content-Type").partition("boundary=")[2].encode()
    pieces = [piece.partition(b"\r\n\r\n")[2][:-2] for piece in answer.body.split(b"--" + boundary)[1:-1]]
    same(pieces, [bytes_of("v1", a, b) for a, b in ((0, 10), (99_990, 100_000), (5000, 5010))], "several")
    same(parts.take_asked(), [], "requests at the origin")
    answer = proxy.get(parts.url, "Range: bytes=0-9,50000-50009")
    contains(answer.body.decode(), bytes_of("v1", 50_000, 50_010).decode(), "several, one of them missing")
    same(parts.take_asked(), ["bytes=50000-50009"], "the missing one")
    answer = proxy.get(parts.url, "Range: lines=1-2")
    same((answer.status, len(answer.body)), (200, SIZE), "another unit")
    with proxy.client() as c:
        c.ask("GET", parts.url, "Range: bytes=5-9", version="1.0")
        same(c.reply().body, bytes_of("v1", 5, 10), "HTTP/1.0")


@scenario("sparse.conditions", "If-Range, If-None-Match, only-if-cached, reload", squid="keeps no parts")
def _(lab):
    parts, proxy = Parts(lab), lab.proxy()
    right(parts, proxy, 0, 1000)
    stored()
    parts.take_asked()
    right(parts, proxy, 10, 20, 'If-Range: "v1"')
    same(proxy.get(parts.url, "Range: bytes=10-19", 'If-None-Match: "v1"').status, 304, "If-None-Match")
    right(parts, proxy, 10, 20, "Cache-Control: only-if-cached")
    same(proxy.get(parts.url, "Range: bytes=10-2000", "Cache-Control: only-if-cached").status, 504, "not all of it is cached")
    same(parts.take_asked(), [], "requests at the origin")
    right(parts, proxy, 10, 20, "Cache-Control: no-cache")
    same(parts.take_asked(), ["bytes=10-19"], "a reload")
    answer = proxy.get(parts.url, "Range: bytes=10-19", 'If-Range: "v0"')
    same((answer.status, len(answer.body)), (200, SIZE), "an If-Range that does not hold")


@scenario("sparse.stale", "Stale parts are validated first: 304 freshens all of them, a new version replaces them", squid="keeps no parts")
def _(lab):
    parts, proxy = Parts(lab, fields=("Cache-Control: max-age=1",)), lab.proxy()
    right(parts, proxy, 0, 1000)
    right(parts, proxy, 2000, 3000)
    time.sleep(2.1)
    parts.fields = (FRESH,)
    parts.take_asked()
    right(parts, proxy, 100, 200)
    same(parts.origin.last().get("If-None-Match"), '"v1"', "validated")
    contains(proxy.log_line("TCP_REFRESH_UNMODIFIED"), "206", "log")
    right(parts, proxy, 2100, 2200)
    same(len(parts.take_asked()), 1, "one 304 for all parts")
    parts.fields = ("Cache-Control: max-age=1",)
    right(parts, proxy, 5000, 6000)          # what comes with a part holds for the whole
    time.sleep(2.1)
    parts.version, parts.fields = "v2", (FRESH,)
    parts.take_asked()
    right(parts, proxy, 500, 2500)
    same(parts.take_asked(), ["bytes=500-2499"], "a new version, of which the part that is wanted comes at once")
    right(parts, proxy, 600, 700)
    right(parts, proxy, 2400, 2600)
    same(parts.take_asked(), ["bytes=2500-2599"], "nothing of the old one is used")


@scenario("sparse.changed", "The origin has another version meanwhile: never a mixture", squid="keeps no parts")
def _(lab):
    parts, proxy = Parts(lab), lab.proxy()
    for ignores in (False, True):            # an origin that ignores If-Range, too
        parts.version = f"a{ignores}"[:2] + ("y" if ignores else "x")
        right(parts, proxy, 0, 10_000, "Cache-Control: no-cache")
        right(parts, proxy, 20_000, 30_000, "Cache-Control: no-cache")
        stored()
        old, parts.version = parts.version, f"n{int(ignores)}"
        if ignores:
            parts.before = ignore_condition(parts)
        # The gap comes first: the new version is served from its start.
        answer = proxy.get(parts.url, "Range: bytes=15000-24999")
        same((answer.status, answer.body), (206, bytes_of(parts.version, 15_000, 25_000)), "a gap at the beginning")
        parts.before = lambda x, first, end: None
    # Old bytes are out already: the transfer breaks off.
    parts.version = "o1"
    proxy.status(parts.url, "Range: bytes=0-9", "Cache-Control: no-cache")
    right(parts, proxy, 0, 10_000, "Cache-Control: no-cache")
    stored()
    parts.version = "o2"
    with proxy.client() as c:
        c.ask("GET", parts.url, "Range: bytes=0-19999")
        try:
            answer = c.reply()
            check(not answer.whole and answer.body == bytes_of("o1", 0, len(answer.body)), "it breaks off, with nothing of the new")
        except (Gone, WireError):
            pass
    answer = proxy.get(parts.url, "Range: bytes=0-19999")
    same((answer.status, answer.body), (206, bytes_of("o2", 0, 20_000)), "and then the new one")


def ignore_condition(parts):
    def before(x, first, end):
        x.reply(206, FRESH, f"ETag: {parts.tag()}", f"Content-Range: bytes {first}-{end - 1}/{parts.size}", body=bytes_of(parts.version, first, end))
        return True
    return before


@scenario("sparse.bad-answers", "What is no part of it is never joined: other ranges, lengths, units, weak tags, no validator", squid="keeps no parts")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    rows = {"other-length": ('ETag: "a"', "Content-Range: bytes 0-9/99"), "beyond": ('ETag: "a"', "Content-Range: bytes 0-9/10", "Content-Length: 9"),
            "backwards": ('ETag: "a"', "Content-Range: bytes 9-0/100"), "unit": ('ETag: "a"', "Content-Range: lines 0-9/100"),
            "unknown": ('ETag: "a"', "Content-Range: bytes 0-9/*"), "huge": ('ETag: "a"', "Content-Range: bytes 0-9/18446744073709551615"),
            "wraps": ('ETag: "a"', "Content-Range: bytes 18446744073709551606-18446744073709551615/18446744073709551616"),
            "twice": ('ETag: "a"', "Content-Range: bytes 0-9/100", "Content-Range: bytes 0-9/100"), "none": ('ETag: "a"',),
            "weak": ('ETag: W/"a"', "Content-Range: bytes 0-9/100"), "no-tag": ("Content-Range: bytes 0-9/100",),
            "private": ('ETag: "a"', "Content-Range: bytes 0-9/100", "Cache-Control: private"),
            "no-store": ('ETag: "a"', "Content-Range: bytes 0-9/100", "Cache-Control: no-store"),
            "vary-star": ('ETag: "a"', "Content-Range: bytes 0-9/100", "Vary: *")}

    def handler(fields):
        return lambda x: x.reply(206, FRESH, *fields, body="0123456789"[:9 if "Content-Length: 9" in fields else 10])
    for name, fields in rows.items():
        origin.on(f"/{name}")(handler(fields))
    for name in rows:
        for _ in range(2):
            proxy.get(origin.url(f"/{name}"), "Range: bytes=0-9")
            stored()
        expected = 1 if name == "other-length" else 2       # 99 bytes are as good as 100
        same(len(origin.requests(f"/{name}")), expected, f"{name}: requests at the origin")


@scenario("sparse.dates", "Without a tag a strong Last-Modified joins parts; a weak one does not", squid="keeps no parts")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    for path, modified, requests in (("/old", "Sat, 01 Jan 2022 00:00:00 GMT", 1), ("/now", None, 2)):
        @origin.on(path)
        def _(x, modified=modified):
            x.reply(206, FRESH, f"Last-Modified: {modified or http_date()}", f"Date: {http_date()}", "Content-Range: bytes 0-9/100", body="0123456789")
        for _ in range(2):
            same(proxy.get(origin.url(path), "Range: bytes=0-9").text, "0123456789", path)
            stored()
        same(len(origin.requests(path)), requests, f"{path}: requests at the origin")
    @origin.on("/old")
    def _(x):
        same(x.request.get("If-Range"), "Sat, 01 Jan 2022 00:00:00 GMT", "If-Range")
        x.reply(206, FRESH, "Last-Modified: Sat, 01 Jan 2022 00:00:00 GMT", f"Date: {http_date()}", "Content-Range: bytes 10-19/100", body="abcdefghij")
    same(proxy.get(origin.url("/old"), "Range: bytes=5-19").text, "56789abcdefghij", "joined")


@scenario("sparse.vary", "Parts of variants are kept apart", squid="keeps no parts")
def _(lab):
    parts, proxy = Parts(lab, fields=(FRESH, "Vary: X-Who")), lab.proxy()
    for version in ("en", "de"):
        parts.version = version
        right(parts, proxy, 0, 1000, f"X-Who: {version}")
        right(parts, proxy, 2000, 3000, f"X-Who: {version}")
        stored()
    parts.take_asked()
    for version in ("en", "de"):
        right(parts, proxy, 2100, 2200, f"X-Who: {version}", version=version)
    same(parts.take_asked(), [], "requests at the origin")
    parts.version = "fr"
    right(parts, proxy, 0, 10, "X-Who: fr")
    same(parts.take_asked(), ["bytes=0-9"], "a third one")


@scenario("sparse.credentials", "What is for one user is not kept, as for whole objects", squid="keeps no parts")
def _(lab):
    parts, proxy = Parts(lab), lab.proxy()
    for _ in range(2):
        right(parts, proxy, 0, 100, "Authorization: Basic dTpw")
    same(len(parts.take_asked()), 2, "with credentials")
    parts.fields = ("Cache-Control: public, max-age=600",)
    for _ in range(2):
        right(parts, proxy, 0, 100, "Authorization: Basic dTpw")
        stored()
    same(len(parts.take_asked()), 1, "public")


@scenario("sparse.cut", "A part that breaks off is a shorter part; a gap that breaks off is asked for again", squid="keeps no parts")
def _(lab):
    parts, proxy = Parts(lab), lab.proxy()
    broken = []

    def before(x, first, end):
        if len(broken) >= 2:
            return False
        broken.append((first, end))
        x.head(206, FRESH, 'ETag: "v1"', "Content-Type: text/plain", f"Content-Range: bytes {first}-{end - 1}/{SIZE}", f"Content-Length: {end - first}")
        x.send(bytes_of("v1", first, first + 5000))
        time.sleep(0.2)
        x.reset()
        return True
    parts.before = before
    with proxy.client() as c:
        c.ask("GET", parts.url, "Range: bytes=0-19999")
        answer = c.reply()
        check(not answer.whole, "the client sees that it broke off")
    stored()
    parts.take_asked()
    right(parts, proxy, 0, 20_000)
    same(parts.take_asked(), ["bytes=5000-19999", "bytes=10000-19999"], "what was missing, after both breaks")


@scenario("sparse.together", "Clients that need the same missing bytes at once share one fetch of them", squid="keeps no parts")
def _(lab):
    parts, proxy = Parts(lab, size=1_000_000), lab.proxy("collapsed_forwarding on")
    parts.before = lambda x, first, end: time.sleep(0.3)
    begins = [random.Random(n).randrange(900_000) for n in range(8)]
    lab.together(8, lambda n: right(parts, proxy, begins[n], begins[n] + 90_000, timeout=20))
    same(*parts.total_and_distinct(), "bytes fetched, and different ones, of the first")
    lab.together(16, lambda n: right(parts, proxy, n * 50_000, n * 50_000 + 200_000, timeout=20))
    same(*parts.total_and_distinct(), "bytes fetched, and different ones")


@scenario("sparse.client-leaves", "A client leaves while a gap is fetched: those who follow it get their bytes", squid="keeps no parts")
def _(lab):
    parts, proxy = Parts(lab), lab.proxy("quick_abort_min 0 KB\nquick_abort_max 0 KB")
    right(parts, proxy, 0, 100)
    stored()

    def before(x, first, end):
        x.head(206, FRESH, 'ETag: "v1"', f"Content-Range: bytes {first}-{end - 1}/{SIZE}", f"Content-Length: {end - first}")
        for at in range(first, end, 10_000):
            x.send(bytes_of("v1", at, min(at + 10_000, end)))
            time.sleep(0.1)
        return True
    parts.before = before
    leaver = proxy.client()
    leaver.ask("GET", parts.url, "Range: bytes=50-90000")
    time.sleep(0.25)
    other = lab.background(lambda: right(parts, proxy, 5000, 80_000, timeout=20))
    time.sleep(0.2)
    leaver.reset()
    other.result()


@scenario("sparse.whole", "The whole object takes the place of its parts", squid="keeps no parts")
def _(lab):
    parts, proxy = Parts(lab), lab.proxy()
    right(parts, proxy, 0, 1000)
    stored()
    same(len(proxy.get(parts.url).body), SIZE, "the whole")
    stored()
    parts.take_asked()
    right(parts, proxy, 500, 5000)
    same(parts.take_asked(), [], "requests at the origin")


@scenario("sparse.all", "Parts that are all of it answer a GET without Range, in order", squid="keeps no parts")
def _(lab):
    parts, proxy = Parts(lab), lab.proxy()
    for begin, end in ((60_000, 100_000), (0, 30_000), (30_000, 60_000)):
        right(parts, proxy, begin, end)
    stored()
    parts.take_asked()
    answer = proxy.get(parts.url)
    same((answer.status, answer.get("Content-Length"), answer.body == bytes_of("v1", 0, SIZE)), (200, str(SIZE), True), "the whole")
    contains(answer.get("X-Cache"), "HIT from", "X-Cache")
    same(proxy.get(parts.url, 'If-None-Match: "v1"').status, 304, "If-None-Match")
    same(parts.take_asked(), [], "requests at the origin")


@scenario("sparse.restart", "Parts on disk are known after a restart and after kill -9; not after a PURGE", squid="keeps no parts")
def _(lab):
    parts = Parts(lab, fields=(FRESH, "Vary: X-Who"))
    proxy = disk_proxy(lab, cache_dir(lab) + "acl purge method PURGE\nhttp_access allow purge\nhttp_access allow all")
    for begin, end in ((0, 1000), (50_000, 60_000), (500, 2000)):
        right(parts, proxy, begin, end)
    for turn, stop in enumerate((stop_cleanly, kill_hard, stop_cleanly)):
        if stop is kill_hard:
            settled(lab, proxy, 3)
        stop(proxy)
        proxy.start()
        parts.take_asked()
        answer = right(parts, proxy, 100, 1900)
        contains(answer.get("X-Cache"), "HIT from", "X-Cache")
        right(parts, proxy, 55_000, 60_000 + turn * 1000 + 10)
        same(parts.take_asked(), [f"bytes={60_000 if not turn else 59_010 + turn * 1000}-{60_009 + turn * 1000}"], "only what is missing")
        settled(lab, proxy)
    same(proxy.ask("PURGE", parts.url).status, 200, "PURGE")
    kill_hard(proxy)
    proxy.start()
    right(parts, proxy, 100, 200)
    same(parts.take_asked(), ["bytes=100-199"], "after the PURGE")
    settled(lab, proxy)
    stop_cleanly(proxy)
    proxy.start()
    same(proxy.ask("PURGE", parts.url).status, 200, "PURGE of what nobody has asked for yet")
    right(parts, proxy, 100, 200)
    same(parts.take_asked(), ["bytes=100-199"], "after the PURGE")


@scenario("sparse.offset-limit", "range_offset_limit comes first: the whole is fetched instead of what is missing", squid="keeps no parts")
def _(lab):
    parts, proxy = Parts(lab), lab.proxy("range_offset_limit none")
    right(parts, proxy, 0, 1000)
    same(parts.take_asked(), [None], "what the origin was asked for")


@scenario("sparse.purge", "PURGE, bans and unsafe methods take the parts with them", squid="keeps no parts")
def _(lab):
    parts = Parts(lab, fields=(FRESH, "Surrogate-Key: blue"))
    proxy = lab.proxy("acl purge method PURGE\nhttp_access allow purge\nhttp_access allow all")
    parts.origin.on("/post")(lambda x: x.reply(200, "Content-Location: /p"))

    def gone(what):
        right(parts, proxy, 0, 1000)
        right(parts, proxy, 2000, 3000)
        stored()
        parts.take_asked()
        what()
        right(parts, proxy, 10, 20)
        same(parts.take_asked(), ["bytes=10-19"], "it is asked for again")
    gone(lambda: same(proxy.ask("PURGE", parts.url).status, 200, "PURGE"))
    same(proxy.ask("PURGE", parts.url).status, 200, "PURGE")
    same(proxy.ask("PURGE", parts.url).status, 404, "PURGE of nothing")
    gone(lambda: same(proxy.ask("PURGE", parts.url, "Surrogate-Key: blue").status, 200, "by tag"))
    gone(lambda: same(proxy.ask("PURGE", parts.url, "X-Ban-Url: /p$").status, 200, "by expression"))
    gone(lambda: same(proxy.ask("POST", parts.origin.url("/post"), body="x").status, 200, "POST"))
    right(parts, proxy, 10, 20)
    same(proxy.ask("PURGE", parts.url, "Soft-Purge: 1").status, 200, "soft")
    parts.take_asked()
    right(parts, proxy, 10, 20)
    same(parts.origin.last().get("If-None-Match"), '"v1"', "stale after a soft purge")


@scenario("sparse.accel", "Behind an accelerator's port as well", squid="keeps no parts")
def _(lab):
    parts = Parts(lab)
    proxy = lab.accelerator(parts.origin)
    for begin, end in ((0, 1000), (500, 1500), (0, 1500)):
        answer = proxy.get("/p", f"Range: bytes={begin}-{end - 1}", host="site.test")
        same((answer.status, answer.body), (206, bytes_of("v1", begin, end)), f"{begin}-{end - 1}")
        stored()
    same(parts.take_asked(), ["bytes=0-999", "bytes=1000-1499"], "what the origin was asked for")


BLOCK = 1 << 20


class Huge:
    """10 GB of which every byte follows from its place, and an account of what was fetched."""
    RATE = 50e6        # bytes a second: what comes faster than the disk takes it is held in memory, and then not stored

    def __init__(self, lab, size):
        self.size, self.base, self.next = size, chunk_of("sparse", 0, 0, 2 * BLOCK), 0
        self.origin, self.sent, self.lock = lab.origin(), [], threading.Lock()
        self.origin.on("/p")(self.answer)
        self.url = self.origin.url("/p")

    def part(self, first, end):
        out = bytearray()
        while first < end:
            number, at = divmod(first, BLOCK)
            n = min(BLOCK - at, end - first)
            begin = number * 7919 % BLOCK + at
            out += self.base[begin:begin + n]
            first += n
        return bytes(out)

    def answer(self, x):
        first, last = map(int, re.fullmatch(r"bytes=(\d+)-(\d+)", x.request.get("Range")).groups())
        with self.lock:
            self.sent.append((first, last + 1))
            self.next = max(self.next, time.monotonic()) + (last + 1 - first) / self.RATE
            pause = self.next - time.monotonic()
        time.sleep(max(0, pause))
        x.head(206, FRESH, 'ETag: "huge"', f"Content-Range: bytes {first}-{last}/{self.size}", f"Content-Length: {last + 1 - first}")
        x.sock.sendall(self.part(first, last + 1))


@scenario("sparse.10gb", "16 readers at random ranges of 10 GB: every byte right, none fetched twice, 64 MiB of memory at most", long=True, timeout=900,
          squid="keeps no parts")
def _(lab):
    readers, each = 16, 80
    huge = Huge(lab, 10 << 30)
    proxy = disk_proxy(lab, "workers 2\nmaximum_object_size 12 GB\ncollapsed_forwarding on\ncache_mem 16 MB\n" + cache_dir(lab, mb=16_000))
    pick = random.Random(11)
    hot = [pick.randrange(huge.size - 4 * BLOCK) for _ in range(100)]     # half of the ranges lie near one of these
    idle, peak, over = proxy.memory(), [0], threading.Event()

    def watch():
        while not over.wait(0.05):
            peak[0] = max(peak[0], proxy.memory())
    watcher = lab.background(watch)
    asked = []

    def read(n):
        own = random.Random(n)
        with proxy.client(timeout=120) as c:
            for turn in range(each):
                first = own.choice(hot) + own.randrange(BLOCK) if turn % 2 else own.randrange(huge.size)
                end = min(huge.size, first + own.choice((own.randrange(1, 5000), own.randrange(1, BLOCK), own.randrange(1, 3 * BLOCK))))
                c.ask("GET", huge.url, f"Range: bytes={first}-{end - 1}")
                head = c.stream.until(b"\r\n\r\n", time.monotonic() + 120).decode()
                contains(head, f"Content-Range: bytes {first}-{end - 1}/{huge.size}\r\n", "head")
                check(c.stream.exactly(end - first, time.monotonic() + 120) == huge.part(first, end), f"reader {n}: bytes {first}-{end - 1}")
                asked.append((first, end))
    took = lab.stopwatch()
    lab.together(readers, read)
    seconds = took()
    over.set()
    watcher.result()
    total, distinct = total_and_distinct(huge.sent)
    lab.trace("scenario", "measured", f"{len(asked)} ranges, {sum(e - f for f, e in asked) >> 20} MiB read, {total >> 20} MiB fetched in {len(huge.sent)} "
              f"requests, {seconds:.0f} s, memory {idle} KB idle, {peak[0]} KB at most")
    same((total, distinct), (distinct, total_and_distinct(asked)[1]), "bytes fetched, different ones; different ones, wanted")
    between(peak[0] - idle, 0, 64 * 1024, "memory over idle, KB")
