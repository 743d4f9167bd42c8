"""The directives of the disk cache: what is stored where, how much, and what is refused."""
import os
import time

import disk_lab
from disk_lab import ALWAYS_FROM_DISK, Puller, Source, cache_dir, disk_proxy, folder, settled, stop_cleanly, used_bytes
from lab import between, check, contains, lacks, same, scenario

GROUP = "disk"
MB = 1 << 20


def restart(proxy, config=None):
    stop_cleanly(proxy)
    if config is not None:
        proxy.configure(config)
    proxy.start()


def said(proxy):
    return proxy.read("stderr") + proxy.read("cache.log")


@scenario("disk.spellings", "ufs, aufs, diskd and rock open a store; nobody needs -z, which is accepted", squid="needs -z")
def _(lab):
    for kind in ("ufs", "aufs", "diskd", "rock"):
        source, proxy = Source(lab), lab.proxy(cache_dir(lab, kind, kind=kind, make=False))
        pull = Puller(lab, proxy, source)
        pull.right("/9000/a")
        settled(lab, proxy)
        pull.close()
        stop_cleanly(proxy)
        code, text = proxy.run("-z", "-N")
        same(code, 0, f"-z: {text[-300:]}")
        proxy.start()
        pull.right("/9000/a")
        same(source.total(), 1, f"{kind}: requests at the origin")
        pull.close()
        proxy.stop()


@scenario("disk.missing-folder", "A missing directory is created, with the folders above it", squid="needs -z")
def _(lab):
    source = Source(lab)
    proxy = lab.proxy(cache_dir(lab, "not/there/yet", make=False))
    Puller(lab, proxy, source).right("/9000/a")
    check(os.path.isdir(folder(lab, "not/there/yet")), "it is there")
    lacks(said(proxy).lower(), "error", "no complaint")


@scenario("disk.unusable", "A directory that cannot be used: named, exit 1; -k parse warns", squid="other words")
def _(lab):
    in_the_way = os.path.join(lab.folder, "file")
    with open(in_the_way, "w") as out:
        out.write("not a directory\n")
    for path in (in_the_way, in_the_way + "/below", "/proc/none/of/it"):
        proxy = lab.proxy(f"cache_dir ufs {path} 100 16 256", start=False)
        code, text = proxy.parse()
        same(code, 0, "exit code of -k parse")
        if path.startswith(in_the_way):
            contains(text, path, "-k parse names it")
            check("warning" in text.lower() or "missing:" in text, f"-k parse warns: {text}")
        proxy.launch()
        proxy.expect_death = True
        same(proxy.wait_exit(5), 1, f"{path}: exit code")
        contains(said(proxy), path, "it is named at start")
        proxy.stop()


@scenario("disk.bad-lines", "A cache_dir line that makes no sense is refused with its place", squid="passes over some")
def _(lab):
    for line in ("cache_dir", "cache_dir ufs", f"cache_dir ufs {lab.folder}/d", f"cache_dir ufs {lab.folder}/d none 16 256", f"cache_dir ufs {lab.folder}/d -5 16 256",
                 f"cache_dir tape {lab.folder}/d 100 16 256", f"cache_dir ufs {lab.folder}/d 100 16 256 frob=1"):
        code, text = lab.proxy(line, start=False).parse()
        check(code != 0 and ("cache_dir" in text or "proxy.conf:2:" in text), f"{line!r}: {code} {text[-300:]}")


@scenario("disk.twice", "The same directory on two lines is refused", squid="differs")
def _(lab):
    line = cache_dir(lab)
    proxy = lab.proxy(line + line, start=False)
    code, text = proxy.parse()
    if code == 0:
        proxy.launch()
        proxy.expect_death = True
        same(proxy.wait_exit(5), 1, "exit code at start")
        text = said(proxy)
    contains(text, folder(lab), "the path is named")


@scenario("disk.two-processes", "A second process on one directory refuses, naming the path; the first goes on", squid="spoils the directory")
def _(lab):
    source, first = Source(lab), disk_proxy(lab, cache_dir(lab))
    pull = Puller(lab, first, source)
    for n in range(20):
        pull.right(f"/5000/{n}")
    settled(lab, first)
    for _ in range(2):
        second = lab.proxy(cache_dir(lab), start=False)
        second.launch()
        second.expect_death = True
        same(second.wait_exit(5), 1, "the second one's exit code")
        contains(said(second), folder(lab), "it names the path")
        second.stop()
    for n in range(30):
        pull.right(f"/5000/{n}")
    pull.close()
    restart(first)
    for n in range(20):
        pull.right(f"/5000/{n}")
    same(source.total(), 30, "requests at the origin")
    pull.close()
    stop_cleanly(first)
    third = lab.proxy(cache_dir(lab))
    pull = Puller(lab, third, source)
    pull.right("/5000/0")
    same(source.total(), 30, "another process afterwards")


