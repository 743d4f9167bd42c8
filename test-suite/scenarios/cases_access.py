"""Users' cases D and E: peers, rules, old configurations, the manager's passwords."""
import base64
import subprocess

from lab import between, check, contains, lacks, one_of, same, scenario
from proxy import free_port

GROUP = "cases"


@scenario("D31", "A request for the proxy itself ends at once")
def _(lab):
    proxy = lab.proxy()
    with proxy.client() as client:
        took = lab.stopwatch()
        answer = client.get(f"http://127.0.0.1:{proxy.port}/", timeout=5)
        between(answer.status, 400, 599, "status")
        check(took() < 3, "at once")
    check(proxy.open_sockets() < 40, "no heap of sockets")


@scenario("D31.accel", "An accelerator whose origin is itself says so and stops", squid="answers 502 without a word in cache.log")
def _(lab):
    port = free_port()
    proxy = lab.proxy(f"http_port 127.0.0.1:{port} accel defaultsite=site.test\n"
                      f"cache_peer 127.0.0.1 parent {port} 0 no-query originserver no-digest")
    proxy.port = port
    answer = proxy.get("/", host="site.test", timeout=8)
    between(answer.status, 400, 599, "status")
    check(proxy.open_sockets() < 60, "no heap of sockets")
    lab.eventually(lambda: "oop" in proxy.read("cache.log"), "cache.log speaks of a loop", timeout=3)


@scenario("D32", "Dead parent: 503 at once, taken back when it returns")
def _(lab):
    parent = lab.origin(name="parent")
    parent.page("/p", body="by the parent")
    parent.stop()
    proxy = lab.proxy(f"cache_peer 127.0.0.1 parent {parent.port} 0 no-query no-digest default connect-fail-limit=3\n"
                      "never_direct allow all\ndead_peer_timeout 2 seconds\npeer_connect_timeout 1 second\nforward_timeout 3 seconds")
    for _ in range(4):
        took = lab.stopwatch()
        answer = proxy.get("http://site.test/p", timeout=10)
        one_of(answer.status, (502, 503, 504), "with the parent down")
        check(took() < 6, f"answered after {took():.1f} s")
    contains(proxy.manager("server_list"), "Down", "the manager's peer list")
    contains(proxy.read("cache.log"), "127.0.0.1", "cache.log names the parent")
    parent.listen()
    answer = lab.eventually(lambda: (lambda a: a if a.status == 200 else None)(proxy.get("http://site.test/p", timeout=10)),
                            "the parent is used again", timeout=14)
    same(answer.text, "by the parent", "body")


HOSTS = "".join(f"127.0.0.1 {name}\n" for name in (
    "exact.test", "sub.exact.test", "dot.test", "sub.dot.test", "notdot.test", "other.test", "example.com", "eu.example.com",
    "www.eu.example.com", "www.example.com"))


def verdicts(lab, proxy, origin, names):
    """Which names the proxy refuses."""
    return {name for name in names if proxy.get(f"http://{name}:{origin.port}/").status == 403}


@scenario("E38", "dstdomain: dots, case, trailing dot")
def _(lab):
    origin = lab.origin()
    proxy = lab.proxy("acl block dstdomain exact.test .dot.test\nhttp_access deny block\nhttp_access allow all", hosts=HOSTS)
    names = ("exact.test", "EXACT.Test", "exact.test.", "sub.exact.test", "dot.test", "sub.dot.test", "SUB.DOT.TEST.", "notdot.test", "other.test")
    same(verdicts(lab, proxy, origin, names), {"exact.test", "EXACT.Test", "exact.test.", "dot.test", "sub.dot.test", "SUB.DOT.TEST."}, "refused")


@scenario("E39", "dstdomain: overlapping values work in either order, '*.' is an error with the right form",
          squid="refuses to start with some orders, takes *.example.com silently")
def _(lab):
    origin = lab.origin()
    for values in (".example.com .eu.example.com", ".eu.example.com .example.com", "example.com .example.com"):
        proxy = lab.proxy(f"acl block dstdomain {values}\nhttp_access deny block\nhttp_access allow all", hosts=HOSTS)
        same(verdicts(lab, proxy, origin, ("example.com", "www.example.com", "www.eu.example.com", "other.test")),
             {"example.com", "www.example.com", "www.eu.example.com"}, f"{values}: refused")
        code, text = proxy.parse()
        same(code, 0, f"{values}: exit code of -k parse")
        contains(text.lower(), "warning", f"{values}: a warning")
    broken = lab.proxy("acl fine src 127.0.0.1\nacl block dstdomain *.example.com\nhttp_access deny block", start=False)
    code, text = broken.parse()
    same(code, 1, "*.example.com: exit code")
    contains(text, "proxy.conf:", "the line is named")
    contains(text, ".example.com", "the dot form is shown")


