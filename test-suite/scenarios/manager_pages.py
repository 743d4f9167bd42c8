"""The manager's other pages, each against traffic that the test made; words as scrapers look for them."""
import base64
import ctypes
import os
import re
import select
import socket
import time

from lab import check, between, contains, lacks, same, scenario
from manager_numbers import COUNTER_NAMES, DENY, number, table, traffic
from proxy import free_port

GROUP = "manager"


@scenario("page.client-list", "mgr:client_list: each client's connections, requests by tag, totals")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy(DENY)
    origin.page("/p", "Cache-Control: max-age=600")
    for _ in range(4):
        proxy.get(origin.url("/p"), source="127.0.0.21")
    held = [proxy.client(source="127.0.0.22") for _ in range(2)]
    held[0].get(origin.url("/denied"))
    time.sleep(0.2)
    text = proxy.manager("client_list")
    check(text.startswith("Cache Clients:\n"), "the first line")
    entries = {re.match(r"Address: (\S+)", e)[1]: e for e in text.split("\n\n") if e.startswith("Address: ") or "\nAddress: " in e
               for e in [e[e.index("Address: "):]]}
    one = entries["127.0.0.21"]
    contains(one, "    HTTP Requests 4\n", "requests of the first")
    check(re.search(r"^        TCP_MISS +1  25%$", one, re.M) and re.search(r"^        TCP_MEM_HIT +3  75%$", one, re.M), one)
    contains(one, "Currently established connections: 0", "connections of the first")
    two = entries["127.0.0.22"]
    contains(two, "Currently established connections: 2", "connections of the second")
    check(re.search(r"^        TCP_DENIED +1 100%$", two, re.M), two)
    check(re.search(r"^TOTALS\nICP : \d+ Queries, \d+ Hits \( *\d+%\)\nHTTP: [56] Requests, 3 Hits \( *\d+%\)$", text, re.M), text[-200:])


@scenario("page.client-db", "client_db off: no list, no maxconn")
def _(lab):
    proxy = lab.proxy("client_db off")
    lacks(proxy.manager("client_list"), "Address: 127.0.0.1", "client_list")


@scenario("page.server-list", "mgr:server_list: each peer with its flags, status, fetches, open connections")
def _(lab):
    origin, dead = lab.origin(), lab.origin(name="dead")
    origin.page("/p")
    dead.stop()
    proxy = lab.proxy(f"cache_peer 127.0.0.1 parent {origin.port} 0 no-query originserver no-digest name=alive round-robin\n"
                      f"cache_peer 127.0.0.1 parent {dead.port} 0 no-query originserver no-digest name=gone round-robin connect-fail-limit=1", "accel defaultsite=site.test")
    for i in range(6):
        proxy.get(f"/p?{i}", host="site.test", timeout=10)
    text = proxy.manager("server_list")
    alive = text[text.index(": alive"):text.index(": gone")]
    gone = text[text.index(": gone"):]
    check(re.search(r"^Parent     : alive$", text, re.M), "the name")
    for pattern in (rf"^Host       : 127\.0\.0\.1/{origin.port}/0$", r"^Flags      : .*no-query.*$", r"^Address\[0\] : 127\.0\.0\.1$", r"^Status     : Up$",
                    r"^FETCHES    : 6$", r"^OPEN CONNS : 1$", r"^AVG RTT    : \d+ msec$", r"^keep-alive ratio: 100%$"):
        check(re.search(pattern, alive, re.M), f"{pattern} in {alive}")
    check(re.search(r"^Status     : Down", gone, re.M), gone)
    contains(alive, "originserver", "flags")


@scenario("page.server-list-none", "mgr:server_list without peers", squid=None)
def _(lab):
    contains(lab.proxy().manager("server_list"), "There are no neighbors installed.", "the page")


@scenario("page.service-times", "mgr:service_times: percentiles of the times the test made")
def _(lab):
    proxy = lab.proxy()
    lines = proxy.manager("service_times").splitlines()
    same(lines[0], "Service Time Percentiles            5 min    60 min:", "the first line")
    for name in ("HTTP Requests (All)", "Cache Misses", "Cache Hits", "Near Hits", "Not-Modified Replies", "DNS Lookups"):
        rows = [line for line in lines if line.startswith(f"\t{name}:")]
        same([int(re.search(r"(\d+)%", r)[1]) for r in rows], list(range(5, 100, 5)), f"{name}: percentiles")
        for row in rows:
            check(re.fullmatch(r"\t[A-Za-z()\- ]+: +\d+% +\d+\.\d{5} +\d+\.\d{5}", row), f"{row!r}")