@scenario("disk.limits", "minimum_object_size, maximum_object_size, min-size and max-size: what is outside is passed on, not stored")
def _(lab):
    cases = (("minimum_object_size 4 KB\n", "", (4000, 5000, 500_000), (5000, 500_000)),
             ("maximum_object_size 100 KB\n", "", (10, 102_000, 103_000), (10, 102_000)),
             ("", "min-size=10000", (9_000, 10_500, 300_000), (10_500, 300_000)),
             ("", "max-size=50000", (10, 49_000, 50_600), (10, 49_000)))
    for number, (lines, options, sizes, stored) in enumerate(cases):
        source = Source(lab)
        proxy = disk_proxy(lab, lines + cache_dir(lab, f"disk{number}", options=options))
        pull = Puller(lab, proxy, source)
        for size in sizes:
            pull.right(f"/{size}/l")
        settled(lab, proxy)
        pull.close()
        restart(proxy)
        for size in sizes:
            pull.right(f"/{size}/l")
            same(source.asked[f"/{size}/l"], 1 if size in stored else 2, f"{lines}{options}: {size} bytes: requests at the origin")
        pull.close()
        proxy.stop()


@scenario("disk.order", "maximum_object_size below a cache_dir line leaves that line alone", squid="uses both directories")
def _(lab):
    source = Source(lab)
    config = "maximum_object_size 10 KB\n" + cache_dir(lab, "small") + "maximum_object_size 10 MB\n" + cache_dir(lab, "big") + "cache_mem 0 MB\n"
    proxy = disk_proxy(lab, config)
    pull = Puller(lab, proxy, source)
    paths = [f"/100000/{n}" for n in range(100)]
    for path in paths:
        pull.right(path)
    settled(lab, proxy)
    same(pull.held(paths), 100, "all are held")
    pull.close()
    proxy.stop()
    check(used_bytes(folder(lab, "big")) > 9 * MB, f"big: {used_bytes(folder(lab, 'big'))} bytes")
    check(used_bytes(folder(lab, "small")) < 2 * MB, f"small: {used_bytes(folder(lab, 'small'))} bytes")


@scenario("disk.by-size", "Two directories, one for small and one for large objects: each gets its own")
def _(lab):
    source = Source(lab)
    config = cache_dir(lab, "small", options="max-size=20000") + cache_dir(lab, "large", options="min-size=20001")
    proxy = disk_proxy(lab, config)
    pull = Puller(lab, proxy, source)
    paths = [f"/10000/s{n}" for n in range(300)] + [f"/200000/l{n}" for n in range(60)]
    for path in paths:
        pull.right(path)
    settled(lab, proxy)
    pull.close()
    stop_cleanly(proxy)
    between(used_bytes(folder(lab, "small")), 2.9 * MB, 6.5 * MB, "small: bytes")
    between(used_bytes(folder(lab, "large")), 11.4 * MB, 15 * MB, "large: bytes")
    proxy.start()
    for path in paths:
        pull.right(path)
    same(source.total(), len(paths), "requests at the origin")


@scenario("disk.no-store", "no-store and read-only: what is there is served, nothing is added; the other directory takes the new")
def _(lab):
    for word in ("no-store", "read-only"):
        source = Source(lab)
        proxy = disk_proxy(lab, cache_dir(lab, word + "-old"))
        pull = Puller(lab, proxy, source)
        old, new = [f"/20000/o{n}" for n in range(50)], [f"/20000/n{n}" for n in range(50)]
        for path in old:
            pull.right(path)
        settled(lab, proxy)
        pull.close()
        restart(proxy, cache_dir(lab, word + "-old", options=word) + ALWAYS_FROM_DISK)
        size = used_bytes(folder(lab, word + "-old"))
        for path in old + new:
            pull.right(path)
        settled(lab, proxy)
        same(pull.held(old), 50, f"{word}: the old are served")
        same(pull.held(new), 0, f"{word}: the new are not stored")
        check(used_bytes(folder(lab, word + "-old")) < size + 0.5 * MB, "nothing is added")
        pull.close()
        stop_cleanly(proxy)
        proxy.configure(cache_dir(lab, word + "-old", options=word) + cache_dir(lab, word + "-new") + ALWAYS_FROM_DISK)
        if lab.kind == "squid":
            proxy.run("-z", "-N")
        proxy.start()
        for path in new:
            pull.right(path)
        settled(lab, proxy)
        same(pull.held(old + new), 100, f"{word}: both directories serve")
        pull.close()
        proxy.stop()


