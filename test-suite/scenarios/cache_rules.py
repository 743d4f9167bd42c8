"""RFC 9111 on the wire, with what is stored in memory alone, on disk alone, and in both."""
import time

from disk_lab import ALWAYS_FROM_DISK, cache_dir, files
from lab import check, one_of, same, scenario
from origin import http_date, reply

GROUP = "cache"
SQUID = "no disk cache as here; differs in several of these"


class Place:
    """A proxy whose objects lie in one place."""

    def __init__(self, lab, name, config="", make=None):
        self.lab, self.name = lab, name
        lines = {"memory": "", "disk": cache_dir(lab, "disk" + str(time.monotonic_ns())) + ALWAYS_FROM_DISK, "both": cache_dir(lab, "both" + str(time.monotonic_ns()))}
        self.folder = lines[name].split()[2] if lines[name] else None
        self.proxy = (make or lab.proxy)(lines[name] + config)

    def get(self, url, *fields, **more):
        answer = self.proxy.get(url, *fields, **more)
        self.rest()
        return answer

    def ask(self, method, url, *fields, **more):
        answer = self.proxy.ask(method, url, *fields, **more)
        self.rest()
        return answer

    def rest(self):
        """What is on its way to the disk arrives there."""
        if self.folder:
            time.sleep(0.15 * self.lab.patience)


def places(lab, config="", make=None):
    for name in ("memory", "disk", "both"):
        place = Place(lab, name, config, make)
        yield place
        place.proxy.stop()
        place.proxy.expect_death = False


@scenario("rule.304-updates", "A 304 updates every stored field but Content-Length, Content-Encoding and Content-Range", squid=SQUID)
def _(lab):
    for at in places(lab):
        origin = lab.origin()
        origin.script("/p", reply(200, 'ETag: "a"', "Cache-Control: max-age=0", "Content-Type: text/plain", "Content-Encoding: x-one", "X-A: one",
                                  "X-B: stays", "Content-Location: /one", body="body"),
                      reply(304, 'ETag: "a"', "Cache-Control: max-age=60", "Content-Type: text/html", "Content-Encoding: x-two", "X-A: two", "X-C: new",
                            "Content-Length: 0", "Content-Range: bytes 0-0/1", "Content-Location: /two", "Connection: X-Hop", "X-Hop: secret"),
                      reply(500))
        same(at.get(origin.url("/p")).get("X-A"), "one", f"{at.name}: at first")
        for what in ("the one that validated", "a later hit", "another"):
            answer = at.get(origin.url("/p"))
            same((answer.status, answer.body, answer.get("X-A"), answer.get("X-B"), answer.get("X-C"), answer.get("Content-Type"),
                  answer.get("Content-Encoding"), answer.get("Content-Length"), answer.get("Content-Range"), answer.get("Content-Location"),
                  answer.get("X-Hop")),
                 (200, b"body", "two", "stays", "new", "text/html", "x-one", "4", None, "/two", None), f"{at.name}: {what}")
        same(len(origin.requests("/p")), 2, f"{at.name}: requests at the origin")


@scenario("rule.304-of-another", "A 304 that is about another response: the origin is asked again, without conditions", squid=SQUID)
def _(lab):
    for at in places(lab):
        for first, second, path in (('ETag: "a"', 'ETag: "b"', "/tag"), (f"Last-Modified: {http_date(-100)}", f"Last-Modified: {http_date(-200)}", "/time")):
            origin = lab.origin()
            state = {"new": False}

            @origin.on(path)
            def _(x, first=first, second=second, state=state):
                if x.request.has("If-None-Match") or x.request.has("If-Modified-Since"):
                    x.reply(304, second, "Cache-Control: max-age=60", "X-A: wrong")
                else:
                    x.reply(200, second if state["new"] else first, f"Cache-Control: max-age={60 if state['new'] else 0}", body="new" if state["new"] else "old")
            same(at.get(origin.url(path)).body, b"old", f"{at.name}: at first")
            state["new"] = True
            time.sleep(1.1 if path == "/time" else 0)      # a heuristic lifetime plays no part: max-age=0
            for what in ("the one that validated", "a hit"):
                answer = at.get(origin.url(path))
                same((answer.status, answer.body, answer.get("X-A")), (200, b"new", None), f"{at.name} {path}: {what}")
            same(len(origin.requests(path)), 3, f"{at.name} {path}: requests at the origin")


