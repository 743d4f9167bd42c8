"""Random sequences: what a client asks of one URL and its neighbours, how far the clock goes in between, and what the
origin will say. All of it is drawn before anything happens, from the seed and the sequence's number alone.
"""
import random
from dataclasses import dataclass, field

import fields as f
from stored import Reply

FIRST_DAY = 1_900_000_000      # some morning in March 2030
AGES = [0, 1, 5, 10, 59, 60, 61, 100, 600, 3600, 86400]
STEPS = [0, 0, 0, 0, 1, 1, 4, 5, 6, 9, 10, 11, 30, 59, 60, 61, 99, 100, 101, 599, 600, 3599, 3600, 3601, 86400, 3 * 86400, 7 * 86400, 8 * 86400]
STATUSES = [200] * 24 + [203, 204, 299, 301, 302, 307, 308, 400, 403, 404, 404, 410, 418, 500, 503, 416, 412]


@dataclass
class Words:
    """What an answer of the origin says, relative to the moment when it says it."""
    status: int = 200
    control: list = field(default_factory=list)     # lines of Cache-Control
    more: list = field(default_factory=list)        # other fields as they are
    date: object = 0             # seconds off the right time, None for no Date, or text
    expires: list = field(default_factory=list)     # each: seconds from Date, or text
    form: str = "fix"
    tag: str = "strong"          # strong, weak, bare (no quotes), none
    modified: bool = True
    framing: str = "length"      # length, chunked, close


@dataclass
class Step:
    wait: int                    # seconds that pass first
    method: str
    path: str
    fields: list
    body: bytes
    words: Words
    mood: str                    # honest, close, cut, 5xx, wrong304, always304
    delay: int                   # seconds the origin takes
    changed: bool                # the resource is another than before
    ranges: str                  # honest, ignored, odd


def some(r, chance):
    return r.random() < chance


def cased(r, name):
    return r.choice([name, name, name, name.upper(), name.title()])


def seconds(r, name):
    n = r.choice(AGES)
    odd = r.random()
    if odd < 0.9:
        return f"{cased(r, name)}={n}"
    return r.choice([f'{name}="{n}"', f"{name}=-1", f"{name}=abc", name, f"{name}=", f"{name}={n}.5", f"{name}=99999999999999999999", f"{name}= {n}",
                     f"{name}={n}, {name}={r.choice(AGES)}", f"{name}=x, {name}={n}"])


def cache_control(r):
    """Lines of Cache-Control of a response."""
    words = []
    if some(r, 0.75):
        words.append(seconds(r, "max-age"))
    for name, chance in (("s-maxage", 0.12), ("stale-while-revalidate", 0.15), ("stale-if-error", 0.15)):
        if some(r, chance):
            words.append(seconds(r, name))
    for name, chance in (("no-cache", 0.06), ("no-store", 0.05), ("private", 0.04), ("public", 0.15), ("must-revalidate", 0.1), ("proxy-revalidate", 0.05),
                         ("must-understand", 0.04), ("immutable", 0.05), ("no-transform", 0.05), ('private="X-Secret"', 0.06), ('no-cache="x-secret, X-Other"', 0.06),
                         ('community="UCI, no-store"', 0.05), ('private="', 0.01), ('no-cache=""', 0.01), ("no-cache=X-Secret", 0.02), ("maxage=5", 0.02)):
        if some(r, chance):
            words.append(cased(r, name) if '"' not in name else name)
    r.shuffle(words)
    if not words:
        return []
    if len(words) > 1 and some(r, 0.2):
        cut = r.randrange(1, len(words))
        return [", ".join(words[:cut]), ",".join(words[cut:])]
    return [r.choice([", ", ",", " ,  ", ", ,"]).join(words)]


