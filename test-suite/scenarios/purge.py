"""Purges that name no object: by tag, by expression, softly; from memory, from disk, after a restart and a kill -9."""
import json
import os
import subprocess
import time

from disk_lab import ALWAYS_FROM_DISK, Puller, Source, cache_dir, disk_proxy, folder, kill_hard, settled, stop_cleanly
from lab import between, check, contains, same, scenario

GROUP = "cache"
SQUID = "knows PURGE of a URL only"
ALLOW = "acl purge method PURGE\nacl stranger src 127.0.0.9\nhttp_access deny purge stranger\nhttp_access allow purge\nhttp_access allow all\n"
PLACES = {"memory": lambda lab: "", "disk": lambda lab: cache_dir(lab) + ALWAYS_FROM_DISK, "both": cache_dir}


class Tagged(Source):
    """/SIZE/NAME carries the tags that its name is made of: /10/a-b has a and b."""
    field = "Surrogate-Key"
    separator = " "
    more = ()

    def answer(self, sock, method, path, fields):
        tags = self.separator.join(path.rpartition("/")[2].split("-"))
        self.fields = ("Cache-Control: max-age=3600", *self.more, f"{self.field}: {tags}")
        super().answer(sock, method, path, fields)


def setup(lab, place, source=None, config=""):
    source = source or Tagged(lab)
    proxy = disk_proxy(lab, PLACES[place](lab) + ALLOW + config)
    return source, proxy, Puller(lab, proxy, source)


def fill(lab, proxy, pull, paths):
    for path in paths:
        pull.right(path)
    settled(lab, proxy)


def purge(pull, *fields, path="/1/any", expect=200):
    answer = pull.ask(path, *fields, method="PURGE")
    same(answer.status, expect, f"PURGE with {fields}")
    return json.loads(answer.body) if expect == 200 and answer.body else None


def each_place(id, title):
    """A scenario for each place where objects can be."""
    def register(function):
        for place in PLACES:
            scenario(f"purge.{id}-{place}", f"{title} ({place})", squid=SQUID)(lambda lab, place=place: function(lab, place))
    return register


PATHS = [f"/{size}/{name}" for size in (10, 70_000) for name in ("a", "b", "a-b", "c", "a-c")]


@each_place("tag", "PURGE with Surrogate-Key: all that carry the tag go, and are counted; the others stay")
def _(lab, place):
    source, proxy, pull = setup(lab, place)
    fill(lab, proxy, pull, PATHS)
    same(pull.held(PATHS), 10, "stored")
    gone = [p for p in PATHS if "a" in p.rpartition("/")[2].split("-")]
    answer = purge(pull, "Surrogate-Key: a")
    same([path for path in PATHS if not pull.has(path)], gone, "what is gone")
    same((answer["purged"], answer["complete"]), (len(gone), True), "counted")
    same(purge(pull, "Surrogate-Key: a")["purged"], 0, "again")
    fill(lab, proxy, pull, gone)
    same(pull.held(PATHS), 10, "fetched again they are stored, and no purge of before concerns them")
    same(purge(pull, "Surrogate-Key: b c")["purged"], 8, "two tags: what has both counts once")
    same(pull.held(PATHS), 2, "left")


@scenario("purge.tag-fields", "xkey and Cache-Tag name tags too, by commas; case counts; more tags than are kept: any takes it", squid=SQUID)
def _(lab):
    source, proxy, pull = setup(lab, "memory")
    for field, separator in (("xkey", ", "), ("Cache-Tag", ",")):
        source.field, source.separator = field, separator
        fill(lab, proxy, pull, ["/10/x-y", "/10/X-Y"])
        same(purge(pull, f"{field}: q,y")["purged"], 1, field)
        same((pull.has("/10/x-y"), pull.has("/10/X-Y")), (False, True), "by its case")
        purge(pull, "Surrogate-Key: Y")
    source.field, source.separator = "Surrogate-Key", " "
    many = "/10/" + "-".join(f"t{n}" for n in range(300))
    fill(lab, proxy, pull, [many, "/10/z"])
    same(purge(pull, "Surrogate-Key: other")["purged"], 1, "300 tags")
    same((pull.has(many), pull.has("/10/z")), (False, True), "left")
    purge(pull, "Surrogate-Key: " + " ".join(f"t{n}" for n in range(300)), expect=400)
    same(pull.ask("/10/z", "Surrogate-Key: z", method="GET").status, 200, "the field means nothing in a GET")
    check(pull.has("/10/z"), "and removes nothing")


