"""What the disk scenarios share: an origin whose bodies follow from path and version, so that every byte can be
checked, a lean client for thousands of requests, and the files of a cache directory.

    source, proxy = Source(lab), lab.proxy(cache_dir(lab))
    pull = Puller(lab, proxy, source)
    pull.right("/100000/name")           # a body of 100,000 bytes, whole and of a version the origin sent
"""
import collections
import ctypes
import hashlib
import os
import re
import socket
import subprocess
import time

from lab import check, same
from origin import http_date
from tcp_server import TcpServer

CHUNK = 1 << 20


def chunk_of(path, version, number, size=CHUNK):
    return hashlib.shake_128(f"{path} {version} {number}".encode()).digest(size)


def body_of(path, version=0, size=None):
    size = size_in(path) if size is None else size
    return b"".join(chunk_of(path, version, n, min(CHUNK, size - n * CHUNK)) for n in range((size + CHUNK - 1) // CHUNK))


def size_in(path):
    """Paths begin with the size of their body."""
    return int(path.split("/")[1].split("?")[0])


class Broken(Exception):
    """The connection ended before the reply did."""


class Line:
    """A socket with a buffer."""

    def __init__(self, sock):
        self.sock, self.buffer = sock, bytearray()

    def head(self):
        """The lines of a head, or None at a clean end."""
        while (end := self.buffer.find(b"\r\n\r\n")) < 0:
            data = self.sock.recv(65536)
            if not data:
                if self.buffer:
                    raise Broken("within a head")
                return None
            self.buffer += data
        lines = self.buffer[:end].decode("latin-1").split("\r\n")
        del self.buffer[:end + 4]
        return lines

    def exactly(self, size):
        out = bytearray(self.buffer[:size])
        del self.buffer[:size]
        while len(out) < size:
            data = self.sock.recv(min(size - len(out), 1 << 18))
            if not data:
                raise Broken(f"after {len(out)} of {size} bytes")
            out += data
        return bytes(out)


def table(lines):
    return {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}


class Source:
    """The origin: /SIZE/anything is a body of SIZE bytes, in the version of the last bump(), fresh for an hour."""

    def __init__(self, lab, fields=("Cache-Control: max-age=3600",)):
        self.fields = fields
        self.pause = 0                       # seconds between the chunks of a body: what comes faster than the disk is not stored
        self.versions, self.asked = {}, collections.Counter()
        self.conditional = collections.Counter()
        self.server = TcpServer(lab, self.serve, backlog=1024)
        self.port = self.server.port

    def url(self, path):
        return f"http://127.0.0.1:{self.port}{path}"

    def bump(self, path):
        self.versions[path] = self.versions.get(path, 0) + 1

    def total(self):
        return sum(self.asked.values())

    def stop(self):
        self.server.stop()

    def serve(self, sock):
        line = Line(sock)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            while (lines := line.head()):
                method, path, _ = lines[0].split(" ", 2)
                self.answer(sock, method, path, table(lines[1:]))
        except Broken:
            pass

    def answer(self, sock, method, path, fields):
        version = self.versions.get(path, 0)
        self.asked[path] += 1
        same_version = fields.get("if-none-match") == f'"v{version}"'
        self.conditional[path] += "if-none-match" in fields
        lines = [f"HTTP/1.1 {'304 Not Modified' if same_version else '200 OK'}", f"Date: {http_date()}", f'ETag: "v{version}"', *self.fields]
        if not same_version:
            lines.append(f"Content-Length: {size_in(path)}")
        sock.sendall("\r\n".join(lines).encode() + b"\r\n\r\n")
        if method == "HEAD" or same_version:
            return
        size = size_in(path)
        for n in range((size + CHUNK - 1) // CHUNK):
            sock.sendall(chunk_of(path, version, n, min(CHUNK, size - n * CHUNK)))
            time.sleep(self.pause)


class Answer:
    def __init__(self, status, fields, body):
        self.status, self.fields, self.body = status, fields, body

    @property
    def version(self):
        return int(re.fullmatch(r'"v(\d+)"', self.fields["etag"])[1])


class Puller:
    """A client with one persistent connection; not for several threads."""

    def __init__(self, lab, proxy, source, timeout=20):
        self.lab, self.proxy, self.source, self.timeout = lab, proxy, source, timeout * lab.patience
        self.line = None
        lab.cleanup(self.close)

    def close(self):
        if self.line:
            self.line.sock.close()
            self.line = None

    def connect(self):
        sock = socket.create_connection(("127.0.0.1", self.proxy.port), self.timeout)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.line = Line(sock)

    def ask(self, path, *fields, method="GET"):
        """One request; Broken or OSError when the reply is cut short."""
        try:
            if not self.line:
                self.connect()
            lines = [f"{method} {self.source.url(path)} HTTP/1.1", f"Host: 127.0.0.1:{self.source.port}", *fields]
            self.line.sock.sendall("\r\n".join(lines).encode() + b"\r\n\r\n")
            head = self.line.head()
            if head is None:
                raise Broken("no reply")
            status, fields = int(head[0].split()[1]), table(head[1:])
            if method == "HEAD" or status in (204, 304):
                body = b""
            elif "content-length" in fields:
                body = self.line.exactly(int(fields["content-length"]))
            else:
                body = b""
                self.close()
            if fields.get("connection") == "close":
                self.close()
            return Answer(status, fields, body)
        except (OSError, Broken):
            self.close()
            raise

    def right(self, path, *fields, least=0):
        """A whole reply whose bytes are those of its version, a version from `least` on. What came."""
        answer = self.ask(path, *fields)
        same(answer.status, 200, f"status of {path}")
        correct(path, answer, least, self.source.versions.get(path, 0))
        return answer

    def has(self, path):
        """Whether the cache has it (and then it is right)."""
        answer = self.ask(path, "Cache-Control: only-if-cached")
        if answer.status == 504:
            return False
        same(answer.status, 200, f"status of {path}")
        correct(path, answer, 0, self.source.versions.get(path, 0))
        return True

    def held(self, paths):
        """How many of them the cache has."""
        return sum(self.has(path) for path in paths)


def correct(path, answer, least, most):
    check(least <= answer.version <= most, f"{path}: version {answer.version}, expected {least} to {most}")
    expected = body_of(path, answer.version)
    if answer.body != expected:
        same(len(answer.body), len(expected), f"{path}: length")
        at = next(i for i, (a, b) in enumerate(zip(answer.body, expected)) if a != b)
        check(False, f"{path}: a wrong byte at {at} of {len(expected)}")


# --- the directory

ALWAYS_FROM_DISK = "maximum_object_size_in_memory 0 KB\n"


def cache_dir(lab, name="disk", mb=200, options="", kind="ufs", make=True):
    """A cache_dir line for a folder of the lab."""
    path = folder(lab, name)
    if make:
        lab.make_folder(name)
    return f"cache_dir {kind} {path} {mb} {'16 256' if kind != 'rock' else ''} {options}\n"


def folder(lab, name="disk"):
    return os.path.join(lab.folder, name)


def disk_proxy(lab, config, start=True, **more):
    """lab.proxy(), and the -z that a Squid wants before."""
    proxy = lab.proxy(config, start=False, **more)
    if lab.kind == "squid":
        proxy.run("-z", "-N")
    return proxy.start() if start else proxy


def files(path):
    """All files below a folder, with their paths."""
    return sorted(os.path.join(at, name) for at, _, names in os.walk(path) for name in names)


def segments(path):
    return [f for f in files(path) if os.path.basename(f).startswith("segment-")]


def index_files(path):
    return [f for f in files(path) if re.fullmatch(r"CURRENT|MANIFEST-\d+|\d+\.(ldb|sst|log)", os.path.basename(f))]


def used_bytes(path):
    """What du counts."""
    total = 0
    for name in files(path):
        try:
            total += os.stat(name).st_blocks * 512
        except FileNotFoundError:
            pass
    return total


def flip(name, at, bit=None):
    with open(name, "r+b") as file:
        file.seek(at)
        old = file.read(1)[0]
        file.seek(at)
        file.write(bytes([old ^ (1 << (at % 8 if bit is None else bit))]))


def flip_byte(path, object_path, offset, version=0):
    """Flips a bit of one byte of a stored body, in every copy of it. Bodies are stored as they are, large ones in parts."""
    body, flipped = body_of(object_path, version), 0
    for begin in (max(0, min(offset, len(body) - 40)), max(0, offset - 39)):     # one of them lies within a part
        mark = body[begin:begin + 40]
        for name in segments(path):
            with open(name, "rb") as file:
                data = file.read()
            at = data.find(mark)
            while at >= 0:
                flip(name, at + offset - begin)
                flipped += 1
                at = data.find(mark, at + 1)
        if flipped:
            return
    check(False, f"byte {offset} of {object_path} is in a segment")


# --- stopping and starting

def stop_cleanly(proxy):
    proxy.stop()
    proxy.expect_death = False


def kill_hard(proxy):
    """kill -9 now."""
    proxy.kill()
    proxy.stderr.close()
    proxy.process, proxy.expect_death = None, False


def start_and_time(lab, proxy, pull, path):
    """Starts the proxy and asks until the first answer: (seconds since the start, the answer)."""
    pull.close()
    began = time.monotonic()
    proxy.launch()
    while True:
        try:
            answer = pull.ask(path)
            return time.monotonic() - began, answer
        except OSError:
            check(proxy.alive(), "the proxy did not start")
            check(time.monotonic() - began < 20 * lab.patience, "the proxy does not answer")
            time.sleep(0.002)


def plain_start(lab):
    """Seconds from start to answer of a proxy without a disk cache, the best of three: what the machine needs just now."""
    source, took = Source(lab), []
    proxy = lab.proxy("access_log none", start=False)
    for _ in range(3):
        took.append(start_and_time(lab, proxy, Puller(lab, proxy, source), "/10/plain")[0])
        stop_cleanly(proxy)
    return min(took)


def settled(lab, proxy, seconds=1.2):
    """Objects count as stored a second after they were complete."""
    time.sleep(seconds * lab.patience)


def damage_count(proxy):
    """What the manager says was found damaged on disk."""
    total = 0
    for page in ("storedir", "store_io", "counters"):
        answer = proxy.get(f"/squid-internal-mgr/{page}", host=f"127.0.0.1:{proxy.port}")
        found = re.findall(r"(?im)^.*damaged.*?[:=]\s*(\d+)", answer.text) if answer.status == 200 else []
        if found:
            return sum(map(int, found))
    return total


def small_disk(lab, name, megabytes):
    """A tmpfs at a folder of the lab, seen by this scenario's processes alone: it goes with them."""
    path = lab.make_folder(name)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x20000) != 0:      # CLONE_NEWNS
        lab.skip("needs the right to mount")
    for words in (("--make-rprivate", "/"), ("-t", "tmpfs", "-o", f"size={megabytes}m,mode=777", "tmpfs", path)):
        if subprocess.run(("mount", *words), capture_output=True, check=False).returncode != 0:
            lab.skip("needs the right to mount")
    return path
