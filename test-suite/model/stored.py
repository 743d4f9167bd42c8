"""What a cache keeps of a message and makes of its directives: storing, lifetimes, ages, selecting fields (RFC 9111 3 to 5)."""
from dataclasses import dataclass, field

import fields as f

# The statuses whose lifetime may be guessed (RFC 9110 15.1).
HEURISTIC = {200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501}
# Those whose caching is implemented, for must-understand (RFC 9111 5.2.2.3).
UNDERSTOOD = {200, 203, 204, 300, 301, 302, 303, 307, 308, 400, 401, 403, 404, 405, 406, 408, 409, 410, 411, 413, 414, 415, 421, 429,
              451, 500, 501, 502, 503, 504}
# About one request alone, not about the resource: the answer to conditions, credentials or a range that no key holds.
ONE_REQUEST = {206, 304, 407, 412, 416}
# The manual's defaults.
HEURISTIC_PERCENT, HEURISTIC_MOST = 20, 3 * 86400       # refresh_pattern . 0 20% 4320
MAX_STALE = 7 * 86400                                   # max_stale 1 week
MINIMUM_EXPIRY = 60                                     # minimum_expiry_time 60 seconds
SAFE = {"GET", "HEAD", "OPTIONS", "TRACE"}              # RFC 9110 9.2.1
REPEATABLE = {"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"}   # 9.2.2, of those whose meaning is known
CONDITIONS = ("if-none-match", "if-modified-since", "if-match", "if-unmodified-since", "if-range", "range")


@dataclass
class Request:
    method: str
    url: str
    fields: list
    body: bytes = b""


@dataclass
class Reply:
    """What the origin said. status 0: it closed the connection without a word; not complete: within the body."""
    status: int
    fields: list = field(default_factory=list)
    body: bytes = b""
    complete: bool = True
    framing: str = "length"      # or chunked, or close: what tells where the body ends
    whole: bytes = b""           # of a 206: all of what it is a part of


@dataclass
class Exchange:
    request: Request
    reply: Reply
    asked: int
    answered: int
    reused: bool = False         # the connection had been used before


@dataclass
class Answer:
    status: int
    fields: list
    body: bytes
    complete: bool


# --- directives

class Control:
    """Cache-Control of a response (RFC 9111 5.2.2). A directive given twice: the first valid one counts (4.2.1 lets the
    first, or none, count); a lifetime that cannot be read makes the response stale (4.2.1)."""

    def __init__(self, directives, targeted=False):
        self.targeted = targeted
        self.flags, self.apart = set(), set()
        self.seconds = {}
        bad = set()
        for name, argument in directives:
            if name in ("max-age", "s-maxage", "stale-while-revalidate", "stale-if-error"):
                value = f.delta_seconds(argument)
                if value is None:
                    bad.add(name)
                else:
                    self.seconds.setdefault(name, value)
            elif name in ("no-cache", "private") and argument is not None:
                # The qualified form: about the fields it names (5.2.2.4, 5.2.2.7); one that names none is the whole.
                names = f.split_list(f.unquoted(argument))
                if names and all(f.TOKEN.match(n) for n in names):
                    self.apart |= {n.lower() for n in names}
                else:
                    self.flags.add(name)
            else:
                self.flags.add(name)
        self.unreadable = "s-maxage" not in self.seconds and ("s-maxage" in bad or ("max-age" in bad and "max-age" not in self.seconds))

    def lifetime(self):
        """Seconds, or None where it says nothing (4.2.1)."""
        return 0 if self.unreadable else self.seconds.get("s-maxage", self.seconds.get("max-age"))


class Wishes:
    """What a client asks of the cache (RFC 9111 5.2.1). An argument that cannot be read makes the directive unknown: ignored (5.2.3)."""

    def __init__(self, request):
        self.flags, self.seconds = set(), {}
        for name, argument in f.directives(request.fields):
            if name in ("max-age", "min-fresh", "stale-if-error", "max-stale"):
                value = f.FOREVER if name == "max-stale" and argument is None else f.delta_seconds(argument)
                if value is not None:
                    self.seconds.setdefault(name, value)
            else:
                self.flags.add(name)
        if not f.lines(request.fields, "cache-control"):                             # 5.4
            self.flags |= {"no-cache" for m in f.members(request.fields, "pragma") if m.lower() == "no-cache"}


# --- what is stored