VARY = ["X-A", "x-a", "X-A, X-B", "Accept-Encoding", "Accept-Language", "accept-encoding, X-A", "*", "X-A, *", "X A"]
SELECTING = {"X-A": ["1", "1", "2", " 1", "1,2", "1, 2", "1 ,2", "a  b", "a b", ""],
             "X-B": ["1", "2"],
             "Accept-Encoding": ["gzip", "GZIP", "gzip, br", "br,gzip", "gzip;q=1.0", "gzip; q=0.5", "x-gzip", "identity"],
             "Accept-Language": ["de", "en", "en, de", "de,en", "en;q=0.8, de", "de, en;q=0.80"]}


def words(r, accelerated):
    w = Words(status=r.choice(STATUSES), control=cache_control(r))
    if some(r, 0.2):
        w.expires = [r.choice([*AGES, -1, -100, "0", "-1", "soon", "Thu, 01 Jan 1970 00:00:00 GMT"]) for _ in range(1 + some(r, 0.1))]
        w.form = r.choice(["fix", "fix", "850", "asctime"])
    if some(r, 0.2):
        w.date = r.choice([-1, -5, -60, -3600, 1, 60, 3600, None, None, "today", "Sun Nov  6 08:49:37 1994"])
    if some(r, 0.2):
        w.more.append(("Vary", r.choice(VARY)))
        if some(r, 0.1):
            w.more.append(("Vary", r.choice(VARY)))
    if some(r, 0.12):
        w.more += [("Age", a) for a in r.choice([["5"], ["10"], ["60"], ["0"], ["x"], ["-5"], ["5, 10"], ["5", "50"], [""], ["7;a=b"], ["99999999999999"], ["3.5"]])]
    w.tag = r.choice(["strong", "strong", "strong", "weak", "none", "none", "bare"])
    w.modified = some(r, 0.6)
    w.framing = r.choice(["length"] * 5 + ["chunked", "chunked", "close"])
    if some(r, 0.1):
        w.more.append(("X-Secret", f"for one {r.randrange(9)}"))
    if some(r, 0.05):
        w.more.append(("Set-Cookie", f"user={r.randrange(9)}"))
    if some(r, 0.04):
        w.more += [("Connection", "X-Hop, close" if w.framing == "close" else "X-Hop"), ("X-Hop", "ends here")]
    if some(r, 0.3):
        w.more.append(("Content-Type", "text/plain"))
    if some(r, 0.05):
        w.more.append(("Pragma", "no-cache"))
    if accelerated and some(r, 0.3):
        w.more.append(("CDN-Cache-Control", r.choice(["max-age=60", "max-age=600, no-cache", "no-store", "max-age=60;x=1, foo=bar", "max-age=5,", "max-age=abc", "Max-Age=60",
                                                      "max-age=100, stale-while-revalidate=30", "s-maxage=10", "private", "max-age=\"60\"", "max-age=60, must-revalidate", "", "max-age=-5"])))
    return w


def client_control(r):
    out = []
    for name, chance in (("max-age", 0.25), ("min-fresh", 0.15), ("max-stale", 0.25), ("stale-if-error", 0.1)):
        if some(r, chance):
            out.append("max-stale" if name == "max-stale" and some(r, 0.3) else seconds(r, name))
    for name, chance in (("no-cache", 0.25), ("no-store", 0.12), ("only-if-cached", 0.1), ("no-transform", 0.05)):
        if some(r, chance):
            out.append(cased(r, name))
    return [("Cache-Control", ", ".join(out))] if out else []


