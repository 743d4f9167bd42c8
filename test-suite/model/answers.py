"""What the client must get: from a stored response, or from what the origin said (RFC 9111 4, RFC 9110 13 to 15)."""
from dataclasses import dataclass, field

import fields as f

FAILURE = {502, 503, 504}                               # what the proxy says of its own when the origin gave nothing


@dataclass
class Expected:
    what: str
    status: set
    fields: list = field(default_factory=list)    # all of these, each name with just these values
    absent: tuple = ()                            # names that must not be there
    body: bytes | None = None
    cut: bool = False                             # the body must be seen to end too early
    parts: list | None = None                     # multipart/byteranges: [(first, last)] of `body`

    def differences(self, answer, head):
        if answer.status not in self.status:
            yield f"status {answer.status}, expected {sorted(self.status)} ({self.what})"
            return
        for name in dict.fromkeys(n.lower() for n, _ in self.fields):
            wanted, got = f.lines(self.fields, name), f.lines(answer.fields, name)
            if wanted != got:
                yield f"{name}: {got}, expected {wanted} ({self.what})"
        for name in self.absent:
            if f.lines(answer.fields, name):
                yield f"{name}: {f.lines(answer.fields, name)}, expected none ({self.what})"
        if self.cut:
            if answer.complete and not head:
                yield f"a body that was cut off looks complete ({self.what})"
            if self.body is not None and not self.body.startswith(answer.body):
                yield f"other bytes than the origin sent ({self.what})"
            return
        if not answer.complete:
            yield f"the body ends too early ({self.what})"
        elif self.parts is not None:
            yield from self.part_differences(answer)
        elif self.body is not None and answer.body != (b"" if head else self.body):
            yield f"body {answer.body[:60]!r}, expected {self.body[:60]!r} ({self.what})"

    def part_differences(self, answer):
        kind = f.first(answer.fields, "content-type") or ""
        if not kind.startswith("multipart/byteranges; boundary="):
            yield f"content-type {kind!r} of several parts"
            return
        boundary = kind.partition("boundary=")[2].strip('"').encode()
        pieces = (b"\r\n" + answer.body).split(b"\r\n--" + boundary)
        if pieces[0] != b"" or pieces[-1].strip() != b"--":
            yield f"parts do not begin and end as they should: {answer.body[:60]!r}"
            return
        got = []
        for piece in pieces[1:-1]:
            head, _, body = piece.partition(b"\r\n\r\n")
            ranges = [line.partition(b":")[2].strip().decode() for line in head.split(b"\r\n") if line.lower().startswith(b"content-range:")]
            got.append((ranges, body))
        wanted = [([f"bytes {a}-{b}/{len(self.body)}"], self.body[a:b + 1]) for a, b in self.parts]
        if got != wanted:
            yield f"parts {got}, expected {wanted}"


def failure():
    """RFC 9110 15.6.3, 15.6.5; nothing of a stored response in it."""
    return Expected("a failure of the origin", FAILURE, absent=("x-reply", "age"))


def bodiless(request, status):
    return request.method == "HEAD" or status in (204, 304) or status < 200


def if_range_holds(request, etag, modified, date, now):
    """RFC 9110 13.1.5: strong comparison; a date only exactly, and only where it is strong (8.8.2.2)."""
    values = f.lines(request.fields, "if-range")
    if not values:
        return True
    if len(values) > 1:
        return False
    if '"' in values[0]:
        return f.same_tag(values[0], etag, strong=True)
    asked, changed = f.date(values[0], now), f.date(modified, now)
    return asked is not None and asked == changed and date > changed


def whole_or_part(request, what, fields, body, date, now, cut=False):
    """A 200 for a request that may ask for ranges of it: what may be answered (RFC 9110 14.2)."""
    whole = Expected(what, {200}, fields, body=body, cut=cut)
    ranges = f.byte_ranges(f.first(request.fields, "range"), len(body)) if request.method == "GET" else None
    if ranges is None or not if_range_holds(request, f.first(fields, "etag"), f.first(fields, "last-modified"), date, now):
        return [whole]
    whole.absent += ("content-range",)
    if cut:
        # Parts may lie before the cut or behind it. 14.2 lets a server ignore Range.
        return [whole, Expected(what + ", a part of it", {206, 416}, [], cut=True), Expected(what + ", a part of it", {206, 416})]
    if not ranges:
        return [Expected(what + ", no such part", {416}, [("Content-Range", f"bytes */{len(body)}")])]
    if len(ranges) == 1:
        a, b = ranges[0]
        return [Expected(what + ", a part", {206}, [*fields, ("Content-Range", f"bytes {a}-{b}/{len(body)}")], body=body[a:b + 1])]
    several = Expected(what + ", parts", {206}, [x for x in fields if x[0].lower() != "content-type"], body=body, parts=ranges)
    return [several, whole]     # 14.2: many small or overlapping ranges may be ignored


def not_modified(request, s, now):
    """RFC 9111 4.3.2: whether a 304 answers what the client asked. If-Match and If-Unmodified-Since are the origin's to judge."""
    if s.status not in (200, 206):
        return False
    tags = f.lines(request.fields, "if-none-match")
    if tags:
        return f.names_tag(tags, s.etag) or any(t.strip(" \t") == "*" for t in tags)
    since = f.lines(request.fields, "if-modified-since")
    if len(since) != 1 or f.date(since[0], now) is None:                             # RFC 9110 13.1.3
        return False
    changed = f.date(s.modified, now)
    return (s.date if changed is None else changed) <= f.date(since[0], now)


def from_stored(request, s, now, what):
    """What a stored response gives (RFC 9111 4). One of these."""
    fields = [*s.fields, ("Age", str(s.age(now)))]
    if not f.lines(fields, "date"):
        fields.append(("Date", f.http_date(s.received)))                             # RFC 9110 6.6.1
    absent = ("set-cookie",)
    if not_modified(request, s, now):
        goes = ("etag", "date", "vary", "cache-control", "expires", "content-location", "age")   # RFC 9110 15.4.5
        return [Expected(what + ", not modified", {304}, [x for x in fields if x[0].lower() in goes], absent, body=b"")]
    if s.status == 200:
        out = whole_or_part(request, what, fields, s.body, s.date, now)
    else:
        out = [Expected(what, {s.status}, fields, body=b"" if bodiless(request, s.status) else s.body)]
    for each in out:
        each.absent += absent
    return out


def passed_on(reply, received):
    """The end-to-end fields of a reply, as they came (RFC 9110 7.6); Age too."""
    gone = f.hop_by_hop(reply.fields) | {"content-length"}
    fields = [(n, v) for n, v in reply.fields if n.lower() not in gone]
    return fields if f.lines(fields, "date") else [*fields, ("Date", f.http_date(received))]
