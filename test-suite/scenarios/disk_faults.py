"""What kill -9 and damaged files may cost: some misses, never a wrong byte."""
import os
import random
import shutil
import threading
import time

import disk_lab
from disk_lab import ALWAYS_FROM_DISK, Broken, Puller, Source, cache_dir, disk_proxy, flip, folder, kill_hard, settled, start_and_time, stop_cleanly
from lab import between, check, same, scenario

GROUP = "disk"
SQUID = "loses objects, or serves what it reads"
PURGE = "acl purge method PURGE\nhttp_access allow purge\nhttp_access allow all\n"


# --- kill -9 under write load

class Load:
    """Clients that fetch new objects, and now and then a new version of an old one, until the proxy dies."""

    def __init__(self, lab, proxy, source, turn, seed, threads=4):
        self.lab, self.proxy, self.source, self.turn = lab, proxy, source, turn
        self.done = []              # (time of completion, path, version)
        self.wrong = []
        self.threads = [threading.Thread(target=self.work, args=(random.Random(seed * 100 + i), i), daemon=True) for i in range(threads)]
        for t in self.threads:
            t.start()

    def work(self, dice, i):
        pull, own = Puller(self.lab, self.proxy, self.source), []
        try:
            for n in range(1_000_000):
                renew = own and dice.random() < 0.15
                if renew:
                    path = dice.choice(own)
                    self.source.bump(path)
                else:
                    path = f"/{int(2 ** dice.uniform(6, 18.5)) if dice.random() < 0.97 else dice.randrange(1, 3_000_000)}/{self.turn}/{i}/{n}"
                answer = pull.ask(path, *(("Cache-Control: no-cache",) if renew else ()))
                if answer.status != 200 or answer.body != disk_lab.body_of(path, answer.version):
                    self.wrong.append(f"{path}: {answer.status}")
                    return
                self.done.append((time.monotonic(), path, answer.version))
                own.append(path)
        except (OSError, Broken):
            pull.close()

    def join(self):
        for t in self.threads:
            t.join(20 * self.lab.patience)
        same(self.wrong, [], "wrong replies under load")


def look(pull, known, paths, settled_versions, tally):
    """Asks for each path: every body right; of what was settled before the kill, hits are counted."""
    for path in paths:
        before = pull.source.asked[path]
        answer = pull.right(path, least=settled_versions.get(path, 0))
        if path in settled_versions:
            tally[pull.source.asked[path] == before] += 1
        known[path] = answer.version