class Story:
    """One sequence. The clock begins where it says and goes on by the steps' waits and delays."""

    def __init__(self, seed, number, accelerated, root=None):
        r = random.Random(f"{seed}/{number}")
        self.seed, self.number, self.accelerated = seed, number, accelerated
        self.begin = FIRST_DAY + r.choice([0, 1, 86399, 40 * 86400, 1400 * 86400])
        self.modified = self.begin - r.choice([1, 2, 50, 500, 5000, 86400, 30 * 86400])
        self.root = root or f"/{number}"
        self.sizes = [r.choice([1, 2, 10, 40, 40, 100, 3000]) for _ in range(10)]     # by version
        usual = words(r, accelerated)
        usual_fields = self.selecting(r, 0.15)
        self.steps = [self.step(r, usual, usual_fields, accelerated) for _ in range(r.randint(2, 8))]

    def selecting(self, r, chance):
        out = []
        for name, values in SELECTING.items():
            if some(r, chance):
                out.append((name, r.choice(values)))
                if some(r, 0.05):
                    out.append((name.lower(), r.choice(values)))
        return out

    def tag_text(self, r):
        return r.choice(['"v0"', '"v0"', '"v0"', '"v1"', 'W/"v0"', '"x,y"', '"'])

    def http_date(self, r):
        return f.http_date(self.modified + r.choice([-1, 0, 0, 0, 1, 2, 10 ** 6]), r.choice(["fix", "fix", "850", "asctime"]))

    def conditions(self, r):
        out = []
        if some(r, 0.12):
            out.append(("If-None-Match", r.choice([self.tag_text(r), ", ".join(self.tag_text(r) for _ in range(2)).replace('""', '"v2"'), "*", "v0"])))
        if some(r, 0.12):
            out.append(("If-Modified-Since", self.http_date(r) if some(r, 0.95) else "yesterday"))
        if some(r, 0.02):
            out.append(("If-Match", self.tag_text(r)))
        if some(r, 0.02):
            out.append(("If-Unmodified-Since", self.http_date(r)))
        return [(n, v) for n, v in out if v.count('"') % 2 == 0]

    def range(self, r):
        spec = r.choice(["0-0", "0-", "5-", "5-9", "-5", "-1", "-0", "0-99999", "99999-", "39-39", "40-", "0-1, 5-6", "0-0,-1", "1-2, 2-3", "0-,0-,0-", "5-2", "x", "1-x", "-"])
        out = [("Range", r.choice(["bytes=", "bytes=", "bytes=", "Bytes=", "lines="]) + spec)]
        if some(r, 0.3):
            out.append(("If-Range", r.choice([self.tag_text(r), self.http_date(r)])))
        return out

    def step(self, r, usual, usual_fields, accelerated):
        method = r.choice(["GET"] * 14 + ["HEAD", "HEAD", "POST", r.choice(["PUT", "DELETE", "PATCH", "OPTIONS", "FROB", "POST"])])
        fields = list(usual_fields if some(r, 0.8) else self.selecting(r, 0.3))
        if some(r, 0.25):
            fields += client_control(r)
        elif some(r, 0.04):
            fields.append(("Pragma", "no-cache"))
        if some(r, 0.02):
            fields.append(("Pragma", "no-cache"))
        fields += self.conditions(r)
        if some(r, 0.1):
            fields += self.range(r)
        if some(r, 0.06):
            fields.append(("Authorization", "Basic dXNlcjpwYXNz"))
        body = b""
        if method in ("POST", "PUT", "PATCH") or (method == "GET" and some(r, 0.01)):
            body = b"x" * r.choice([1, 10, 100])
        w = usual if some(r, 0.65) else words(r, accelerated)
        if method not in ("GET", "HEAD") and some(r, 0.8):
            w = Words(**{**w.__dict__, "status": r.choice([200, 201, 204, 303, 400, 404, 500]), "more": list(w.more)})
            for name in ("Location", "Content-Location"):
                if some(r, 0.3):
                    w.more.append((name, r.choice([self.root, f"{self.root}/near", "near", "../other", "http://elsewhere.test" + self.root, "?", f"{self.root}/near#part"])))
        mood = r.choices(["honest", "close", "cut", "5xx", "wrong304", "always304"], [80, 5, 3, 7, 3, 2])[0]
        path = self.root if some(r, 0.85) else r.choice([f"{self.root}/near", f"{self.root}?q=1"])
        return Step(r.choice(STEPS), method, path, fields, body, w, mood, r.choice([0] * 9 + [1, 2, 5, 61]), some(r, 0.25), r.choice(["honest", "honest", "ignored", "odd"]))


