"""mgr:objects, vm_objects and openfd_objects: every object once, to the end, whoever reads how slowly."""
import collections
import re
import socket
import subprocess
import threading
import time

import disk_lab
from disk_lab import ALWAYS_FROM_DISK, Puller, Source, cache_dir, disk_proxy, settled, stop_cleanly
from lab import between, check, contains, lacks, same, scenario

GROUP = "manager"

ROW = re.compile(r"KEY (?P<key>[0-9A-F]{32})\n\t(?P<state>STORE_OK|STORE_PENDING) +(?P<memory>IN_MEMORY|NOT_IN_MEMORY) +(?P<swap>SWAPOUT_\w+) +PING_\w+ *\n"
                 r"\t(?P<flags>[A-Z_,]+)\n\tLV:(?P<lv>-?\d+) +LU:(?P<lu>-?\d+) +LM:(?P<lm>-?\d+) +EX:(?P<ex>-?\d+) *\n"
                 r"\t(?P<locks>\d+) locks, (?P<clients>\d+) clients, (?P<refs>\d+) refs\n\tSwap Dir (?P<dir>-?\d+), File 0X(?P<file>[0-9A-F]{6,8})\n"
                 r"(?:\tGET (?P<url>\S+)\n)?(?:\tinmem_lo: \d+\n\tinmem_hi: (?P<high>\d+)\n\tswapout: (?P<queued>\d+) bytes queued\n)?"
                 r"(?:\tobject_sz: (?P<size>\d+)\n)?(?:\tdisk_sz: (?P<disk>\d+)\n)?\n")


def rows(text):
    out, at = [], 0
    while at < len(text):
        match = ROW.match(text, at)
        check(match, f"a row of another form: {text[at:at + 400]!r}")
        out.append(match)
        at = match.end()
    return out


@scenario("objects.words", "Both forms of request, squidclient, HEAD, passwords: the three pages in Squid's words", squid="does not end some of them")
def _(lab):
    source = Source(lab, fields=("Cache-Control: max-age=3600", "Last-Modified: Mon, 02 Nov 2026 09:00:00 GMT"))
    proxy = disk_proxy(lab, cache_dir(lab) + "cachemgr_passwd secret vm_objects\ncachemgr_passwd disable openfd_objects\n")
    pull = Puller(lab, proxy, source)
    for size in (0, 300, 40_000, 2_000_000):
        pull.right(f"/{size}/a?q={size}")
    for _ in range(3):
        pull.right("/300/a?q=300")
    settled(lab, proxy)
    found = {row["url"]: row for row in rows(proxy.manager("objects"))}
    same(set(found), {source.url(f"/{size}/a?q={size}") for size in (0, 300, 40_000, 2_000_000)}, "URLs")
    for url, row in found.items():
        size = int(url.rpartition("=")[2])
        same((row["state"], row["swap"], row["dir"], row["lm"], int(row["size"])), ("STORE_OK", "SWAPOUT_DONE", "0", "1793610000", size), url)
        same(row["memory"], "IN_MEMORY" if size < 500_000 else "NOT_IN_MEMORY", f"memory: {url}")
        between(int(row["lv"]), time.time() - 20 * lab.patience, time.time() + 1, "LV")
        same(int(row["ex"]) - int(row["lv"]), 3600, "EX")
        between(int(row["disk"]), size, size + 2000, "bytes on disk")
        same((row["locks"], row["clients"]), ("0", "0"), "nobody has it")
    check(int(found[source.url("/300/a?q=300")]["refs"]) >= 3, "uses")
    here = f"127.0.0.1:{proxy.port}"
    text = subprocess.run(("squidclient", "-h", "127.0.0.1", "-p", str(proxy.port), "mgr:objects"), capture_output=True, timeout=20).stdout.decode()
    head, _, body = text.replace("\r\n", "\n").partition("\n\n")
    same(len(rows(body)), 4, "squidclient's rows")
    lacks(head, "Transfer-Encoding", "to the end of the connection for HTTP/1.0")
    with proxy.client() as client:
        reply = client.request("GET", "/squid-internal-mgr/objects", host=here)
        same(reply.get("Transfer-Encoding"), "chunked", "HTTP/1.1")
        same(client.request("GET", "/squid-internal-mgr/info", host=here).status, 200, "the connection goes on")
        reply = client.request("HEAD", "/squid-internal-mgr/objects", host=here)
        same((reply.status, reply.body), (200, b""), "HEAD")
        same(client.request("GET", "/squid-internal-mgr/info", host=here).status, 200, "after HEAD")
    same(proxy.status("/squid-internal-mgr/vm_objects", host=here), 401, "password")
    same(proxy.status("/squid-internal-mgr/openfd_objects", host=here), 404, "disabled")
    same(len(rows(proxy.ask("GET", f"cache_object://{here}/vm_objects@secret").text)), 3, "vm_objects: what memory has")
    menu = proxy.manager("menu")
    for name, words, protection in (("objects", "All Cache Objects", "public"), ("vm_objects", "In-Memory and In-Transit Objects", "protected"),
                                    ("openfd_objects", "Objects with Swapout files open", "disabled")):
        check(re.search(rf"^ {name} +\t{words} *\t{protection}$", menu, re.M), f"{name} in the menu")


