"""Directives of sockets, names and the process, each with a value whose effect is seen from outside."""
import grp
import os
import socket

import certs
import wire
from lab import check, contains, one_of, same, scenario
from proxy import free_port

GROUP = "directives"


def deaf(address, port):
    """A listener whose queue is full: it answers nobody. Kept alive by what is returned."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    held = [socket.socket(family) for _ in range(4)]
    held[0].bind((address, port))
    held[0].listen(0)
    for filler in held[1:]:
        filler.setblocking(False)
        filler.connect_ex((address, port))
    return held


def taken(lab, client, limit):
    """How many bytes the other end takes before nothing more fits for a second."""
    client.sock.settimeout(1.0 * lab.patience)
    count, block = 0, b"b" * 65536
    try:
        while count < limit:
            count += client.sock.send(block)
    except (TimeoutError, OSError):
        pass
    return count


def quiet_origin(lab):
    """Its connections take next to nothing: whatever is sent to it waits at the sender."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    listener.bind(("127.0.0.1", 0))
    listener.listen(8)
    lab.cleanup(listener.close)
    return listener


@scenario("dir.request-buffer", "client_request_buffer_max_size: how much of an upload is held for a server that does not read")
def _(lab):
    origin = quiet_origin(lab)
    authority = f"127.0.0.1:{origin.getsockname()[1]}"

    def held(value):
        proxy = lab.proxy(f"client_request_buffer_max_size {value}\ntcp_recv_bufsize 16 KB")
        with proxy.client() as client:
            client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16384)
            client.send(f"PUT http://{authority}/up HTTP/1.1\r\nHost: {authority}\r\nContent-Length: 1000000000\r\n\r\n")
            count = taken(lab, client, 120_000_000)
        proxy.stop()
        return count
    small, large = held("128 KB"), held("60 MB")
    check(large - small > 45_000_000, f"{small} bytes with 128 KB, {large} with 60 MB")   # beside them the kernel's own buffers, which grow
    check(small < 20_000_000, f"{small} bytes with 128 KB")


@scenario("dir.recv-buffer", "tcp_recv_bufsize: what the kernel holds of connections to clients and to servers", squid="sets it for one side")
def _(lab):
    quiet = quiet_origin(lab)
    origin = lab.origin()
    counted = {}

    @origin.on("/big")
    def _(x):
        x.send(wire.head("HTTP/1.1 200 OK", "Content-Length: 1000000000"))
        x.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16384)
        counted["server"] = taken(lab, x, 20_000_000)
        x.close()

    def waiting(line):
        proxy = lab.proxy(f"client_request_buffer_max_size 65 KB\n{line}")
        with proxy.client() as client:
            client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16384)
            authority = f"127.0.0.1:{quiet.getsockname()[1]}"
            client.send(f"PUT http://{authority}/up HTTP/1.1\r\nHost: {authority}\r\nContent-Length: 1000000000\r\n\r\n")
            upload = taken(lab, client, 20_000_000)
        with proxy.client(receive_buffer=4096) as client:
            client.ask("GET", origin.url("/big"))
            counted.clear()
            lab.eventually(lambda: "server" in counted, "the origin stops", timeout=20)
        proxy.stop()
        return upload, counted["server"]
    small, large = waiting("tcp_recv_bufsize 8 KB"), waiting("tcp_recv_bufsize 2000 KB")
    for side, few, many in zip(("from the client", "from the server"), small, large):
        check(many - few > 1_000_000, f"bytes {side}: {few} with 8 KB, {many} with 2000 KB")


@scenario("dir.eyeballs-limit", "happy_eyeballs_connect_limit 0: the second address waits until the first has failed", squid="has two families only")
def _(lab):
    origin = lab.origin()
    origin.page("/p", body="page")
    kept = deaf("127.0.0.9", origin.port)
    for value, expected in (("-1", (200,)), ("0", (503, 504))):
        proxy = lab.proxy(f"happy_eyeballs_connect_limit {value}\nhappy_eyeballs_connect_timeout 100\nconnect_timeout 2 seconds",
                          hosts="127.0.0.9 two.test\n127.0.0.1 two.test\n")
        one_of(proxy.get(f"http://two.test:{origin.port}/p", timeout=9).status, expected, f"limit {value}")
    kept.clear()


@scenario("dir.eyeballs-gap", "happy_eyeballs_connect_gap: second attempts of different requests keep their distance", squid="has two families only")
def _(lab):
    origin = lab.origin()
    origin.page("/p", body="page")
    kept = deaf("127.0.0.9", origin.port)

    def slowest(gap):
        proxy = lab.proxy(f"happy_eyeballs_connect_gap {gap}\nhappy_eyeballs_connect_timeout 100\nconnect_timeout 12 seconds\nserver_persistent_connections off",
                          hosts="".join(f"127.0.0.9 n{i}.test\n127.0.0.1 n{i}.test\n" for i in range(3)))

        def one(i):
            took = lab.stopwatch()
            same(proxy.get(f"http://n{i}.test:{origin.port}/p", timeout=12).text, "page", "reply")
            return took()
        return max(lab.together(3, one))
    free, held = slowest(-1), slowest(1500)
    check(free < 2.5 * lab.patience and held > 3.0, f"{free:.1f} s without a gap, {held:.1f} s with 1.5 s between")
    kept.clear()