def kill_story(lab, turns, seed):
    """`turns` times: load, kill -9 at a random moment, start, and look at everything."""
    dice = random.Random(seed)
    source, proxy = Source(lab), disk_proxy(lab, "maximum_object_size 8 MB\n" + cache_dir(lab, mb=20_000) + "cache_mem 8 MB\naccess_log none\n")
    known, tally, slow = {}, {True: 0, False: 0}, []
    pull = Puller(lab, proxy, source)
    for turn in range(turns):
        load = Load(lab, proxy, source, turn, seed * 1000 + turn)
        second = 1.0 * lab.patience
        time.sleep(second * (dice.uniform(1.3, 3.0) if turn % 4 else dice.uniform(0.01, 1.0)))
        killed = time.monotonic()
        kill_hard(proxy)
        load.join()
        versions = {}
        for at, path, version in load.done:
            if at < killed - second:
                versions[path] = max(version, versions.get(path, 0))
        seconds, _ = start_and_time(lab, proxy, pull, "/10/first")
        slow.append(seconds)
        paths = list(dict.fromkeys(path for _, path, _ in load.done))
        # What was renewed within the last second may be there in either version.
        young = {path for at, path, _ in load.done if at >= killed - second}
        look(pull, known, paths, {p: v for p, v in versions.items() if p not in young}, tally)
        older = dice.sample(sorted(known), min(len(known), 60))
        look(pull, known, older, {p: known[p] for p in older if p not in young and p not in paths}, tally)
        pull.close()
    slow.sort()
    lab.trace("kill", f"{turns} kills, {tally[True]} hits and {tally[False]} misses of what was settled, start in {slow[len(slow) // 2]:.3f} s")
    total = tally[True] + tally[False]
    check(total > 30 * turns, f"objects that were settled: {total}")
    check(tally[False] <= total / 1000 + (1 if turns < 20 else 0), f"{tally[False]} of {total} settled objects are lost")
    # A few starts beside other tests: the best one counts.
    limit = max(0.2 * lab.patience, disk_lab.plain_start(lab) + 0.1)
    check(slow[len(slow) // 2 if turns >= 20 else 0] < limit, f"seconds until it serves again: {slow[0]:.3f} to {slow[-1]:.3f}, median {slow[len(slow) // 2]:.3f}, limit {limit:.3f}")


@scenario("disk.kill", "kill -9 at random moments under write load: nothing wrong or short, what was whole a second before is a hit, serving at once", timeout=120, squid=SQUID)
def _(lab):
    kill_story(lab, 5, random.randrange(1 << 30))


@scenario("disk.kill-100", "The same, a hundred times", long=True, timeout=1800, squid=SQUID)
def _(lab):
    kill_story(lab, 100, random.randrange(1 << 30))


@scenario("disk.kill-while-starting", "kill -9 again and again right after the start: nothing is lost, nothing wrong", timeout=90, squid=SQUID)
def _(lab):
    source, proxy = Source(lab), disk_proxy(lab, cache_dir(lab) + ALWAYS_FROM_DISK)
    pull = Puller(lab, proxy, source)
    paths = [f"/{3000 + 17 * n}/k{n}" for n in range(400)]
    for path in paths:
        pull.right(path)
    settled(lab, proxy)
    pull.close()
    for n in range(12):
        kill_hard(proxy)
        proxy.launch()
        time.sleep(0.01 * n)
    kill_hard(proxy)
    proxy.start()
    for path in paths:
        pull.right(path)
    same(source.total(), len(paths), "requests at the origin")


@scenario("disk.kill-full", "kill -9 while segments are being reclaimed: nothing wrong, the limit holds, what was held is held again", timeout=120, squid=SQUID)
def _(lab):
    source, proxy = Source(lab), disk_proxy(lab, cache_dir(lab, mb=30) + ALWAYS_FROM_DISK)
    pull, dice, n = Puller(lab, proxy, source), random.Random(), 0
    recent = []
    for turn in range(5):
        for _ in range(220):
            path, n = f"/{dice.randrange(1000, 250_000)}/f{n}", n + 1
            pull.right(path)
            recent.append(path)
            if dice.random() < 0.3:
                pull.right(dice.choice(recent[-200:]))
        settled(lab, proxy)
        held = [path for path in recent[-40:] if pull.has(path)]
        check(held, "some of the newest are held")
        for _ in range(10):
            pull.right(f"/{dice.randrange(1000, 60_000)}/f{n}")
            n += 1
        pull.close()
        kill_hard(proxy)
        check(disk_lab.used_bytes(folder(lab)) <= 30 * (1 << 20) * 1.01, f"{disk_lab.used_bytes(folder(lab))} bytes on disk")
        proxy.start()
        check(pull.held(held) >= len(held) - 1, f"of {len(held)} of the newest {pull.held(held)} are left")
        pull.held(recent[-300:])


# --- PURGE

def purge_story(lab, afterwards):
    source, proxy = Source(lab), disk_proxy(lab, cache_dir(lab) + PURGE)
    pull = Puller(lab, proxy, source)
    paths = [f"/{2000 + 100 * n}/p{n}" for n in range(120)]
    for path in paths:
        pull.right(path)
    settled(lab, proxy)
    gone, kept = paths[::3], [p for n, p in enumerate(paths) if n % 3]
    for path in gone:
        same(pull.ask(path, method="PURGE").status, 200, "PURGE")
    pull.close()
    kill_hard(proxy)
    afterwards(folder(lab))
    proxy.start()
    for _ in range(3):      # while the table loads, and later
        same(pull.held(gone), 0, "of the purged")
        time.sleep(0.5)
    same(pull.held(kept), len(kept), "of the others")
    same(source.total(), len(paths), "requests at the origin")


@scenario("disk.purge", "PURGE, then kill -9 at once: the purged do not come back, the others do", squid=SQUID)
def _(lab):
    purge_story(lab, lambda path: None)


@scenario("disk.purge-no-index", "PURGE, kill -9, and the index is lost: the purged do not come back from the segments", squid=SQUID)
def _(lab):
    purge_story(lab, lambda path: [os.unlink(f) for f in disk_lab.index_files(path)])


@scenario("disk.purge-storing", "PURGE while a large object is being written: it is not on disk afterwards", squid="keeps it")
def _(lab):
    origin, proxy = lab.origin(), disk_proxy(lab, "maximum_object_size 100 MB\n" + cache_dir(lab) + PURGE)
    body = disk_lab.body_of("/8000000/p")

    @origin.on("/p")
    def _(x):
        x.head(200, "Cache-Control: max-age=600", f"Content-Length: {len(body)}")
        for at in range(0, len(body), 1_000_000):
            x.sock.sendall(body[at:at + 1_000_000])
            time.sleep(0.1)
    pending = lab.background(lambda: proxy.get(origin.url("/p"), timeout=20).body)
    time.sleep(0.45)
    proxy.ask("PURGE", origin.url("/p"))
    check(pending.result() == body, "the transfer under way")
    settled(lab, proxy)
    for _ in range(2):
        same(proxy.get(origin.url("/p"), "Cache-Control: only-if-cached").status, 504, "afterwards")
        kill_hard(proxy)
        proxy.start()


@scenario("disk.invalidated", "What a POST invalidated, or a newer reply that may not be stored replaced, does not come back after kill -9", squid=SQUID)
def _(lab):
    origin, proxy = lab.origin(), disk_proxy(lab, cache_dir(lab))
    may_store = [True]
    for path in ("/posted", "/changed", "/kept"):
        origin.on(path)(lambda x: x.reply(200, "Cache-Control: " + ("max-age=600" if may_store[0] or x.request.method == "POST" else "no-store"), body="x" * 8000))
        proxy.get(origin.url(path))
    settled(lab, proxy)
    may_store[0] = False
    same(proxy.ask("POST", origin.url("/posted"), body="x").status, 200, "POST")
    proxy.get(origin.url("/changed"), "Cache-Control: no-cache")
    time.sleep(0.3)
    kill_hard(proxy)
    proxy.start()
    for path, status in (("/posted", 504), ("/changed", 504), ("/kept", 200)):
        same(proxy.get(origin.url(path), "Cache-Control: only-if-cached").status, status, path)


# --- damaged segments

def stocked(lab, sizes, directories=1):
    """A proxy that was filled and stopped: (source, proxy, pull, paths). Several directories lie below the usual one."""
    lines = cache_dir(lab, mb=400) if directories == 1 else "".join(cache_dir(lab, f"disk/{n}", mb=100) for n in range(directories))
    source, proxy = Source(lab), disk_proxy(lab, "maximum_object_size 50 MB\n" + lines + ALWAYS_FROM_DISK)
    pull = Puller(lab, proxy, source)
    paths = [f"/{size}/d{n}" for n, size in enumerate(sizes)]
    for path in paths:
        pull.right(path)
    settled(lab, proxy)
    pull.close()
    stop_cleanly(proxy)
    return source, proxy, pull, paths


def sizes_up_to(limit, count, dice):
    return [int(2 ** dice.uniform(5, 20)) % limit + 1 for _ in range(count)]


def damage_story(lab, harm, sizes, rounds, directories=1):
    """Rounds of damage to segments while stopped; then every object whole and right. Returns how many were refetched."""
    source, proxy, pull, paths = stocked(lab, sizes, directories)
    refetched = found = 0
    for _ in range(rounds):
        harm(folder(lab), paths, source)
        proxy.start()
        for turn in range(2):
            asked = source.total()
            for path in paths:
                pull.right(path)
            if turn == 0:
                refetched += source.total() - asked
                settled(lab, proxy, 0.5)
        same(source.total(), asked, "requests for what was refetched already")
        found += disk_lab.damage_count(proxy)
        settled(lab, proxy, 1)
        pull.close()
        stop_cleanly(proxy)
    lab.trace("damage", f"{rounds} rounds: {refetched} refetched, {found} counted as damaged")
    return refetched, found


def flip_bodies(count):
    """Flips a byte within the stored body of `count` objects."""
    def harm(path, paths, source):
        for each in random.sample(paths, count):
            disk_lab.flip_byte(path, each, random.randrange(disk_lab.size_in(each)))
    return harm


@scenario("disk.flip-body", "A byte of the stored body flipped, in each of 40 objects: none is served, all are refetched, the damage is counted", timeout=90, squid="serves them")
def _(lab):
    sizes = sizes_up_to(1 << 20, 60, random.Random(7))
    sizes = [max(s, 64) for s in sizes]
    refetched, found = damage_story(lab, flip_bodies(40), sizes, 1)
    same(refetched, 40, "objects that were refetched")
    check(found >= 40, f"counted as damaged: {found}")


@scenario("disk.flip-1000", "A thousand flipped bytes, 20 at a time, anywhere in the segments", long=True, timeout=1200, squid="serves them")
def _(lab):
    flips_anywhere(lab, 50, 20, 200)


@scenario("disk.flip-anywhere", "Bytes flipped anywhere in the segments, heads and lengths too: nothing wrong, nothing cut", timeout=120, squid="serves them")
def _(lab):
    flips_anywhere(lab, 3, 25, 80)


def extent(name):
    """The bytes of a file up to its last one that is not zero (segments may be laid out in advance)."""
    with open(name, "rb") as file:
        return len(file.read().rstrip(b"\0"))


def flips_anywhere(lab, rounds, count, objects):
    def harm(path, paths, source):
        names = disk_lab.segments(path)
        check(names, "there are segment files")
        lengths = [extent(name) for name in names]
        for _ in range(count):
            name = random.choices(range(len(names)), [n + 1 for n in lengths])[0]
            flip(names[name], random.randrange(max(lengths[name], 1)), random.randrange(8))
    refetched, found = damage_story(lab, harm, sizes_up_to(1 << 20, objects, random.Random()), rounds)
    check(refetched > 0 and found > 0, f"{refetched} refetched, {found} counted: no flip hit anything?")


def truncations(lab, rounds, objects, directories=1):
    """In each round a segment of each directory is cut off somewhere."""
    def harm(path, paths, source):
        for n in range(directories):
            below = path if directories == 1 else os.path.join(path, str(n))
            name = random.choice([s for s in disk_lab.segments(below) if extent(s) > 0])
            os.truncate(name, random.randrange(extent(name)))
    refetched, _ = damage_story(lab, harm, sizes_up_to(1 << 20, objects, random.Random()), rounds, directories)
    check(refetched > 0, "something was cut off")


@scenario("disk.truncate", "Segments cut short: nothing wrong, nothing cut, what is lost is refetched", timeout=120, squid="cuts transfers off")
def _(lab):
    truncations(lab, 6, 40)


@scenario("disk.truncate-1000", "The same a thousand times, in ten directories at once", long=True, timeout=1800, squid="cuts transfers off")
def _(lab):
    truncations(lab, 100, 120, 10)


@scenario("disk.segments-gone", "Segments deleted, emptied, overwritten, swapped, or full of another's: nothing wrong", timeout=120, squid=SQUID)
def _(lab):
    def each_way(path, paths, source):
        names = [n for n in disk_lab.segments(path) if extent(n) > 0]
        way = ways.pop(0)
        if way == "delete":
            os.unlink(names[0])
        elif way == "empty":
            os.truncate(names[0], 0)
        elif way == "noise":
            with open(names[0], "r+b") as file:
                file.write(os.urandom(max(extent(names[0]), 1)))
        elif way == "copy":
            shutil.copyfile(names[0], names[0] + ".copy")
            os.replace(names[0] + ".copy", os.path.join(os.path.dirname(names[0]), "segment-" + "9" * (len(os.path.basename(names[0])) - 8)))
        elif way == "swap" and len(names) > 1:
            os.rename(names[0], names[0] + ".x")
            os.rename(names[1], names[0])
            os.rename(names[0] + ".x", names[1])
        elif way == "shift":
            with open(names[0], "r+b") as file:
                data = file.read(extent(names[0]))
                file.seek(0)
                file.write(b"\0" * 512 + data)
    ways = ["delete", "empty", "noise", "copy", "swap", "shift"]
    damage_story(lab, each_way, sizes_up_to(1 << 20, 60, random.Random()), len(ways))


@scenario("disk.flip-large", "A flipped byte in objects of 3 to 20 MB: never a wrong byte; a late find ends the transfer visibly; then it is refetched", timeout=120, squid="serves them")
def _(lab):
    source, proxy, pull, paths = stocked(lab, (3_000_000, 5_000_000, 9_000_000, 20_000_000))
    source.pause = 0.02 * disk_lab.CHUNK / (1 << 20) * lab.patience   # 50 MB a second
    cut = 0
    for where in (0.0, 0.5, 0.999):
        for path in paths:
            disk_lab.flip_byte(folder(lab), path, int(disk_lab.size_in(path) * where) + 70)
        proxy.start()
        for path in paths:
            body = disk_lab.body_of(path)
            with proxy.client(timeout=20) as c:
                answer = c.get(source.url(path))
                same(answer.status, 200, "status")
                check(answer.body == body[:len(answer.body)], f"{path}: a wrong byte")
                check(answer.whole == (len(answer.body) == len(body)), f"{path}: cut and not told")
                cut += not answer.whole
            pull.right(path)
            settled(lab, proxy, 0.3)
        asked = source.total()
        for path in paths:
            pull.right(path)
        same(source.total(), asked, "requests for what was refetched")
        settled(lab, proxy)
        pull.close()
        stop_cleanly(proxy)
    check(source.total() >= 4 * len(paths), f"every damaged one was refetched: {source.total()} requests")
    lab.trace("damage", f"{cut} transfers were cut")


# --- the index

def index_story(lab, count, harm, clean=True, most=0.5):
    """Filled, stopped (or killed), index harmed: serves at once, and soon has 99 % again."""
    source, proxy = Source(lab), disk_proxy(lab, cache_dir(lab, mb=400) + ALWAYS_FROM_DISK + "access_log none\n")
    pull = Puller(lab, proxy, source)
    paths = [f"/{200 + n * 37 % 5000}/i{n}" for n in range(count)]
    for path in paths:
        pull.right(path)
    settled(lab, proxy)
    pull.close()
    took = []
    for one in harm:
        stop_cleanly(proxy) if clean else kill_hard(proxy)
        names = disk_lab.index_files(folder(lab))
        check(names, "there are files of LevelDB")
        done = one(names)
        lab.trace("index", f"{getattr(one, '__name__', one)}: {done}")
        seconds, answer = start_and_time(lab, proxy, pull, paths[0])
        disk_lab.correct(paths[0], answer, 0, 0)
        took.append(seconds)
        check(seconds < 3 * lab.patience, f"{one.__name__} {done}: {seconds:.2f} s until it served")
        time.sleep((0.5 + count / 100_000) * lab.patience)     # 100,000 objects a second
        for _ in range(3):
            if (held := pull.held(paths)) >= 0.99 * count:
                break
        check(held >= 0.99 * count, f"{one.__name__} {done}: {held} of {count} objects are back")
        for path in paths:
            pull.right(path)
        settled(lab, proxy)
        pull.close()
    middle = sorted(took)[len(took) // 2]     # one start alone says little beside other tests
    check(middle < max(most * lab.patience, disk_lab.plain_start(lab) + 0.4), f"seconds until it served, median of {len(took)}: {middle:.2f}")


def only(pattern, action):
    """Harm to the files whose name holds `pattern` (all: '')."""
    def harm(names):
        chosen = [n for n in names if pattern in os.path.basename(n)]
        for name in chosen:
            action(name)
        return [os.path.basename(n) for n in chosen]
    harm.__name__ = f"{action.__name__} {pattern or 'all'}"
    return harm


def delete(name):
    os.unlink(name)


def halve(name):
    os.truncate(name, os.path.getsize(name) // 2)


def empty(name):
    os.truncate(name, 0)


def flips(name):
    size = os.path.getsize(name)
    for _ in range(min(8, size)):
        flip(name, random.randrange(size))


KINDS = ("CURRENT", "MANIFEST", ".ldb", ".log", "")


@scenario("disk.index-deleted", "LevelDB's files deleted, kind by kind and all: serves within 0.5 s, all objects come back from the segments", timeout=120, squid=SQUID)
def _(lab):
    index_story(lab, 800, [only(kind, delete) for kind in KINDS])


@scenario("disk.index-truncated", "LevelDB's files halved and emptied", timeout=150, squid=SQUID)
def _(lab):
    index_story(lab, 800, [only(kind, action) for action in (halve, empty) for kind in KINDS])


@scenario("disk.index-flipped", "Bytes of LevelDB's files flipped", timeout=150, squid=SQUID)
def _(lab):
    index_story(lab, 800, [only(kind, flips) for kind in KINDS for _ in range(2)])


@scenario("disk.index-after-kill", "LevelDB's files harmed after kill -9", timeout=120, squid=SQUID)
def _(lab):
    index_story(lab, 500, [only("", delete), only(".log", halve), only("MANIFEST", flips), only("CURRENT", empty)], clean=False)


@scenario("disk.index-20000", "20,000 objects, LevelDB's files harmed in all ways", long=True, timeout=1800, squid=SQUID)
def _(lab):
    index_story(lab, 20_000, [only(kind, action) for action in (delete, halve, empty, flips) for kind in KINDS])


@scenario("disk.index-folder-gone", "The folder of the index deleted, or replaced by a file", squid=SQUID)
def _(lab):
    def folder_gone(names):
        shutil.rmtree(os.path.dirname(names[0])) if os.path.dirname(names[0]) != folder(lab) else [os.unlink(n) for n in names]

    def noise(names):
        for name in names:
            with open(name, "wb") as out:
                out.write(os.urandom(5000))
    index_story(lab, 300, [folder_gone, noise])


@scenario("disk.index-damage-and-kill", "Index gone and kill -9 while it is being rebuilt: the next start has everything", timeout=90, squid=SQUID)
def _(lab):
    source, proxy, pull, paths = stocked(lab, [300 + n % 3000 for n in range(1500)])
    for wait in (0.0, 0.02, 0.05, 0.1, 0.3):
        for name in disk_lab.index_files(folder(lab)):
            os.unlink(name)
        proxy.launch()
        time.sleep(wait)
        kill_hard(proxy)
    proxy.start()
    lab.eventually(lambda: pull.held(paths) >= 0.99 * len(paths), "everything is back", 8)
    for path in paths:
        pull.right(path)
    between(source.total(), len(paths), len(paths) * 1.01, "requests at the origin")
