"""Disks that are full, slow or broken: clients notice nothing but misses."""
import errno
import os
import shutil
import subprocess
import threading
import time

import disk_lab
from disk_lab import ALWAYS_FROM_DISK, Broken, Puller, Source, cache_dir, disk_proxy, folder, kill_hard, settled, small_disk, stop_cleanly
from lab import between, check, contains, same, scenario

GROUP = "disk"
SQUID = "ends on an assertion, or serves errors"


def failures(pull, paths):
    """Requests of clients that fail or are answered wrongly."""
    failed = []
    for path in paths:
        try:
            pull.right(path)
        except (OSError, Broken) as error:
            failed.append(f"{path}: {error}")
    return failed


def said(proxy):
    return proxy.read("stderr") + proxy.read("cache.log")


# --- full

def fill_up(name):
    """A file that takes all the space there is."""
    with open(name, "wb", buffering=0) as out:
        try:
            while out.write(b"\0" * 1_000_000):
                pass
        except OSError as error:
            same(error.errno, errno.ENOSPC, "it is full")


def full_disk(lab, count, size):
    """A small file system that others fill up while objects come, and leave again."""
    path = small_disk(lab, "small", 60)
    ballast = os.path.join(path, "ballast")
    source, proxy = Source(lab), disk_proxy(lab, f"cache_dir ufs {path}/cache 400 16 256\naccess_log none\n" + ALWAYS_FROM_DISK)
    pull = Puller(lab, proxy, source)
    same(failures(pull, [f"/{size}/a{n}" for n in range(count // 4)]), [], "failed requests")
    fill_up(ballast)
    same(failures(pull, [f"/{size}/b{n}" for n in range(count // 2)]), [], "failed requests while it is full")
    same(failures(pull, [f"/{size}/a{n}" for n in range(0, count // 4, 3)]), [], "failed requests for what was stored")
    os.unlink(ballast)
    freed = time.monotonic()
    n, back = 0, None
    while time.monotonic() - freed < 8 * lab.patience:
        path_of = f"/{size}/c{n}"
        n += 1
        same(failures(pull, [path_of]), [], "failed requests")
        time.sleep(0.15)
        if pull.has(path_of):
            back = time.monotonic() - freed
            break
    check(back is not None and back < 5 * lab.patience, f"stores again after {back} s")
    same(failures(pull, [f"/{size}/d{n}" for n in range(count // 4)]), [], "failed requests")
    settled(lab, proxy)
    newest = [f"/{size}/d{n}" for n in range(count // 4 - 20, count // 4)]
    check(pull.held(newest) >= 19, "the newest are stored")
    pull.close()
    kill_hard(proxy)
    proxy.start()
    check(pull.held(newest) >= 19, "also after kill -9")


@scenario("disk.full", "A full disk, and space again: no client's request fails, stores again within 5 s", timeout=120, squid=SQUID)
def _(lab):
    full_disk(lab, 1200, 30_000)


@scenario("disk.full-10000", "The same with 10,000 requests", long=True, timeout=600, squid=SQUID)
def _(lab):
    full_disk(lab, 10_000, 30_000)


@scenario("disk.full-overcommitted", "cache_dir larger than its file system, filled several times over, large objects too: no request fails, the newest are hits", timeout=120, squid=SQUID)
def _(lab):
    path = small_disk(lab, "small", 40)
    source, proxy = Source(lab), disk_proxy(lab, f"maximum_object_size 20 MB\ncache_dir ufs {path}/cache 400 16 256\n" + ALWAYS_FROM_DISK)
    pull = Puller(lab, proxy, source)
    for n in range(400):
        same(failures(pull, [f"/{250_000 if n % 20 else 6_000_000}/{n}"]), [], "failed requests")
    settled(lab, proxy)
    pull.close()
    stop_cleanly(proxy)
    proxy.start()
    same(failures(pull, [f"/250000/{n}" for n in range(1, 20)]), [], "failed requests after a restart")


@scenario("disk.full-at-start", "A file system that is full when the proxy starts: it serves, and stores when there is space", squid=SQUID)
def _(lab):
    path = small_disk(lab, "small", 16)
    fill_up(os.path.join(path, "ballast"))
    source, proxy = Source(lab), lab.proxy(f"cache_dir ufs {path}/cache 400 16 256\n" + ALWAYS_FROM_DISK, start=False)
    proxy.launch()
    proxy.expect_death = True
    pull = Puller(lab, proxy, source)
    lab.eventually(lambda: proxy.process.poll() is not None or proxy.status(source.url("/10/first")) == 200, "an answer or an end")
    if proxy.process.poll() is not None:     # an error that names the directory is clear as well
        contains(said(proxy), path, "the path is named")
        return
    same(failures(pull, [f"/30000/{n}" for n in range(50)]), [], "failed requests")


# --- a preloaded library that spoils I/O

class Shim:
    """Compiled into the lab's folder; rules are set and cleared while the proxy runs."""

    def __init__(self, lab):
        self.folder = lab.make_folder("shim")
        library = os.path.join(self.folder, "shim.so")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "disk_shim.c")
        if not shutil.which("cc"):
            lab.skip("there is no C compiler")
        subprocess.run(("cc", "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"), check=True, capture_output=True)
        self.environment = {"LD_PRELOAD": library, "DISK_SHIM": self.folder}

    def set(self, rule, path):
        with open(os.path.join(self.folder, rule + ".new"), "w") as out:
            out.write(path)
        os.replace(os.path.join(self.folder, rule + ".new"), os.path.join(self.folder, rule))

    def clear(self, rule):
        os.unlink(os.path.join(self.folder, rule))


def shimmed(lab, config):
    import proxy as proxies
    if proxies.is_sanitized(lab.binary):
        lab.skip("a sanitizer has to be the first library")
    shim = Shim(lab)
    return shim, disk_proxy(lab, config, environment=shim.environment)


def percentile(values, part):
    return sorted(values)[int(len(values) * part)]


@scenario("disk.slow", "Every read from disk takes 50 ms longer: disk hits still come, memory hits do not wait for them", timeout=90, squid="its disk hits wait in the loop")
def _(lab):
    shim, proxy = shimmed(lab, cache_dir(lab) + "memory_cache_mode network\ncache_mem 2 MB\n")
    source = Source(lab)
    pull = Puller(lab, proxy, source)
    cold = [f"/20000/cold{n}" for n in range(400)]
    for path in cold:
        pull.right(path)
    settled(lab, proxy)
    stop_cleanly(proxy)
    pull.close()
    proxy.start()
    for _ in range(3):
        pull.right("/10000/hot")

    def memory_hits(seconds):
        out, end = [], time.monotonic() + seconds
        while time.monotonic() < end:
            began = time.monotonic()
            answer = pull.ask("/10000/hot")
            out.append((time.monotonic() - began) * 1000)
            same(len(answer.body), 10_000, "length")
            time.sleep(0.002)
        return out
    usual = memory_hits(2)
    shim.set("slow", folder(lab))
    stop, served, wrong = threading.Event(), [], []

    def disk_hits(i):
        own = Puller(lab, proxy, source)
        n = i
        while not stop.is_set():
            began = time.monotonic()
            try:
                own.right(cold[n % len(cold)])
            except Exception as error:   # noqa: BLE001 - told below
                wrong.append(str(error))
                return
            served.append((time.monotonic() - began) * 1000)
            n += 4
            stop.wait(0.05)     # the clients share this process's time
    threads = [threading.Thread(target=disk_hits, args=(i,), daemon=True) for i in range(4)]
    for t in threads:
        t.start()
    slowed = memory_hits(4)
    stop.set()
    for t in threads:
        t.join(20)
    same(wrong, [], "wrong disk hits")
    same(source.total(), len(cold) + 1, "requests at the origin")
    check(len(served) > 20 and percentile(served, 0.5) >= 45, f"{len(served)} disk hits, median {percentile(served, 0.5):.0f} ms: they are slow")
    text = f"memory hits: median {percentile(usual, 0.5):.2f} then {percentile(slowed, 0.5):.2f} ms, p99 {percentile(usual, 0.99):.2f} then {percentile(slowed, 0.99):.2f}"
    lab.trace("slow", text)
    check(percentile(slowed, 0.99) < max(percentile(usual, 0.99) * 1.1, 40 * lab.patience), text)
    check(percentile(slowed, 0.9) < max(percentile(usual, 0.9) * 1.1, percentile(usual, 0.9) + 8 * lab.patience), text)


@scenario("disk.slow-writes", "Reads of a slow disk while it is being filled: misses are not delayed", timeout=90, squid="waits in the loop")
def _(lab):
    shim, proxy = shimmed(lab, cache_dir(lab) + ALWAYS_FROM_DISK)
    source = Source(lab)
    shim.set("slow", folder(lab))
    pull, took = Puller(lab, proxy, source), []
    for n in range(200):
        began = time.monotonic()
        pull.right(f"/20000/{n}")
        took.append((time.monotonic() - began) * 1000)
    check(percentile(took, 0.9) < 45, f"a miss takes {percentile(took, 0.5):.1f} ms, one in ten more than {percentile(took, 0.9):.1f}")


@scenario("disk.broken", "One of two directories fails with EIO: one line says so, it is out of use, the other goes on, no request fails", timeout=90, squid=SQUID)
def _(lab):
    shim, proxy = shimmed(lab, cache_dir(lab, "good") + cache_dir(lab, "bad") + "store_dir_select_algorithm round-robin\n" + ALWAYS_FROM_DISK)
    source = Source(lab)
    pull = Puller(lab, proxy, source)
    paths = [f"/30000/{n}" for n in range(200)]
    for path in paths:
        pull.right(path)
    settled(lab, proxy)
    same(pull.held(paths), 200, "stored")
    shim.set("eio", folder(lab, "bad"))
    asked = source.total()
    for _ in range(3):
        same(failures(pull, paths), [], "failed requests")
    more = [f"/30000/more{n}" for n in range(200)]
    same(failures(pull, more), [], "failed requests for new ones")
    settled(lab, proxy)
    between(source.total() - asked, 200 + 40, 200 + 300, "requests at the origin: the new, and what was on the bad one")
    asked = source.total()
    same(failures(pull, paths + more), [], "failed requests")
    between(source.total() - asked, 0, 12, "requests at the origin once the bad one is out of use")
    lines = [line for line in proxy.log("cache.log") if folder(lab, "bad") in line and "rror" in line + "error" and "cache_dir" in line and
             any(word in line.lower() for word in ("out of service", "out of use", "taken out", "no longer used", "fail"))]
    same(len(lines), 1, f"lines that say so: {lines}")
    contains(proxy.manager("storedir"), folder(lab, "bad"), "storedir still names it")
    shim.clear("eio")
    pull.close()
    stop_cleanly(proxy)
    proxy.start()
    check(pull.held(paths) >= 190, "after a restart what is on either is there")


@scenario("disk.broken-alone", "The only directory fails: the proxy serves without it", timeout=60, squid=SQUID)
def _(lab):
    shim, proxy = shimmed(lab, cache_dir(lab))
    source = Source(lab)
    pull = Puller(lab, proxy, source)
    paths = [f"/30000/{n}" for n in range(60)]
    same(failures(pull, paths), [], "failed requests")
    settled(lab, proxy)
    shim.set("eio", folder(lab))
    for turn in range(3):
        same(failures(pull, [f"/30000/t{turn}-{n}" for n in range(60)] + paths), [], "failed requests")
    check(proxy.alive(), "the proxy runs")
    check(len(said(proxy).splitlines()) < 60, "the log is not flooded")


@scenario("disk.no-space-shim", "Writes fail with ENOSPC for a while: no request fails; stores again within 5 s", timeout=60, squid=SQUID)
def _(lab):
    shim, proxy = shimmed(lab, cache_dir(lab) + ALWAYS_FROM_DISK)
    source = Source(lab)
    pull = Puller(lab, proxy, source)
    old = [f"/30000/old{n}" for n in range(80)]
    same(failures(pull, old), [], "failed requests")
    settled(lab, proxy)
    shim.set("enospc", folder(lab))
    same(failures(pull, [f"/30000/full{n}" for n in range(150)]), [], "failed requests while there is no space")
    time.sleep(1)
    shim.clear("enospc")
    began, n = time.monotonic(), 0
    while True:
        n += 1
        same(failures(pull, [f"/30000/back{n}"]), [], "failed requests")
        time.sleep(0.15)
        if pull.has(f"/30000/back{n}"):
            break
        check(time.monotonic() - began < 5 * lab.patience, "stores again within 5 s")
    held = pull.held(old)
    check(held >= 40, f"of 80 stored before {held} are there")
    pull.close()
    kill_hard(proxy)
    proxy.start()
    check(pull.held(old) >= held - 1, "after kill -9 too")


@scenario("disk.purge-no-space", "PURGE while nothing can be written: whatever it answers, the purged is not served again", timeout=60, squid=SQUID)
def _(lab):
    shim, proxy = shimmed(lab, cache_dir(lab) + ALWAYS_FROM_DISK + "acl purge method PURGE\nhttp_access allow purge\nhttp_access allow all\n")
    source = Source(lab)
    pull = Puller(lab, proxy, source)
    paths = [f"/5000/{n}" for n in range(20)]
    same(failures(pull, paths), [], "failed requests")
    settled(lab, proxy)
    shim.set("enospc", folder(lab))
    answers = [pull.ask(path, method="PURGE").status for path in paths[:10]]
    same(pull.held(paths[:10]), 0, "of the purged, now")
    shim.clear("enospc")
    time.sleep(2)
    same(pull.held(paths[:10]), 0, "of the purged, later")
    pull.close()
    kill_hard(proxy)
    proxy.start()
    back = pull.held(paths[:10])
    check(back == 0 or 200 not in answers, f"{back} came back after a kill -9 though PURGE said {answers}")