@each_place("ban", "PURGE with X-Ban-Url: what matches is gone at once, by its number in mgr:bans; the others stay")
def _(lab, place):
    source, proxy, pull = setup(lab, place)
    fill(lab, proxy, pull, PATHS)
    answer = purge(pull, f"X-Ban-Url: ^http://127\\.0\\.0\\.1:{source.port}/10/.*a")
    gone = [p for p in PATHS if p.startswith("/10/") and "a" in p]
    same([path for path in PATHS if not pull.has(path)], gone, "what is gone")
    page = lab.eventually(lambda: (text := proxy.manager("bans")).find("complete") > 0 and text, "the ban has seen all")
    line = next(line for line in page.splitlines() if str(answer["ban"]) in line)
    same(line.split()[-6:-1], ["url-regex", "hard", str(len(gone)), "0", "complete"], line)
    fill(lab, proxy, pull, gone)
    same(pull.held(PATHS), 10, "new ones stay")
    later = purge(pull, "X-Ban-Url: /70000/")
    check(later["ban"] > answer["ban"], "numbers grow")
    same(pull.held(PATHS), 5, "after the second")


@scenario("purge.refusals", "Broken expressions, both kinds at once, strangers: refused, and nothing goes", squid=SQUID)
def _(lab):
    source, proxy, pull = setup(lab, "memory")
    fill(lab, proxy, pull, ["/10/a"])
    purge(pull, "X-Ban-Url: (", expect=400)
    purge(pull, "X-Ban-Url: (a)\\1", expect=400)
    purge(pull, "X-Ban-Url: " + "x" * 5000, expect=400)
    purge(pull, "X-Ban-Url: " + "(x{500}){500}", expect=400)
    purge(pull, "X-Ban-Url: a", "Surrogate-Key: a", expect=400)
    for field in ("X-Ban-Url: .", "Surrogate-Key: a", "Soft-Purge: 1"):
        same(proxy.ask("PURGE", source.url("/10/a"), field, source="127.0.0.9").status, 403, "a stranger")
    check(pull.has("/10/a"), "nothing has gone")
    closed = lab.proxy("")
    same(closed.ask("PURGE", source.url("/10/a"), "X-Ban-Url: .").status, 403, "no acl names the method")


@scenario("purge.many-bans", "More expressions than there is room for: 503, and those before hold", squid=SQUID, timeout=120)
def _(lab):
    source, proxy, pull = setup(lab, "memory")
    fill(lab, proxy, pull, ["/10/a"])
    status = [pull.ask("/1/x", f"X-Ban-Url: /none{n}$", method="PURGE").status for n in range(520)]
    same((status.count(200), status.count(503)), (500, 20), "answers")
    check(pull.has("/10/a"), "it matches none of them")
    same(pull.ask("/1/x", "X-Ban-Url: /none7$", method="PURGE").status, 200, "the same again takes the old one's place")


def restart(lab, proxy, pull, how):
    pull.close()
    how(proxy)
    proxy.start()


def restarts(lab, how):
    source, proxy, pull = setup(lab, "disk", config="access_log none\n")
    paths = [f"/{size}/{tag}-n{n}" for size in (10, 100_000) for tag in "abcd" for n in range(20)]
    fill(lab, proxy, pull, paths)
    restart(lab, proxy, pull, how)
    same(pull.held(paths), 160, "stored")
    same(purge(pull, "Surrogate-Key: a")["purged"], 40, "tags work after a restart")
    purge(pull, "X-Ban-Url: /b-n1")
    purge(pull, "Soft-Purge: 1", "X-Ban-Url: /c-")
    restart(lab, proxy, pull, how)
    expected = [p for p in paths if "/a-" not in p and "/b-n1" not in p and "/c-" not in p]
    same([p for p in paths if pull.has(p)], expected, "what is there and fresh after the purges and a restart")
    before = source.total()
    for path in [p for p in paths if "/c-" in p]:
        pull.right(path)
    same((source.total() - before, sum(source.conditional.values())), (40, 40), "the softly purged were validated")
    restart(lab, proxy, pull, how)
    same(pull.held(paths), len(expected) + 40, "and are fresh again")


@scenario("purge.restart", "Purges by tag, by expression and soft ones hold after a restart, and tags are known", squid=SQUID, timeout=120)
def _(lab):
    restarts(lab, stop_cleanly)


