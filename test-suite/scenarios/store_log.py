"""cache_store_log: every line against the traffic that made it."""
import collections
import re
import signal
import time

from disk_lab import ALWAYS_FROM_DISK, Puller, Source, cache_dir, disk_proxy, settled, stop_cleanly
from lab import check, same, scenario
from proxy import free_port

GROUP = "disk"
PURGE = "acl purge method PURGE\nhttp_access allow purge\nhttp_access allow all\n"

LINE = re.compile(r"(?P<time>\d+\.\d{3}) (?P<action>SWAPOUT|RELEASE|SO_FAIL) (?P<directory>-1|\d\d) (?P<file>[0-9A-F]{8}) (?P<key>[0-9A-F]{32}) "
                  r"+(?P<status>\d+) +(?P<date>-?\d+) +(?P<modified>-?\d+) +(?P<expires>-?\d+) (?P<type>\S+) (?P<expected>-?\d+)/(?P<real>-?\d+) "
                  r"(?P<method>\S+) (?P<url>\S+)")


def log_to(lab, place=None):
    return f"cache_store_log {place or f'stdio:{lab.folder}/proxy/store.log'}\n"


def entries(proxy, name="store.log"):
    out = []
    for line in proxy.log(name):
        match = LINE.fullmatch(line)
        check(match, f"a line of another form: {line!r}")
        out.append(match)
    return out


def those(proxy, action, count, **wanted):
    """The entries with this action and these values, once there are so many."""
    def look():
        found = [e for e in entries(proxy) if e["action"] == action and all(e[name] == value for name, value in wanted.items())]
        return found if len(found) >= count else None
    found = proxy.lab.eventually(look, f"{count} x {action} {wanted}", timeout=8)
    same(len(found), count, f"{action} {wanted}")
    return found


def reload(lab, proxy, config):
    before = proxy.read("cache.log").count("| Reconfigured")
    proxy.reload(config)
    lab.eventually(lambda: proxy.read("cache.log").count("| Reconfigured") > before, "the reload")


@scenario("store-log.stored", "A SWAPOUT for each stored object, once it is on disk; a RELEASE with the same place when it is purged")
def _(lab):
    source = Source(lab, fields=("Cache-Control: max-age=3600", "Last-Modified: Mon, 02 Nov 2026 09:00:00 GMT", "Content-Type: text/html; charset=utf-8"))
    proxy = disk_proxy(lab, cache_dir(lab) + log_to(lab) + PURGE)
    pull = Puller(lab, proxy, source)
    sizes = {f"/{size}/s{n}?q={n}": size for n, size in enumerate((0, 1, 500, 20_000, 70_000, 600_000, 3_000_000) * 5)}
    began = time.time()
    for path in sizes:
        pull.right(path)
    stored = those(proxy, "SWAPOUT", len(sizes))
    for path in sizes:
        pull.right(path)        # a hit has no line
    same(source.total(), len(sizes), "requests at the origin")
    same(collections.Counter(e["real"] for e in stored), collections.Counter(map(str, sizes.values())), "their lengths")
    same(len({e["key"] for e in stored}), len(sizes), "different keys")
    for e in stored:
        same((e["status"], e["type"], e["method"], e["modified"]), ("200", "text/html", "GET", "1793610000"), "what the head says")
        same(e["expected"], e["real"], "announced and real length")
        check(began - 2 <= int(e["date"]) <= time.time() + 1, f"date {e['date']}")
        same(int(e["expires"]) - int(e["date"]), 3600, "expiry")
        check(e["directory"] == "00" and e["file"] != "FFFFFFFF", f"place {e['directory']} {e['file']}")
        check(e["url"].endswith("?"), f"the query is not logged: {e['url']}")
    for path in list(sizes)[:8]:
        same(proxy.ask("PURGE", source.url(path)).status, 200, "PURGE")
    gone = those(proxy, "RELEASE", 8)
    places = {e["key"]: (e["directory"], e["file"], e["real"]) for e in stored}
    for e in gone:
        same((e["directory"], e["file"], e["real"]), places[e["key"]], "where it was")
    counters = lab.eventually(lambda: (c := proxy.counters()).get("log.store_lines", 0) >= len(sizes) + 8 and c, "counted")
    same((counters["log.store_lines"], counters["log.store_lines_dropped"]), (len(sizes) + 8, 0), "lines counted")


