"""A client of the proxy: raw bytes where a scenario needs them, whole requests where it does not."""
import select
import socket
import ssl
import struct
import time

import wire


def host_of(url):
    """What belongs into Host for an absolute URL (or the authority of CONNECT)."""
    rest = url.split("://", 1)[-1]
    return rest.split("/", 1)[0].split("?", 1)[0].rpartition("@")[2]


class Client:
    def __init__(self, lab, address, source=None, tls=None, server_name=None, timeout=5.0, receive_buffer=None):
        self.lab, self.timeout = lab, timeout * lab.patience
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self.sock = socket.socket(family)
        if receive_buffer:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        if source:
            self.sock.bind((source, 0))
        self.sock.settimeout(self.timeout)
        self.sock.connect(address)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.name = f"client:{self.sock.getsockname()[1]}"
        lab.cleanup(self.close)
        if tls:
            self.start_tls(tls, server_name)
        self.stream = wire.Stream(self.sock, self.timeout)

    def start_tls(self, context, server_name=None):
        """Speaks TLS from here on (after a CONNECT, or from the start)."""
        self.sock = context.wrap_socket(self.sock, server_hostname=server_name)
        self.stream = wire.Stream(self.sock, self.timeout)

    # --- sending

    def send(self, data):
        data = wire.to_bytes(data)
        self.lab.trace(self.name, "sends", data)
        self.sock.settimeout(self.timeout)
        self.sock.sendall(data)

    def ask(self, method, url, *fields, body=None, version="1.1", host=None):
        """Sends a request; Host comes from the URL, Content-Length from the body."""
        lines = [f"{method} {url} HTTP/{version}"]
        if host is None:
            host = host_of(url) if "://" in url or method == "CONNECT" else "127.0.0.1"
        if host and not any(f.lower().startswith("host:") for f in fields):
            lines.append(f"Host: {host}")
        lines += fields
        if body is not None and not any(f.lower().startswith("transfer-encoding:") for f in fields):
            lines.append(f"Content-Length: {len(body)}")
        self.send(wire.to_bytes("\r\n".join(lines) + "\r\n\r\n") + wire.to_bytes(body or b""))

    # --- receiving

    def reply(self, method="GET", timeout=None):
        try:
            reply = wire.read_reply(self.stream, method, timeout and timeout * self.lab.patience)
        except (wire.WireError, wire.Gone, wire.TooSlow) as error:
            self.lab.trace(self.name, "fails reading", str(error))
            raise
        for each in reply.interim + [reply]:
            self.lab.trace(self.name, "receives", each.raw + (reply.body[:300] if each is reply else b""))
        return reply

    def request(self, method, url, *fields, body=None, version="1.1", host=None, timeout=None):
        self.ask(method, url, *fields, body=body, version=version, host=host)
        return self.reply(method, timeout)

    def get(self, url, *fields, **more):
        return self.request("GET", url, *fields, **more)

    def read(self, size, timeout=None):
        """Exactly `size` bytes of whatever comes."""
        data = self.stream.exactly(size, time.monotonic() + (timeout or self.timeout))
        self.lab.trace(self.name, "receives", data[:300])
        return data

    def rest(self, timeout=None):
        """Everything up to the end of the connection."""
        data = self.stream.rest(time.monotonic() + (timeout or self.timeout))
        self.lab.trace(self.name, "receives to the end", data[:300])
        return data

    # --- the connection

    def ends_within(self, seconds):
        """True when the proxy closes (or resets) the connection in time without sending more."""
        try:
            self.stream.fill(time.monotonic() + seconds * self.lab.patience)
        except wire.Gone:
            return True
        except wire.TooSlow:
            return False
        return self.stream.eof

    def is_open(self):
        """True while the proxy has neither closed nor sent anything more."""
        return not self.stream.eof and not self.stream.buffer and not select.select([self.sock], [], [], 0)[0]

    def half_close(self):
        self.lab.trace(self.name, "closes its sending side", "")
        self.sock.shutdown(socket.SHUT_WR)

    def reset(self):
        """Leaves with a RST."""
        self.lab.trace(self.name, "resets", "")
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def close(self):
        try:
            self.sock.close()
        except OSError:
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def tls_context(ca=None, low=None, high=None):
    """A client's TLS context: verifying against `ca`, or trusting everyone."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if ca:
        context.load_verify_locations(ca)
    else:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if low:
        context.minimum_version = low
    if high:
        context.maximum_version = high
    return context