@scenario("objects.many", "20,000 objects, on disk and in memory: each once, to the end; after a restart too; nobody waits meanwhile", timeout=180)
def _(lab):
    source = Source(lab)
    proxy = disk_proxy(lab, cache_dir(lab) + "cache_mem 8 MB\n")
    pull = Puller(lab, proxy, source)
    for n in range(20_000):
        pull.ask(f"/{100 + n % 900}/{n}")
        if n % 2000 == 1999:
            settled(lab, proxy, 0.3)
    settled(lab, proxy)
    said = int(re.search(r"(\d+) on-disk objects", proxy.manager("info"))[1])
    check(said >= 19_900, f"{said} on disk")
    slowest, ended = [0.0], threading.Event()

    def others():
        second = Puller(lab, proxy, source)
        while not ended.is_set():
            began = time.monotonic()
            second.ask("/100/0")
            slowest[0] = max(slowest[0], time.monotonic() - began)
            time.sleep(0.002)
    for name in disk_lab.segments(disk_lab.folder(lab)):     # heads are shown where they are in the page cache
        with open(name, "rb") as segment:
            segment.read()
    other = threading.Thread(target=others)
    other.start()
    began = time.monotonic()
    text = proxy.manager("objects")
    took = time.monotonic() - began
    ended.set()
    other.join()
    found = rows(text)
    lab.trace("proxy", f"{len(found)} rows, {len(text)} bytes in {took:.2f} s; slowest hit meanwhile {slowest[0] * 1000:.1f} ms")
    keys = collections.Counter(row["key"] for row in found)
    same(max(keys.values()), 1, "each key once")
    same(sum(row["swap"] == "SWAPOUT_DONE" for row in found), said, "on-disk objects")
    same(sum(int(row["size"]) == 100 + int(row["url"].rpartition("/")[2]) % 900 for row in found if row["url"]), len(found), "sizes and URLs")
    check(any(row["memory"] == "IN_MEMORY" for row in found), "some in memory")
    check(slowest[0] < 0.25 * lab.patience, f"a hit took {slowest[0]:.3f} s meanwhile")
    pull.close()
    stop_cleanly(proxy)
    proxy.start()
    lab.eventually(lambda: int(re.search(r"(\d+) on-disk objects", proxy.manager("info"))[1]) == said, "all loaded")
    same(len(rows(proxy.manager("objects"))), said, "rows after a restart")


