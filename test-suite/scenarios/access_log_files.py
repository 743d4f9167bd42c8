"""Where log lines go and how: formats, several logs, rules, rotation, escaping, readers."""
import os
import re
import signal
import socket
import subprocess
import time

from lab import check, contains, one_of, same, scenario
import certs
from client import tls_context
from proxy import free_port

GROUP = "log"

# code, expected value as a regular expression (with the lab's values put in by name)
CODES = (
    (">a", "127.0.0.1"), (">p", "{client_port}"), (">la", "127.0.0.1"), (">lp", "{proxy_port}"), ("la", "127.0.0.1"), ("lp", "{proxy_port}"),
    ("<a", "127.0.0.1"), ("<A", "(127.0.0.1|localhost)"), ("<p", "{origin_port}"), ("<la", "127.0.0.1"), ("<lp", r"\d+"),
    ("ts", r"\d{{10}}"), ("tu", r"\d{{1,6}}"), ("tr", r"\d+"), ("dt", r"(\d+|-)"), ("tg", r"\d\d/\w{{3}}/\d{{4}}:\d\d:\d\d:\d\d( \+0000)?"),
    ("un", "-"), ("ul", "-"), ("ue", "-"), ("rm", "POST"), (">rm", "POST"), ("<rm", "POST"), ("ru", r"http://127.0.0.1:{origin_port}/p\?"),
    # strip_query_terms: Squid forgets it in some of these codes; a stripped query leaves its mark.
    (">ru", r"http://127.0.0.1:{origin_port}/p(\?(q=1)?)?"), ("rp", r"/p(\?(q=1)?)?"), (">rp", r"/p(\?(q=1)?)?"), ("rv", "1.1"), (">rv", "1.1"),
    (">rs", "http"), (">rd", "127.0.0.1"), (">rP", "{origin_port}"),
    ("{{User-Agent}}>h", "me"), (">h{{User-Agent}}", "me"), ("{{X-List:b}}>h", "2"), ("{{Server}}<h", "apple"), ("{{X-None}}<h", "-"),
    (">Hs", "200"), ("Hs", "200"), ("<Hs", "200"), ("mt", "text/plain"),
    (">st", r"{request_size}"), ("<st", "{reply_size}"), (">sh", "{request_head}"), ("<sh", "{reply_head}"), ("st", "{both_sizes}"),
    ("<bs", "6"), ("<pt", r"\d+"), ("<tt", r"\d+"), ("Ss", "TCP_MISS"), ("Sh", "HIER_DIRECT"), ("sn", r"\d+"), ("err_code", "-"), ("err_detail", "-"), ("%", "%"))


@scenario("logformat.codes", "Every logformat code of importance against traffic that the test made")
def _(lab):
    origin = lab.origin()
    origin.page("/p", "Content-Type: text/plain;charset=x", "Server: apple", body="answer")
    text = "\\n".join(f"{i}=%{code.format()}" for i, (code, _) in enumerate(CODES)).replace("\\n", "|")
    proxy = lab.proxy(f"logformat mine {text}\naccess_log stdio:{lab.folder}/proxy/mine.log mine")
    with proxy.client() as client:
        client.ask("POST", origin.url("/p?q=1"), "User-Agent: me", "X-List: a=1, b=2", body="sent")
        sent = lab.events[-1][3]
        answer = client.reply()
        port = client.sock.getsockname()[1]
    head = f"POST {origin.url('/p?q=1')} HTTP/1.1\r\nHost: {origin.authority}\r\nUser-Agent: me\r\nX-List: a=1, b=2\r\nContent-Length: 4\r\n\r\n"
    size = len(answer.raw) + len(answer.body)
    values = dict(client_port=port, proxy_port=proxy.port, origin_port=origin.port, request_head=len(head), request_size=len(head) + 4,
                  reply_size=size, reply_head=len(answer.raw), both_sizes=size + len(head) + 4)
    fields = dict(f.split("=", 1) for f in proxy.log_line("0=", name="mine.log").split("|"))
    wrong = [f"%{code.format()} is {fields.get(str(i))!r}, expected {want.format(**values)}" for i, (code, want) in enumerate(CODES)
             if not re.fullmatch(want.format(**values), fields.get(str(i), ""))]
    check(not wrong, "; ".join(wrong))


