"""Users' cases A to C: freshness, validation, Vary; what must not be stored; ranges, aborts."""
import time

from lab import between, check, contains, one_of, same, scenario
from origin import reply

GROUP = "cases"


@scenario("A1", "Vary: * is never a hit")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/star", "Cache-Control: max-age=60", "Vary: *")
    for _ in range(2):
        same(proxy.get(origin.url("/star")).status, 200, "status")
    same(len(origin.requests("/star")), 2, "requests at the origin")


def two_languages(origin, path):
    @origin.on(path)
    def _(x):
        language = x.request.get("Accept-Language", "none")
        x.reply(200, "Cache-Control: max-age=60", "Vary: Accept-Language", body=f"in {language}\n")


@scenario("A3", "PURGE takes every variant", squid="purges only the variant that the PURGE request itself selects")
def _(lab):
    origin = lab.origin()
    proxy = lab.proxy("acl purge method PURGE\nhttp_access allow all")
    two_languages(origin, "/doc")
    url = origin.url("/doc")
    for _ in range(2):
        for language in ("de", "en"):
            same(proxy.get(url, f"Accept-Language: {language}").text, f"in {language}\n", "variant")
    same(len(origin.requests("/doc")), 2, "both variants are stored")
    same(proxy.ask("PURGE", url).status, 200, "PURGE of a stored URL")
    for language in ("de", "en"):
        proxy.get(url, f"Accept-Language: {language}")
    same(len(origin.requests("/doc")), 4, "both variants are fetched again")
    same(proxy.ask("PURGE", url).status, 200, "PURGE again")


@scenario("A4", "PURGE of what is not there: 404; from one who may not: 403; the origin hears nothing")
def _(lab):
    origin = lab.origin()
    proxy = lab.proxy("acl purge method PURGE\nacl trusted src 127.0.0.1\nhttp_access allow purge trusted\nhttp_access deny purge\nhttp_access allow all")
    same(proxy.ask("PURGE", origin.url("/nothing")).status, 404, "PURGE of a missing object")
    same(proxy.ask("PURGE", origin.url("/nothing"), source="127.0.0.9").status, 403, "PURGE from a stranger")
    same(origin.connections, 0, "connections at the origin")


@scenario("A5", "304 freshens the stored fields")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.script("/p", reply(200, 'ETag: "a"', "Cache-Control: max-age=1", "X-New: one", body="body"),
                  reply(304, 'ETag: "a"', "Cache-Control: max-age=60", "X-New: two"))
    same(proxy.get(origin.url("/p")).get("X-New"), "one", "first X-New")
    time.sleep(2.1)
    second = proxy.get(origin.url("/p"))
    same((second.status, second.body, second.get("X-New")), (200, b"body", "two"), "the refreshed reply")
    between(int(second.get("Age", "0")), 0, 1, "Age after revalidation")
    same(origin.last("/p").get("If-None-Match"), '"a"', "the validator that was sent")
    third = proxy.get(origin.url("/p"))
    same((third.status, third.body, third.get("X-New")), (200, b"body", "two"), "the hit")
    same(len(origin.requests("/p")), 2, "requests at the origin")


@scenario("A6", "304 with Content-Length: 0 does not empty the stored body", squid="sends and keeps an empty body")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.script("/p", reply(200, 'ETag: "a"', "Cache-Control: max-age=1", body="whole body"),
                  reply(304, 'ETag: "a"', "Cache-Control: max-age=60", "Content-Length: 0"))
    proxy.get(origin.url("/p"))
    time.sleep(2.1)
    for what in ("revalidated", "hit"):
        answer = proxy.get(origin.url("/p"))
        same((answer.status, answer.body, answer.get("Content-Length")), (200, b"whole body", "10"), what)
    same(len(origin.requests("/p")), 2, "requests at the origin")


@scenario("A8", "A client without validators never gets a 304")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.script("/p", reply(200, 'ETag: "a"', "Cache-Control: max-age=0", body="body"), reply(304, 'ETag: "a"'))
    for _ in range(3):
        answer = proxy.get(origin.url("/p"))
        same((answer.status, answer.body), (200, b"body"), "reply")
    check(origin.last("/p").get("If-None-Match"), "the proxy revalidated")


@scenario("A9", "If-None-Match compares weakly, without asking the origin")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/w", 'ETag: W/"w"', "Cache-Control: max-age=60", body="body")
    proxy.get(origin.url("/w"))
    for tag in ('W/"w"', '"w"', "*", '"x", W/"w"'):
        answer = proxy.get(origin.url("/w"), f"If-None-Match: {tag}")
        same((answer.status, answer.body), (304, b""), f"If-None-Match: {tag}")
    same(proxy.get(origin.url("/w"), 'If-None-Match: "other"').status, 200, "another tag")
    same(len(origin.requests("/w")), 1, "requests at the origin")