@scenario("objects.slow-reader", "A client that reads slowly gets all of it and costs little memory; one that goes away, and one that never reads, end", timeout=120)
def _(lab):
    source = Source(lab)
    proxy = disk_proxy(lab, cache_dir(lab) + ALWAYS_FROM_DISK)
    pull = Puller(lab, proxy, source)
    for n in range(6000):
        pull.ask(f"/100/{n}")
    settled(lab, proxy)
    count = len(rows(proxy.manager("objects")))
    check(count >= 5900, f"{count} rows")
    request = f"GET cache_object://127.0.0.1:{proxy.port}/objects HTTP/1.0\r\n\r\n".encode()

    def open_one():
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        sock.settimeout(20 * lab.patience)
        sock.connect(("127.0.0.1", proxy.port))
        sock.sendall(request)
        return sock
    before = proxy.memory()
    slow = open_one()
    gone = [open_one() for _ in range(20)]       # more than may be sent at a time: the last hear so
    time.sleep(1)
    refused = [sock for sock in gone if b" 503 " in sock.recv(4096).split(b"\r\n")[0]]
    between(len(refused), 3, 6, "pages refused")
    between(proxy.memory() - before, -10_000, 30_000, "KB for 16 pages under way")
    for sock in gone:
        sock.close()
    data = bytearray()
    while piece := slow.recv(16384):
        data += piece
        if len(data) < 400_000:
            time.sleep(0.01)
    same(len(rows(data.decode().partition("\r\n\r\n")[2])), count, "the slow one's rows")
    lab.eventually(lambda: proxy.status("/squid-internal-mgr/objects", host=f"127.0.0.1:{proxy.port}") == 200, "there is room again")
    contains(proxy.manager("info"), "on-disk objects", "it goes on")
    open_one()                                   # never read: the end of the process does not wait for it
    time.sleep(0.2)
    began = time.monotonic()
    pull.close()
    stop_cleanly(proxy)
    check(time.monotonic() - began < 5 * lab.patience, "the end")


@scenario("objects.openfd", "openfd_objects: what is on its way to the disk, and nothing else", squid="opens a file only later")
def _(lab):
    source = Source(lab)
    source.pause = 1.5
    proxy = disk_proxy(lab, cache_dir(lab) + "maximum_object_size 10 MB\n" + ALWAYS_FROM_DISK)
    pull = Puller(lab, proxy, source)
    pull.right("/1000/done")
    settled(lab, proxy)
    same(rows(proxy.manager("openfd_objects")), [], "nothing is being written")
    puller = threading.Thread(target=lambda: Puller(lab, proxy, source).right("/2500000/slow"))
    puller.start()
    found = lab.eventually(lambda: rows(proxy.manager("openfd_objects")), "it is being written")
    same([(row["url"], row["state"], row["swap"], row["clients"]) for row in found], [(source.url("/2500000/slow"), "STORE_PENDING", "SWAPOUT_WRITING", "1")], "row")
    puller.join()
    lab.eventually(lambda: not rows(proxy.manager("openfd_objects")), "it has been written")
    same({row["url"] for row in rows(proxy.manager("objects"))}, {source.url("/1000/done"), source.url("/2500000/slow")}, "objects")


@scenario("objects.memory-only", "Without a cache_dir: what memory has; an object under way is pending, with its clients")
def _(lab):
    source = Source(lab)
    proxy = lab.proxy("maximum_object_size_in_memory 8 MB\ncache_mem 32 MB\nmaximum_object_size 8 MB\n")
    pull = Puller(lab, proxy, source)
    for n in range(50):
        pull.right(f"/2000/{n}")
    for page in ("objects", "vm_objects"):
        found = rows(proxy.manager(page))
        same(len(found), 50, page)
        same({(row["memory"], row["swap"], row["dir"], row["file"], row["size"]) for row in found}, {("IN_MEMORY", "SWAPOUT_NONE", "-1", "FFFFFFFF", "2000")}, page)
    same(proxy.manager("openfd_objects"), "", "no disk")
    source.pause = 1
    puller = threading.Thread(target=lambda: Puller(lab, proxy, source).right("/2500000/slow"))
    puller.start()
    row = lab.eventually(lambda: [r for r in rows(proxy.manager("vm_objects")) if r["state"] == "STORE_PENDING"], "pending")[0]
    same((row["url"], row["clients"], row["size"]), (source.url("/2500000/slow"), "1", None), "row")
    puller.join()