@scenario("disk.several", "Several directories, round-robin and least-load: all are used, all objects survive a restart")
def _(lab):
    for algorithm in ("round-robin", "least-load"):
        source = Source(lab)
        names = [f"{algorithm}{n}" for n in range(3)]
        proxy = disk_proxy(lab, "".join(cache_dir(lab, name) for name in names) + f"store_dir_select_algorithm {algorithm}\n")
        pull = Puller(lab, proxy, source)
        paths = [f"/60000/{n}" for n in range(300)]
        for path in paths:
            pull.right(path)
        settled(lab, proxy)
        text = proxy.manager("storedir")
        for name in names:
            contains(text, folder(lab, name), "storedir names each")
        pull.close()
        stop_cleanly(proxy)
        for name in names if algorithm == "round-robin" else ():
            between(used_bytes(folder(lab, name)), 4 * MB, 9 * MB, f"{name}: bytes of 18 MB in all")
        proxy.start()
        for path in paths:
            pull.right(path)
        same(source.total(), len(paths), f"{algorithm}: requests at the origin")
        pull.close()
        proxy.stop()


@scenario("disk.fewer", "A directory that is taken out of the configuration takes its objects along, and brings them back later")
def _(lab):
    source = Source(lab)
    both, one = cache_dir(lab, "one") + cache_dir(lab, "two"), cache_dir(lab, "one")
    proxy = disk_proxy(lab, both + "store_dir_select_algorithm round-robin\n" + ALWAYS_FROM_DISK)
    pull = Puller(lab, proxy, source)
    paths = [f"/30000/{n}" for n in range(100)]
    for path in paths:
        pull.right(path)
    settled(lab, proxy)
    pull.close()
    restart(proxy, one + ALWAYS_FROM_DISK)
    between(pull.held(paths), 25, 75, "objects of one directory")
    pull.close()
    restart(proxy, both + ALWAYS_FROM_DISK)
    same(pull.held(paths), 100, "objects of both")
    same(source.total(), 100, "requests at the origin")


@scenario("disk.policies", "cache_replacement_policy: every spelling starts, stores, keeps the limit and survives a restart", timeout=120, squid="takes its time to come down")
def _(lab):
    for policy in ("lru", "heap LRU", "heap GDSF", "heap LFUDA") + (("s3fifo",) if lab.kind == "loligo" else ()):
        name = policy.replace(" ", "-")
        source, proxy = Source(lab), disk_proxy(lab, f"cache_replacement_policy {policy}\n" + cache_dir(lab, name, mb=20) + ALWAYS_FROM_DISK)
        pull = Puller(lab, proxy, source)
        paths = [f"/100000/{n}" for n in range(300)]
        for path in paths:
            pull.right(path)
        settled(lab, proxy)
        held = pull.held(paths)
        between(held, 100, 215, f"{policy}: objects of 100 KB in 20 MB")
        if lab.kind == "loligo":
            check(used_bytes(folder(lab, name)) <= 20 * MB * 1.01, f"{policy}: {used_bytes(folder(lab, name))} bytes")
        pull.close()
        restart(proxy)
        between(pull.held(paths), held - 15, held + 15, f"{policy}: held after a restart")
        pull.close()
        proxy.stop()


