"""Users' cases F: framing, tunnels, reload, stopping, pid files, logs."""
import os
import re
import signal
import socket
import threading
import time

import wire
from lab import between, check, contains, one_of, same, scenario

GROUP = "cases"

CHUNKED_SPELLINGS = ("chunked,", "chunked ", "chunked, gzip", "chunked\t", "chunked", "gzip, chunked", "xchunked")


@scenario("F46", "Content-Length beside Transfer-Encoding: refused, or sent on with one length")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/p")
    for spelling in CHUNKED_SPELLINGS:
        origin.forget()
        with proxy.client() as client:
            client.send(f"POST {origin.url('/p')} HTTP/1.1\r\nHost: {origin.authority}\r\nContent-Length: 4\r\n"
                        f"Transfer-Encoding: {spelling}\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
            answer = client.reply()
        one_of(answer.status, (200, 400, 411, 501), f"{spelling!r}: status")
        if answer.status != 200:
            continue
        asked = origin.last("/p")     # wire.py has refused contradictory framing already
        same(asked.body, b"abc", f"{spelling!r}: the body, unchunked")
        check(len(asked.fields.all("Content-Length")) + len(asked.fields.all("Transfer-Encoding")) == 1, f"{spelling!r}: one framing field")
    same(origin.errors, [], "what the origin objects to")


@scenario("F48", "IPv6 literals: CONNECT and GET with brackets; without them 400")
def _(lab):
    origin, proxy = lab.origin(address="::1"), lab.proxy(f"acl SSL_ports port 1-65535\nhttp_access allow all")
    origin.page("/p", body="six")
    same(proxy.get(origin.url("/p")).text, "six", "GET")
    same(origin.last("/p").get("Host"), origin.authority, "Host")
    with proxy.client() as client:
        same(client.request("CONNECT", origin.authority).status, 200, "CONNECT")
        same(client.get("/p", host=origin.authority).text, "six", "through the tunnel")
    same(proxy.ask("CONNECT", f"::1:{origin.port}").status, 400, "CONNECT without brackets")
    proxy.log_line("GET", f"http://[::1]:{origin.port}/p")
    proxy.log_line("CONNECT", f"[::1]:{origin.port}")


@scenario("F51", "Upgrade is stripped by default and passes where allowed")
def _(lab):
    origin = lab.origin()

    @origin.on("/ws")
    def _(x):
        if not x.request.has("Upgrade"):
            return x.reply(200, body="plain")
        x.send(wire.head("HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"))
        data = x.stream.exactly(4, time.monotonic() + 5)
        x.send(b"echo " + data)
        x.close()
    ask = ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")
    plain = lab.proxy()
    same(plain.get(origin.url("/ws"), *ask).text, "plain", "by default")
    check(not origin.last("/ws").has("Upgrade"), "Upgrade is stripped")
    allowed = lab.proxy("http_upgrade_request_protocols websocket allow all")
    with allowed.client() as client:
        answer = client.get(origin.url("/ws"), *ask)
        same((answer.status, answer.get("Upgrade")), (101, "websocket"), "where allowed")
        client.send(b"ping")
        same(client.read(9), b"echo ping", "bytes after 101")
    other = lab.proxy("http_upgrade_request_protocols other allow all")
    same(other.get(origin.url("/ws"), *ask).text, "plain", "another protocol is allowed")


@scenario("F52", "A fast upload to a slow origin completes in bounded memory", squid="takes it for an aborted request and resets the client")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    size = 10_000_000

    @origin.on("/up", early=True)
    def _(x):
        x.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        got = 0
        while got < size:
            data = x.stream.exactly(min(65536, size - got), time.monotonic() + 30)
            got += len(data)
            time.sleep(0.1 if got < 1_000_000 else 0)
        x.reply(200, body=str(got))
    proxy.get(origin.url("/other"))
    before = proxy.memory()
    with proxy.client(timeout=30) as client:
        client.ask("POST", origin.url("/up"), body=b"u" * size)
        answer = client.reply(timeout=30)
    same((answer.status, answer.text), (200, str(size)), "the upload")
    between(proxy.memory("VmHWM") - before, 0, 16_000, "memory it took, KB")


@scenario("F55", "Reload under load: nothing refused, the download completes, new rules apply",
          squid="refuses some connections while it reopens its port")
def _(lab):
    origin = lab.origin()
    origin.page("/quick")

    @origin.on("/slow")
    def _(x):
        x.head(200, "Content-Length: 300000")
        for _ in range(30):
            x.send(b"s" * 10_000)
            time.sleep(0.1)
    proxy = lab.proxy()
    download = lab.background(lambda: proxy.get(origin.url("/slow"), timeout=20))
    stop, outcomes = threading.Event(), []

    def keep_asking():
        while not stop.is_set():
            try:
                outcomes.append(proxy.get(origin.url("/quick")).status)
            except (OSError, wire.Gone, wire.TooSlow) as error:
                outcomes.append(repr(error))
            time.sleep(0.005)
    askers = [threading.Thread(target=keep_asking, daemon=True) for _ in range(4)]
    for asker in askers:
        asker.start()
    for _ in range(3):
        time.sleep(0.3)
        proxy.reload()
    time.sleep(0.5)
    same(set(outcomes), {200}, "outcomes while reloading")
    proxy.reload("acl quick urlpath_regex ^/quick\nhttp_access deny quick\nhttp_access allow all")
    lab.eventually(lambda: outcomes and outcomes[-1] == 403, "the new rule applies")
    stop.set()
    for asker in askers:
        asker.join()
    same(set(outcomes), {200, 403}, "outcomes in all")
    answer = download.result(20)
    same((answer.status, len(answer.body)), (200, 300_000), "the download")


@scenario("F56", "A stale pid file never refuses the start", squid="refuses when the number is in use")
def _(lab):
    proxy = lab.proxy("pid_filename {0}/the.pid".format(lab.folder))
    pid_file = lab.folder + "/the.pid"
    with open(pid_file) as source:
        same(int(source.read()), proxy.pid, "the number in the pid file")
    proxy.kill()
    check(os.path.exists(pid_file), "the pid file survives kill -9")
    for number in (1, os.getpid(), proxy.pid):
        with open(pid_file, "w") as out:
            out.write(f"{number}\n")
        proxy.expect_death = False
        proxy.start()
        with open(pid_file) as source:
            same(int(source.read()), proxy.pid, "the new number")
        proxy.signal(signal.SIGTERM)
        proxy.expect_death = True
        proxy.wait_exit()
        check(not os.path.exists(pid_file), "the pid file is removed at the end")


@scenario("F56.twice", "A second start beside a running one is refused in one line")
def _(lab):
    pid_file = lab.folder + "/the.pid"
    proxy = lab.proxy(f"pid_filename {pid_file}")
    code, text = proxy.run("-N")
    check(code != 0, "the second one ends with an error")
    lab.eventually(lambda: str(proxy.pid) in text or "already" in text.lower() or "in use" in text.lower(), "it says why", timeout=1)
    check(proxy.alive(), "the first one still runs")
    with open(pid_file) as source:
        same(int(source.read()), proxy.pid, "the number in the pid file")


@scenario("F57", "SIGTERM ends it within ten seconds by default", squid="waits 30 s for its clients")
def _(lab):
    origin = lab.origin()
    origin.page("/p")
    proxy = lab.proxy()
    proxy.config = proxy.config.replace("shutdown_lifetime 0 seconds\n", "")
    proxy.write("proxy.conf", proxy.config)
    proxy.kill()
    proxy.expect_death = False
    proxy.start()
    idle = proxy.client()
    idle.get(origin.url("/p"))
    proxy.signal(signal.SIGTERM)
    proxy.expect_death = True
    same(proxy.wait_exit(10), 0, "exit code")


@scenario("F59", "A missing cache_dir is made, or named in one line")
def _(lab):
    folder = lab.folder + "/proxy/not/there"
    proxy = lab.proxy(f"cache_dir ufs {folder} 10 4 4", start=False)
    proxy.run("-z", "-N")
    proxy.launch()
    time.sleep(1.0)
    if not proxy.alive():
        proxy.expect_death = True
        contains(proxy.read("stderr") + proxy.read("cache.log"), folder, "the path is named")
        same(proxy.process.returncode, 1, "exit code")


@scenario("F62", "The access log's times: seconds.millis, %tl, strftime; stdio:/dev/stdout")
def _(lab):
    origin = lab.origin()
    origin.page("/p")
    proxy = lab.proxy(f"""
        logformat mine %tl|%{{%Y-%m-%d}}tl|%{{%H:%M}}tg|%ts|%tu
        access_log stdio:{lab.folder}/proxy/access.log squid
        access_log stdio:{lab.folder}/proxy/mine.log mine
        access_log stdio:/dev/stdout squid""")
    proxy.get(origin.url("/p"))
    entry = proxy.entry("GET")
    between(entry.time, time.time() - 3, time.time() + 1, "time")
    check(re.match(r"^\d{10}\.\d{3} ", entry.line), "seconds.millis")
    local, day, utc, seconds, fraction = proxy.log_line("|", name="mine.log").split("|")
    check(re.match(r"^\d\d/[A-Z][a-z][a-z]/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}$", local), f"%tl: {local}")
    same(day, time.strftime("%Y-%m-%d", time.localtime(float(seconds))), "%{%Y-%m-%d}tl")
    same(utc, time.strftime("%H:%M", time.gmtime(float(seconds))), "%{%H:%M}tg")
    between(float(seconds), time.time() - 5, time.time() + 1, "%ts")
    between(int(fraction), 0, 999_999, "%tu")
    lab.eventually(lambda: "GET" in proxy.read("stderr"), "a line on standard output")