@scenario("rule.304-unasked", "A 304 to a request without conditions never reaches the client; one to its own condition does", squid="passes it on")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/p", 'ETag: "a"', status=304, body="")
    for _ in range(2):
        same(proxy.get(origin.url("/p")).status, 502, "without a condition")
    same(proxy.get(origin.url("/p"), 'If-None-Match: "a"').status, 304, "with one")


@scenario("rule.304-forbids", "A 304 that says no-store, private or another Vary takes the copy away; so served once more, then fetched anew", squid=SQUID)
def _(lab):
    for at in places(lab):
        for number, news in enumerate(("Cache-Control: no-store", "Cache-Control: private", "Vary: X-Other", "Vary: *")):
            origin = lab.origin()
            origin.script(f"/{number}", reply(200, 'ETag: "a"', "Cache-Control: max-age=0", body="old"), reply(304, 'ETag: "a"', news), reply(200, body="new"))
            same([at.get(origin.url(f"/{number}")).body for _ in range(3)], [b"old", b"old", b"new"], f"{at.name}: {news}")
            check(not origin.last().has("If-None-Match"), f"{at.name}: {news}: nothing is left to validate")


@scenario("rule.head", "HEAD renews what is stored, or takes it away when it tells of something else", squid=SQUID)
def _(lab):
    for at in places(lab):
        origin = lab.origin()
        head = {"fields": ()}

        @origin.on("/p")
        def _(x, head=head):
            if x.request.method == "HEAD":
                x.reply(200, *head["fields"], body="body")
            else:
                x.reply(200, 'ETag: "a"', "Cache-Control: max-age=0", "X-A: one", body="body")
        url = origin.url("/p")
        at.get(url)
        head["fields"] = ('ETag: "a"', "Cache-Control: max-age=60", "X-A: two")
        same(at.ask("HEAD", url).get("X-A"), "two", f"{at.name}: HEAD")
        answer = at.get(url)
        same((answer.body, answer.get("X-A"), len(origin.requests("/p"))), (b"body", "two", 2), f"{at.name}: renewed")
        for number, fields in enumerate((('ETag: "b"', "Cache-Control: max-age=60"), ('ETag: "a"', "Content-Length: 5000", "Cache-Control: max-age=60"))):
            head["fields"] = fields
            at.ask("HEAD", url, "Cache-Control: no-cache")
            same(at.get(url).get("X-A"), "one", f"{at.name}: {fields}: gone")
            check(not origin.last("/p").has("If-None-Match"), f"{at.name}: {fields}: nothing to validate")
            head["fields"] = ('ETag: "a"', "Cache-Control: max-age=60", "X-A: two")
            if number == 0:
                at.ask("HEAD", url)


@scenario("rule.post", "An answer to POST is kept for GET when its Content-Location is the request's URL and it has a lifetime", squid=SQUID)
def _(lab):
    rows = (("Content-Location: {url}", "Cache-Control: max-age=60", True), ("Content-Location: /p", "Cache-Control: max-age=60", True),
            ("Content-Location: /other", "Cache-Control: max-age=60", False), ("X: y", "Cache-Control: max-age=60", False),
            ("Content-Location: {url}", 'ETag: "a"', False), ("Content-Location: {url}", "Cache-Control: max-age=60, no-store", False))
    for at in places(lab):
        for location, control, kept in rows:
            origin = lab.origin()

            @origin.on("/p")
            def _(x, location=location, control=control, origin=origin):
                if x.request.method == "POST":
                    x.reply(200, location.format(url=origin.url("/p")), control, body="posted")
                else:
                    x.reply(200, "Cache-Control: max-age=60", body="got")
            at.get(origin.url("/p"))
            same(at.ask("POST", origin.url("/p"), body=b"x").body, b"posted", "the answer")
            same(at.get(origin.url("/p")).body, b"posted" if kept else b"got", f"{at.name}: {location}, {control}")
            at.ask("POST", origin.url("/p"), "Cache-Control: no-store", body=b"x")
            same(at.get(origin.url("/p")).body, b"got", f"{at.name}: {location}, {control}: the next one takes it away")