@scenario("logformat.reason", "%loligo::reason and %loligo::access_rule: why there was no hit, which rule decided", squid="no such codes")
def _(lab):
    origin = lab.origin()
    origin.page("/p", "Cache-Control: max-age=600")
    origin.page("/old", "Cache-Control: max-age=0", 'ETag: "a"')
    origin.page("/private", "Cache-Control: private")
    origin.page("/vary", "Cache-Control: max-age=600", "Vary: X-Kind")
    origin.page("/rule", "Cache-Control: max-age=600")
    proxy = lab.proxy(f"logformat mine %rm %ru [%loligo::reason] %loligo::access_rule\naccess_log stdio:{lab.folder}/proxy/mine.log mine\n"
                      "acl rule urlpath_regex ^/rule\ncache deny rule\nacl no urlpath_regex ^/no\nhttp_access deny no\nhttp_access allow all")
    steps = (("GET", "/p", (), "miss.absent"), ("GET", "/p", (), "-"), ("GET", "/p", ("Cache-Control: no-cache",), "request.no-cache"),
             ("POST", "/p", (), r"bypass.method(,\S+)?"), ("GET", "/old", (), "miss.absent"), ("GET", "/old", (), "stale.expired"),
             ("GET", "/private", (), "miss.absent,not-stored.private"), ("GET", "/vary", ("X-Kind: 1",), "miss.absent"), ("GET", "/vary", ("X-Kind: 2",), "miss.variant"),
             ("GET", "/rule", (), "bypass.cache-rule,not-stored.cache-rule"), ("GET", "/no", (), "-"))
    for method, path, fields, _ in steps:
        proxy.ask(method, origin.url(path), *fields)
    lines = proxy.log_lines(len(steps), name="mine.log")
    for line, (method, path, fields, reason) in zip(lines, steps):
        check(re.fullmatch(rf"{method} {re.escape(origin.url(path))} \[{reason}\] \S+:\d+", line), f"{line!r} for {method} {path} {fields}: expected {reason}")
    check(lines[0].split(":")[-1] != lines[-1].split(":")[-1], "the denying line is another one")


@scenario("logformat.attempts", "%request_attempts", squid="5.7 has no such code")
def _(lab):
    origin = lab.origin()
    proxy = lab.proxy(f"logformat mine attempts=%request_attempts\naccess_log stdio:{lab.folder}/proxy/mine.log mine")
    proxy.get(origin.url("/p"))
    same(proxy.log_line("attempts", name="mine.log"), "attempts=1", "line")


@scenario("logformat.shape", "Width, alignment, zeros, precision and encodings")
def _(lab):
    origin = lab.origin()
    origin.page("/p")
    proxy = lab.proxy("logformat mine [%8>Hs][%-8>Hs][%08>Hs][%.2rm][%5rm][%\"{X-Odd}>h][%#{X-Odd}>h][%'{X-Odd}>h]\n"
                      f"access_log stdio:{lab.folder}/proxy/mine.log mine")
    proxy.get(origin.url("/p"), 'X-Odd: a "b" [c] %d')
    line = proxy.log_line("[", name="mine.log")
    contains(line, "[     200][200     ][00000200][GE][  GET]", "width, alignment, zeros, precision")
    contains(line, r'a \"b\"', "quoted")
    contains(line, "a%20%22b%22%20", "URL encoding")
    contains(line, 'a "b" [c] %d]', "raw")


@scenario("logformat.escaping", "Control characters and line ends never reach the log raw", squid="writes DEL raw in quoted fields")
def _(lab):
    origin = lab.origin()

    @origin.on(None)
    def _(x):
        x.reply(200, "Content-Type: text/\x07plain".replace("\x07", "x"))
    proxy = lab.proxy(f"logformat mine %>a %rm %ru \"%{{User-Agent}}>h\" [%{{Referer}}>h] %{{Cookie}}>h\naccess_log stdio:{lab.folder}/proxy/mine.log mine\n"
                      f"access_log stdio:{lab.folder}/proxy/access.log squid\nstrip_query_terms off")
    attack = "a\tb\"c'd]e\\f\x7f\xe9\x80"
    proxy.get(origin.url("/%0a%0d%00?x=%0a"), f"User-Agent: {attack}", f"Referer: {attack}", f"Cookie: {attack}")
    with proxy.client() as client:
        client.send(f"GET {origin.url('/')}\x01\x1b[31m HTTP/1.1\r\nHost: x\r\n\r\n")
        try:
            client.reply()
        except Exception:   # noqa: BLE001 - any end will do
            pass
    proxy.log_line("GET", name="mine.log")
    proxy.log_line("GET")
    time.sleep(0.3)
    for name in ("mine.log", "access.log"):
        with open(proxy.path(name), "rb") as source:
            data = source.read()
        bad = re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", data)
        check(not bad, f"{name}: {data!r}")
        check(data.endswith(b"\n"), f"{name} ends with a line end")


