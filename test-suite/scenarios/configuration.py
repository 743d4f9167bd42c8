"""The configuration file: parsing, problems, macros, reload."""
import os
import random
import re
import signal
import time

from lab import between, check, contains, same, scenario
from proxy import free_port

GROUP = "config"
PROBLEM = re.compile(r"^(\S+?):(\d+)(?::(\d+))?: (.+)$")


def problems(text, name="proxy.conf"):
    """{line: message} of what -k parse says as file:line:column: message."""
    out = {}
    for line in text.splitlines():
        match = PROBLEM.match(line)
        if match and match[1].endswith(name):
            out.setdefault(int(match[2]), []).append(match[4])
    return out


@scenario("cfg.parse-good", "-k parse of a good file: exit 0, nothing is started")
def _(lab):
    proxy = lab.proxy("via off", start=False)
    code, text = proxy.parse()
    same(code, 0, f"exit code: {text[-400:]}")
    check(not os.path.exists(proxy.path("access.log")), "no log is made")


BAD_LINES = ("frobnicate on", "connect_timeout 5 parsecs", "cache_mem 10MB", "http_access maybe all", "http_access deny unknown_acl", "acl a nosuchtype x",
             "acl b src 300.1.2.3", "acl c port 99999", "via yes", "http_port 127.0.0.1:99999", "cache_peer", "acl d url_regex (", "logformat", "forwarded_for perhaps",
             "acl a dstdomain x.test y", "refresh_pattern . x 20% 4320")


@scenario("cfg.parse-all", "-k parse tells every problem in one pass, each with file:line:column, exit 1",
          squid="stops at the first fatal line")
def _(lab):
    proxy = lab.proxy("\n".join(BAD_LINES), start=False)
    code, text = proxy.parse()
    same(code, 1, "exit code")
    found = problems(text)
    with open(proxy.path("proxy.conf")) as source:
        lines = source.read().splitlines()
    for bad in BAD_LINES:
        if bad == "acl a dstdomain x.test y":
            continue
        check(lines.index(bad) + 1 in found, f"{bad!r} (line {lines.index(bad) + 1}) is told: {text}")
    check(all(PROBLEM.match(l)[3] for l in text.splitlines() if PROBLEM.match(l) and "proxy.conf:1" in l), "with a column")
    same(sorted(n for n in found if n > len(lines)), [], "no line that is not there")


@scenario("cfg.start-refused", "A bad file: every problem listed, exit 1, nothing started", squid="lists the first only")
def _(lab):
    proxy = lab.proxy("frobnicate on\nconnect_timeout 5 parsecs\nvia yes", start=False)
    code, text = proxy.run("-N")
    same(code, 1, "exit code")
    said = text + proxy.read("cache.log")
    for word in ("frobnicate", "parsecs", "yes"):
        contains(said, word, "the problem is told")


@scenario("cfg.bad-one-by-one", "Each bad line alone: exit 1 and the line number")
def _(lab):
    for bad in ("frobnicate on", "connect_timeout 5 parsecs", "cache_mem 10MB", "http_access deny unknown_acl", "acl a nosuchtype x", "acl b src 300.1.2.3", "via yes"):
        proxy = lab.proxy(bad, start=False)
        code, text = proxy.parse()
        check(code != 0, f"{bad!r}: exit code {code}")
        number = proxy.config.splitlines().index(bad) + 1
        check(re.search(rf"proxy\.conf(:| line |\(){number}\b", text) or re.search(rf"line {number}\b", text), f"{bad!r}: line {number} in {text[-500:]}")


@scenario("cfg.warnings", "Only warnings: exit 0, and they are told")
def _(lab):
    proxy = lab.proxy("dns_v4_first on\nacl empty src\nhierarchy_stoplist cgi-bin", start=False)
    code, text = proxy.parse()
    same(code, 0, "exit code")
    contains(text, "dns_v4_first", "the warning")


@scenario("cfg.restricting", "A line that restricts access and is not implemented: parses, but does not start, and is named",
          squid="implements it")