@scenario("rule.kept-apart", "Hop-by-hop fields, those that Connection names and those of no-cache= and private= are not in the store", squid=SQUID)
def _(lab):
    apart = ("X-Mine", "X-Mine-Too", "X-Ask", "Set-Cookie")
    hop = ("X-Hop", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Connection", "Upgrade", "TE", "Trailer")
    for at in places(lab):
        origin = lab.origin()
        origin.page("/p", 'Cache-Control: max-age=60, private="X-Mine, x-mine-too", no-cache="X-Ask"', "Connection: X-Hop", "X-End: stays",
                    *(f"{name}: secret" for name in apart + hop), body="body")
        first = at.get(origin.url("/p"))
        same([name for name in apart if not first.has(name)], [], f"{at.name}: the first client gets what is its own")
        hit = at.get(origin.url("/p"))
        same((hit.get("X-End"), "secret" in hit.text + str(hit.raw), len(origin.requests("/p"))), ("stays", False, 1), f"{at.name}: a hit")
        if at.folder:
            time.sleep(1.2 * lab.patience)
            stored = b"".join(open(f, "rb").read() for f in files(at.folder))
            same((b"X-End: stays" in stored, b"secret" in stored), (True, False), f"{at.name}: on disk")


@scenario("rule.cookies", "stored_set_cookie strip, keep, no-store", squid="always strips")
def _(lab):
    for config, cookie, requests in (("", None, 1), ("stored_set_cookie strip", None, 1), ("stored_set_cookie keep", "a=b", 1), ("stored_set_cookie no-store", "a=b", 2)):
        for at in places(lab, config):
            origin = lab.origin()
            origin.page("/p", "Cache-Control: max-age=60", "Set-Cookie: a=b")
            same(at.get(origin.url("/p")).get("Set-Cookie"), "a=b", f"{config}: the first client")
            same((at.get(origin.url("/p")).get("Set-Cookie"), len(origin.requests("/p"))), (cookie, requests), f"{at.name}, {config}: the second")


@scenario("rule.targeted", "CDN-Cache-Control replaces Cache-Control and Expires at an accelerator; an invalid one is not there; a forward proxy follows Cache-Control",
          squid="does not know it")
def _(lab):
    rows = (("max-age=60", "no-store", True), ("max-age=60", "private", True), ("no-store", "max-age=60", False), ("private", "max-age=60", False),
            ("max-age=0", "max-age=60", False), ("max-age=\"60\"", "no-store", False), ("max-age=60, &", "no-store", False),
            ("max-age=\"60\"", "max-age=60", True), ("", "max-age=60", True), ("foo", "max-age=60", False), ("foo, max-age=60", "no-cache", True))
    origin = lab.origin()
    for number, (cdn, cc, _) in enumerate(rows):
        origin.page(f"/{number}", f"CDN-Cache-Control: {cdn}", f"Cache-Control: {cc}", "Surrogate-Control: content=\"x\"", f"Expires: {http_date(600)}", "X-A: b")
    origin.page("/both", "CDN-Cache-Control: max-age=60", "Surrogate-Control: no-store")

    def hit(get):
        get()
        return "HIT" in get().get("X-Cache")
    for at in places(lab, make=lambda config: lab.accelerator(origin, config)):
        for number, (cdn, cc, wanted) in enumerate(rows):
            same(hit(lambda n=number, place=at: place.get(f"/{n}", host="site.test")), wanted, f"{at.name}: {cdn} over {cc}")
        check(hit(lambda place=at: place.get("/both", host="site.test")), "CDN-Cache-Control goes before Surrogate-Control")
        same(at.get("/0", host="site.test").get("CDN-Cache-Control"), "max-age=60", "it is passed on")
    proxy = lab.proxy()
    for number, (cdn, cc, _) in enumerate(rows):
        same(hit(lambda n=number: proxy.get(origin.url(f"/{n}"))), cc == "max-age=60", f"forward: {cdn} over {cc}")


@scenario("rule.credentials", "Credentials in the URL count as Authorization does: what came with them is not for others", squid=SQUID)
def _(lab):
    for at in places(lab):
        origin = lab.origin()
        origin.page("/p", "Cache-Control: max-age=60")
        origin.page("/public", "Cache-Control: max-age=60, public")
        for path, requests in (("/p", 2), ("/public", 1)):
            at.get(origin.url(path).replace("http://", "http://user:word@"))
            check(origin.last(path).has("Authorization"), "sent as Authorization")
            at.get(origin.url(path))
            same(len(origin.requests(path)), requests, f"{at.name}: {path}")


FAILURES = ("drop", "refuse", "500", "503", "504")


@scenario("rule.stale-if-error", "stale-if-error on a dropped connection, a refused one and 5xx; the copy survives", squid=SQUID)
def _(lab):
    for at in places(lab, "connect_timeout 1 second\nforward_timeout 3 seconds\n"):
        for failure in FAILURES:
            origin = lab.origin()
            state = {"failing": False}

            @origin.on("/p")
            def _(x, state=state, failure=failure):
                if not state["failing"]:
                    x.reply(*((304, 'ETag: "a"', "X-A: again") if x.request.has("If-None-Match") else (200, 'ETag: "a"')),
                            "Cache-Control: max-age=0, stale-if-error=60", body="" if x.request.has("If-None-Match") else "old")
                elif failure == "drop":
                    x.close()
                else:
                    x.reply(int(failure), body="failed")
            url = origin.url("/p")
            at.get(url)
            time.sleep(0.05)
            state["failing"] = True
            if failure == "refuse":
                origin.stop()
            for _ in range(2):
                answer = at.get(url, timeout=10)
                same((answer.status, answer.body), (200, b"old"), f"{at.name}: {failure}")
            state["failing"] = False
            if failure == "refuse":
                origin.listen()
            answer = at.get(url)
            same((answer.body, answer.get("X-A")), (b"old", "again"), f"{at.name}: {failure}, then well: validated")


@scenario("rule.refresh-cut", "A refresh that is cut takes nothing away: the old one is validated again; but for one that was purged meanwhile", squid="the old one is gone")
def _(lab):
    for at in places(lab, "acl purge method PURGE\nhttp_access allow purge\nhttp_access allow all\n"):
        origin = lab.origin()
        for path, purged in (("/p", False), ("/purged", True)):
            state = {"asked": []}

            @origin.on(path)
            def _(x, at=at, path=path, purged=purged, state=state):
                state["asked"].append(x.request.get("If-None-Match"))
                if len(state["asked"]) == 2:
                    x.head(200, "Content-Length: 1000", 'ETag: "b"', "Cache-Control: max-age=60")
                    x.send("x" * 10)
                    if purged:
                        time.sleep(0.2)
                        same(at.proxy.ask("PURGE", origin.url(path)).status, 200, "PURGE")
                    x.close()
                elif x.request.get("If-None-Match") == '"a"':
                    x.reply(304, 'ETag: "a"')
                else:
                    x.reply(200, 'ETag: "a"', "Cache-Control: max-age=0", body="old")
            same(at.get(origin.url(path)).body, b"old", f"{at.name}: at first")
            check(not at.get(origin.url(path)).whole, f"{at.name}: the cut one is known as such")
            for _ in range(2):
                same(at.get(origin.url(path)).body, b"old", f"{at.name}: after the one that was cut")
            same(state["asked"], [None, '"a"', None if purged else '"a"', '"a"'], f"{at.name} {path}: conditions at the origin")


@scenario("rule.stale-unvalidated", "stale-if-error also for what has no validator, and when the origin fails only once asked again", squid=SQUID)
def _(lab):
    for failure in ("drop", "503"):
        for fields in ((), ('ETag: "a"',)):
            origin, proxy = lab.origin(), lab.proxy()
            first = reply(200, "Cache-Control: max-age=60, stale-if-error=600", "Age: 59", *fields, body="old")
            failed = reply(503, body="failed") if failure == "503" else b""

            @origin.on("/p")
            def _(x, failed=failed, first=first):
                count = len(origin.requests("/p"))
                if count == 1:
                    x.send(first)
                elif x.request.has("If-None-Match"):
                    x.reply(304, 'ETag: "b"')    # of another: asked again without conditions
                else:
                    x.send(failed)
                    x.close()
            url = origin.url("/p")
            proxy.get(url)
            time.sleep(1.1)
            answer = proxy.get(url)
            same((answer.status, answer.body), (200, b"old"), f"{failure}, {fields}")
            proxy.stop()


@scenario("rule.origin-conditions", "If-Match and If-Unmodified-Since are the origin's to judge: no part in a hit, passed on when the origin is asked",
          squid="answers 412 itself")
def _(lab):
    conditions = ('If-Match: "b"', "If-Unmodified-Since: Thu, 01 Jan 1998 00:00:00 GMT")
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/p", "Cache-Control: max-age=60", 'ETag: "a"', "Last-Modified: Thu, 01 Jan 1999 00:00:00 GMT", body="page")
    proxy.get(origin.url("/p"))
    for condition in conditions:
        origin.forget()
        same((proxy.get(origin.url("/p"), condition).status, len(origin.requests("/p"))), (200, 0), condition)
        proxy.get(origin.url("/p"), condition, "Cache-Control: max-age=0")
        asked = origin.last("/p")
        name, _, value = condition.partition(": ")
        same((asked.get(name), asked.get("If-None-Match")), (value, '"a"'), f"{condition}, validated")


@scenario("rule.stale-forbidden", "No stale-if-error against must-revalidate, proxy-revalidate, s-maxage, no-cache", squid=SQUID)
def _(lab):
    for at in places(lab, "connect_timeout 1 second\nforward_timeout 3 seconds\n"):
        for directive in ("must-revalidate, max-age=0", "proxy-revalidate, max-age=0", "s-maxage=0", "no-cache, max-age=60"):
            for failure in ("drop", "503"):
                origin = lab.origin()
                state = {"failing": False}

                @origin.on("/p")
                def _(x, state=state, failure=failure, directive=directive):
                    if not state["failing"]:
                        x.reply(200, 'ETag: "a"', f"Cache-Control: stale-if-error=60, stale-while-revalidate=60, {directive}", body="old")
                    elif failure == "drop":
                        x.close()
                    else:
                        x.reply(503, body="failed")
                at.get(origin.url("/p"))
                time.sleep(1.1 if directive == "no-cache, max-age=60" and failure == "drop" else 0)
                state["failing"] = True
                one_of(at.get(origin.url("/p"), "Cache-Control: max-stale", timeout=10).status, (502, 503, 504), f"{at.name}: {directive}, {failure}")


@scenario("rule.stale-while-revalidate", "stale-while-revalidate: many are answered at once, one request validates; a failed one leaves the copy", squid=SQUID)
def _(lab):
    for at in places(lab):
        origin = lab.origin()
        state = {"turn": 0}

        @origin.on("/p")
        def _(x, state=state):
            state["turn"] += 1
            if state["turn"] == 1:
                x.reply(200, 'ETag: "a"', "Cache-Control: max-age=0, stale-while-revalidate=60", body="old")
            elif state["turn"] == 2:
                time.sleep(0.6)
                x.reply(503, "Cache-Control: no-store", body="failed")
            else:
                time.sleep(0.6)
                x.reply(200, 'ETag: "b"', "Cache-Control: max-age=60", body="new")
        url = origin.url("/p")
        at.get(url)
        for turn in (2, 3):
            began = time.monotonic()
            answers = lab.together(8, lambda _, place=at: place.proxy.get(url))
            same({a.body for a in answers}, {b"old"}, f"{at.name}: turn {turn}: what all get")
            check(time.monotonic() - began < 0.55 * lab.patience, f"{at.name}: turn {turn}: nobody waits")
            origin.wait_for(turn, "/p")
            time.sleep(1.0 * lab.patience)
            same(len(origin.requests("/p")), turn, f"{at.name}: turn {turn}: requests at the origin")
        same((at.get(url).body, len(origin.requests("/p"))), (b"new", 3), f"{at.name}: the new one")


@scenario("rule.304-made", "A 304 made from the store carries ETag, Date, Vary, Cache-Control, Expires, Content-Location, and no more of the head")
def _(lab):
    for at in places(lab):
        origin = lab.origin()
        fields = {"ETag": '"a"', "Vary": "X-Some", "Cache-Control": "max-age=60", "Expires": http_date(60), "Content-Location": "/here"}
        origin.page("/p", *(f"{name}: {value}" for name, value in fields.items()), "X-Other: x", "Content-Type: text/plain", body="body")
        first = at.get(origin.url("/p"))
        answer = at.get(origin.url("/p"), 'If-None-Match: "a"')
        same((answer.status, answer.body, {name: answer.get(name) for name in fields}), (304, b"", fields), f"{at.name}: the 304")
        same((answer.get("Date"), answer.has("Age"), answer.has("X-Other"), answer.has("Content-Type"), answer.has("Content-Length")),
             (first.get("Date"), True, False, False, False), f"{at.name}: beside them")
        same(len(origin.requests("/p")), 1, f"{at.name}: requests at the origin")


@scenario("rule.vary-forms", "Vary on Accept-Encoding and Accept-Language: other spellings of the same wish select the same variant", squid="compares them byte by byte")
def _(lab):
    for at in places(lab):
        origin = lab.origin()
        origin.page("/p", "Cache-Control: max-age=60", "Vary: Accept-Encoding", "Vary: accept-language,", body="body")
        at.get(origin.url("/p"), "Accept-Encoding: gzip, br;q=0.5", "Accept-Language: de, en;q=0.80")
        for encoding, language, requests in (("br;q=0.50,GZIP", "EN;q=0.8 , de", 1), ("x-gzip;q=1.0 , br ; q=0.5", "de;q=1,en;q=0.8", 1), ("gzip", "de, en;q=0.8", 2),
                                             ("gzip, br;q=0.5", "de", 3)):
            at.get(origin.url("/p"), f"Accept-Encoding: {encoding}", f"Accept-Language: {language}")
            same(len(origin.requests("/p")), requests, f"{at.name}: {encoding}; {language}")


@scenario("rule.only-if-cached", "only-if-cached where nothing may be answered from the cache: 504, and nobody is asked", squid=SQUID)
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("acl some urlpath_regex /some\ncache deny some")
    origin.page("/some", "Cache-Control: max-age=60")
    proxy.get(origin.url("/some"))
    same(proxy.get(origin.url("/some"), "Cache-Control: only-if-cached").status, 504, "denied by cache")
    same(proxy.ask("POST", origin.url("/some"), "Cache-Control: only-if-cached", body=b"x").status, 504, "POST")
    same(len(origin.requests()), 1, "requests at the origin")