@scenario("store-log.passing", "What is not stored: one RELEASE without a place, at its end, with the method of the request")
def _(lab):
    source = Source(lab, fields=("Cache-Control: no-store",))
    proxy = disk_proxy(lab, cache_dir(lab) + log_to(lab) + PURGE)
    pull = Puller(lab, proxy, source)
    pull.right("/2000/a")
    same(pull.ask("/3000/h", method="HEAD").status, 200, "HEAD")
    same(pull.ask("/4000/p", "Content-Length: 0", method="POST").status, 200, "POST")
    found = those(proxy, "RELEASE", 3, directory="-1", file="FFFFFFFF", status="200", type="unknown")
    same([(e["method"], e["url"], e["expected"], e["real"]) for e in found],
         [("GET", source.url("/2000/a"), "2000", "2000"), ("HEAD", source.url("/3000/h"), "3000", "0"), ("POST", source.url("/4000/p"), "4000", "4000")], "lines")


@scenario("store-log.memory", "Memory alone: no line when it is stored; RELEASE without a place when it is purged, replaced or evicted")
def _(lab):
    source = Source(lab)
    proxy = lab.proxy("cache_mem 2 MB\n" + log_to(lab) + PURGE)
    pull = Puller(lab, proxy, source)
    paths = [f"/100000/{n}" for n in range(60)]
    pull.right("/1000/purged")
    pull.right("/1000/replaced")
    proxy.ask("PURGE", source.url("/1000/purged"))
    those(proxy, "RELEASE", 1, url=source.url("/1000/purged"), directory="-1", real="1000")
    source.bump("/1000/replaced")
    pull.right("/1000/replaced", "Cache-Control: no-cache", least=1)
    those(proxy, "RELEASE", 1, url=source.url("/1000/replaced"))
    for path in paths:
        pull.right(path)
    gone = lambda: [e for e in entries(proxy) if e["url"].startswith(source.url("/100000/"))]
    lab.eventually(lambda: len(gone()) > 20, "evictions are said")
    time.sleep(1.5 * lab.patience)
    urls = [e["url"] for e in gone()]
    same(len(urls), len(set(urls)), "each once")
    held = [path for path in paths if pull.has(path)]
    same(set(urls), {source.url(path) for path in paths if path not in held}, "those that have gone, and no others")
    same({e["action"] for e in entries(proxy)}, {"RELEASE"}, "actions")


@scenario("store-log.replaced", "A newer version on disk: SWAPOUT of the new, RELEASE of the old; a 304 changes nothing")
def _(lab):
    source = Source(lab, fields=("Cache-Control: max-age=1",))
    proxy = disk_proxy(lab, cache_dir(lab) + log_to(lab) + PURGE)
    pull = Puller(lab, proxy, source)
    pull.right("/50000/r")
    those(proxy, "SWAPOUT", 1)
    time.sleep(2.2)
    pull.right("/50000/r")
    same(source.conditional["/50000/r"], 1, "validated")
    settled(lab, proxy, 1.5)
    same(len(entries(proxy)), 1, "lines after a 304")
    source.bump("/50000/r")
    pull.right("/50000/r", "Cache-Control: no-cache", least=1)
    those(proxy, "SWAPOUT", 2)
    old = those(proxy, "RELEASE", 1)[0]
    same(old["directory"], "00", "the old one's directory")
    same(len({e["key"] for e in entries(proxy)}), 1, "one key")


