"""mgr:counters and mgr:info: each number against traffic that the test made, each line as scrapers split it."""
import re
import time

from lab import between, check, same, scenario
from proxy import free_port

GROUP = "manager"


def traffic(lab, proxy, origin):
    """10 misses, 20 hits of 10,000 bytes, 3 denied, 1 refused connection; what was sent and received."""
    body = b"t" * 10_000
    totals = {"requests": 0, "out": 0, "hit_out": 0, "in": 0}
    for i in range(10):
        origin.page(f"/{i}", "Cache-Control: max-age=600", body=body)

    def count(answer, hit, url):
        size = len(answer.raw) + len(answer.body)
        totals["requests"] += 1
        totals["out"] += size
        totals["hit_out"] += size if hit else 0
        totals["in"] += len(f"GET {url} HTTP/1.1\r\nHost: {origin.authority}\r\n\r\n")
    for i in range(10):
        count(proxy.get(origin.url(f"/{i}")), False, origin.url(f"/{i}"))
    for i in range(20):
        count(proxy.get(origin.url(f"/{i % 10}")), True, origin.url(f"/{i % 10}"))
    for i in range(3):
        count(proxy.get(origin.url(f"/denied{i}")), False, origin.url(f"/denied{i}"))
    return totals


DENY = "acl no urlpath_regex ^/denied\nhttp_access deny no\nhttp_access allow all\n"


def table(text, separator="="):
    out = {}
    for line in text.splitlines():
        key, mark, value = line.partition(separator)
        if mark:
            out[key.strip()] = value.strip()
    return out