@scenario("dir.dns-defnames", "dns_defnames on: names without a dot are completed from the search list", squid="reads the search list from resolv.conf alone")
def _(lab):
    dns, origin = lab.dns(), lab.origin()
    origin.page("/p", body="page")
    dns.add("intra.branch.test", "127.0.0.1")
    for value, expected in (("off", (502, 503)), ("on", (200,))):
        proxy = lab.proxy(f"dns_nameservers {dns.address}\ndns_defnames {value}", environment={"LOCALDOMAIN": "branch.test"})
        one_of(proxy.get(f"http://intra:{origin.port}/p", timeout=9).status, expected, value)
    one_of(proxy.get(f"http://intra.gone:{origin.port}/p", timeout=9).status, (502, 503), "a name with a dot is left alone")


@scenario("dir.dns-packet-max", "dns_packet_max is told to name servers, as EDNS")
def _(lab):
    dns, origin = lab.dns(), lab.origin()
    origin.page("/p")
    dns.add("site.test", "127.0.0.1")
    for line, expected in (("", {0}), ("dns_packet_max 1400 bytes", {1400})):
        dns.edns.clear()
        proxy = lab.proxy(f"dns_nameservers {dns.address}\n{line}")
        same(proxy.get(f"http://site.test:{origin.port}/p").status, 200, "status")
        same(set(dns.edns), expected, line or "by default")


@scenario("dir.half-closed-off", "half_closed_clients off: a client that closes its sending side while it waits has left")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("half_closed_clients off")
    gone = []

    @origin.on("/slow")
    def _(x):
        gone.append(x.gone_within(4))
        x.close()
    with proxy.client() as client:
        client.ask("GET", origin.url("/slow"))
        origin.wait_for(1, "/slow")
        client.half_close()
        check(client.ends_within(3), "the connection ends")
    lab.eventually(lambda: gone, "the origin's connection ends", timeout=6)
    same(gone, [True], "dropped by the proxy")
    proxy.log_line("TCP_MISS_ABORTED/000", "/slow")


@scenario("dir.request-start-tls", "request_start_timeout bounds the TLS handshake too")
def _(lab):
    port = free_port()
    proxy = lab.proxy(f"http_port 127.0.0.1:{free_port()}\nhttps_port 127.0.0.1:{port} accel defaultsite=one.test tls-cert={certs.path('one.both.pem')}\n"
                      "request_start_timeout 1 second\nrequest_timeout 20 seconds\nclient_idle_pconn_timeout 20 seconds\nclient_lifetime 30 seconds")
    took = lab.stopwatch()
    with lab.client(("127.0.0.1", port)) as client:
        check(client.ends_within(5), "a connection without a handshake is closed")
    check(took() > 0.6, f"after {took():.1f} s")
    check(proxy.alive(), "alive")


@scenario("dir.effective-group", "cache_effective_group: the group that it becomes")
def _(lab):
    if os.geteuid() != 0:
        lab.skip("needs root")

    def groups(config):
        proxy = lab.proxy(config)
        with open(f"/proc/{proxy.pid}/status") as status:
            text = dict(line.split(":", 1) for line in status.read().splitlines())
        return {int(g) for g in text["Gid"].split()}, {int(g) for g in text["Groups"].split()}
    wanted = grp.getgrnam("www-data").gr_gid
    gid, more = groups("cache_effective_user nobody\ncache_effective_group www-data")
    same(gid, {wanted}, "Gid")
    check(0 not in more, f"further groups: {more}")
    gid, _ = groups("cache_effective_user nobody")
    check(wanted not in gid, f"by default: {gid}")


@scenario("dir.chroot", "chroot: the directory is the root of what runs", squid="looks for everything inside")
def _(lab):
    if os.geteuid() != 0:
        lab.skip("needs root")
    origin = lab.origin()
    origin.page("/p", body="page")
    inside = lab.make_folder("inside")
    proxy = lab.proxy(f"chroot {inside}")
    same(os.readlink(f"/proc/{proxy.pid}/root"), os.path.realpath(inside), "root")
    same(proxy.get(origin.url("/p")).text, "page", "reply")
    proxy.log_line("/p", "TCP_MISS/200")
    same(os.readlink(f"/proc/{lab.proxy().pid}/root"), "/", "without the directive")


@scenario("dir.syslog", "access_log syslog: lines go to /dev/log with facility and level")
def _(lab):
    system_log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    if os.path.exists("/dev/log"):
        lab.skip("the machine has a system log of its own")
    try:
        system_log.bind("/dev/log")
    except OSError:
        lab.skip("needs the right to make /dev/log")
    lab.cleanup(lambda: os.unlink("/dev/log"))
    os.chmod("/dev/log", 0o666)
    system_log.settimeout(5 * lab.patience)
    origin, proxy = lab.origin(), lab.proxy("access_log syslog:local4.notice squid")
    origin.page("/told")
    proxy.get(origin.url("/told"))
    line = system_log.recv(65536).decode()
    check(line.startswith("<165>"), f"facility 20, level 5: {line[:80]!r}")
    contains(line, "/told", "line")
    contains(line, "TCP_MISS/200", "line")
    check(not line.rstrip("\n").count("\n"), "one line")
    same([n for n in os.listdir(proxy.folder) if "access" in n], [], "files")
