"""What the fields of a message say: a second reader of them, plain and slow, for the model (RFC 9110, 9111).

Fields are lists of (name, value) in the order of the message. Times are seconds since 1970.
"""
import calendar
import functools
import re
import time
import urllib.parse

FOREVER = 1 << 31           # RFC 9111 1.2.2: where delta-seconds end

TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+\Z")
ENTITY_TAG = re.compile(r'(W/)?("[\x21\x23-\x7e\x80-\xff]*")\Z')
HOP_BY_HOP = {"connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
              "proxy-authenticate", "proxy-authorization", "proxy-authentication-info"}


def lines(fields, name):
    """The values of all lines of that name."""
    return [v for n, v in fields if n.lower() == name]


def first(fields, name):
    for n, v in fields:
        if n.lower() == name:
            return v
    return None


def split_list(value):
    """Members of #rule, quoted strings whole, empty members left out (RFC 9110 5.6.1)."""
    out, member, quoted, escaped = [], "", False, False
    for c in value:
        if quoted:
            member += c
            if escaped:
                escaped = False
            elif c == "\\":
                escaped = True
            elif c == '"':
                quoted = False
        elif c == ",":
            out.append(member)
            member = ""
        else:
            quoted = c == '"'
            member += c
    return [m.strip(" \t") for m in [*out, member] if m.strip(" \t")]


def members(fields, name):
    out = []
    for value in lines(fields, name):
        out += split_list(value) if '"' in value else [m for m in (part.strip(" \t") for part in value.split(",")) if m]
    return out


def directives(fields, name="cache-control"):
    """[(name in lower case, argument as it came or None)] (RFC 9111 5.2)."""
    out = []
    for member in members(fields, name):
        key, equals, argument = member.partition("=")
        out.append((key.strip(" \t").lower(), argument if equals else None))
    return out


def unquoted(text):
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] == '"' and '"' not in text[1:-1] and "\\" not in text else text


def delta_seconds(text):
    """RFC 9111 1.2.2, with or without quotes (5.2: recipients ought to accept both forms); None where it is none."""
    if text is None:
        return None
    text = unquoted(text)
    return min(int(text), FOREVER) if text.isascii() and text.isdigit() else None


def hop_by_hop(fields):
    """Names of the fields that end at the next hop (RFC 9110 7.6.1)."""
    named = {m.lower() for m in members(fields, "connection")}
    return HOP_BY_HOP | (named - {"close"})


# --- dates (RFC 9110 5.6.7)

MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
DAY, LONG_DAY = "(?:mon|tue|wed|thu|fri|sat|sun)", "(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
MONTH, CLOCK = f"({'|'.join(MONTHS)})", r"(\d\d):(\d\d):(\d\d)"
FIXDATE = re.compile(rf"{DAY}, (\d\d) {MONTH} (\d{{4}}) {CLOCK} gmt\Z", re.I | re.A)
RFC850 = re.compile(rf"{LONG_DAY}, (\d\d)-{MONTH}-(\d\d) {CLOCK} gmt\Z", re.I | re.A)
ASCTIME = re.compile(rf"{DAY} {MONTH} (\d\d| \d) {CLOCK} (\d{{4}})\Z", re.I | re.A)


@functools.lru_cache(4096)
def date(text, now):
    """Seconds, or None for what is no HTTP-date."""
    if text is None:
        return None
    text = text.strip(" \t")
    if m := FIXDATE.match(text):
        day, month, year, *clock = m.groups()
    elif m := ASCTIME.match(text):
        month, day, *clock, year = m.groups()
    elif m := RFC850.match(text):
        day, month, year, *clock = m.groups()
        # The last year with these digits that is no more than fifty years ahead.
        year = int(year) + time.gmtime(now).tm_year // 100 * 100
        year += 100
        while year > time.gmtime(now).tm_year + 50:
            year -= 100
    else:
        return None
    day, month, year = int(day), MONTHS.index(month.lower()) + 1, int(year)
    hour, minute, second = map(int, clock)
    if not (1 <= day <= calendar.monthrange(year, month)[1] and hour < 24 and minute < 60 and second <= 60):
        return None
    return calendar.timegm((year, month, day, hour, minute, second))


@functools.lru_cache(4096)
def http_date(when, form="fix"):
    t = time.gmtime(when)
    day, month = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"][t.tm_wday], MONTHS[t.tm_mon - 1].title()
    clock = f"{t.tm_hour:02}:{t.tm_min:02}:{t.tm_sec:02}"
    if form == "850":
        return f"{day}, {t.tm_mday:02}-{month}-{t.tm_year % 100:02} {clock} GMT"
    if form == "asctime":
        return f"{day[:3]} {month} {t.tm_mday:2} {clock} {t.tm_year}"
    return f"{day[:3]}, {t.tm_mday:02} {month} {t.tm_year} {clock} GMT"