@scenario("page.utilization", "mgr:utilization: the sections, and totals since the start")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy(DENY)
    before = table(proxy.manager("utilization").split("Totals since cache startup:")[1])
    traffic(lab, proxy, origin)
    text = proxy.manager("utilization")
    for section in ("Cache Utilisation:", "Last 5 minutes:", "Last 15 minutes:", "Last hour:", "Last 8 hours:", "Last day:", "Last 3 days:", "Totals since cache startup:"):
        check(re.search(rf"^{section}$", text, re.M), section)
    after = table(text.split("Totals since cache startup:")[1])
    same(int(after["client_http.hits"]) - int(before["client_http.hits"]), 20, "hits")
    between(int(after["client_http.requests"]) - int(before["client_http.requests"]), 33, 35, "requests")


@scenario("page.5min", "mgr:5min and mgr:60min: every line, in order")
def _(lab):
    proxy = lab.proxy()
    for page in ("5min", "60min"):
        lines = proxy.manager(page).splitlines()
        names = [line.split(" = ")[0] for line in lines]
        same(names[:2], ["sample_start_time", "sample_end_time"], f"{page}: first lines")
        for name in COUNTER_NAMES[:34]:
            check(name in names or name == "client_http.hit_kbytes_out", f"{page}: {name}")
        for name in ("client_http.all_median_svc_time", "client_http.miss_median_svc_time", "client_http.nm_median_svc_time", "client_http.nh_median_svc_time",
                     "client_http.hit_median_svc_time", "dns.median_svc_time", "select_loops", "select_fds", "aborted_requests", "syscalls.sock.accepts",
                     "syscalls.sock.reads", "syscalls.sock.writes", "cpu_time", "wall_time", "cpu_usage"):
            check(name in names, f"{page}: {name}")
        for line in lines[2:]:
            check(re.fullmatch(r"[a-z_.]+ = -?\d+\.\d{6}(/sec|/fd| seconds|%)?", line), f"{page}: {line!r}")


@scenario("page.storedir", "mgr:storedir: memory and no disk, in the words that munin looks for")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("cache_mem 16 MB")
    traffic(lab, proxy, origin)
    text = proxy.manager("storedir")
    check(text.startswith("Store Directory Statistics:\nStore Entries          : "), text[:80])
    between(number(text, "Store Entries          "), 10, 80, "entries")
    for pattern in (r"^Maximum Swap Size      : 0 KB$", r"^Current Store Swap Size: \d+\.\d\d KB$", r"^Current Capacity       : \d+\.\d\d% used, \d+\.\d\d% free$"):
        check(re.search(pattern, text, re.M), f"{pattern} in {text}")


@scenario("page.ipcache", "mgr:ipcache: requests, hits, negative hits, misses, entries")
def _(lab):
    dns, origin = lab.dns(), lab.origin()
    origin.page("/p", "Connection: close")      # each fetch needs a connection and so an address; a pooled one would not
    dns.add("site.test", "127.0.0.1", ttl=300)
    proxy = lab.proxy(f"dns_nameservers {dns.address}")
    for _ in range(4):
        proxy.get(f"http://site.test:{origin.port}/p")
    proxy.get("http://none.test/", timeout=10)
    text = proxy.manager("ipcache")
    for label in ("IP Cache Statistics:", "IPcache Entries Cached:", "IPcache Requests:", "IPcache Hits:", "IPcache Negative Hits:", "IPcache Numeric Hits:",
                  "IPcache Misses:", "IPcache Invalid Request:", "IP Cache Contents:", " Hostname                        Flg lstref    TTL  N(b)"):
        contains(text, label, "the page")
    between(number(text, "IPcache Entries Cached"), 2, 12, "entries")
    check(number(text, "IPcache Hits") >= 3, "hits")
    between(number(text, "IPcache Misses"), 2, 4, "misses")
    entry = re.search(r"^ site\.test +(\S*) +(\d+) +(-?\d+) +1\( *0\) +127\.0\.0\.1-OK *$", text, re.M)
    check(entry, text[-700:])
    between(int(entry[3]), 50, 300, "TTL that is left")
    check(re.search(r"^ none\.test +N +\d+ ", text, re.M), "the negative entry")


@scenario("page.pconn", "mgr:pconn: a histogram of requests on each connection", squid="counts few of them")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/p")
    origin.page("/last", "Connection: close")
    for path in ("/p", "/p", "/p", "/p", "/last"):
        proxy.get(origin.url(path))
    lab.eventually(lambda: not origin.open, "closed")
    time.sleep(0.3)
    proxy.get(origin.url("/p"))
    text = proxy.manager("pconn")
    contains(text, " Pool 0 Stats\nserver-peers persistent connection counts:\n", "title")
    contains(text, "\t Requests\t Connection Count\n\t --------\t ----------------\n", "columns")
    check(re.search(r"^\t5\t1$", text, re.M), f"one connection with five requests in {text}")
    contains(text, "Pool 0 Hash Table", "hash table")