@scenario("A11", "Age begins again after revalidation and is on every hit")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.script("/p", reply(200, 'ETag: "a"', "Cache-Control: max-age=1", "Age: 0", body="body"),
                  reply(304, 'ETag: "a"', "Cache-Control: max-age=60"))
    proxy.get(origin.url("/p"))
    time.sleep(2.1)
    proxy.get(origin.url("/p"))
    time.sleep(1.1)
    hit = proxy.get(origin.url("/p"))
    check(hit.has("Age"), "a hit has Age")
    between(int(hit.get("Age")), 1, 2, "Age one second after the revalidation")


@scenario("A13", "Nothing stale under must-revalidate, whatever the client accepts")
def _(lab):
    for directive in ("must-revalidate", "proxy-revalidate", "s-maxage=1"):
        origin, proxy = lab.origin(), lab.proxy("connect_timeout 1 second\nforward_timeout 2 seconds")
        origin.page("/p", f"Cache-Control: max-age=1, {directive}", 'ETag: "a"', body="old")
        proxy.get(origin.url("/p"))
        origin.stop()
        time.sleep(2.1)
        answer = proxy.get(origin.url("/p"), "Cache-Control: max-stale=100", timeout=10)
        one_of(answer.status, (502, 503, 504), f"{directive} with the origin down")


@scenario("A14", "stale-if-error: a stale reply when the origin fails, and again afterwards", squid="passes the 503 on")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.script("/p", reply(200, "Cache-Control: max-age=1, stale-if-error=60", 'ETag: "a"', body="old"), reply(503, body="down"))
    proxy.get(origin.url("/p"))
    time.sleep(2.1)
    for what in ("origin answers 503", "again"):
        answer = proxy.get(origin.url("/p"))
        same((answer.status, answer.body), (200, b"old"), what)
    origin.stop()
    answer = proxy.get(origin.url("/p"), timeout=15)
    same((answer.status, answer.body), (200, b"old"), "origin refuses connections")


@scenario("A16", "404 with max-age is stored", squid="does not store it")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/no", "Cache-Control: max-age=60", status=404, body="none here")
    for _ in range(2):
        answer = proxy.get(origin.url("/no"))
        same((answer.status, answer.body), (404, b"none here"), "reply")
    same(len(origin.requests("/no")), 1, "requests at the origin")


RELOADS = ("Cache-Control: no-cache", "Pragma: no-cache", "Cache-Control: max-age=0")


@scenario("A17", "A client's reload reaches the origin, unless refresh_pattern says otherwise")
def _(lab):
    origin = lab.origin()
    origin.page("/p", "Cache-Control: max-age=60", 'ETag: "a"', body="body")

    def asked(options, field):
        proxy = lab.proxy(f"refresh_pattern . 0 20% 4320 {options}")
        origin.forget()
        proxy.get(origin.url("/p"))
        proxy.get(origin.url("/p"), field)
        proxy.stop()
        return origin.requests("/p")[1:]
    for field in RELOADS:
        same(len(asked("", field)), 1, f"{field}: requests at the origin")
    same(len(asked("ignore-reload", RELOADS[0])), 0, f"{RELOADS[0]} with ignore-reload")
    revalidations = asked("reload-into-ims", RELOADS[0])
    check(len(revalidations) == 1 and (revalidations[0].has("If-None-Match") or revalidations[0].has("If-Modified-Since")),
          "reload-into-ims makes a conditional request")


@scenario("A18", "ignore-must-revalidate in refresh_pattern: a warning, not the end")
def _(lab):
    origin = lab.origin()
    proxy = lab.proxy("refresh_pattern . 0 20% 4320 ignore-must-revalidate ignore-no-cache ignore-auth")
    origin.page("/p")
    same(proxy.get(origin.url("/p")).status, 200, "it runs")
    code, text = proxy.parse()
    same(code, 0, "exit code of -k parse")
    contains(text, "ignore-must-revalidate", "the warning")


@scenario("A19", "only-if-cached on a miss: 504 without asking")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/p", "Cache-Control: max-age=60")
    same(proxy.get(origin.url("/p"), "Cache-Control: only-if-cached").status, 504, "a miss")
    same(origin.connections, 0, "connections at the origin")
    proxy.get(origin.url("/p"))
    same(proxy.get(origin.url("/p"), "Cache-Control: only-if-cached").status, 200, "a hit")


@scenario("B20", "Replies to requests with Authorization are not shared, unless public")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/own", "Cache-Control: max-age=60")
    origin.page("/public", "Cache-Control: max-age=60, public")
    for path, expected in (("/own", 2), ("/public", 1)):
        proxy.get(origin.url(path), "Authorization: Basic dTpw")
        proxy.get(origin.url(path))
        same(len(origin.requests(path)), expected, f"{path}: requests at the origin")
    same(origin.requests("/own")[0].get("Authorization"), "Basic dTpw", "Authorization passes through")