@dataclass
class Stored:
    url: str
    status: int
    fields: list          # as a later client gets them, without Age
    body: bytes
    control: Control
    date: int             # Date, or when it was received (RFC 9110 6.6.1)
    received: int
    initial_age: int
    lifetime: int
    explicit: bool
    vary: tuple           # names, sorted
    selecting: tuple      # what the request that fetched it had of them
    maybe: bool = False   # it may have gone
    parts: tuple = None   # of `body`, what has come: ((first, last), ...); None: all of it

    def age(self, now):
        return self.initial_age + max(now - self.received, 0)

    @property
    def etag(self):
        return f.first(self.fields, "etag")

    @property
    def modified(self):
        return f.first(self.fields, "last-modified")

    def validators(self):
        """What goes into a conditional request: all there is (RFC 9111 4.3.1)."""
        return [(n, v) for n, v in (("if-none-match", self.etag), ("if-modified-since", self.modified)) if v is not None]

    def is_strong(self):
        """Whether parts can be known to be of it (RFC 9110 8.8.2.2, 15.3.7.3)."""
        when = f.date(self.modified, self.date)
        return f.is_strong(self.etag) if self.etag is not None else when is not None and self.date > when

    def forbids_stale(self):
        """RFC 9111 4.2.4: the directives that a stale response must not be used against."""
        return bool(self.control.flags & {"must-revalidate", "proxy-revalidate", "no-cache"}) or "s-maxage" in self.control.seconds


def timing(status, all_fields, control, asked, received):
    """(date, initial age, lifetime, explicit) by RFC 9111 4.2.1 to 4.2.3; lifetime None: it has none and may get none."""
    date = f.date(f.first(all_fields, "date"), received)
    date = received if date is None else date
    members = f.members(all_fields, "age")
    age = f.delta_seconds(members[0]) if members and members[0][0] != '"' else 0     # 5.1: the first, else ignored
    initial = min(max(received - date, 0, (age or 0) + max(received - asked, 0)), f.FOREVER)
    lifetime = control.lifetime()
    if lifetime is None and f.lines(all_fields, "expires") and not control.targeted:
        expires = f.date(f.first(all_fields, "expires"), received)
        lifetime = 0 if expires is None else min(max(expires - date, 0), f.FOREVER)     # 5.3: invalid = past
    if lifetime is not None:
        return date, initial, lifetime, True
    if status not in HEURISTIC and "public" not in control.flags:
        return date, initial, None, False
    modified = f.date(f.first(all_fields, "last-modified"), received)                # 4.2.2
    if modified is None or modified >= date:
        return date, initial, 0, False
    return date, initial, min(min(date - modified, f.FOREVER) * HEURISTIC_PERCENT // 100, HEURISTIC_MOST), False


def vary_of(all_fields):
    """Names of Vary, or None where nothing can match (RFC 9111 4.1; a name that is none can be shown to match nothing)."""
    names = f.members(all_fields, "vary")
    if any(n == "*" or not f.TOKEN.match(n) for n in names):
        return None
    return tuple(sorted({n.lower() for n in names}))


def selecting_value(request, name):
    """A request's field for comparison: lines joined, white space normalised (RFC 9111 4.1); what an empty member means is the field's
    affair. Of the two whose members are a set with weights, the set (doc/protocols.md)."""
    values = f.lines(request.fields, name)
    if not values:
        return None
    joined = ", ".join(v.strip(" \t") for v in values)
    if name not in ("accept-encoding", "accept-language"):
        return tuple(" ".join(part.split()) for part in joined.split(","))
    parts = [" ".join(m.split()) for m in f.split_list(joined)]
    out = set()
    for part in parts:
        coding, *parameters = [p.strip() for p in part.lower().split(";")]
        weight = [p for p in parameters if p.startswith("q=")]
        out.add((coding[2:] if coding == "x-gzip" else coding, float(weight[0][2:]) if weight else 1.0))
    return tuple(sorted(out))


def selecting(names, request):
    return tuple(selecting_value(request, n) for n in names)


def stored_fields(fields, control):
    """RFC 9111 3.1: all but what ends at a hop; Age is made anew; and what is for the first client alone (5.2.2.4, 5.2.2.7;
    Set-Cookie: stored_set_cookie strip)."""
    gone = f.hop_by_hop(fields) | control.apart | {"age", "set-cookie", "content-length"}
    return [(n, v) for n, v in fields if n.lower() not in gone]