@scenario("page.filedescriptors", "mgr:filedescriptors: the connections that the test holds")
def _(lab):
    proxy = lab.proxy()
    held = [proxy.client(source=f"127.0.0.{i}") for i in (31, 32, 33)]
    for client in held:
        client.get(f"http://127.0.0.1:{free_port()}/", timeout=10)
    text = proxy.manager("filedescriptors")
    contains(text, "Active file descriptors:\nFile Type   Tout Nread  * Nwrite * Remote Address        Description\n---- ------ ---- -------- -------- --------------------- ------------------------------\n", "columns")
    for client in held:
        address = "%s:%d" % client.sock.getsockname()
        line = re.search(rf"^ *\d+ Socket +\d+ +(\d+)\*? +(\d+)\*? +{re.escape(address)} ", text, re.M)
        check(line, f"{address} in {text}")
        check(int(line[1]) > 50 and int(line[2]) > 500, f"bytes read and written: {line[0]}")
    contains(text, "HTTP Socket", "the listener")


@scenario("page.active-requests", "mgr:active_requests: what is under way")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()

    @origin.on("/slow")
    def _(x):
        time.sleep(2)
        x.reply(200)
    client = proxy.client(source="127.0.0.41")
    client.ask("GET", origin.url("/slow"))
    origin.wait_for(1)
    time.sleep(0.2)
    text = proxy.manager("active_requests")
    entry = next((e for e in text.split("Connection: ") if "/slow" in e), "")
    for pattern in (rf"^uri {re.escape(origin.url('/slow'))}$", r"^\tremote: 127\.0\.0\.41:\d+$", rf"^\tlocal: 127\.0\.0\.1:{proxy.port}$", r"^\tnrequests: 1$",
                    r"^logType TCP_MISS$", r"^out\.offset 0, out\.size 0$", r"^start \d+\.\d{6} \([01]\.\d{6} seconds ago\)$", r"^username -$", r"^\tFD \d+, read \d+, wrote 0$"):
        check(re.search(pattern, entry, re.M), f"{pattern} in {entry}")
    client.close()


@scenario("page.config", "mgr:config: the configuration as directives; passwords hidden", squid="dies when there is no logformat line (5.7)")
def _(lab):
    proxy = lab.proxy("cachemgr_passwd secret config\nread_timeout 7 minutes\nacl some src 10.0.0.0/8\nhttp_access deny some\nhttp_access allow all\nrefresh_pattern -i \\.png$ 5 20% 60 ignore-reload")
    answer = proxy.get("/squid-internal-mgr/config", "Authorization: Basic " + base64.b64encode(b"x:secret").decode(), host=f"127.0.0.1:{proxy.port}")
    same(answer.status, 200, "status")
    for pattern in (r"^http_port 127\.0\.0\.1:\d+", r"^read_timeout (420 seconds|7 minutes)$", r"^acl some src 10\.0\.0\.0", r"^http_access deny some$", r"^cache_mem 16777216 bytes$|^cache_mem 16 MB$",
                    r"^refresh_pattern -i \\\.png\$ 5 20% 60 ignore-reload$", r"^via on$", r"^connect_timeout (60 seconds|1 minute)"):
        check(re.search(pattern, answer.text, re.M), f"{pattern} in the page")
    lacks(answer.text, "secret", "the page")


@scenario("page.idns", "mgr:idns: the name servers with queries and replies")
def _(lab):
    dns, origin = lab.dns(), lab.origin()
    dns.add("site.test", "127.0.0.1")
    proxy = lab.proxy(f"dns_nameservers {dns.address}")
    proxy.get(f"http://site.test:{origin.port}/")
    text = proxy.manager("idns")
    row = re.search(rf"^{re.escape(dns.address)} +(\d+) +(\d+)", text, re.M)
    check(row and int(row[1]) >= 1 and int(row[2]) >= 1, f"queries and replies in {text}")
    contains(text, "Nameservers:", "section")


def pool_row(text, name):
    """A line of mgr:mem: size of one, number in use, kilobytes in use."""
    cells = next(line for line in text.splitlines() if line.startswith(name)).split("\t")
    numbers = [c.strip() for c in cells[2:]]
    return dict(size=int(cells[1]), allocated=int(numbers[7]), in_use=int(numbers[12]), kilobytes=int(numbers[13]), high=int(numbers[14]), idle=int(numbers[17]))