def size_limit(lab, mb, sizes, times, least):
    source, proxy = Source(lab), disk_proxy(lab, "maximum_object_size 50 MB\n" + cache_dir(lab, mb=mb) + ALWAYS_FROM_DISK)
    pull = Puller(lab, proxy, source)
    passed, n, most, paths = 0, 0, 0, []
    while passed < mb * MB * times:
        paths.append(f"/{sizes[n % len(sizes)]}/{n}")
        passed, n = passed + sizes[n % len(sizes)], n + 1
        pull.right(paths[-1])
        if n % 50 == 0:
            most = max(most, used_bytes(folder(lab)))
    settled(lab, proxy)
    most, now = max(most, used_bytes(folder(lab))), used_bytes(folder(lab))
    check(most <= mb * MB * 1.01, f"{most / MB:.2f} MB on disk, {mb} allowed")
    check(now >= mb * MB * least, f"{now / MB:.2f} MB on disk of {mb} at the end")
    check(pull.held(paths[-20:]) >= 2, "some of the newest are there")
    pull.close()
    restart(proxy)
    check(used_bytes(folder(lab)) <= mb * MB * 1.01, "also after a restart")
    check(pull.held(paths[-20:]) >= 2, "some of the newest are there")


@scenario("disk.size-small", "The size limit holds to 1 % while three times as much passes: objects of 3 to 20 KB", timeout=180, squid="counts blocks its own way")
def _(lab):
    size_limit(lab, 30, (3000, 20_000, 8000, 12_000), 3, 0.5)     # a segment is an eighth of so small a directory


@scenario("disk.size-mixed", "The size limit holds to 1 % while three times as much passes: 1 KB to 8 MB", timeout=180, squid="counts blocks its own way")
def _(lab):
    size_limit(lab, 100, (1000, 50_000, 400_000, 8 * MB, 2000, 1_500_000), 3, 0.65)


@scenario("disk.newest", "Objects that come one after the other into a full directory are all stored", squid="drops the newest when it is full")
def _(lab):
    source, proxy = Source(lab), disk_proxy(lab, cache_dir(lab, mb=30) + ALWAYS_FROM_DISK)
    pull = Puller(lab, proxy, source)
    paths = [f"/{1000 + 7919 * n % 250_000}/n{n}" for n in range(1000)]
    for turn in range(0, 1000, 100):
        for path in paths[turn:turn + 100]:
            pull.right(path)
        settled(lab, proxy, 0.5)
        held = pull.held(paths[turn + 60:turn + 100])
        check(held >= 38, f"{held} of the newest 40 are held")


@scenario("disk.size-shrunk", "A limit that was made smaller holds soon after the start", squid="takes its time")
def _(lab):
    source, proxy = Source(lab), disk_proxy(lab, cache_dir(lab, mb=60) + ALWAYS_FROM_DISK)
    pull = Puller(lab, proxy, source)
    paths = [f"/200000/{n}" for n in range(250)]
    for path in paths:
        pull.right(path)
    settled(lab, proxy)
    pull.close()
    restart(proxy, cache_dir(lab, mb=20) + ALWAYS_FROM_DISK)
    for n in range(20):
        pull.right(f"/200000/more{n}")
    lab.eventually(lambda: used_bytes(folder(lab)) <= 20 * MB * 1.01, "20 MB on disk", 10)
    pull.held(paths)


@scenario("disk.one-too-large", "An object larger than the directory passes, and harms nothing")
def _(lab):
    source, proxy = Source(lab), disk_proxy(lab, "maximum_object_size 100 MB\n" + cache_dir(lab, mb=20) + ALWAYS_FROM_DISK)
    pull = Puller(lab, proxy, source)
    paths = [f"/100000/{n}" for n in range(30)]
    for path in paths:
        pull.right(path)
    for _ in range(2):
        pull.right("/40000000/giant")
    settled(lab, proxy)
    check(used_bytes(folder(lab)) <= 20 * MB * 1.01 or lab.kind == "squid", f"{used_bytes(folder(lab))} bytes")
    for path in paths:
        pull.right(path)
    for n in range(5):
        pull.right(f"/100000/later{n}")
    settled(lab, proxy)
    same(pull.held([f"/100000/later{n}" for n in range(5)]), 5, "stored afterwards")