def _(lab):
    proxy = lab.proxy("acl machine arp 00:11:22:33:44:55\nhttp_access deny !machine\nhttp_access allow all", start=False)
    code, text = proxy.parse()
    same(code, 0, "exit code of -k parse")
    contains(text, "arp", "-k parse names it")
    code, text = proxy.run("-N")
    same(code, 1, "exit code of the start")
    check(re.search(r"proxy\.conf:\d+", text + proxy.read("cache.log")), "the line is named")
    contains(text + proxy.read("cache.log"), "arp", "the word is named")


@scenario("cfg.obsolete-acl", "An ACL type that never matches any more: not started with where it should deny, with a warning where it would allow",
          squid="implements it")
def _(lab):
    for rule, starts in (("deny bob", False), ("allow !bob", False), ("allow bob", True), ("deny !bob", True)):
        proxy = lab.proxy(f"acl bob ident bob\nhttp_access {rule}\nhttp_access allow all", start=starts)
        code, text = proxy.parse()
        same(code, 0, f"{rule}: exit code of -k parse")
        contains(text, "obsolete", f"{rule}: -k parse names it")
        if starts:
            continue
        code, text = proxy.run("-N")
        same(code, 1, f"{rule}: exit code of the start")
        check(re.search(r"proxy\.conf:3:\d+: restricts: .*ident", text), f"{rule}: the line is named: {text[-600:]}")


@scenario("cfg.environment", "${NAME} takes environment variables; Squid's own macros come first", squid="knows only its own macros")
def _(lab):
    origin = lab.origin()
    proxy = lab.proxy("visible_hostname ${MY_HOST}\nacl x urlpath_regex ^/${MY_PATH}\nhttp_access deny x\nhttp_access allow all", environment={"MY_HOST": "from.env.test", "MY_PATH": "deny"})
    answer = proxy.get(origin.url("/deny"))
    same(answer.status, 403, "the path from the environment")
    contains(answer.get("X-Cache", ""), "from.env.test", "the name from the environment")
    missing = lab.proxy("visible_hostname ${NO_SUCH_VARIABLE_HERE}", start=False)
    _, text = missing.parse()
    contains(text, "NO_SUCH_VARIABLE_HERE", "a variable that is not there is told")


@scenario("cfg.macros", "${service_name} and ${process_number}")
def _(lab):
    origin = lab.origin()
    proxy = lab.proxy("visible_hostname ${service_name}.${process_number}.test")
    contains(proxy.get(origin.url("/")).get("Via"), f"{proxy.service}.0.test", "Via")


@scenario("cfg.grammar", "Continuations, comments, blanks, CRLF, conditionals, include with a pattern, quoted list values")
def _(lab):
    origin = lab.origin()
    folder = lab.make_folder("conf.d")
    for name, text in (("10.conf", "acl inc urlpath_regex ^/ten\n"), ("20.conf", "acl inc urlpath_regex ^/twenty\n"), ("30.txt", "frobnicate\n")):
        with open(f"{folder}/{name}", "w") as out:
            out.write(text)
    proxy = lab.proxy(start=False)
    proxy.write("proxy.conf", proxy.config.replace("http_access allow all\n", f"""
# comment \\
acl a urlpath_regex \\
# in between

   ^/one \\
   ^/two
acl b urlpath_regex ^/crlf\r
include {folder}/*.conf
acl c urlpath_regex ^/has#hash   # trailing comment
if true
acl d urlpath_regex ^/true
else
frobnicate
endif
if 1 = 2
frobnicate
else
acl d urlpath_regex ^/else
endif
http_access deny a
http_access deny b
http_access deny inc
http_access deny c
http_access deny d
http_access allow all
"""))
    proxy.start()
    for path in ("/one", "/two", "/crlf", "/ten", "/twenty", "/true", "/else"):
        same(proxy.get(origin.url(path)).status, 403, path)
    same(proxy.get(origin.url("/has")).status, 404, "/has: '#' inside a word is literal")