@scenario("page.mem", "mgr:mem: what is stored, who is connected; its sum is what info accounts for", squid="other pools")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy(DENY)
    before = proxy.manager("mem")
    traffic(lab, proxy, origin)
    held = [proxy.client() for _ in range(7)]
    for client in held:
        client.get(origin.url("/1"))
    after = proxy.manager("mem")
    between(pool_row(after, "Stored bytes")["kilobytes"] - pool_row(before, "Stored bytes")["kilobytes"], 95, 160, "kilobytes stored")
    between(pool_row(after, "Client connection")["in_use"] - pool_row(before, "Client connection")["in_use"], 7, 9, "connections")
    check(pool_row(after, "Client connection")["size"] > 100, "the size of a connection")
    between(pool_row(after, "Client record")["in_use"], 1, 3, "client records")
    same(pool_row(after, "Server connection")["idle"], 1, "idle server connections")
    for client in held:
        client.close()
    lab.eventually(lambda: pool_row(proxy.manager("mem"), "Client connection")["in_use"] <= 2, "connections that have gone")
    check(pool_row(proxy.manager("mem"), "Client connection")["high"] >= 0, "a high mark")
    between(number(proxy.manager("info"), "Total accounted"), 95, 100_000, "kilobytes accounted for")


@scenario("page.events", "mgr:events: what runs by the clock, and when next", squid="other events")
def _(lab):
    proxy = lab.proxy("workers 2\ndead_peer_timeout 10 seconds\n"
                      f"cache_peer 127.0.0.1 parent {free_port()} 0 no-query no-digest name=gone connect-fail-limit=1\nnever_direct allow all")
    proxy.get("http://site.test/", timeout=10)
    time.sleep(1.2)
    rows = {m[1].strip(): float(m[2]) for m in re.finditer(r"^(\S.*?) *\t([\d.]+) sec\t", proxy.manager("events"), re.M)}
    for worker in (0, 1):
        between(rows[f"worker {worker}: logs"], 0, 1.1, "the worker's next second")
    between(rows["statistics: minute"], 30, 60, "the next minute")
    between(rows["probe of peer gone"], 0, 5.1, "the dead peer's next chance")


@scenario("page.workers", "With two workers every page tells of both", squid="other workers")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy(DENY + "workers 2\ndns_nameservers 127.0.0.1")
    before = proxy.counters()
    traffic(lab, proxy, origin)
    held = [proxy.client(source="127.0.0.51") for _ in range(16)]     # the kernel spreads them
    for client in held:
        client.get(origin.url("/1"))
    after = proxy.counters()
    same(after["client_http.hits"] - before["client_http.hits"], 36, "hits")
    between(after["client_http.requests"] - before["client_http.requests"], 49, 51, "requests")
    same(after["server.http.requests"] - before["server.http.requests"], 10, "requests to the origin")
    clients = proxy.manager("client_list")
    same(clients.count("Address: 127.0.0.51\n"), 1, "one entry for a client of both workers")
    entry = clients[clients.index("Address: 127.0.0.51\n"):].split("\n\n")[0]
    contains(entry, "Currently established connections: 16\n", "connections")
    contains(entry, "    HTTP Requests 16\n", "requests")
    check(re.search(r"^        TCP_MEM_HIT +16 100%$", entry, re.M), entry)
    between(pool_row(proxy.manager("mem"), "Client connection")["in_use"], 16, 18, "connections in mem")
    descriptors = proxy.manager("filedescriptors")
    same(descriptors.count("127.0.0.51:"), 16, "descriptors")
    same(descriptors.count("HTTP Socket"), 2, "a listener for each worker")
    same(len(re.findall(r"^ Pool \d+ Stats", proxy.manager("pconn"), re.M)), 1, "one pool")
    idle = proxy.manager("pconn").split("Hash Table\n")[1]
    between(sum(int(m) for m in re.findall(r"\t(\d+)$", idle, re.M)), 1, 2, "idle server connections, one for each worker that fetched")
    between(number(proxy.manager("info"), "Number of clients accessing cache"), 2, 2, "clients")
    names = proxy.manager("ipcache")
    check(len(re.findall(r"^ localhost ", names, re.M)) <= 1, "a name that both know is shown once")
    for client in held:
        client.close()