@scenario("logformat.predefined", "common, combined, referrer, useragent")
def _(lab):
    origin = lab.origin()
    origin.page("/p", body="12345")
    lines = "".join(f"access_log stdio:{lab.folder}/proxy/{name}.log {name}\n" for name in ("common", "combined", "referrer", "useragent"))
    proxy = lab.proxy(lines)
    answer = proxy.get(origin.url("/p"), "User-Agent: me/1.0", "Referer: http://from.test/")
    size = len(answer.raw) + len(answer.body)
    start = rf'127\.0\.0\.1 - - \[\d\d/\w{{3}}/\d{{4}}:\d\d:\d\d:\d\d [+-]\d{{4}}\] "GET {re.escape(origin.url("/p"))} HTTP/1\.1" 200 {size}'
    end = r" TCP_MISS:HIER_DIRECT"
    for name, pattern in (("common", start + end), ("combined", start + r' "http://from\.test/" "me/1\.0"' + end),
                          ("referrer", rf"\d+\.\d{{3}} 127\.0\.0\.1 http://from\.test/ {re.escape(origin.url('/p'))}"),
                          ("useragent", r'127\.0\.0\.1 \[\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\] "me/1\.0"')):
        line = proxy.log_line("127.0.0.1", name=f"{name}.log")
        check(re.fullmatch(pattern, line), f"{name}: {line!r} against {pattern}")


@scenario("logformat.tls", "TLS codes: SNI, version, cipher", gnutls="knows none of them")
def _(lab):
    origin = lab.origin()
    origin.page("/p")
    port = free_port()
    proxy = lab.proxy(f"https_port 127.0.0.1:{port} accel defaultsite=one.test tls-cert={certs.path('one.pem')} tls-key={certs.path('one.key')}\n"
                      f"cache_peer 127.0.0.1 parent {origin.port} 0 no-query originserver no-digest\n"
                      f"logformat mine %ssl::>sni|%ssl::>negotiated_version|%ssl::>negotiated_cipher\naccess_log stdio:{lab.folder}/proxy/mine.log mine")
    proxy.port = port
    with proxy.client(tls=tls_context(), server_name="one.test") as client:
        client.get("/p", host="one.test")
        version, cipher = client.sock.version(), client.sock.cipher()[0]
    fields = proxy.log_line("|", name="mine.log").split("|")
    one_of(fields[0], ("one.test", "-"), "SNI")
    same(fields[1].replace("TLS/", "TLSv"), version, "version")
    same(fields[2], cipher, "cipher")


@scenario("logfile.several", "Several access_log lines, each with its rule; the first-match word none")
def _(lab):
    origin = lab.origin()
    folder = f"{lab.folder}/proxy"
    proxy = lab.proxy(f"""
        acl images urlpath_regex \\.png$
        acl quiet urlpath_regex ^/quiet
        access_log none quiet
        access_log stdio:{folder}/images.log logformat=squid images
        access_log {folder}/old-style.log squid !images
        access_log stdio:{folder}/all.log""")
    for path in ("/a.png", "/b.html", "/quiet", "/quiet.png"):
        proxy.get(origin.url(path))
    proxy.log_line("/b.html", name="all.log")
    time.sleep(0.3)
    seen = {name: [line.split()[6].rsplit("/", 1)[1] for line in proxy.log(f"{name}.log")] for name in ("images", "old-style", "all")}
    same(seen, {"images": ["a.png"], "old-style": ["b.html"], "all": ["a.png", "b.html"]}, "URLs by log")


@scenario("logfile.none", "access_log none: nothing is written")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("access_log none")
    proxy.get(origin.url("/"))
    time.sleep(0.3)
    same([n for n in os.listdir(proxy.folder) if "access" in n], [], "files")


