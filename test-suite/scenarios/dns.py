"""A small scripted name server. Proxies ask on port 53, so it needs the right to bind it (root)."""
import random
import socket
import struct
import threading

TYPES = {1: "A", 28: "AAAA", 12: "PTR", 5: "CNAME"}


def pack_name(name):
    return b"".join(bytes([len(p)]) + p.encode() for p in name.rstrip(".").split(".") if p) + b"\0"


class Dns:
    def __init__(self, lab):
        self.lab, self.queries, self.lock = lab, [], threading.Lock()
        self.zone, self.silent, self.edns = {}, set(), []
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        for _ in range(50):
            self.address = f"127.77.{random.randrange(1, 255)}.{random.randrange(1, 255)}"
            try:
                self.sock.bind((self.address, 53))
                break
            except PermissionError:
                lab.skip("needs the right to bind port 53")
            except OSError:
                continue
        lab.cleanup(self.stop)
        threading.Thread(target=self.serve, daemon=True).start()

    def stop(self):
        self.sock.close()

    def add(self, name, *addresses, ttl=300):
        """`name` has these addresses (IPv4, IPv6). No address = the name exists without any."""
        with self.lock:
            self.zone[name.lower()] = (addresses, ttl)

    def remove(self, name):
        """The name does not exist (as every name that was not added)."""
        with self.lock:
            self.zone.pop(name.lower(), None)

    def ignore(self, name):
        """Queries for the name get no answer."""
        self.silent.add(name.lower())

    def asked(self, name, kind=None):
        with self.lock:
            return sum(1 for n, k in self.queries if n == name.lower() and kind in (None, k))

    def serve(self):
        while True:
            try:
                data, peer = self.sock.recvfrom(4096)
            except OSError:
                return
            try:
                answer = self.answer(data)
            except (IndexError, struct.error):
                continue
            if answer:
                self.sock.sendto(answer, peer)

    def answer(self, data):
        number, _flags, _count, _, _, extra = struct.unpack(">HHHHHH", data[:12])
        at, labels = 12, []
        while data[at]:
            labels.append(data[at + 1:at + 1 + data[at]].decode("latin-1"))
            at += data[at] + 1
        kind = struct.unpack(">H", data[at + 1:at + 3])[0]
        question, name = data[12:at + 5], ".".join(labels).lower()
        with self.lock:
            # The size of an OPT record, which says how large a reply may be; 0 without one.
            self.edns.append(struct.unpack(">H", data[at + 8:at + 10])[0] if extra else 0)
            self.queries.append((name, TYPES.get(kind, str(kind))))
            known = self.zone.get(name)
        self.lab.trace("dns", "is asked", f"{name} {TYPES.get(kind, kind)}")
        if name in self.silent:
            return None
        records = b""
        count = 0
        if known:
            addresses, ttl = known
            for address in addresses:
                v6 = ":" in address
                if (28 if v6 else 1) != kind:
                    continue
                packed = socket.inet_pton(socket.AF_INET6 if v6 else socket.AF_INET, address)
                records += b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, ttl, len(packed)) + packed
                count += 1
        code = 0 if known else 3
        authority, many = b"", 0
        if not count:   # a start of authority bounds negative caching
            soa = pack_name("ns.test") + pack_name("root.test") + struct.pack(">IIIII", 1, 60, 60, 60, 60)
            authority = pack_name("test") + struct.pack(">HHIH", 6, 1, 60, len(soa)) + soa
            many = 1
        return struct.pack(">HHHHHH", number, 0x8180 | code, 1, count, many, 0) + question + records + authority
