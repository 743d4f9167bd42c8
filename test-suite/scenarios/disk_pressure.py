"""A disk that cannot keep pace, directories that differ, and readers that depend on what it has: bounded memory, right versions, no transfer cut."""
import threading
import time

from disk_io import shimmed
from disk_lab import ALWAYS_FROM_DISK, Puller, Source, body_of, cache_dir, disk_proxy, folder, settled, stop_cleanly
from lab import between, check, same, scenario

GROUP = "disk"
PURGE = "acl purge method PURGE\nhttp_access allow purge\nhttp_access allow all\n"


def restart(proxy, config):
    stop_cleanly(proxy)
    proxy.configure(f"http_port 127.0.0.1:{proxy.port}\n" + config)
    proxy.start()


def pull_for(lab, proxy, source, seconds, size, clients):
    """Clients that ask for new objects of a size. How many came."""
    stop, counts = time.monotonic() + seconds, []

    def work(i):
        pull, n = Puller(lab, proxy, source), 0
        while time.monotonic() < stop:
            pull.ask(f"/{size}/{i}/{n}")
            n += 1
        pull.close()
        counts.append(n)
    threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(clients)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60 * lab.patience)
    return sum(counts)


@scenario("disk.slow-writer", "Every write to disk takes 100 ms: clients do not wait, memory stays bounded, a PURGE is answered soon", timeout=120, squid="waits")
def _(lab):
    for size in (100_000, 1 << 20, 3_000_000):
        name = f"disk{size}"
        shim, proxy = shimmed(lab, PURGE + "maximum_object_size 10 MB\nmaximum_object_size_in_memory 2 MB\ncache_mem 16 MB\naccess_log none\n" + cache_dir(lab, name, mb=2000))
        source = Source(lab)
        Puller(lab, proxy, source).right("/1000/purged")
        settled(lab, proxy)
        before = proxy.memory("VmRSS")
        shim.set("slowwrite", folder(lab, name))
        came = pull_for(lab, proxy, source, 4, size, 10)
        began = time.monotonic()
        same(proxy.ask("PURGE", source.url("/1000/purged"), timeout=20).status, 200, "PURGE")
        between(time.monotonic() - began, 0, 3 * lab.patience, "seconds until PURGE was answered")
        between(proxy.memory("VmHWM") - before, 0, 150_000, f"memory that {came} objects of {size} bytes took, KB")
        proxy.kill()
        proxy.process, proxy.expect_death = None, False


@scenario("disk.behind-and-purged", "PURGE, or a full disk, while a slow client reads from disk what still arrives: it gets every byte", timeout=120, squid="no such readers")
def _(lab):
    for what in ("PURGE", "enospc"):
        shim, proxy = shimmed(lab, PURGE + "maximum_object_size 100 MB\ncache_mem 4 MB\n" + cache_dir(lab, what, mb=300))
        source = Source(lab)
        source.pause = 0.05
        path, body = "/40000000/late", body_of("/40000000/late")

        def slow():
            time.sleep(0.7)
            with proxy.client(timeout=60 * lab.patience) as c:
                c.ask("GET", source.url(path))
                c.stream.until(b"\r\n\r\n", time.monotonic() + 20)
                got = bytearray()
                while len(got) < len(body):
                    got += c.stream.exactly(min(1_000_000, len(body) - len(got)), time.monotonic() + 30 * lab.patience)
                    time.sleep(0.08)
                return got == body
        late = lab.background(slow)
        fast = lab.background(lambda: Puller(lab, proxy, source).right(path))
        time.sleep(1.4)
        if what == "PURGE":
            proxy.ask("PURGE", source.url(path))
        else:
            shim.set("enospc", folder(lab, what))
        fast.result()
        check(late.result(), f"{what}: every byte for the slow one")
        same(source.asked[path], 1, "requests at the origin")