@scenario("purge.killed", "The same after kill -9, right after the answer", squid=SQUID, timeout=120)
def _(lab):
    restarts(lab, kill_hard)


@scenario("purge.note-damaged", "What was purged cannot be read at the start: all counts as purged; without the file nothing does", squid=SQUID)
def _(lab):
    source, proxy, pull = setup(lab, "disk")
    paths = [f"/10/n{n}" for n in range(20)]
    fill(lab, proxy, pull, paths)
    purge(pull, "X-Ban-Url: /n1$")
    restart(lab, proxy, pull, stop_cleanly)
    same(pull.held(paths), 19, "sound")
    pull.close()
    stop_cleanly(proxy)
    with open(folder(lab) + "/note", "r+b") as file:
        file.seek(20)
        file.write(b"\xff")
    proxy.start()
    same(pull.held(paths), 0, "damaged")
    contains(proxy.read("cache.log"), "counts as purged", "the event log")
    for path in paths:
        pull.right(path)
    settled(lab, proxy)
    restart(lab, proxy, pull, stop_cleanly)
    same(pull.held(paths), 20, "new ones are not concerned")


@each_place("soft", "A soft purge makes stale: validated on the next request, then fresh; by URL, tag and expression")
def _(lab, place):
    source, proxy, pull = setup(lab, place)
    fill(lab, proxy, pull, PATHS)
    purges = {("Soft-Purge: 1",): ["/10/c"], ("Fastly-Soft-Purge: 1", "Surrogate-Key: b"): [p for p in PATHS if "b" in p],
              ("Soft-Purge: 1", "X-Ban-Url: /70000/a"): [p for p in PATHS if "/70000/a" in p]}
    for fields, concerned in purges.items():
        purge(pull, *fields, path="/10/c")
        same([p for p in PATHS if not pull.has(p)], concerned, f"stale after {fields}")
        before, conditional = source.total(), sum(source.conditional.values())
        for path in concerned:
            pull.right(path)
        same((source.total() - before, sum(source.conditional.values()) - conditional), (len(concerned),) * 2, "validated")
        settled(lab, proxy)
        same(pull.held(PATHS), 10, "fresh again")
    same(pull.ask("/10/none", "Soft-Purge: 1", method="PURGE").status, 404, "of what is not there")


@each_place("soft-serves", "Softly purged, stale-while-revalidate serves the old one at once and fetches the new")
def _(lab, place):
    source = Tagged(lab)
    source.more = ("Cache-Control: stale-while-revalidate=60",)
    source, proxy, pull = setup(lab, place, source)
    fill(lab, proxy, pull, ["/10/a"])
    source.bump("/10/a")
    purge(pull, "Soft-Purge: 1", "Surrogate-Key: a")
    same(pull.right("/10/a").version, 0, "the old one")
    lab.eventually(lambda: pull.right("/10/a").version == 1, "the new one")
    same(source.asked["/10/a"], 2, "requests at the origin")


@each_place("during-fetch", "What was asked for before a purge and comes after it is not kept, large or small")
def _(lab, place):
    source, proxy, pull = setup(lab, place, config="maximum_object_size 20 MB\n")
    source.pause = 0.5
    for number, field in enumerate(("Surrogate-Key: t", "X-Ban-Url: /t-", "Surrogate-Key: t")):
        path = f"/{(1000, 2_500_000, 2_500_000)[number]}/t-{number}"
        other = Puller(lab, proxy, source)
        if number != 0:
            pending = lab.background(lambda: other.right(path))
            lab.eventually(lambda: source.asked[path] == 1, "the fetch has begun")
            time.sleep(0.3 * lab.patience)
            purge(pull, field)
            pending.result()
            settled(lab, proxy)
            check(not pull.has(path), f"{path} was purged while it came")
        else:
            other.right(path)
            purge(pull, field)
            check(not pull.has(path), "purged")