@scenario("E41", "Values that repeat or contain each other: their union matches", squid="drops a network that contains an address named before")
def _(lab):
    origin = lab.origin()
    for status in (200, 204, 404):
        origin.page(f"/{status}", status=status, body="" if status == 204 else "page")
    proxy = lab.proxy("acl fine http_status 200 200-299\nacl local src 127.0.0.1 127.0.0.0/8 127.0.0.5\n"
                      "http_access allow local\nhttp_access deny all\nhttp_reply_access allow fine\nhttp_reply_access deny all")
    same([proxy.get(origin.url(f"/{s}")).status for s in (200, 204, 404)], [200, 204, 403], "replies by status")
    for source in ("127.0.0.1", "127.0.0.5", "127.200.3.4"):
        same(proxy.get(origin.url("/200"), source=source).status, 200, f"from {source}")


def basic(password, user="admin"):
    return "Authorization: Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


@scenario("E44", "Manager passwords: wrong 401, right by every spelling, unknown page 404",
          squid="mgr:config with the right password kills it (Debian 5.7)")
def _(lab):
    proxy = lab.proxy("cachemgr_passwd secret config shutdown\ncachemgr_passwd disable rotate\nvisible_hostname no-such-name.invalid")
    host = f"127.0.0.1:{proxy.port}"

    def page(name, *fields):
        return proxy.get(f"/squid-internal-mgr/{name}", *fields, host=host)
    for fields in ((), (basic("wrong"),)):
        answer = page("config", *fields)
        same(answer.status, 401, f"config with {fields or 'no password'}")
        contains(answer.get("WWW-Authenticate", ""), 'Basic realm="config"', "challenge")
    right = page("config", basic("secret"))
    same(right.status, 200, "config with the right password")
    contains(right.text, "visible_hostname", "the configuration")
    lacks(right.text, "secret", "the password in mgr:config")
    by_url = proxy.get(f"cache_object://{host}/config@secret", version="1.0", host="")
    same((by_url.status, "visible_hostname" in by_url.text), (200, True), "config@secret")
    same(proxy.get(f"cache_object://{host}/config@wrong", version="1.0", host="").status, 401, "config@wrong")
    same(page("nosuchpage").status, 404, "unknown page")
    same(page("rotate", basic("secret")).status, 404, "disabled page")
    same(page("info").status, 200, "a public page needs none")
    same(page("info", basic("whatever")).status, 200, "a needless password is ignored")


@scenario("E44.acl", "The manager only for those whom the rules allow; any Host will do")
def _(lab):
    proxy = lab.proxy("acl watcher src 127.0.0.7\nhttp_access allow watcher manager\nhttp_access deny manager\nhttp_access allow all")
    for host in (f"127.0.0.1:{proxy.port}", "proxy.test", "whatever.invalid"):
        same(proxy.get("/squid-internal-mgr/info", host=host, source="127.0.0.7").status, 200, f"Host {host}")
    same(proxy.get("/squid-internal-mgr/info", host="proxy.test").status, 403, "from elsewhere")
    same(proxy.get("cache_object://localhost/info", version="1.0").status, 403, "from elsewhere, the old form")


@scenario("E44.squidclient", "squidclient -w and mgr:page@password", squid="mgr:config with the right password kills it (Debian 5.7)")
def _(lab):
    proxy = lab.proxy("cachemgr_passwd secret config")

    def squidclient(*arguments):
        return subprocess.run(("squidclient", "-h", "127.0.0.1", "-p", str(proxy.port)) + arguments, capture_output=True, timeout=20).stdout.decode()
    contains(squidclient("mgr:config"), " 401 ", "no password")
    contains(squidclient("-w", "wrong", "mgr:config"), " 401 ", "wrong password")
    for arguments in (("-w", "secret", "mgr:config"), ("mgr:config@secret",), ("-U", "admin", "-W", "secret", "mgr:config")):
        text = squidclient(*arguments)
        contains(text, " 200 OK", " ".join(arguments))
        contains(text, "http_port", " ".join(arguments))


OBSOLETE = ("hierarchy_stoplist cgi-bin ?", "broken_vary_encoding allow all", "upgrade_http0.9 deny all", "dns_v4_first on", "ignore_expect_100 on",
            "log_fqdn off", "cache_vary on", "emulate_httpd_log off", "acl manager proto cache_object", "acl localhost src 127.0.0.1/32 ::1",
            "server_http11 on", "ie_refresh off", "url_rewrite_concurrency 0", "zero_buffers on", "balance_on_multiple_ip on")


@scenario("E45", "Words of old configurations warn and never stop the start")
def _(lab):
    origin = lab.origin()
    proxy = lab.proxy("\n".join(OBSOLETE))
    same(proxy.get(origin.url("/")).status, 404, "it serves")
    code, text = proxy.parse()
    same(code, 0, "exit code of -k parse")
    for word in ("hierarchy_stoplist", "dns_v4_first", "upgrade_http0.9"):
        contains(text, word, "a warning")