@scenario("disk.purge-not-durable", "A disk that takes no removal: PURGE says so, also when memory had the object or another directory took it", squid="says 200")
def _(lab):
    for what in ("enospc", "eio"):
        names = [f"{what}/1", f"{what}/2"]
        shim, proxy = shimmed(lab, PURGE + "".join(cache_dir(lab, name) for name in names))
        source = Source(lab)
        pull, paths = Puller(lab, proxy, source), [f"/3000/{n}" for n in range(4)]
        for path in paths:
            pull.right(path)
        settled(lab, proxy)
        same(pull.ask(paths[0], method="PURGE").status, 200, "before")
        shim.set(what, folder(lab, what))
        for path in paths[1:3]:
            same(pull.ask(path, method="PURGE").status, 503, f"{what}: the answer")
            check(not pull.has(path), "it is gone for now")
        pull.close()
        proxy.kill()
        proxy.process, proxy.expect_death = None, False


@scenario("disk.variants-by-size", "Variants of one URL that lie in different directories, by their sizes", squid="no such promise")
def _(lab):
    origin = lab.origin()
    proxy = disk_proxy(lab, cache_dir(lab, "small", options="max-size=20000") + cache_dir(lab, "large", options="min-size=20001") + ALWAYS_FROM_DISK)
    origin.on("/p")(lambda x: x.reply(200, "Cache-Control: max-age=600", "Vary: X-Kind", body=("s" * 1000 if x.request.get("X-Kind") == "s" else "L" * 100_000)))
    for _ in range(3):
        for kind, size in (("s", 1000), ("L", 100_000)):
            same(len(proxy.get(origin.url("/p"), f"X-Kind: {kind}").body), size, "length")
            settled(lab, proxy, 0.4)
    same(len(origin.requests("/p")), 2, "requests at the origin")


@scenario("disk.directory-back", "A directory that comes back with old versions: the newest is served, whichever stands first", squid="serves the old one")
def _(lab):
    for first in "ab":
        source = Source(lab)
        a, b = cache_dir(lab, "a" + first), cache_dir(lab, "b" + first)
        proxy = disk_proxy(lab, b + ALWAYS_FROM_DISK)
        pull, paths = Puller(lab, proxy, source), [f"/5000/{n}" for n in range(20)]
        for path in paths:
            pull.right(path)
        settled(lab, proxy)
        pull.close()
        restart(proxy, a + ALWAYS_FROM_DISK + "http_access allow all\n")
        for path in paths:
            source.bump(path)
            same(pull.right(path).version, 1, "version")
        settled(lab, proxy)
        pull.close()
        restart(proxy, (a + b if first == "a" else b + a) + ALWAYS_FROM_DISK + "http_access allow all\n")
        for _ in range(2):
            same({pull.right(path).version for path in paths}, {1}, "versions")
        pull.close()


def full_and_still_storing(lab, proxy, megabytes, size, rounds=1):
    """Fills the directory with small objects; then each large one and each small one that comes must be stored."""
    pull = Puller(lab, proxy, Source(lab))
    for n in range(megabytes * 60):
        pull.right(f"/20000/{n}")
    settled(lab, proxy, 2.5)
    for path in [f"/{n}/late{i}" for i in range(rounds) for n in (size, 20000)]:
        pull.right(path)
        settled(lab, proxy, 2.5)
        check(pull.has(path), f"{path} in {megabytes} MB")
    pull.close()


@scenario("disk.small-directories", "Directories of 1 to 10 MB that are full: what fits into them is stored all the same", timeout=120, squid="no such promise")
def _(lab):
    for megabytes, size in ((1, 300_000), (3, 1_000_000), (10, 1_040_000)):
        full_and_still_storing(lab, disk_proxy(lab, "cache_mem 0 MB\n" + cache_dir(lab, f"x{megabytes}", mb=megabytes)), megabytes, size)


@scenario("disk.small-slow-syncs", "The same where a sync takes 200 ms: the index grows while an object waits for room", timeout=120, squid="no such promise")
def _(lab):
    shim, proxy = shimmed(lab, "cache_mem 0 MB\n" + cache_dir(lab, "small", mb=1))
    shim.set("slowsync", folder(lab, "small"))
    full_and_still_storing(lab, proxy, 1, 300_000, rounds=4)