@scenario("B22", "A body cut short is passed on as broken and never kept")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()

    @origin.on("/length")
    def _(x):
        x.head(200, "Cache-Control: max-age=60", "Content-Length: 100")
        x.send("ten bytes.")
        x.close()

    @origin.on("/chunked")
    def _(x):
        x.head(200, "Cache-Control: max-age=60", "Transfer-Encoding: chunked")
        x.chunk("ten bytes.")
        x.close()
    for path in ("/length", "/chunked"):
        for count in (1, 2):
            answer = proxy.get(origin.url(path))
            check(not answer.whole, f"{path}: the client can see that the body is cut short")
            check(answer.framing != "close", f"{path}: framing {answer.framing} shows it")
            same(len(origin.requests(path)), count, f"{path}: requests at the origin")


@scenario("B24", "Hop-by-hop fields stay on their hop; the others pass")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/p", "Cache-Control: max-age=60", "Connection: X-Hop, close", "X-Hop: secret", "X-End: kept", "Keep-Alive: timeout=5", body="b")
    for what in ("miss", "hit"):
        answer = proxy.get(origin.url("/p"), "Connection: X-Mine", "X-Mine: 1", "X-Through: 2", "TE: trailers", "Proxy-Connection: keep-alive")
        check(not answer.has("X-Hop") and answer.get("X-End") == "kept", f"{what}: X-Hop is gone and X-End there")
        check("x-hop" not in answer.fields.tokens("Connection"), f"{what}: Connection does not name it")
    asked = origin.last("/p")
    check(not asked.has("X-Mine") and asked.get("X-Through") == "2", "the client's X-Mine stays, X-Through passes")
    check(not asked.has("Proxy-Connection"), "Proxy-Connection stays")
    same(len(origin.requests("/p")), 1, "requests at the origin")


@scenario("B25", "Manager pages are fresh each time")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/p")

    def requests():
        answer = proxy.get("/squid-internal-mgr/counters", host=f"127.0.0.1:{proxy.port}")
        between(int(answer.get("Age", "0")), 0, 1, "Age of the page")
        return int(answer.text.split("client_http.requests = ")[1].split()[0])
    first = requests()
    for _ in range(3):
        proxy.get(origin.url("/p"))
    between(requests() - first, 3, 5, "requests counted between the pages")


@scenario("C27", "Odd ranges on a stored object", squid="answers 200 to a range past the end")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("maximum_object_size_in_memory 2 MB")
    body = bytes(i * 7 % 251 for i in range(1_000_000))
    origin.page("/big", "Cache-Control: max-age=60", body=body)
    same(proxy.get(origin.url("/big")).body, body, "the first reply")

    def ranged(value):
        return proxy.get(origin.url("/big"), f"Range: bytes={value}")
    for value, start, end in (("-5", 999_995, 999_999), ("0-0", 0, 0), ("500-", 500, 999_999), ("999999-2000000", 999_999, 999_999)):
        answer = ranged(value)
        same((answer.status, answer.get("Content-Range")), (206, f"bytes {start}-{end}/1000000"), f"bytes={value}")
        same(answer.body, body[start:end + 1], f"bytes={value}: body")
    several = ranged("0-0,5-6")
    same(several.status, 206, "two ranges")
    contains(several.get("Content-Type", ""), "multipart/byteranges", "two ranges")
    for part in (body[0:1], body[5:7]):
        contains(several.body, part + b"\r\n", "two ranges: parts")
    for value in ("abc", "20-10"):
        answer = ranged(value)
        same((answer.status, len(answer.body)), (200, 1_000_000), f"bytes={value}")
    beyond = ranged("9999999-")
    same((beyond.status, beyond.get("Content-Range")), (416, "bytes */1000000"), "past the end")
    same(len(origin.requests("/big")), 1, "requests at the origin")


def slow_page(origin):
    @origin.on("/slow")
    def _(x):
        x.head(200, "Cache-Control: max-age=60", "Content-Length: 60")
        for _ in range(12):
            x.send("12345")
            time.sleep(0.15)


def leave_midway(lab, proxy, origin):
    with proxy.client() as client:
        client.ask("GET", origin.url("/slow"))
        lab.eventually(lambda: client.stream.fill(time.monotonic() + 5), "the first bytes")
        time.sleep(0.3)
        client.reset()


@scenario("C29", "A client leaves midway: the rest is fetched (quick_abort_min), or not at all")
def _(lab):
    origin = lab.origin()
    slow_page(origin)
    kept = lab.proxy()
    leave_midway(lab, kept, origin)
    time.sleep(2.0)
    answer = kept.get(origin.url("/slow"))
    same((answer.body, len(origin.requests("/slow"))), (b"12345" * 12, 1), "the finished fetch is a hit")
    origin.forget()
    dropped = lab.proxy("quick_abort_min 0 KB\nquick_abort_max 0 KB")
    leave_midway(lab, dropped, origin)
    time.sleep(0.5)
    answer = dropped.get(origin.url("/slow"))
    same((answer.body, len(origin.requests("/slow"))), (b"12345" * 12, 2), "the stopped fetch is a miss")
