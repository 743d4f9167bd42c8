"""The memory cache: hits, variants, HEAD, conditional requests, ranges, bounds, PURGE."""
import re
import threading
import time

from lab import between, check, one_of, same, scenario
from origin import http_date, reply

GROUP = "cache"


@scenario("cache.hit", "A hit: same bytes, Age, no contact with the origin", squid="does not keep empty bodies, no Age in the first second")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    for size in (1, 1000, 65_536, 300_000, 0):
        origin.page(f"/{size}", "Cache-Control: max-age=60", "Content-Type: a/b", "X-Own: kept", body=b"h" * size)
        miss = proxy.get(origin.url(f"/{size}"))
        with proxy.client() as client:
            for _ in range(3):
                hit = client.get(origin.url(f"/{size}"))
                same((hit.status, len(hit.body), hit.get("Content-Type"), hit.get("X-Own")), (200, size, "a/b", "kept"), "hit")
                check(hit.body == miss.body, "the same bytes")
                between(int(hit.get("Age", "0")), 0, 2, "Age")
        same(len(origin.requests(f"/{size}")), 1, f"{size} bytes: requests at the origin")
    check(hit.has("Age"), "a hit has Age even in its first second")


@scenario("cache.origin-age", "The origin's Age counts: Age on a hit includes it, and it shortens the life")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/p", "Cache-Control: max-age=60", "Age: 50")
    origin.page("/old", "Cache-Control: max-age=60", "Age: 61")
    proxy.get(origin.url("/p"))
    between(int(proxy.get(origin.url("/p")).get("Age")), 50, 52, "Age")
    for _ in range(2):
        proxy.get(origin.url("/old"))
    same(len(origin.requests("/old")), 2, "a reply that came stale")


LIFETIMES = (  # fields, requests at the origin for two GETs
    (("Cache-Control: max-age=60",), 1), (("Cache-Control: s-maxage=60, max-age=0",), 1), (("Cache-Control: max-age=60, s-maxage=0",), 2),
    (("Cache-Control: no-store",), 2), (("Cache-Control: private, max-age=60",), 2), (("Cache-Control: no-cache, max-age=60",), 2),
    (("Cache-Control: max-age=0",), 2), (("Cache-Control: public, max-age=60",), 1),
    (('Cache-Control: max-age="60"',), None), (("Cache-Control: max-age=60, max-age=0",), None), (("Cache-Control: max-age=-1",), 2),
    (("Cache-Control: foo=\"no-store, bar\", max-age=60",), None),
    (("Expires: 0",), 2), (("Expires: Thu, 01 Jan 1970 00:00:00 GMT",), 2), (("Expires: not a date",), 2), ((), 2),
    (("Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT",), 1), (("Pragma: no-cache", "Cache-Control: max-age=60"), None),
    (("Set-Cookie: a=b", "Cache-Control: max-age=60"), None), (("Cache-Control: MAX-AGE=60",), 1),
    (("Cache-Control: max-age=99999999999999999999",), 1))


@scenario("cache.lifetimes", "What the reply's fields say about being stored and fresh", squid="takes neither MAX-AGE nor a max-age beyond 31 bits")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    for number, (fields, expected) in enumerate(LIFETIMES):
        origin.page(f"/{number}", *fields)
        for _ in range(2):
            same(proxy.get(origin.url(f"/{number}")).status, 200, f"{fields}")
        if expected:
            same(len(origin.requests(f"/{number}")), expected, f"{fields}: requests at the origin")
    origin.page("/future", "Expires: " + http_date(60))
    for _ in range(2):
        proxy.get(origin.url("/future"))
    same(len(origin.requests("/future")), 1, "Expires in the future")


STATUSES = ((200, 1), (203, 1), (301, 1), (308, 1), (410, 1), (302, 1), (307, 1), (201, 2), (206, 2), (500, 2), (403, None), (304, None))