@scenario("logfile.udp", "udp: whole lines in every packet, in order")
def _(lab):
    origin = lab.origin()
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.bind(("127.0.0.1", 0))
    receiver.settimeout(5)
    proxy = lab.proxy(f"access_log udp://127.0.0.1:{receiver.getsockname()[1]} squid")
    for i in range(60):
        proxy.get(origin.url(f"/n{i}"))
    text = ""
    while "/n30 " not in text:
        packet = receiver.recv(65536)
        check(packet.endswith(b"\n"), "whole lines")
        text += packet.decode()
    same(re.findall(r"/n(\d+) ", text)[:31], [str(i) for i in range(31)], "lines")
    check(all(len(line.split()) == 10 for line in text.splitlines()), "ten words a line")


@scenario("logfile.on-error", "A log that cannot be written ends the process, by default too; on-error=drop goes on without")
def _(lab):
    origin = lab.origin()
    origin.page("/p")
    for option, ends in (("", True), ("on-error=drop", False), ("on-error=die", True)):
        proxy = lab.proxy(f"access_log stdio:/dev/full logformat=squid {option}")
        proxy.expect_death = ends
        same(proxy.get(origin.url("/p")).status, 200, "status")
        if ends:
            same(proxy.wait_exit(5), 1, f"{option or 'by default'}: exit code")
        else:
            time.sleep(1.5)
            same(proxy.get(origin.url("/p")).status, 200, f"{option}: it serves on")
        if lab.kind == "loligo":
            proxy.log_line("Cannot log to /dev/full: No space left on device", name="cache.log")
            if ends:
                proxy.log_line("FATAL: cannot log to /dev/full: No space left on device (access_log ... on-error=drop", name="cache.log")
        proxy.kill()                    # an orderly end would wait for the log


@scenario("logfile.daemon", "daemon: is a file too")
def _(lab):
    origin = lab.origin()
    proxy = lab.proxy(f"access_log daemon:{lab.folder}/proxy/daemon.log squid")
    proxy.get(origin.url("/p"))
    contains(proxy.log_line("/p", name="daemon.log", timeout=5), "TCP_MISS/404", "line")


@scenario("logfile.rotate", "SIGUSR1 rotates: .0, .1, …, as many as logfile_rotate")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("logfile_rotate 2")
    for number in range(4):
        proxy.get(origin.url(f"/{number}"))
        proxy.log_line(f"/{number} ")
        proxy.signal(signal.SIGUSR1)
        lab.eventually(lambda: f"/{number} " in proxy.read("access.log.0"), f"rotation {number}")
    proxy.get(origin.url("/last"))
    proxy.log_line("/last")
    same([len(proxy.log(n)) for n in ("access.log", "access.log.0", "access.log.1", "access.log.2")], [1, 1, 1, 0], "lines by file")
    contains(proxy.read("access.log.1"), "/2 ", "the last but one")


@scenario("logfile.rotate-0", "logfile_rotate 0: files renamed by someone else are reopened, no line is lost")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("logfile_rotate 0")
    proxy.get(origin.url("/before"))
    proxy.log_line("/before")
    os.rename(proxy.path("access.log"), proxy.path("moved.log"))
    proxy.signal(signal.SIGUSR1)
    lab.eventually(lambda: os.path.exists(proxy.path("access.log")), "the file is made again")
    proxy.get(origin.url("/after"))
    proxy.log_line("/after")
    same((len(proxy.log("moved.log")), len(proxy.log())), (1, 1), "lines")


@scenario("logfile.rotate-load", "Rotation under load loses and tears no line")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("logfile_rotate 50")
    origin.page("/p", "Cache-Control: max-age=600")

    def load(i):
        with proxy.client() as client:
            for n in range(150):
                client.get(origin.url(f"/p?{i}-{n}" if n % 10 == 0 else "/p"))
    work = lab.background(lambda: lab.together(4, load))
    for _ in range(6):
        time.sleep(0.1)
        proxy.signal(signal.SIGUSR1)
    work.result()
    names = lambda: [n for n in os.listdir(proxy.folder) if n.startswith("access.log")]
    lines = lambda: [line for n in names() for line in proxy.log(n)]
    # Between two renames a file may be read twice, or not: only what stays counts.
    lab.eventually(lambda: len(lines()) == 600, "600 lines are written, each once")
    check(all(len(line.split()) == 10 for line in lines()), "whole lines")