@scenario("store-log.evicted", "Nine times what a directory holds: what was stored and not released is what is there", timeout=120)
def _(lab):
    source = Source(lab)
    proxy = disk_proxy(lab, cache_dir(lab, mb=10) + log_to(lab) + PURGE + ALWAYS_FROM_DISK)
    pull = Puller(lab, proxy, source)
    for n in range(900):
        pull.right(f"/100000/{n}")
    settled(lab, proxy)

    def even():
        counts = collections.Counter((e["action"], e["directory"]) for e in entries(proxy))
        there = int(re.search(r"(\d+) on-disk objects", proxy.manager("info"))[1])
        return counts if counts["SWAPOUT", "00"] - counts["RELEASE", "00"] == there else None
    counts = lab.eventually(even, "SWAPOUT - RELEASE = on-disk objects", timeout=8)
    same(counts["SWAPOUT", "00"] + counts["SO_FAIL", "-1"], 900, "each was stored or refused")
    check(counts["RELEASE", "00"] > 700, f"{counts}")
    released = {e["url"] for e in entries(proxy) if e["action"] == "RELEASE"}
    there = {source.url(f"/100000/{n}") for n in range(900)} - released
    same(sum(pull.has(f"/100000/{n}") for n in range(900)), len(there), "what is held is what was not released")


@scenario("store-log.refused", "SO_FAIL: too large for the directory, though memory keeps it")
def _(lab):
    source = Source(lab)
    proxy = disk_proxy(lab, cache_dir(lab, options="max-size=10000") + log_to(lab) + PURGE)
    pull = Puller(lab, proxy, source)
    pull.right("/30000/large")
    pull.right("/5000/fits")
    those(proxy, "SO_FAIL", 1, url=source.url("/30000/large"), directory="-1")
    those(proxy, "SWAPOUT", 1, url=source.url("/5000/fits"))
    check(pull.has("/30000/large"), "memory has it")
    proxy.ask("PURGE", source.url("/30000/large"))
    those(proxy, "RELEASE", 1, url=source.url("/30000/large"), directory="-1")


@scenario("store-log.places", "none writes nothing; a reload turns it on and off; rotation; a collector that is not there loses lines, counted, and delays nothing")
def _(lab):
    source = Source(lab)
    base = cache_dir(lab) + PURGE
    proxy = disk_proxy(lab, base + "cache_store_log none\n")
    pull = Puller(lab, proxy, source)
    pull.right("/1000/before")
    settled(lab, proxy)
    reload(lab, proxy, base + log_to(lab, f"daemon:{lab.folder}/proxy/store.log"))
    pull.right("/1000/during")
    those(proxy, "SWAPOUT", 1, url=source.url("/1000/during"))
    same(len(entries(proxy)), 1, "lines")
    proxy.signal(signal.SIGUSR1)
    lab.eventually(lambda: proxy.log("store.log.0"), "the old log")
    pull.right("/1000/rotated")
    those(proxy, "SWAPOUT", 1)
    reload(lab, proxy, base + "cache_store_log none\n")
    pull.right("/1000/after")
    settled(lab, proxy, 1.5)
    same(len(entries(proxy)), 1, "lines after none")
    reload(lab, proxy, base + log_to(lab, f"udp://127.0.0.1:{free_port()}"))
    for n in range(20):
        pull.right(f"/1000/{n}")
        time.sleep(0.02)
    counters = lab.eventually(lambda: (c := proxy.counters())["log.store_lines_dropped"] > 0 and c, "lost lines are counted", timeout=6)
    same(counters["log.lines_dropped"], 0, "of the access log")
    stop_cleanly(proxy)


@scenario("store-log.bad", "A place that is none is refused; a file that cannot be opened ends the start", squid="other words")
def _(lab):
    code, text = lab.proxy("cache_store_log udp://nowhere\n", start=False).parse()
    check(code != 0 and "cache_store_log" in text, text[-300:])
    proxy = lab.proxy("cache_store_log stdio:/nonexistent/folder/store.log\n", start=False)
    proxy.launch()
    proxy.expect_death = True
    same(proxy.wait_exit(5), 1, "exit code")
    check("/nonexistent/folder/store.log" in proxy.read("stderr") + proxy.read("cache.log"), "it is named")