@scenario("page.counters", "mgr:counters: requests, hits, errors, kilobytes, origin traffic")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy(DENY)
    before = proxy.counters()
    sent = traffic(lab, proxy, origin)
    after = proxy.counters()

    def grew(name):
        return after[name] - before[name]
    between(grew("client_http.requests"), 33, 35, "requests (the page itself may count)")
    same(grew("client_http.hits"), 20, "hits")
    between(grew("client_http.errors"), 0, 3, "errors")
    between(grew("client_http.kbytes_out"), sent["out"] // 1024 - 2, sent["out"] // 1024 + 8, "kilobytes out")
    between(grew("client_http.hit_kbytes_out"), sent["hit_out"] // 1024 - 2, sent["hit_out"] // 1024 + 2, "kilobytes out of hits")
    between(grew("client_http.kbytes_in"), sent["in"] // 1024 - 2, sent["in"] // 1024 + 3, "kilobytes in")
    for kind in ("all", "http"):
        same(grew(f"server.{kind}.requests"), 10, f"server.{kind}.requests")
        between(grew(f"server.{kind}.kbytes_in"), 97, 105, f"server.{kind}.kbytes_in")
        between(grew(f"server.{kind}.kbytes_out"), 0, 4, f"server.{kind}.kbytes_out")
        same(grew(f"server.{kind}.errors"), 0, f"server.{kind}.errors")
    check(grew("select_loops") > 10 and after["cpu_time"] > 0, "select_loops and cpu_time move")


COUNTER_NAMES = """client_http.requests client_http.hits client_http.errors client_http.kbytes_in client_http.kbytes_out client_http.hit_kbytes_out
server.all.requests server.all.errors server.all.kbytes_in server.all.kbytes_out server.http.requests server.http.errors server.http.kbytes_in
server.http.kbytes_out server.ftp.requests server.ftp.errors server.ftp.kbytes_in server.ftp.kbytes_out server.other.requests server.other.errors
server.other.kbytes_in server.other.kbytes_out icp.pkts_sent icp.pkts_recv icp.queries_sent icp.replies_sent icp.queries_recv icp.replies_recv
icp.query_timeouts icp.replies_queued icp.kbytes_sent icp.kbytes_recv icp.q_kbytes_sent icp.r_kbytes_sent icp.q_kbytes_recv icp.r_kbytes_recv
icp.times_used cd.times_used cd.msgs_sent cd.msgs_recv cd.memory cd.local_memory cd.kbytes_sent cd.kbytes_recv unlink.requests page_faults
select_loops cpu_time wall_time swap.outs swap.ins swap.files_cleaned aborted_requests""".split()


@scenario("page.counters-form", "mgr:counters: every line in its place, as scrapers split it")
def _(lab):
    proxy = lab.proxy()
    lines = proxy.manager("counters").splitlines()
    check(re.fullmatch(r"sample_time = \d+\.\d{1,6} \(\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT\)", lines[0]), lines[0])
    same([line.split(" = ")[0] for line in lines[1:]][:len(COUNTER_NAMES)], COUNTER_NAMES, "names in order")
    for line in lines[1:]:
        check(re.fullmatch(r"[a-z_.]+ = \d+(\.\d+)?", line), f"{line!r}")


@scenario("page.counters-log", "mgr:counters: log.lines and log.lines_dropped, behind Squid's own lines", squid="has no such lines")
def _(lab):
    origin = lab.origin()
    for log, lost in (("", False), (f"access_log udp://127.0.0.1:{free_port()} squid", True)):
        proxy = lab.proxy(log)
        for i in range(20):
            proxy.get(origin.url(f"/{i}"))
            time.sleep(0.02)      # a datagram that nobody takes is noticed at the next one

        def counted():
            counters = proxy.counters()
            names = list(counters)
            same(names[-2:], ["log.lines", "log.lines_dropped"], "the last lines")
            return counters["log.lines"] + counters["log.lines_dropped"] >= 20 and counters
        counters = lab.eventually(counted, "20 lines, written or lost", timeout=6)
        same(counters["log.lines_dropped"] > 0, lost, f"{counters['log.lines']:.0f} written, {counters['log.lines_dropped']:.0f} lost")


@scenario("page.counters-tunnel", "mgr:counters: tunnels, aborted requests, failures of origins")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("connect_timeout 1 second\nforward_timeout 2 seconds")
    origin.page("/big", body=b"b" * 200_000)

    @origin.on("/slow")
    def _(x):
        time.sleep(1)
        x.close()
    before = proxy.counters()
    with proxy.client() as client:
        client.request("CONNECT", origin.authority)
        client.get("/big", host=origin.authority)
    with proxy.client() as client:
        client.ask("GET", origin.url("/slow"))
        origin.wait_for(1, "/slow")
        client.reset()
    proxy.get(f"http://127.0.0.1:{free_port()}/", timeout=10)
    time.sleep(0.4)
    after = proxy.counters()
    between(after["client_http.kbytes_out"] - before["client_http.kbytes_out"], 195, 230, "kilobytes out, the tunnel's too")
    between(after["server.all.kbytes_in"] - before["server.all.kbytes_in"], 190, 210, "kilobytes from servers, the tunnel's too")
    between(after["client_http.errors"] - before["client_http.errors"], 1, 3, "errors")
    same(after["aborted_requests"] - before["aborted_requests"], 1, "aborted requests")


INFO = r"""Squid Object Cache: Version \S+
Build Info: .*
Service Name: \S+
Start Time:	\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT
Current Time:	\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT
Connection information for squid:
	Number of clients accessing cache:	\d+
	Number of HTTP requests received:	\d+
	Number of ICP messages received:	\d+
	Number of ICP messages sent:	\d+
	Number of queued ICP replies:	\d+
	Number of HTCP messages received:	\d+
	Number of HTCP messages sent:	\d+
	Request failure ratio:	 *\d+\.\d\d
	Average HTTP requests per minute since start:	\d+\.\d
	Average ICP messages per minute since start:	\d+\.\d
	Select loop called: \d+ times, -?\d+\.\d{3} ms avg
Cache information for squid:
	Hits as % of all requests:	5min: \d+\.\d%, 60min: \d+\.\d%
	Hits as % of bytes sent:	5min: -?\d+\.\d+%, 60min: -?\d+\.\d+%
	Memory hits as % of hit requests:	5min: \d+\.\d%, 60min: \d+\.\d%
	Disk hits as % of hit requests:	5min: \d+\.\d%, 60min: \d+\.\d%
	Storage Swap size:	\d+ KB
	Storage Swap capacity:	 *\d+\.\d% used, *\d+\.\d% free
	Storage Mem size:	\d+ KB
	Storage Mem capacity:	 *\d+\.\d% used, *\d+\.\d% free
	Mean Object Size:	\d+\.\d\d KB
	Requests given to unlinkd:	\d+
Median Service Times \(seconds\)  5 min    60 min:
	HTTP Requests \(All\):   \d+\.\d{5} +\d+\.\d{5}
	Cache Misses:          \d+\.\d{5} +\d+\.\d{5}
	Cache Hits:            \d+\.\d{5} +\d+\.\d{5}
	Near Hits:             \d+\.\d{5} +\d+\.\d{5}
	Not-Modified Replies:  \d+\.\d{5} +\d+\.\d{5}
	DNS Lookups:          +\d+\.\d{5} +\d+\.\d{5}
	ICP Queries:           \d+\.\d{5} +\d+\.\d{5}
Resource usage for squid:
	UP Time:	\d+\.\d{3} seconds
	CPU Time:	\d+\.\d{3} seconds
	CPU Usage:	\d+\.\d\d%
	CPU Usage, 5 minute avg:	\d+\.\d\d%
	CPU Usage, 60 minute avg:	\d+\.\d\d%
	Maximum Resident Size: \d+ KB
	Page faults with physical i/o: \d+
Memory accounted for:
	Total accounted: +\d+ KB
	memPoolAlloc calls: +\d+
	memPoolFree calls: +\d+
File descriptor usage for squid:
	Maximum number of file descriptors: +\d+
	Largest file desc currently in use: +\d+
	Number of file desc currently in use: +\d+
	Files queued for open: +\d+
	Available number of file descriptors: +\d+
	Reserved number of file descriptors: +\d+
	Store Disk files open: +\d+
Internal Data Structures:
	 *\d+ StoreEntries
	 *\d+ StoreEntries with MemObjects
	 *\d+ Hot Object Cache Items
	 *\d+ on-disk objects""".split("\n")


@scenario("page.info-form", "mgr:info: every line word for word, in order")
def _(lab):
    lines = lab.proxy().manager("info").splitlines()
    for number, pattern in enumerate(INFO):
        check(number < len(lines), f"line {number + 1} is missing: {pattern!r}")
        check(re.fullmatch(pattern, lines[number]), f"line {number + 1}: {lines[number]!r} against {pattern!r}")
    same(len(lines), len(INFO), "lines")


def number(text, label):
    match = re.search(re.escape(label) + r"[:=]?\s*(-?[\d.]+)", text)
    check(match, f"{label!r} is there")
    return float(match[1])


@scenario("page.info", "mgr:info: clients, requests, stored objects, memory, descriptors, times")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy(DENY)
    before = proxy.manager("info")
    traffic(lab, proxy, origin)
    proxy.get(origin.url("/1"), source="127.0.0.44")
    held = [proxy.client() for _ in range(7)]
    after = proxy.manager("info")
    between(number(after, "Number of HTTP requests received") - number(before, "Number of HTTP requests received"), 34, 35, "requests")
    same(number(after, "Number of clients accessing cache") - number(before, "Number of clients accessing cache"), 1, "another client")
    between(number(after, "Storage Mem size") - number(before, "Storage Mem size"), 95, 160, "kilobytes stored in memory")
    used, entries = (lambda label: float(re.search(r"(\d+) " + label, after)[1])), None
    between(used("Hot Object Cache Items"), 10, 14, "hot objects")
    between(used("StoreEntries\n"), 10, 80, "entries")
    between(number(after, "Number of file desc currently in use") - number(before, "Number of file desc currently in use"), 7, 10, "descriptors")
    between(number(after, "UP Time"), 0.01, 60, "seconds up")
    check(number(after, "CPU Time") >= number(before, "CPU Time"), "CPU time")
    between(number(after, "Maximum Resident Size"), proxy.memory("VmHWM") * 0.5, 4_000_000, "resident size")
    per_minute = number(after, "Number of HTTP requests received") / number(after, "UP Time") * 60
    between(number(after, "Average HTTP requests per minute since start"), per_minute * 0.98 - 1, per_minute * 1.02 + 1, "requests per minute")
    for client in held:
        client.close()


@scenario("page.info-ratios", "mgr:info: hit ratios of the last five minutes", timeout=120, long=True)
def _(lab):
    origin, proxy = lab.origin(), lab.proxy(DENY)
    traffic(lab, proxy, origin)
    time.sleep(65)      # Squid samples once a minute
    text = proxy.manager("info")
    between(float(re.search(r"Hits as % of all requests:\t5min: ([\d.]+)%", text)[1]), 52, 64, "hits: 20 of 33 or so")
    same(float(re.search(r"Memory hits as % of hit requests:\t5min: ([\d.]+)%", text)[1]), 100.0, "memory hits")
    five = table(proxy.manager("5min"))
    check(float(five["client_http.requests"].split("/")[0]) > 0.2, "5min: requests a second")