@scenario("cache.statuses", "Which statuses are stored with an explicit lifetime")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    for status, expected in STATUSES:
        if expected is None:
            continue
        fields = ("Cache-Control: max-age=60",) + (("Location: /x",) if status // 100 == 3 else ()) + (("Content-Range: bytes 0-3/9",) if status == 206 else ())
        origin.page(f"/{status}", *fields, status=status, body="body")
        for _ in range(2):
            same(proxy.get(origin.url(f"/{status}")).status, status, "status")
        if status in (201, 500, 206):
            check(len(origin.requests(f"/{status}")) >= 1, "asked")
        else:
            same(len(origin.requests(f"/{status}")), expected, f"{status}: requests at the origin")


@scenario("cache.methods", "Only GET is stored; unsafe methods invalidate")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()

    @origin.on("/p")
    def _(x):
        x.reply(200, "Cache-Control: max-age=60", body=x.request.method)
    for method in ("POST", "PUT", "DELETE"):
        proxy.get(origin.url("/p"))
        before = len(origin.requests())
        same(proxy.get(origin.url("/p")).text, "GET", "a hit")
        same(len(origin.requests()), before, "it is a hit")
        proxy.ask(method, origin.url("/p"), body="x")
        proxy.get(origin.url("/p"))
        same(len(origin.requests()), before + 2, f"{method} removes what was stored")
    for method in ("OPTIONS", "FROB"):
        proxy.ask(method, origin.url("/q"))
        proxy.ask(method, origin.url("/q"))
        same(len([r for r in origin.requests() if r.method == method]), 2, f"{method} is never answered from the cache")


@scenario("cache.invalidation", "Unsafe methods also remove what Location and Content-Location name on their own origin; errors remove nothing", squid="removes nothing that Location names")
def _(lab):
    origin, other, proxy = lab.origin(), lab.origin(name="other"), lab.proxy()
    for each in (origin, other):
        for path in ("/list", "/made", "/else"):
            each.page(path, "Cache-Control: max-age=60")
    urls = [each.url(path) for each in (origin, other) for path in ("/list", "/made", "/else")]

    def asked_again():
        """Which of them the proxy no longer has."""
        return [url for url in urls if proxy.get(url, "Cache-Control: only-if-cached").status != 200]

    def after(status, *fields):
        for url in urls:
            proxy.get(url)
        origin.page("/act", *fields, status=status)
        proxy.ask("POST", origin.url("/act"), body="x")
        return asked_again()
    same(after(201, "Location: /made", "Content-Location: " + origin.url("/list")), [origin.url("/list"), origin.url("/made")], "201")
    same(after(303, "Location: made?x#y"), [], "another query")
    same(after(204, "Location: " + other.url("/made")), [], "another origin's")
    same(after(400, "Location: /made"), [], "an error")
    for url in urls:
        proxy.get(url)
    origin.handlers["/list"] = lambda x: x.reply(500 if x.request.method == "FAIL" else 200, "Cache-Control: max-age=60")
    proxy.ask("FAIL", origin.url("/list"))
    same(asked_again(), [], "an error to an unknown method")
    proxy.ask("FROB", origin.url("/list"))
    same(asked_again(), [origin.url("/list")], "an unknown method")


@scenario("cache.vary", "Variants by the named fields; equal but for blanks and order are one")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()

    @origin.on("/p")
    def _(x):
        x.reply(200, "Cache-Control: max-age=60", "Vary: Accept-Language, X-Kind", body=f"{x.request.get('Accept-Language')}/{x.request.get('X-Kind')}")
    variants = (("Accept-Language: de",), ("Accept-Language: en",), ("Accept-Language: de", "X-Kind: 1"), ("X-Kind: 1",), ())
    for _ in range(2):
        for fields in variants:
            values = dict(f.split(": ") for f in fields)
            same(proxy.get(origin.url("/p"), *fields).text, f"{values.get('Accept-Language')}/{values.get('X-Kind')}", f"{fields}")
    same(len(origin.requests()), len(variants), "requests at the origin")


@scenario("cache.vary-changes", "When the origin changes its Vary, no variant answers for another")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    by = ["X-One"]

    @origin.on("/p")
    def _(x):
        x.reply(200, "Cache-Control: max-age=60", f"Vary: {by[0]}", body=f"{x.request.get('X-One')}{x.request.get('X-Two')}")
    same(proxy.get(origin.url("/p"), "X-One: a", "X-Two: b").text, "ab", "first")
    by[0] = "X-One, X-Two"
    same(proxy.get(origin.url("/p"), "X-One: c", "X-Two: d").text, "cd", "another X-One")
    same(proxy.get(origin.url("/p"), "X-One: c", "X-Two: e").text, "ce", "another X-Two")
    same(proxy.get(origin.url("/p"), "X-One: c", "X-Two: d").text, "cd", "again")


@scenario("cache.head", "HEAD is answered from the cache; HEAD alone stores no body")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/p", "Cache-Control: max-age=60", body="the body")
    proxy.get(origin.url("/p"))
    with proxy.client() as client:
        head = client.request("HEAD", origin.url("/p"))
        same((head.status, head.get("Content-Length"), head.body), (200, "8", b""), "HEAD")
        check(head.has("Age"), "Age")
        same(client.get(origin.url("/p")).text, "the body", "GET after it, on the same connection")
    same(len(origin.requests("/p")), 1, "requests at the origin")
    origin.page("/q", "Cache-Control: max-age=60", body="the body")
    proxy.ask("HEAD", origin.url("/q"))
    same(proxy.get(origin.url("/q")).text, "the body", "GET after a HEAD that missed")


@scenario("cache.conditional", "If-None-Match and If-Modified-Since are answered from the cache", squid="no ETag in its 304")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    modified = "Mon, 01 Jan 2024 00:00:00 GMT"
    origin.page("/p", "Cache-Control: max-age=60", 'ETag: "a"', f"Last-Modified: {modified}", "X-Own: kept", body="body")
    proxy.get(origin.url("/p"))
    for fields, status in ((('If-None-Match: "a"',), 304), (('If-None-Match: "b"',), 200), ((f"If-Modified-Since: {modified}",), 304),
                           (("If-Modified-Since: Sun, 31 Dec 2023 00:00:00 GMT",), 200), (("If-Modified-Since: Tue, 02 Jan 2024 00:00:00 GMT",), 304),
                           (('If-None-Match: "b"', f"If-Modified-Since: {modified}"), 200),
                           (('If-None-Match: "a"', "If-Modified-Since: Sun, 31 Dec 2023 00:00:00 GMT"), 304), (("If-Modified-Since: nonsense",), 200)):
        answer = proxy.get(origin.url("/p"), *fields)
        same(answer.status, status, f"{fields}")
        same(answer.text, "body" if status == 200 else "", f"{fields}: body")
    same(len(origin.requests("/p")), 1, "requests at the origin")
    same(proxy.get(origin.url("/p"), 'If-None-Match: "a"').get("ETag"), '"a"', "ETag in the 304")


@scenario("cache.conditional-miss", "A client's conditional request that misses: the origin's 304 reaches it")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()

    @origin.on("/p")
    def _(x):
        if x.request.get("If-None-Match") == '"a"':
            return x.reply(304, 'ETag: "a"', "Cache-Control: max-age=60")
        x.reply(200, 'ETag: "a"', "Cache-Control: max-age=60", body="body")
    same(proxy.get(origin.url("/p"), 'If-None-Match: "a"').status, 304, "304")
    plain = proxy.get(origin.url("/p"))
    same((plain.status, plain.text), (200, "body"), "an unconditional request after it")


@scenario("cache.stale-conditional", "A client's validator is current and the stored copy stale: 304 after revalidation, and the copy is fresh again", squid="sends the whole body")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.script("/p", reply(200, 'ETag: "a"', "Cache-Control: max-age=1", body="body"), reply(304, 'ETag: "a"', "Cache-Control: max-age=60"))
    proxy.get(origin.url("/p"))
    time.sleep(2.1)
    same(proxy.get(origin.url("/p"), 'If-None-Match: "a"').status, 304, "304")
    same(proxy.get(origin.url("/p")).text, "body", "a hit")
    same(len(origin.requests("/p")), 2, "requests at the origin")


@scenario("cache.revalidation-200", "Revalidation answered by 200: the new body replaces the old")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.script("/p", reply(200, 'ETag: "a"', "Cache-Control: max-age=1", body="old"), reply(200, 'ETag: "b"', "Cache-Control: max-age=60", body="newer"))
    proxy.get(origin.url("/p"))
    time.sleep(2.1)
    for _ in range(2):
        answer = proxy.get(origin.url("/p"))
        same((answer.text, answer.get("ETag")), ("newer", '"b"'), "reply")
    same(len(origin.requests("/p")), 2, "requests at the origin")


@scenario("cache.ranges", "Ranges from a complete object; If-Range; a range that misses")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/p", "Cache-Control: max-age=60", 'ETag: "a"', "Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT", body="0123456789")
    proxy.get(origin.url("/p"))
    for value, body in (("0-3", "0123"), ("4-", "456789"), ("-2", "89"), ("9-9", "9"), ("0-99", "0123456789")):
        answer = proxy.get(origin.url("/p"), f"Range: bytes={value}")
        same((answer.status, answer.text, answer.get("ETag")), (206, body, '"a"'), value)
    same(proxy.get(origin.url("/p"), "Range: bytes=0-3", 'If-Range: "a"').status, 206, "If-Range that holds")
    same(proxy.get(origin.url("/p"), "Range: bytes=0-3", 'If-Range: "b"').status, 200, "If-Range that does not")
    same(proxy.get(origin.url("/p"), "Range: lines=0-3").status, 200, "another unit")
    same(len(origin.requests("/p")), 1, "requests at the origin")


@scenario("cache.range-miss", "A range that misses: the right bytes; range_offset_limit none fetches the whole")
def _(lab):
    origin = lab.origin()

    @origin.on("/p")
    def _(x):
        if x.request.get("Range") == "bytes=2-3":
            return x.reply(206, "Content-Range: bytes 2-3/10", "Cache-Control: max-age=60", body="23")
        x.reply(200, "Cache-Control: max-age=60", body="0123456789")
    proxy = lab.proxy()
    answer = proxy.get(origin.url("/p"), "Range: bytes=2-3")
    same((answer.status, answer.text), (206, "23"), "by default")
    same(proxy.get(origin.url("/p")).text, "0123456789", "the partial reply is not taken for the whole")
    whole = lab.proxy("range_offset_limit none")
    origin.forget()
    answer = whole.get(origin.url("/p"), "Range: bytes=2-3")
    same((answer.status, answer.text), (206, "23"), "range_offset_limit none")
    same(whole.get(origin.url("/p")).text, "0123456789", "the whole is stored")
    same([r.get("Range") for r in origin.requests()], [None], "requests at the origin")


@scenario("cache.range-limit", "range_offset_limit by size and ACL: the whole is fetched when the range begins early enough")
def _(lab):
    origin = lab.origin()
    body = bytes(range(250)) * 400

    @origin.on(None)
    def _(x):
        wanted = x.request.get("Range")
        if not wanted:
            return x.reply(200, "Cache-Control: max-age=60" if "keep" in x.request.target else "Cache-Control: no-store", body=body)
        first, last = (int(n) for n in wanted[6:].split("-")) if wanted[6] != "-" else (len(body) + int(wanted[6:]), len(body) - 1)
        x.reply(206, f"Content-Range: bytes {first}-{last}/{len(body)}", body=body[first:last + 1])
    proxy = lab.proxy("acl some urlpath_regex ^/a\nrange_offset_limit 10 KB some\nrange_offset_limit 50 KB")
    for path, value, whole in (("/a-keep1", "10000-10009", True), ("/a-keep2", "20000-20009", False), ("/keep1", "40000-40009", True), ("/keep2", "60000-60009", False),
                               ("/keep3", "-10", False), ("/a-keep4", "99000-99009", False), ("/lose", "30000-30009", True)):
        answer = proxy.get(origin.url(path), f"Range: bytes={value}")
        first = int(value.split("-")[0] or len(body) - 10)
        same((answer.status, answer.body), (206, body[first:first + 10]), f"{path} {value}")
        same(origin.last().get("Range"), None if whole else f"bytes={value}", f"{path} {value}: Range at the origin")
    never = lab.proxy()
    never.get(origin.url("/keep"), "Range: bytes=0-9")
    same(origin.last().get("Range"), "bytes=0-9", "without a line")


@scenario("cache.range-stale", "A range of what is stale: from the old after a 304, from the new after a 200", squid="sends the new one whole")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.script("/p", reply(200, 'ETag: "a"', "Cache-Control: max-age=0", body="0123456789"), reply(304, 'ETag: "a"'),
                  reply(200, 'ETag: "b"', "Cache-Control: max-age=60", body="abcdefghij"))
    proxy.get(origin.url("/p"))
    for expected in ("234", "cde", "cde"):
        answer = proxy.get(origin.url("/p"), "Range: bytes=2-4")
        same((answer.status, answer.text), (206, expected), "the part")
    same(len(origin.requests("/p")), 3, "requests at the origin")


@scenario("cache.range-growing", "range_offset_limit none: the part is answered from what still comes, and the whole is kept though the client leaves")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("range_offset_limit none\ncollapsed_forwarding on\nquick_abort_min 0 KB\nquick_abort_max 0 KB")

    @origin.on("/p")
    def _(x):
        x.head(200, "Cache-Control: max-age=60", "Content-Length: 100000")
        for _ in range(10):
            x.send(b"0123456789" * 1000)
            time.sleep(0.1)
    took = lab.stopwatch()
    answers = lab.together(3, lambda i: proxy.get(origin.url("/p"), "Range: bytes=15001-15009").text)
    same(answers, ["123456789"] * 3, "the part")
    check(took() < 0.8, f"it comes before the end ({took():.2f} s)")
    time.sleep(1.5)
    same(len(proxy.get(origin.url("/p")).body), 100_000, "the whole")
    same(len(origin.requests("/p")), 1, "requests at the origin")


@scenario("cache.range-flood", "Many and overlapping ranges never multiply the work")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/p", "Cache-Control: max-age=60", body=b"r" * 100_000)
    proxy.get(origin.url("/p"))
    answer = proxy.get(origin.url("/p"), "Range: bytes=" + ",".join("0-" for _ in range(1500)))
    one_of(answer.status, (200, 206, 416, 400), "status")
    check(len(answer.body) < 1_000_000, f"{len(answer.body)} bytes")


@scenario("cache.object-limit", "maximum_object_size_in_memory: what is larger is passed on, not kept")
def _(lab):
    origin = lab.origin()
    proxy = lab.proxy("maximum_object_size_in_memory 100 KB\nmaximum_object_size 50 MB")
    for size, expected in ((90_000, 1), (120_000, 2)):
        origin.page(f"/{size}", "Cache-Control: max-age=60", body=b"o" * size)
        for _ in range(2):
            same(len(proxy.get(origin.url(f"/{size}")).body), size, "body")
        same(len(origin.requests(f"/{size}")), expected, f"{size}: requests at the origin")

    @origin.on("/chunked")
    def _(x):
        x.head(200, "Cache-Control: max-age=60", "Transfer-Encoding: chunked")
        for _ in range(20):
            x.chunk(b"c" * 10_000)
        x.last_chunk()
    for _ in range(2):
        same(len(proxy.get(origin.url("/chunked")).body), 200_000, "chunked body")
    same(len(origin.requests("/chunked")), 2, "one that grew too large: requests at the origin")


@scenario("cache.memory-bound", "cache_mem bounds the memory; what is asked for often stays")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("cache_mem 8 MB\nmaximum_object_size_in_memory 512 KB")
    for i in range(120):
        origin.page(f"/{i}", "Cache-Control: max-age=600", body=b"m" * 400_000)
    origin.page("/often", "Cache-Control: max-age=600", body=b"m" * 400_000)
    proxy.get(origin.url("/often"))
    before = proxy.memory()
    for i in range(120):
        proxy.get(origin.url(f"/{i}"))
        proxy.get(origin.url("/often"))
    between(proxy.memory() - before, 0, 40_000, "memory after 48 MB passed, KB")
    same(len(origin.requests("/often")), 1, "requests for what is asked for often")
    origin.forget()
    for i in range(120):
        proxy.get(origin.url(f"/{i}"))
    check(len(origin.requests()) > 80, "most of the others had to go")


@scenario("cache.cache-rule", "cache deny: neither stored nor served from the cache; store_miss and send_hit")
def _(lab):
    origin = lab.origin()
    origin.page("/no/p", "Cache-Control: max-age=60")
    origin.page("/yes/p", "Cache-Control: max-age=60")
    for directive in ("cache", "store_miss"):
        proxy = lab.proxy(f"acl no urlpath_regex ^/no/\n{directive} deny no\n{directive} allow all")
        origin.forget()
        for path, expected in (("/no/p", 2), ("/yes/p", 1)):
            for _ in range(2):
                proxy.get(origin.url(path))
            same(len(origin.requests(path)), expected, f"{directive}: {path}: requests at the origin")


@scenario("cache.miss-access", "miss_access deny: hits are served, misses are refused")
def _(lab):
    origin = lab.origin()
    origin.page("/p", "Cache-Control: max-age=60", body="page")
    proxy = lab.proxy("acl guest src 127.0.0.9\nmiss_access deny guest\nmiss_access allow all")
    same(proxy.get(origin.url("/p"), source="127.0.0.9").status, 403, "a miss")
    same(proxy.get(origin.url("/p")).status, 200, "by another client")
    same(proxy.get(origin.url("/p"), source="127.0.0.9").text, "page", "a hit")


@scenario("cache.purge", "PURGE removes; by HEAD key too; a later GET is a miss")
def _(lab):
    origin = lab.origin()
    proxy = lab.proxy("acl purge method PURGE\nhttp_access allow purge\nhttp_access allow all")
    origin.page("/p", "Cache-Control: max-age=60")
    proxy.get(origin.url("/p"))
    answer = proxy.ask("PURGE", origin.url("/p"))
    same((answer.status, answer.body), (200, b""), "PURGE")
    same(proxy.ask("PURGE", origin.url("/p")).status, 404, "again")
    proxy.get(origin.url("/p"))
    same(len(origin.requests("/p")), 2, "requests at the origin")
    same([r.method for r in origin.requests() if r.method == "PURGE"], [], "PURGE is not sent on")


@scenario("cache.purge-needs-acl", "Without an acl on the method PURGE it is refused")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/p", "Cache-Control: max-age=60")
    proxy.get(origin.url("/p"))
    one_of(proxy.ask("PURGE", origin.url("/p")).status, (403, 405), "PURGE")
    proxy.get(origin.url("/p"))
    same(len(origin.requests("/p")), 1, "it is still stored")


@scenario("cache.purge-during-fetch", "PURGE while the object is being fetched: what comes is not kept")
def _(lab):
    origin = lab.origin()
    proxy = lab.proxy("acl purge method PURGE\nhttp_access allow purge\nhttp_access allow all")

    @origin.on("/slow")
    def _(x):
        x.head(200, "Cache-Control: max-age=60", "Content-Length: 6")
        x.send("abc")
        time.sleep(0.8)
        x.send("def")
    pending = lab.background(lambda: proxy.get(origin.url("/slow")).text)
    origin.wait_for(1)
    time.sleep(0.3)
    proxy.ask("PURGE", origin.url("/slow"))
    same(pending.result(), "abcdef", "the transfer under way")
    same(proxy.get(origin.url("/slow")).text, "abcdef", "the next request")
    same(len(origin.requests("/slow")), 2, "requests at the origin")


@scenario("cache.url-forms", "One object for equal URLs: default port, case of the host; query and path case tell apart")
def _(lab):
    origin = lab.origin()
    proxy = lab.proxy("", hosts="127.0.0.1 site.test\n")

    @origin.on(None)
    def _(x):
        x.reply(200, "Cache-Control: max-age=60", body=x.request.target)
    base = f"http://site.test:{origin.port}"
    for url, expected in ((f"{base}/a", "/a"), (f"http://SITE.test:{origin.port}/a", "/a"), (f"{base}/A", "/A"), (f"{base}/a?", "/a?"),
                          (f"{base}/a?x=1", "/a?x=1"), (f"{base}/a?x=2", "/a?x=2")):
        same(proxy.get(url).text, expected, url)
    same(len(origin.requests()), 5, "objects")


@scenario("cache.restart-empty", "Memory is empty after a restart and serves again")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/p", "Cache-Control: max-age=60")
    for expected in (1, 2):
        proxy.get(origin.url("/p"))
        proxy.get(origin.url("/p"))
        same(len(origin.requests("/p")), expected, "requests at the origin")
        proxy.kill()
        proxy.expect_death = False
        proxy.start()


@scenario("mem.growing-charged", "A body that still grows is charged to cache_mem as it grows")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("cache_mem 32 MB\nmaximum_object_size_in_memory 8 MB")
    more = threading.Event()
    lab.cleanup(more.set)

    @origin.on("/grows")
    def _(x):
        x.send("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(30):
            x.send("19000\r\n" + "g" * 0x19000 + "\r\n")
        more.wait(20)
        x.send("0\r\n\r\n")

    def memory():
        return int(re.search(r"Storage Mem size:\s+(\d+) KB", proxy.manager("info"))[1])
    client = proxy.client()
    client.ask("GET", origin.url("/grows"))
    lab.eventually(lambda: memory() >= 2_800, "3 MB that have come are counted before the end")
    more.set()
    same(len(client.reply(timeout=20).body), 30 * 0x19000, "the body")