@scenario("purge.quick", "100,000 objects: a ban is answered within 10 ms, nobody notices, and all that match go", squid=SQUID, long=True, timeout=300)
def _(lab):
    source, proxy, pull = setup(lab, "memory", config="cache_mem 1 GB\naccess_log none\n")
    paths = [f"/10/{'a' if n % 2 else 'b'}-{n}" for n in range(100_000)]
    for path in paths:
        pull.ask(path)
    took = []
    for n in range(9):
        began = time.monotonic()
        purge(pull, f"X-Ban-Url: /a-.*{n}$")
        took.append(time.monotonic() - began)
    between(sorted(took)[4], 0, 0.01 * lab.patience, "seconds for a ban")
    began = time.monotonic()
    same(purge(pull, "Surrogate-Key: a")["complete"], True, "counted within its time")
    lab.trace("purge", f"{sorted(took)[4] * 1000:.2f} ms a ban, {time.monotonic() - began:.2f} s a tag")
    same(pull.held(paths[:2000]), 1000, "left")


@scenario("purge.client", "loligoclient purge: a URL, tags, an expression, softly", squid=SQUID)
def _(lab):
    client = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(lab.binary))), "helpers", "loligoclient")
    if not os.path.exists(client):
        lab.skip("no loligoclient beside the binary")
    source, proxy, pull = setup(lab, "memory")
    fill(lab, proxy, pull, ["/10/a", "/10/b", "/10/c", "/10/d"])

    def run(*words):
        done = subprocess.run((client, "purge", "-h", "127.0.0.1", "-p", str(proxy.port), *words), capture_output=True, timeout=20, check=False)
        return done.returncode, done.stdout.decode()
    same(run(source.url("/10/a"))[0], 0, "a URL")
    same(run(source.url("/10/a"))[0], 2, "again: 404")
    code, text = run("--tag", "b x")
    same(code, 0, "a tag")
    contains(text, '"purged": 1', "how many")
    same(run("--regex", "/c$")[0], 0, "an expression")
    same(run("--regex", "(")[0], 2, "a broken one: 400")
    same([pull.has(f"/10/{name}") for name in "abcd"], [False, False, False, True], "left")
    same(run("--soft", source.url("/10/d"))[0], 0, "softly")
    check(not pull.has("/10/d"), "stale")
    pull.right("/10/d")
    same(source.conditional["/10/d"], 1, "validated")


class Grouped(Source):
    """/SIZE/NAME belongs to the groups that its name is made of; a POST to /0/NAME says that they changed, with the status that NAME ends with."""

    def answer(self, sock, method, path, fields):
        names = path.rpartition("/")[2].split("-")
        if method == "POST":
            status = int(names.pop())
            groups = ", ".join(f'"{name}"' for name in names)
            sock.sendall(f"HTTP/1.1 {status} So\r\nContent-Length: 0\r\nCache-Group-Invalidation: {groups}\r\n\r\n".encode())
            return
        groups = ", ".join(f'"{name}"' for name in names)
        self.fields = ("Cache-Control: max-age=3600", f"Cache-Groups: {groups}", 'Cache-Group-Invalidation: "innocent"')
        super().answer(sock, method, path, fields)


@each_place("groups", "Cache-Groups: what an unsafe request changed goes at once, on its origin alone")
def _(lab, place):
    source, proxy, pull = setup(lab, place, Grouped(lab))
    other = Puller(lab, proxy, Grouped(lab))
    paths = ["/10/a", "/10/a-b", "/10/b", "/70000/a", "/10/innocent"]
    fill(lab, proxy, pull, paths)
    fill(lab, proxy, other, paths)
    same((pull.held(paths), other.held(paths)), (5, 5), "stored; an answer to GET ends nothing")
    for status in (404, 500):
        same(pull.ask(f"/0/a-b-{status}", method="POST").status, status, "POST")
    same(pull.held(paths), 5, "after requests that failed")
    same(pull.ask("/0/a-204", method="POST").status, 204, "POST")
    same([path for path in paths if not pull.has(path)], ["/10/a", "/10/a-b", "/70000/a"], "what is gone")
    same(other.held(paths), 5, "on the other origin")
    fill(lab, proxy, pull, paths)
    same(pull.held(paths), 5, "fetched again they are stored")


@scenario("purge.groups-lasting", "What a group took stays gone after a restart", squid=SQUID)
def _(lab):
    source, proxy, pull = setup(lab, "disk", Grouped(lab))
    fill(lab, proxy, pull, ["/10/a", "/10/b"])
    same(pull.ask("/0/a-200", method="POST").status, 200, "POST")
    time.sleep(0.5 * lab.patience)
    pull.close()
    kill_hard(proxy)
    proxy.start()
    same((pull.has("/10/a"), pull.has("/10/b")), (False, True), "after a kill -9")