@scenario("disk.memory-mode", "memory_cache_mode: always, network, disk say what is promoted to memory")
def _(lab):
    expected = {"always": (["TCP_MISS", "TCP_MEM_HIT", "TCP_MEM_HIT"], ["TCP_HIT", "TCP_MEM_HIT", "TCP_MEM_HIT"]),
                "network": (["TCP_MISS", "TCP_MEM_HIT", "TCP_MEM_HIT"], ["TCP_HIT", "TCP_HIT", "TCP_HIT"]),
                "disk": (["TCP_MISS", "TCP_HIT", "TCP_MEM_HIT"], ["TCP_HIT", "TCP_MEM_HIT", "TCP_MEM_HIT"])}
    for mode, (before, after) in expected.items():
        source, proxy = Source(lab), disk_proxy(lab, cache_dir(lab, mode) + f"memory_cache_mode {mode}\n")
        pull, path = Puller(lab, proxy, source), f"/30000/{mode}"
        for turn in (before, after):
            done = len(proxy.log())
            for _ in range(3):
                pull.right(path)
                settled(lab, proxy, 0.8)
            same([line.split()[3].split("/")[0] for line in proxy.log_lines(done + 3)[done:]], turn, mode)
            pull.close()
            if turn is before:
                restart(proxy)
        same(source.total(), 1, f"{mode}: requests at the origin")
        proxy.stop()


@scenario("disk.only-disk", "cache_mem 0: everything is served from disk")
def _(lab):
    source, proxy = Source(lab), disk_proxy(lab, cache_dir(lab) + "cache_mem 0 MB\n")
    pull = Puller(lab, proxy, source)
    paths = [f"/{size}/m" for size in (0, 10, 5000, 100_000, 2_000_000)]
    for path in paths:
        pull.right(path)
    settled(lab, proxy)
    for _ in range(3):
        for path in paths:
            pull.right(path)
    same(source.total(), len(paths), "requests at the origin")
    same({line.split()[3].split("/")[0] for line in proxy.log_lines(len(paths) * 4)[len(paths):]}, {"TCP_HIT"}, "tags of the hits")


@scenario("disk.hot", "Hot objects live in memory though the set is far larger; the others stay on disk")
def _(lab):
    source, proxy = Source(lab), disk_proxy(lab, cache_dir(lab) + "cache_mem 4 MB\n")
    pull = Puller(lab, proxy, source)
    paths = [f"/40000/{n}" for n in range(500)]
    hot = paths[:20]
    for n, path in enumerate(paths):
        pull.right(path)
        pull.right(hot[n % 20] if n >= 20 else path)
    settled(lab, proxy)
    for path in paths:
        pull.right(path)
    same(source.total(), 500, "requests at the origin")
    done = len(proxy.log_lines(3 * 500))
    for path in hot:
        pull.right(path)
    tags = [line.split()[3].split("/")[0] for line in proxy.log_lines(done + 20)[done:]]
    check(tags.count("TCP_MEM_HIT") >= 14 or lab.kind == "squid", f"tags of the hot: {tags}")


@scenario("disk.swap-marks", "cache_swap_low and cache_swap_high are accepted and the store stays between them", squid="is slower to come down")
def _(lab):
    source, proxy = Source(lab), disk_proxy(lab, cache_dir(lab, mb=40) + "cache_swap_low 60\ncache_swap_high 70\n" + ALWAYS_FROM_DISK)
    pull = Puller(lab, proxy, source)
    for n in range(600):
        pull.right(f"/100000/{n}")
    settled(lab, proxy, 2)
    between(used_bytes(folder(lab)) / MB, 40 * 0.45, 40 * 0.76, "MB on disk")


@scenario("disk.format-note", "A directory of an older or unknown format, or of a Squid: nothing is believed, the proxy starts and serves", squid="is a Squid")
def _(lab):
    source = Source(lab)
    path = lab.make_folder("disk")
    os.makedirs(os.path.join(path, "00/00"), exist_ok=True)
    for name in ("swap.state", "00/00/00000000", "segment-garbage", "segment-0000000000000001", "segment-00000001", "CURRENT", "LOCK", "FORMAT", "VERSION", "format"):
        with open(os.path.join(path, name), "wb") as out:
            out.write(disk_lab.chunk_of(name, 0, 0, 70_000))
    proxy = lab.proxy(cache_dir(lab), start=False)
    pull = Puller(lab, proxy, source)
    proxy.launch()
    try:
        lab.eventually(lambda: not proxy.alive() or proxy.status(source.url("/20000/a")) == 200, "an answer or an end")
    finally:
        alive = proxy.alive()
    if not alive:       # refusing is clear too, if it says what to do
        proxy.expect_death = True
        contains(said(proxy), path, "the path is named")
        return
    pull.right("/20000/a")
    settled(lab, proxy)
    pull.close()
    restart(proxy)
    pull.right("/20000/a")
    same(source.asked["/20000/a"], 1, "requests at the origin")
