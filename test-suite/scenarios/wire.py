"""HTTP/1.1 on a socket, read strictly: what a careful peer would accept and nothing more.

Used by both ends of a scenario (client.py and origin.py). A message that breaks
RFC 9112 raises WireError, so a proxy that sends one fails the scenario.
"""
import re
import socket
import time

TOKEN = re.compile(rb"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
STATUS_LINE = re.compile(rb"^HTTP/1\.([01]) ([1-9][0-9][0-9]) ([\t\x20-\x7e\x80-\xff]*)$")
REQUEST_LINE = re.compile(rb"^([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([\x21-\x7e\x80-\xff]+) HTTP/1\.([01])$")


class WireError(Exception):
    """The other side sent what RFC 9112 forbids."""


class Gone(Exception):
    """The connection ended before the message did."""
    partial = b""


class TooSlow(Exception):
    """Nothing (or not enough) came in time."""


class Stream:
    """Buffered reading from a socket, each read under one deadline."""

    def __init__(self, sock, timeout=5.0):
        self.sock, self.timeout = sock, timeout
        self.buffer = bytearray()
        self.eof = False

    def fill(self, deadline):
        left = deadline - time.monotonic()
        if left <= 0:
            raise TooSlow(f"waited {self.timeout:.1f} s; so far {bytes(self.buffer[:200])!r}")
        self.sock.settimeout(left)
        try:
            data = self.sock.recv(65536)
        except (socket.timeout, TimeoutError):
            raise TooSlow(f"waited {self.timeout:.1f} s; so far {bytes(self.buffer[:200])!r}") from None
        except OSError as error:
            self.eof = True
            raise Gone(f"connection broken ({error}); so far {bytes(self.buffer[:200])!r}") from None
        if not data:
            self.eof = True
        self.buffer += data
        return data

    def until(self, mark, deadline, limit=1 << 20):
        """Everything up to and including `mark`."""
        start = 0
        while True:
            at = self.buffer.find(mark, start)
            if at >= 0:
                out = bytes(self.buffer[:at + len(mark)])
                del self.buffer[:at + len(mark)]
                return out
            if len(self.buffer) > limit:
                raise WireError("head or line without an end")
            start = max(0, len(self.buffer) - len(mark))
            if not self.fill(deadline):
                raise Gone(f"end of stream after {bytes(self.buffer[:200])!r}")

    def exactly(self, size, deadline):
        parts, have = [], 0
        while have < size:
            try:
                if not self.buffer and not self.fill(deadline):
                    raise Gone(f"end of stream {size - have} bytes too early")
            except Gone as gone:
                gone.partial = b"".join(parts)
                raise
            take = bytes(self.buffer[:size - have])
            del self.buffer[:len(take)]
            parts.append(take)
            have += len(take)
        return b"".join(parts)

    def rest(self, deadline):
        while not self.eof:
            self.fill(deadline)
        out = bytes(self.buffer)
        self.buffer.clear()
        return out


class Fields(list):
    """Header fields in order, as (name, value) pairs of str (latin-1)."""

    def all(self, name):
        return [v for n, v in self if n.lower() == name.lower()]

    def get(self, name, default=None):
        found = self.all(name)
        return found[0] if found else default

    def __contains__(self, name):
        return bool(self.all(name))

    def tokens(self, name):
        """The members of a list field, lower case."""
        return [t.strip().lower() for v in self.all(name) for t in v.split(",") if t.strip()]


class Message:
    """A request or a reply. `raw` is its head as it came, `framing` one of none, length, chunked, close."""
    raw, version, framing, body, whole = b"", "1.1", "none", b"", True

    def __init__(self):
        self.fields, self.trailers, self.chunks = Fields(), Fields(), []

    def get(self, name, default=None):
        return self.fields.get(name, default)

    def has(self, name):
        return name in self.fields

    @property
    def text(self):
        return self.body.decode("utf-8", "replace")


class Request(Message):
    method = target = ""
    connection = 0      # number of the origin's connection it came on
    at = 0.0            # monotonic time of arrival
    continued = False   # we sent 100 Continue

    def __repr__(self):
        return self.raw.decode("latin-1").replace("\r\n", "\n").strip()


class Reply(Message):
    status, reason = 0, ""

    def __init__(self):
        super().__init__()
        self.interim = []   # 1xx replies before this one

    def __repr__(self):
        return self.raw.decode("latin-1").replace("\r\n", "\n").strip()


def parse_fields(lines):
    fields = Fields()
    for line in lines:
        if line[:1] in (b" ", b"\t"):
            raise WireError(f"obsolete line folding {line!r}")
        name, colon, value = line.partition(b":")
        if not colon or not TOKEN.match(name):
            raise WireError(f"bad field line {line!r}")
        if re.search(rb"[\x00-\x08\x0a-\x1f\x7f]", value):
            raise WireError(f"control character in {line!r}")
        fields.append((name.decode("latin-1"), value.strip(b" \t").decode("latin-1")))
    return fields


def split_head(raw):
    lines = raw[:-4].split(b"\r\n")
    for line in lines:
        if b"\r" in line or b"\n" in line:
            raise WireError(f"bare CR or LF in {line!r}")
    return lines[0], parse_fields(lines[1:])


def body_framing(message):
    """(kind, length) as the fields tell; contradictions are errors."""
    lengths, codings = message.fields.all("Content-Length"), message.fields.all("Transfer-Encoding")
    if lengths and codings:
        raise WireError("Content-Length beside Transfer-Encoding")
    if len(lengths) > 1 or len(codings) > 1:
        raise WireError(f"repeated framing field {lengths or codings}")
    if codings:
        if codings[0].lower() != "chunked":
            raise WireError(f"Transfer-Encoding {codings[0]!r}")
        return "chunked", 0
    if lengths:
        if not lengths[0].isdigit():
            raise WireError(f"Content-Length {lengths[0]!r}")
        return "length", int(lengths[0])
    return None, 0


def read_chunked(stream, message, deadline):
    while True:
        line = stream.until(b"\r\n", deadline)[:-2]
        size, _, _extension = line.partition(b";")
        if not re.match(rb"^[0-9A-Fa-f]{1,16}$", size):
            raise WireError(f"bad chunk size {line!r}")
        size = int(size, 16)
        if size == 0:
            break
        message.chunks.append(stream.exactly(size, deadline))
        message.body += message.chunks[-1]
        if stream.exactly(2, deadline) != b"\r\n":
            raise WireError("chunk does not end with CRLF")
    lines = []
    while True:
        line = stream.until(b"\r\n", deadline)[:-2]
        if not line:
            break
        lines.append(line)
    message.trailers = parse_fields(lines)


def read_body(stream, message, kind, length, deadline):
    message.framing = kind
    try:
        if kind == "chunked":
            read_chunked(stream, message, deadline)
        elif kind == "length":
            message.body = stream.exactly(length, deadline)
        elif kind == "close":
            message.body = stream.rest(deadline)
    except Gone as gone:
        message.whole = False
        message.body += gone.partial


def read_reply(stream, method="GET", timeout=None):
    """One final reply, with the interim ones before it. A body cut short is not an error here: see .whole."""
    deadline = time.monotonic() + (timeout or stream.timeout)
    interim = []
    while True:
        reply = Reply()
        reply.raw = stream.until(b"\r\n\r\n", deadline)
        line, reply.fields = split_head(reply.raw)
        match = STATUS_LINE.match(line)
        if not match:
            raise WireError(f"bad status line {line!r}")
        reply.version = "1." + match[1].decode()
        reply.status, reply.reason = int(match[2]), match[3].decode("latin-1")
        if reply.status < 200 and reply.status != 101:
            interim.append(reply)
            continue
        break
    reply.interim = interim
    kind, length = body_framing(reply)
    if method == "HEAD" or reply.status in (101, 204, 304) or (method == "CONNECT" and reply.status // 100 == 2):
        kind = "none"
    read_body(stream, reply, kind or "close", length, deadline)
    return reply


def read_request_head(stream, timeout=None):
    """The head of the next request, or None when the connection ends cleanly before it."""
    deadline = time.monotonic() + (timeout or stream.timeout)
    request = Request()
    try:
        request.raw = stream.until(b"\r\n\r\n", deadline)
    except Gone:
        if stream.buffer:
            raise
        return None
    line, request.fields = split_head(request.raw)
    match = REQUEST_LINE.match(line)
    if not match:
        raise WireError(f"bad request line {line!r}")
    request.method, request.target = match[1].decode(), match[2].decode("latin-1")
    request.version = "1." + match[3].decode()
    request.at = time.monotonic()
    return request


def read_request_body(stream, request, timeout=None):
    kind, length = body_framing(request)
    read_body(stream, request, kind or "none", length, time.monotonic() + (timeout or stream.timeout))


def to_bytes(text):
    return text if isinstance(text, (bytes, bytearray)) else text.encode("latin-1")


def head(first_line, *fields):
    return to_bytes("\r\n".join((first_line,) + fields) + "\r\n\r\n")


def chunk(data):
    data = to_bytes(data)
    return b"%x\r\n%s\r\n" % (len(data), data)


def last_chunk(*trailers):
    return to_bytes("0\r\n" + "".join(t + "\r\n" for t in trailers) + "\r\n")
