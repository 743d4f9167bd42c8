"""A scripted origin server: pages and handlers by path, every request recorded with its bytes.

    origin.page("/a", "Cache-Control: max-age=60", body="hello")     the same reply each time
    origin.script("/b", reply(200, body="1"), reply(304), ...)        one after the other, the last one stays
    @origin.on("/c")
    def handler(x): x.head(200, "Content-Length: 9"); x.send("piece"); ...

Every connection has its own thread, so a handler may sleep.
"""
import socket
import ssl
import struct
import threading
import time
from email.utils import formatdate
from http import HTTPStatus

import wire


NOW = b"@date-of-sending@"


def reason(status):
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unheard Of"


def http_date(offset=0.0):
    return formatdate(time.time() + offset, usegmt=True)


def dated(data):
    """Puts the time of sending where reply() left room for it."""
    start = data[:4096]
    return start.replace(NOW, http_date().encode()) + data[4096:] if NOW in start else data


def reply(status, *fields, body=b"", date=True, length=True):
    """The bytes of a reply with Date and Content-Length; dated() has to complete them."""
    body = wire.to_bytes(body)
    lines = list(fields)
    names = [f.split(":")[0].lower() for f in fields]
    if date and "date" not in names:
        lines.append("Date: " + NOW.decode())
    if length and status >= 200 and status not in (204, 304) and "content-length" not in names and "transfer-encoding" not in names:
        lines.append(f"Content-Length: {len(body)}")
    return wire.head(f"HTTP/1.1 {status} {reason(status)}", *lines) + body


class Exchange:
    """One request at the origin and the means to answer it in any way."""

    def __init__(self, origin, sock, stream, request):
        self.origin, self.sock, self.stream, self.request = origin, sock, stream, request
        self.closing = False

    def send(self, data):
        data = dated(wire.to_bytes(data))
        self.origin.lab.trace(self.origin.name, "sends", data)
        self.sock.settimeout(60)
        self.sock.sendall(data)

    def reply(self, status, *fields, **more):
        self.send(reply(status, *fields, **more) if self.request.method != "HEAD" else
                  reply(status, *fields, **more).partition(b"\r\n\r\n")[0] + b"\r\n\r\n")

    def head(self, status, *fields):
        self.send(reply(status, *fields, length=False))

    def chunk(self, data):
        self.send(wire.chunk(data))

    def last_chunk(self, *trailers):
        self.send(wire.last_chunk(*trailers))

    def read_body(self, timeout=30.0):
        wire.read_request_body(self.stream, self.request, timeout)
        return self.request.body

    def close(self):
        self.closing = True

    def reset(self):
        self.closing = True
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def gone_within(self, seconds):
        """True when the proxy drops this connection in time."""
        try:
            return not self.stream.fill(time.monotonic() + seconds)
        except wire.Gone:
            return True
        except wire.TooSlow:
            return False


class Origin:
    def __init__(self, lab, address="127.0.0.1", port=0, tls=None, name="origin"):
        self.lab, self.name, self.tls = lab, name, tls
        self.handlers, self.early = {}, set()
        self.lock = threading.Condition()
        self.seen, self.errors, self.raw = [], [], {}
        self.connections, self.open = 0, {}
        self.host = address
        self.port = port
        self.listener = None
        self.listen()
        lab.cleanup(self.stop)

    # --- addresses

    @property
    def authority(self):
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def url(self, path="/"):
        return f"http://{self.authority}{path}"

    # --- scripting

    def on(self, path, early=False):
        """Registers a handler; early = call it before the request's body is read."""
        def register(function):
            self.handlers[path] = function
            if early:
                self.early.add(path)
            return function
        return register

    def page(self, path, *fields, body="page\n", status=200):
        self.handlers[path] = lambda x: x.reply(status, *fields, body=body)

    def script(self, path, *replies):
        """Sends the given bytes, one reply after the other; the last one stays."""
        left = list(replies)

        def handler(x):
            with self.lock:
                data = left.pop(0) if len(left) > 1 else left[0]
            x.send(data)
        self.handlers[path] = handler

    # --- what came

    def requests(self, path=None):
        with self.lock:
            return [r for r in self.seen if path is None or r.target.split("?")[0] == path or r.target == path
                    or r.target.endswith(self.authority + path)]

    def last(self, path=None):
        return self.requests(path)[-1]

    def used(self, path=None):
        """How many connections carried requests (a Squid also opens some only to probe)."""
        return len({r.connection for r in self.requests(path)})

    def wait_for(self, count, path=None, timeout=5.0):
        """Waits until `count` requests have come; returns them."""
        deadline = time.monotonic() + timeout * self.lab.patience
        while time.monotonic() < deadline:
            if len(self.requests(path)) >= count:
                return self.requests(path)
            time.sleep(0.01)
        raise wire.TooSlow(f"{self.name}: {len(self.requests(path))} requests for {path or 'anything'}, expected {count}")

    def forget(self):
        with self.lock:
            self.seen = []

    # --- running

    def listen(self):
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        self.listener = socket.socket(family)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind((self.host, self.port))
        self.port = self.listener.getsockname()[1]
        self.listener.listen(1024)
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def stop(self):
        """Refuses connections and drops those that are open; listen() takes it up again."""
        if self.listener:
            try:
                self.listener.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            self.listener.close()
            self.listener = None
        self.drop_connections()

    def drop_connections(self):
        with self.lock:
            for sock in self.open.values():
                try:
                    sock.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def accept(self, listener):
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            with self.lock:
                self.connections += 1
                number = self.connections
            threading.Thread(target=self.serve, args=(sock, number), daemon=True).start()

    def serve(self, sock, number):
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.tls:
                sock.settimeout(10)
                sock = self.tls.wrap_socket(sock, server_side=True)
            with self.lock:
                self.open[number] = sock
            self.converse(sock, number)
        except (wire.Gone, wire.TooSlow, OSError, ssl.SSLError) as error:
            self.lab.trace(self.name, f"connection {number} ends", str(error))
        except wire.WireError as error:
            self.lab.trace(self.name, f"connection {number}: the proxy sent", str(error))
            self.errors.append(str(error))
        finally:
            with self.lock:
                self.open.pop(number, None)
            sock.close()

    def converse(self, sock, number):
        stream = wire.Stream(sock, 120)
        while True:
            request = wire.read_request_head(stream, 120)
            if request is None:
                return
            request.connection = number
            path = request.target.split("?")[0]
            if "://" in path:
                path = "/" + path.split("://", 1)[1].partition("/")[2]
            handler = self.handlers.get(path) or self.handlers.get(None)
            if path not in self.early:
                if "100-continue" in request.fields.tokens("Expect"):
                    sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
                    request.continued = True
                wire.read_request_body(stream, request, 60)
            self.lab.trace(self.name, f"receives on connection {number}", request.raw + request.body[:300])
            with self.lock:
                self.seen.append(request)
                self.lock.notify_all()
            exchange = Exchange(self, sock, stream, request)
            if handler:
                handler(exchange)
            else:
                exchange.reply(404, body="no such page\n")
            if exchange.closing or "close" in request.fields.tokens("Connection"):
                return