@scenario("cfg.include-missing", "An include that finds nothing is told and never started with; one that includes itself ends")
def _(lab):
    # Files written for another machine parse here (their includes may be there); starting without what they say is refused.
    proxy = lab.proxy(f"include {lab.folder}/none/*.conf", start=False)
    contains(proxy.parse()[1], "none/*.conf", "-k parse names the file")
    code, said = proxy.run("-N", timeout=20)
    same(code, 1, "start: exit code")
    contains(said, "none/*.conf", "the file is named")
    proxy = lab.proxy("", start=False)
    proxy.write("proxy.conf", f"include {proxy.path('proxy.conf')}\n")
    code, said = proxy.parse()
    same(code, 1, "a file that includes itself: exit code")
    contains(said, "proxy.conf", "the file is named")


@scenario("cfg.no-file", "A file that is not there: named, exit 1")
def _(lab):
    proxy = lab.proxy(start=False)
    os.remove(proxy.path("proxy.conf"))
    for arguments in (("-k", "parse"), ("-N",)):
        code, text = proxy.run(*arguments)
        same(code, 1, f"{arguments}: exit code")
        contains(text, "proxy.conf", "the file is named")


@scenario("cfg.reload", "Reload: rules, timeouts, names and formats change; connections stay", squid="closes its port for a moment")
def _(lab):
    origin = lab.origin()
    origin.page("/p", "Cache-Control: max-age=60")
    proxy = lab.proxy("visible_hostname before.test")
    kept = proxy.client()
    contains(kept.get(origin.url("/p")).get("Via"), "before.test", "before")
    proxy.reload(f"visible_hostname after.test\nacl no urlpath_regex ^/no\nhttp_access deny no\nhttp_access allow all\nlogformat mine mine %rm\naccess_log stdio:{proxy.path('mine.log')} mine")
    lab.eventually(lambda: proxy.status(origin.url("/no")) == 403, "the new rules")
    answer = kept.get(origin.url("/p"))
    contains(answer.get("Via"), "after.test", "on the connection from before")
    contains(answer.get("X-Cache"), "HIT", "the cache is kept")
    same(proxy.log_line("mine", name="mine.log"), "mine GET", "the new log")


@scenario("cfg.reload-bad", "A reload that fails keeps the old configuration and tells why", squid="ends, or goes on with half of it")
def _(lab):
    origin = lab.origin()
    proxy = lab.proxy("acl no urlpath_regex ^/no\nhttp_access deny no\nhttp_access allow all")
    before = proxy.config
    for bad in ("http_access deny all\nfrobnicate on", "http_access deny all\nconnect_timeout 5 parsecs", "acl machine arp 00:11:22:33:44:55\nhttp_access deny !machine",
                f"include {lab.folder}/none.conf\nhttp_access deny all", "http_access deny all\naccess_log stdio:/no/such/folder/access.log squid"):
        proxy.reload(bad)
        time.sleep(0.6)
        check(proxy.alive(), f"{bad!r}: it still runs")
        same([proxy.status(origin.url(p)) for p in ("/no", "/yes")], [403, 404], f"{bad!r}: the old rules")
    contains(proxy.read("cache.log") + proxy.read("stderr"), "frobnicate", "it tells why")
    proxy.write("proxy.conf", before.replace("^/no", "^/yes"))
    proxy.reload()
    lab.eventually(lambda: proxy.status(origin.url("/yes")) == 403, "a good one works afterwards")


@scenario("cfg.reload-ports", "Reload: a new port opens, a removed one closes, the others never")
def _(lab):
    origin = lab.origin()
    keep, gone, new = free_port(), free_port(), free_port()
    proxy = lab.proxy(f"http_port 127.0.0.1:{keep}\nhttp_port 127.0.0.1:{gone}")
    proxy.reload(f"http_port 127.0.0.1:{keep}\nhttp_port 127.0.0.1:{new}")
    proxy.port = new
    lab.eventually(lambda: proxy.status(origin.url("/")) == 404, "the new port")
    proxy.port = gone
    lab.eventually(lambda: proxy.status(origin.url("/")) is None, "the removed port is closed")
    proxy.port = keep
    same(proxy.status(origin.url("/")), 404, "the port that stays")