@scenario("logfile.strip-query", "strip_query_terms on and off")
def _(lab):
    origin = lab.origin()
    for value, expected in (("on", "/p?"), ("off", "/p?secret=1")):
        proxy = lab.proxy(f"strip_query_terms {value}")
        proxy.get(origin.url("/p?secret=1"))
        same(proxy.entry("/p").url, origin.url(expected), f"strip_query_terms {value}")


@scenario("logfile.mime-headers", "log_mime_hdrs on: both heads behind the line, escaped")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("log_mime_hdrs on")
    origin.page("/p", "X-Reply: two")
    proxy.get(origin.url("/p"), "X-Request: one [x]")
    line = proxy.log_line("/p")
    check(re.search(r" \[.*X-Request:( |%20)one( |%20)%5[bB]x%5[dD](\\r\\n|%0[dD]%0[aA]).*\] \[.*X-Reply:( |%20)two.*\]$", line), line)


@scenario("logfile.netmask", "client_netmask hides the host part")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("client_netmask 255.255.255.0")
    proxy.get(origin.url("/p"), source="127.0.0.77")
    same(proxy.entry("/p").client, "127.0.0.0", "client")


@scenario("logfile.user", "The log is written as it happens, without buffering delay, and complete at the end")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/p", "Cache-Control: max-age=60")
    for i in range(50):
        proxy.get(origin.url("/p"))
    took = lab.stopwatch()
    proxy.log_lines(50)
    check(took() < 1.5, f"the last line after {took():.2f} s")
    proxy.get(origin.url("/p"))
    proxy.expect_death = True
    proxy.signal(signal.SIGTERM)
    proxy.wait_exit(10)
    same(len(proxy.log()), 51, "lines after the end")


@scenario("logfile.calamaris", "calamaris reads a log of every kind with no invalid line")
def _(lab):
    origin = lab.origin()
    proxy = lab.proxy("acl no urlpath_regex ^/no\nacl purge method PURGE\nhttp_access deny no\nhttp_access allow all\nconnect_timeout 1 second\nforward_timeout 2 seconds\ncollapsed_forwarding on")
    origin.page("/p", "Cache-Control: max-age=60", 'ETag: "a"', "Content-Type: text/html")
    for _ in range(3):
        proxy.get(origin.url("/p"))
    proxy.get(origin.url("/p"), 'If-None-Match: "a"')
    proxy.get(origin.url("/no"))
    proxy.get(origin.url("/%20sp?x=1 ".strip()))
    proxy.ask("POST", origin.url("/post"), body="x")
    proxy.ask("PURGE", origin.url("/p"))
    proxy.ask("CONNECT", origin.authority)
    proxy.get(f"http://127.0.0.1:{free_port()}/", timeout=10)
    with proxy.client() as client:
        client.send("GARBAGE\r\n\r\n")
        client.rest()
    with proxy.client():
        pass
    proxy.log_lines(12, timeout=5)
    report = subprocess.run(("calamaris", "-a"), input=proxy.read("access.log"), capture_output=True, text=True, timeout=30, errors="replace").stdout
    lines = len(proxy.log())
    numbers = re.search(r"lines parsed:\s+lines\s+(\S+)\s*\n\s*invalid lines:\s+lines\s+(\S+)", report)
    check(numbers, f"calamaris' summary in {report[:600]}")
    same((int(numbers[1]), int(numbers[2])), (lines, 0), "lines parsed and invalid")


@scenario("eventlog.sections", "cache_log and debug_options: sections and levels")
def _(lab):
    origin = lab.origin()
    quiet = lab.proxy()
    loud = lab.proxy("debug_options ALL,1 28,3 33,5")
    for proxy in (quiet, loud):
        for _ in range(5):
            proxy.get(origin.url("/p"))
    lab.eventually(lambda: len(loud.log("cache.log")) > len(quiet.log("cache.log")) + 5, "more is said at a higher level")
    line = loud.log("cache.log")[0]
    check(re.match(r"^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d", line), f"the form of a line: {line}")


@scenario("eventlog.debug-signal", "cache_log in a folder that is not there: said, one line")
def _(lab):
    proxy = lab.proxy(f"access_log stdio:{lab.folder}/no/such/access.log squid", start=False)
    code, text = proxy.run("-N")
    check(code != 0, "exit code")
    contains(text + proxy.read("cache.log"), "no/such/access.log", "the path is named")