class Origin:
    """The resources of one story, and what their origin answers."""

    def __init__(self, story):
        self.story, self.version, self.replies = story, 0, 0

    def tag(self, kind):
        return {"strong": f'"v{self.version}"', "weak": f'W/"v{self.version}"', "bare": f"v{self.version}", "none": None}[kind]

    def fields(self, words, now):
        self.replies += 1
        fields = [("X-Reply", str(self.replies))]
        date = now
        if isinstance(words.date, str):
            fields.append(("Date", words.date))
        elif words.date is not None:
            date = now + words.date
            fields.append(("Date", f.http_date(date)))
        fields += [("Cache-Control", line) for line in words.control]
        fields += [("Expires", e if isinstance(e, str) else f.http_date(date + e, words.form)) for e in words.expires]
        if self.tag(words.tag):
            fields.append(("ETag", self.tag(words.tag)))
        if words.modified:
            fields.append(("Last-Modified", f.http_date(self.story.modified + self.version)))
        return fields + words.more

    def answer(self, step, request, attempt, now):
        """A Reply; `attempt` counts from 0 within the step."""
        reply = self.said(step, request, attempt, now)
        reply.framing = step.words.framing
        return reply

    def said(self, step, request, attempt, now):
        w, mood = step.words, step.mood
        fields = self.fields(w, now)
        conditional = any(f.lines(request.fields, n) for n in ("if-none-match", "if-modified-since"))
        if mood == "close":
            return Reply(0)
        if mood == "5xx":
            return Reply(500 + self.replies % 4, fields, b"trouble " + str(self.replies).encode())
        if mood == "always304" and attempt == 0:
            return Reply(304, fields)
        if mood == "wrong304" and attempt == 0 and conditional:
            other = [("ETag", '"other"'), ("Last-Modified", f.http_date(self.story.modified - 77))][self.replies % 2]
            return Reply(304, [x for x in fields if x[0] not in ("ETag", "Last-Modified")] + [other])
        if conditional and attempt == 0 and request.method in ("GET", "HEAD") and w.status == 200 and self.unchanged(request, w, now):
            return Reply(304, [x for x in fields if x[0] not in ("Content-Type",) and (x[0] not in ("Date", "ETag", "Last-Modified") or self.replies % 7)])
        return self.whole_or_part(step, request, fields)

    def unchanged(self, request, w, now):
        tags = f.lines(request.fields, "if-none-match")
        if tags:
            return f.names_tag(tags, self.tag(w.tag)) or self.tag(w.tag) in tags
        since = f.date(f.first(request.fields, "if-modified-since"), now)
        return since is not None and since >= self.story.modified + self.version

    def whole_or_part(self, step, request, fields):
        w = step.words
        # A strong entity tag stands for these bytes and no others.
        body = (f"v{self.version} {request.url} ".encode() + bytes(range(48, 112)) * 60)[:self.story.sizes[self.version]]
        reply = Reply(w.status, fields, body)
        wanted = f.first(request.fields, "range")
        if wanted and w.status == 200 and request.method == "GET" and step.ranges != "ignored":
            ranges = f.byte_ranges(wanted, len(body))
            if ranges == []:
                return Reply(416, fields + [("Content-Range", f"bytes */{len(body)}")], b"")
            if ranges and len(ranges) == 1:
                a, b = ranges[0]
                told = f"bytes {a}-{b}/{len(body)}" if step.ranges == "honest" else self.story.root
                reply = Reply(206, fields + [("Content-Range", told)], body[a:b + 1], whole=body)
        if step.mood == "cut" and len(reply.body) > 1:
            reply.complete = False
        if w.status in (204, 304) or request.method == "HEAD":
            reply.complete, reply.body = True, b"" if w.status == 204 else reply.body
        return reply
