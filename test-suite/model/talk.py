"""Both ends of the proxy in one thread, over real sockets: a client, and an origin that answers as it is told.

    line = Line(proxy_port)
    answer = line.ask(request, respond)      # respond(asked, attempt) -> (Reply, when asked, when answered)
"""
import select
import socket

from stored import Answer, Exchange, Request

PATIENCE = 10.0        # seconds without a byte


class Silence(Exception):
    """Nothing came, or something that is no HTTP."""


def read_head(buffer):
    """((first line, fields), bytes used), or None while it is incomplete."""
    end = buffer.find(b"\r\n\r\n")
    if end < 0:
        return None
    first, *rest = buffer[:end].decode("latin-1").split("\r\n")
    fields = []
    for line in rest:
        name, _, value = line.partition(":")
        fields.append((name, value.strip(" \t")))
    return (first, fields), end + 4


def value(fields, name):
    for n, v in fields:
        if n.lower() == name:
            return v
    return None


def unchunk(data):
    """(body, True when the last chunk was there)."""
    out, at = b"", 0
    while True:
        end = data.find(b"\r\n", at)
        if end < 0:
            return out, False
        size = int(data[at:end], 16)
        if size == 0:
            return out, data.find(b"\r\n\r\n", end) >= 0 or data[end:end + 4] == b"\r\n\r\n"
        out += data[end + 2:end + 2 + size]
        at = end + 2 + size + 2
        if at > len(data):
            return out, False


def received_from(sock):
    """What there is; nothing at the end, orderly or not."""
    try:
        return sock.recv(65536)
    except ConnectionError:
        return b""


class Line:
    """A client's connection to the proxy, and the origin's listening socket with what comes in there."""

    def __init__(self, proxy_port, origin_port=0):
        self.proxy = ("127.0.0.1", proxy_port)
        self.listener = socket.create_server(("127.0.0.1", origin_port), backlog=64)
        self.listener.setblocking(False)
        self.origin_port = self.listener.getsockname()[1]
        self.epoll = select.epoll()
        self.epoll.register(self.listener, select.EPOLLIN)
        self.client, self.origin = None, {}        # origin: number -> [socket, bytes, requests]

    def close(self):
        for s in [self.client, self.listener, *(c[0] for c in self.origin.values())]:
            if s:
                s.close()
        self.epoll.close()

    # --- the client

    def connect(self):
        if self.client is None:
            self.client = socket.create_connection(self.proxy, PATIENCE)
            self.client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.epoll.register(self.client, select.EPOLLIN)

    def hang_up(self):
        if self.client is not None:
            self.epoll.unregister(self.client)
            self.client.close()
            self.client = None

    def ask(self, method, data, respond, expects_more=lambda exchanges: False):
        """Sends the bytes of a request. The Answer and the Exchanges that there were; all of them, as the caller says."""
        self.connect()
        self.client.sendall(data)
        received, answer, exchanges = b"", None, []
        while answer is None or expects_more(exchanges):
            events = self.epoll.poll(PATIENCE if answer is None else 1.0)
            if not events:
                if answer is not None:
                    break
                self.hang_up()
                raise Silence(f"no answer within {PATIENCE} s, after {len(exchanges)} requests at the origin: {received!r}")
            for number, _ in events:
                if self.client is not None and number == self.client.fileno():
                    more = received_from(self.client)
                    received += more
                    if answer is None:
                        answer = self.read_answer(received, method, not more)
                    if not more or (answer is not None and (not answer.complete or (value(answer.fields, "connection") or "").lower() == "close")):
                        self.hang_up()
                    if not more and answer is None:
                        raise Silence(f"the proxy closed the connection: {received!r}")
                elif number == self.listener.fileno():
                    self.accept()
                elif number in self.origin:
                    self.serve(number, respond, exchanges)
        return answer, exchanges

    def read_answer(self, data, method, ended):
        """An Answer, or None while more is to come."""
        head = read_head(data)
        while head and int(head[0][0].split(" ", 2)[1]) < 200:
            data = data[head[1]:]
            head = read_head(data)
        if not head:
            return None
        (first, fields), used = head
        status, body = int(first.split(" ", 2)[1]), data[used:]
        length, coding = value(fields, "content-length"), value(fields, "transfer-encoding")
        if method == "HEAD" or status in (204, 304):
            return Answer(status, fields, body, body == b"")
        if coding:
            body, whole = unchunk(body)
        elif length is not None:
            whole = len(body) == int(length)
        else:
            return Answer(status, fields, body, True) if ended else None
        return Answer(status, fields, body, whole) if whole or ended else None

    # --- the origin

    def accept(self):
        while True:
            try:
                accepted, _ = self.listener.accept()
            except BlockingIOError:
                return
            accepted.setblocking(False)
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.origin[accepted.fileno()] = [accepted, b"", 0]
            self.epoll.register(accepted, select.EPOLLIN)

    def drop(self, number):
        self.epoll.unregister(number)
        self.origin.pop(number)[0].close()

    def serve(self, number, respond, exchanges):
        connection = self.origin[number]
        more = received_from(connection[0])
        if not more:
            return self.drop(number)
        connection[1] += more
        head = read_head(connection[1])
        if not head:
            return None
        (first, fields), used = head
        method, target, _ = first.split(" ", 2)
        length = int(value(fields, "content-length") or 0)
        if len(connection[1]) < used + length:
            return None
        body, connection[1] = connection[1][used:used + length], connection[1][used + length:]
        asked = Request(method, target, fields, body)
        reply, when_asked, when_answered = respond(asked, len(exchanges))
        exchanges.append(Exchange(asked, reply, when_asked, when_answered, connection[2] > 0))
        connection[2] += 1
        if reply.status == 0:
            return self.drop(number)
        connection[0].sendall(wire_form(reply, method))
        if reply.framing == "close" or not reply.complete:
            self.drop(number)
        return None

    def idle(self):
        """What comes at the origin without having been asked for: the first line of it, or None."""
        for number, _ in self.epoll.poll(0):
            if number == self.listener.fileno():
                self.accept()
            elif number in self.origin:
                more = received_from(self.origin[number][0])
                self.drop(number)
                if more:
                    return more.split(b"\r\n")[0].decode("latin-1")
            else:
                self.hang_up()
        return None


def wire_form(reply, method):
    framing = reply.framing
    lines = [f"HTTP/1.1 {reply.status} Said So", *(f"{n}: {v}" for n, v in reply.fields)]
    bodiless = method == "HEAD" or reply.status in (204, 304)
    cut = not reply.complete
    body = reply.body[:len(reply.body) // 2] if cut else reply.body
    if bodiless:
        if method == "HEAD" and reply.status not in (204, 304) and framing == "length":
            lines.append(f"Content-Length: {len(reply.body)}")
        body = b""
    elif framing == "length" or (framing == "close" and cut):
        lines.append(f"Content-Length: {len(reply.body)}")
    elif framing == "chunked":
        lines.append("Transfer-Encoding: chunked")
        body = (b"%x\r\n%s\r\n" % (len(body), body) if body else b"") + (b"" if cut else b"0\r\n\r\n")
    if framing == "close" and not any(n.lower() == "connection" for n, _ in reply.fields):
        lines.append("Connection: close")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body