@scenario("page.server-list-rtt", "mgr:server_list: AVG RTT is how long TCP takes to connect to the peer")
def _(lab):
    slow = socket.socket()                  # its queue is full at first: the kernel asks again after a second
    slow.bind(("127.0.0.1", 0))
    slow.listen(0)
    fillers = [socket.socket() for _ in range(3)]
    for filler in fillers:
        filler.setblocking(False)
        filler.connect_ex(slow.getsockname())
    proxy = lab.proxy(f"cache_peer 127.0.0.1 parent {slow.getsockname()[1]} 0 no-query originserver no-digest name=slow", "accel defaultsite=site.test")

    def rtt():
        return int(re.search(r"^AVG RTT    : (\d+) msec$", proxy.manager("server_list"), re.M)[1])
    same(rtt(), 0, "before any connection")
    with proxy.client() as client:
        client.ask("GET", "/p", host="site.test")
        time.sleep(0.3)
        slow.settimeout(0.2)
        for filler in fillers:
            filler.close()
        try:
            while True:                     # makes room
                slow.accept()[0].close()
        except TimeoutError:
            pass
        lab.eventually(lambda: rtt() > 0, "a round trip is known", timeout=8)
        between(rtt(), 300, 7500, "milliseconds")
    slow.close()


@scenario("page.hanging-worker", "A page of the manager while a worker hangs: 503 within its deadline", timeout=90)
def _(lab):
    libc = ctypes.CDLL(None, use_errno=True)
    attach, detach = 16, 17
    proxy = lab.proxy("workers 2\nshutdown_lifetime 0 seconds")
    threads = sorted(int(t) for t in os.listdir(f"/proc/{proxy.pid}/task"))[1:]
    stopped = [t for t in threads if libc.ptrace(attach, t, 0, 0) == 0]
    if not stopped:
        lab.skip("needs the right to stop a thread")
    try:
        for t in stopped:
            os.waitpid(t, 0x40000000)       # __WALL
        took = lab.stopwatch()
        answers = []
        for client in [proxy.client(timeout=20) for _ in range(8)]:    # some of them are the first worker's
            client.ask("GET", "/squid-internal-mgr/info", host=f"127.0.0.1:{proxy.port}")
            answers.append(client)
        ready = select.select([c.sock for c in answers], [], [], 20 * lab.patience)[0]
        check(ready, "an answer")
        status = next(c for c in answers if c.sock in ready).reply().status
        same(status, 503, "status")
        between(took(), 8, 15 * lab.patience, "seconds")
    finally:
        for t in stopped:
            libc.ptrace(detach, t, 0, 0)
    lab.eventually(lambda: "Number of clients" in proxy.manager("info"), "it answers when the worker runs again")


@scenario("page.munin", "What munin's plugins and dstat look for")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    traffic(lab, proxy, origin)
    counters, info, storedir = proxy.manager("counters"), proxy.manager("info"), proxy.manager("storedir")
    for pattern in (r"client_http\.requests = (\d+)", r"client_http\.hits = (\d+)", r"client_http\.errors = (\d+)", r"client_http\.kbytes_in =\s+(-?\d+)",
                    r"client_http\.kbytes_out =\s+(-?\d+)", r"client_http\.hit_kbytes_out =\s+(-?\d+)"):
        check(re.search(pattern, counters), pattern)
    line = next(l for l in info.split("\n") if "Mean Object Size" in l)
    check(re.search(r"^.*?\:\s+(\d+(?:\.\d+)?)\s+(M|K)?B$", line), line)
    for label in ("Number of file desc currently in use", "CPU Usage, 5 minute avg", "Total accounted", "Number of clients accessing cache"):
        contains(info, label, "dstat")
    check(not re.search(r"^(Maximum|Current) Size:\s+\d+", storedir, re.M), "no directory, no sizes of directories")


@scenario("page.exporter", "The prometheus exporter's raw request and its parsing")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    traffic(lab, proxy, origin)
    for page in ("counters", "service_times"):
        with proxy.client() as client:
            client.send(f"GET cache_object://localhost/{page} HTTP/1.0\r\nHost: localhost\r\nUser-Agent: squidclient/3.5.12\r\nAccept: */*\r\n\r\n")
            answer = client.reply()
        same(answer.status, 200, page)
        check("\n\n" not in answer.text.strip(), f"{page}: no empty lines")
        if page == "counters":
            values = table(answer.text)
            check(float(values["client_http.requests"].split()[0]) >= 33, "requests")
        else:
            values = {m[1].replace(" ", "_") + "_" + m[2]: float(m[3]) for m in re.finditer(r"^\t([^:]+): +(\d+)% +([\d.]+) ", answer.text, re.M)}
            check("HTTP_Requests_(All)_5" in values and "Cache_Hits_95" in values, f"{list(values)[:5]}")