# --- entity tags (RFC 9110 8.8.3.2)

def same_tag(a, b, strong=False):
    a, b = ENTITY_TAG.match(a or ""), ENTITY_TAG.match(b or "")
    return bool(a and b and a[2] == b[2] and not (strong and (a[1] or b[1])))


def is_strong(tag):
    return bool(tag) and bool(m := ENTITY_TAG.match(tag)) and not m[1]


def names_tag(values, tag):
    """If-None-Match: weak comparison with any of the list (RFC 9110 13.1.2)."""
    return any(v.strip(" \t") == "*" or any(same_tag(m, tag) for m in split_list(v)) for v in values)


# --- ranges (RFC 9110 14.1.2, 14.2)

def byte_ranges(value, size):
    """None: no Range that could be read. Else what can be satisfied of it, [(first, last)], perhaps nothing."""
    if value is None or value[:6].lower() != "bytes=":
        return None
    out, specs = [], split_list(value[6:])
    for spec in specs:
        begin, dash, end = spec.partition("-")
        if not dash or (begin + end == "") or not all(t == "" or (t.isascii() and t.isdigit()) for t in (begin, end)):
            return None
        if begin == "":
            if int(end) and size:
                out.append((max(size - int(end), 0), size - 1))
        elif end and int(end) < int(begin):
            return None
        elif int(begin) < size:
            out.append((int(begin), min(int(end), size - 1) if end else size - 1))
    return out if specs else None


def content_range(text):
    """(first, last, length of the whole), or None (RFC 9110 14.4)."""
    m = re.match(r"bytes (\d+)-(\d+)/(\d+)\Z", text or "", re.I | re.A)
    first, last, whole = map(int, m.groups()) if m else (1, 0, 0)
    return (first, last, whole) if first <= last < whole else None


# --- references (RFC 3986 5), and structured fields as far as RFC 9213 needs them

def resolved(base, reference):
    """What a reference names on the same origin, else None."""
    if reference is None:
        return None
    joined = urllib.parse.urljoin(base, reference.strip(" \t"))
    url, here = urllib.parse.urlsplit(joined), urllib.parse.urlsplit(base)
    if reference.strip(" \t") == "?":       # an empty query is one (RFC 3986 5.2.2), which urljoin forgets
        return base.partition("?")[0] + "?"
    return url._replace(fragment="").geturl() if (url.scheme, url.netloc) == (here.scheme, here.netloc) else None


ITEM = r'-?\d{1,15}|\?[01]|[A-Za-z*][A-Za-z0-9!#$%&\'*+\-.^_`|~:/]*|"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"'
KEY = r"[a-z*][a-z0-9_\-.*]*"
MEMBER = re.compile(rf" *({KEY})(?:=({ITEM}))?((?:; *{KEY}(?:=(?:{ITEM}))?)*)")
NUMBERS = ("max-age", "s-maxage", "stale-while-revalidate", "stale-if-error")
FLAGS = ("no-store", "public", "must-revalidate", "proxy-revalidate", "must-understand", "no-transform", "immutable", "no-cache", "private")


def dictionary(values):
    """The directives of a targeted field as directives() gives them, or None where it is absent, empty or invalid: one error, or a value
    of the wrong type, and all of it counts for nothing (RFC 9213 2.1, RFC 8941 4.2.2)."""
    text, at, out = ", ".join(values).strip(" "), 0, {}
    if not text:
        return None
    while True:
        m = MEMBER.match(text, at)
        if not m:
            return None
        key, item, at = m[1], m[2], m.end()
        is_number = item is not None and item.lstrip("-").isdigit()
        if key in NUMBERS:
            if not is_number:
                return None
            out[key] = (key, str(max(int(item), 0)))
        elif key in FLAGS:
            if key in ("no-cache", "private") and item is not None and item[0] == '"':
                out[key] = (key, item)
            elif item not in (None, "?0", "?1"):
                return None
            elif item == "?0":
                out.pop(key, None)
            else:
                out[key] = (key, None)
        rest = re.match(r"[ \t]*(,[ \t]*)?", text[at:])
        at += rest.end()
        if at == len(text):
            return None if rest[1] else list(out.values())
        if not rest[1]:
            return None