@scenario("cfg.reload-peers", "Reload: peers come and go; requests under way are finished")
def _(lab):
    one, two = lab.origin(name="one"), lab.origin(name="two")

    @one.on("/slow")
    def _(x):
        time.sleep(1.2)
        x.reply(200, body="slow from one")
    one.page("/p", body="one")
    two.page("/p", body="two")
    peer = "cache_peer 127.0.0.1 parent {} 0 no-query originserver no-digest name=site"
    proxy = lab.proxy(peer.format(one.port), "accel defaultsite=site.test")
    pending = lab.background(lambda: proxy.get("/slow", host="site.test").text)
    one.wait_for(1, "/slow")
    proxy.reload(peer.format(two.port))
    lab.eventually(lambda: proxy.status("/p", host="site.test") == 200 and two.requests("/p"), "the new peer")
    same(pending.result(), "slow from one", "the request under way")


@scenario("cfg.reload-storm", "Twenty reloads at once and one after the other leave it well")
def _(lab):
    origin = lab.origin()
    proxy = lab.proxy()
    fds = None
    for _ in range(2):
        for _ in range(10):
            proxy.signal(signal.SIGHUP)
            time.sleep(0.05)
        lab.eventually(lambda: proxy.status(origin.url("/")) == 404, "it serves")
        time.sleep(0.5)
        count = len(os.listdir(f"/proc/{proxy.pid}/fd"))
        if fds is not None:
            between(count, 0, fds + 3, "descriptors: nothing leaks")
        fds = count


@scenario("cfg.bom", "A byte order mark is skipped", squid="takes it for part of the first word")
def _(lab):
    proxy = lab.proxy(start=False)
    with open(proxy.path("proxy.conf"), "rb") as source:
        text = source.read()
    with open(proxy.path("proxy.conf"), "wb") as out:
        out.write(b"\xef\xbb\xbf" + text)
    same(proxy.parse()[0], 0, "exit code")


@scenario("cfg.long-lines", "A line of 100 KB is one line", squid="splits lines at 8 KB")
def _(lab):
    origin = lab.origin()
    proxy = lab.proxy("acl many src " + " ".join(f"10.{i // 250}.{i % 250}.1" for i in range(8000)) + " 127.0.0.50\nhttp_access deny many\nhttp_access allow all")
    same(proxy.get(origin.url("/"), source="127.0.0.50").status, 403, "the last value")


@scenario("cfg.nested-if", "Every level of a nested if counts", squid="only the innermost counts")
def _(lab):
    origin = lab.origin()
    proxy = lab.proxy("acl x urlpath_regex ^/x\nif false\nif true\nhttp_access deny x\nendif\nendif\nhttp_access allow all")
    same(proxy.get(origin.url("/x")).status, 404, "status")


@scenario("cfg.hostile", "Files of garbage: exit 1 with a message, never a crash")
def _(lab):
    random.seed(7)
    words = ["acl", "http_access", "if", "endif", "else", "include", "\\", '"', "'", "${", "}", "%", "\0", "\x80", "refresh_pattern", "-i", "(", "[", "*", "logformat",
             "cache_peer", "http_port", "0x", "99999999999999999999", "-1", "#", "src", "::", "1.2.3.4/99", "a=b", "access_log", "stdio:", "none", "all", "allow", "deny"]
    for number in range(12):
        text = "\n".join(" ".join(random.choice(words) for _ in range(random.randrange(1, 9))) for _ in range(60))
        proxy = lab.proxy(start=False)
        proxy.write("proxy.conf", text)
        code, _ = proxy.parse()
        check(code in (0, 1), f"file {number}: exit code {code}")
