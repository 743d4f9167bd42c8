"""Forward proxy: names and addresses."""
import socket
import time

from lab import between, check, contains, one_of, same, scenario

GROUP = "forward"


def ask(proxy, url, **more):
    return proxy.get(url, timeout=10, **more)


@scenario("dns.lookup", "A name is asked for once within its TTL and again after it")
def _(lab):
    dns, origin = lab.dns(), lab.origin()
    origin.page("/p")
    dns.add("site.test", "127.0.0.1", ttl=2)
    proxy = lab.proxy(f"dns_nameservers {dns.address}\nserver_persistent_connections off\nnegative_dns_ttl 1 second")
    for _ in range(3):
        same(ask(proxy, f"http://site.test:{origin.port}/p").status, 200, "status")
    same(dns.asked("site.test", "A"), 1, "queries within the TTL")
    time.sleep(3.2)
    ask(proxy, f"http://SITE.test:{origin.port}/p")
    same(dns.asked("site.test", "A"), 2, "queries after it")


@scenario("dns.positive-ttl", "positive_dns_ttl caps a long TTL")
def _(lab):
    dns, origin = lab.dns(), lab.origin()
    origin.page("/p")
    dns.add("site.test", "127.0.0.1", ttl=10_000)
    proxy = lab.proxy(f"dns_nameservers {dns.address}\npositive_dns_ttl 2 seconds\nnegative_dns_ttl 1 second\n"
                      "server_persistent_connections off")   # a pooled connection needs no name
    ask(proxy, f"http://site.test:{origin.port}/p")
    time.sleep(3.2)
    ask(proxy, f"http://site.test:{origin.port}/p")
    same(dns.asked("site.test", "A"), 2, "queries")


@scenario("dns.negative", "A name that does not exist: an error page, remembered for negative_dns_ttl", squid="names it ERR_READ_ERROR")
def _(lab):
    dns, origin = lab.dns(), lab.origin()
    origin.page("/p")
    proxy = lab.proxy(f"dns_nameservers {dns.address}\nnegative_dns_ttl 2 seconds")
    for _ in range(2):
        answer = ask(proxy, "http://none.test/p")
        one_of(answer.status, (502, 503), "status")
        contains(answer.get("X-Squid-Error", ""), "ERR_DNS_FAIL", "X-Squid-Error")
    same(dns.asked("none.test", "A"), 1, "queries while remembered")
    dns.add("none.test", "127.0.0.1")
    time.sleep(3.2)
    same(ask(proxy, f"http://none.test:{origin.port}/p").status, 200, "once it exists")


@scenario("dns.timeout", "A name server that does not answer: an error page after dns_timeout")
def _(lab):
    dns = lab.dns()
    dns.ignore("mute.test")
    proxy = lab.proxy(f"dns_nameservers {dns.address}\ndns_timeout 2 seconds\ndns_retransmit_interval 1 second")
    took = lab.stopwatch()
    answer = ask(proxy, "http://mute.test/")
    one_of(answer.status, (502, 503, 504), "status")
    between(took(), 0.9, 6, "seconds until the page")


@scenario("dns.second-server", "The second name server is asked when the first is silent")
def _(lab):
    first, second, origin = lab.dns(), lab.dns(), lab.origin()
    origin.page("/p")
    first.ignore("site.test")
    second.add("site.test", "127.0.0.1")
    proxy = lab.proxy(f"dns_nameservers {first.address} {second.address}\ndns_retransmit_interval 1 second\ndns_timeout 6 seconds")
    same(ask(proxy, f"http://site.test:{origin.port}/p").status, 200, "status")


@scenario("dns.hosts-file", "hosts_file answers before the name server and is read again on reload")
def _(lab):
    dns, origin = lab.dns(), lab.origin()
    origin.page("/p")
    proxy = lab.proxy(f"dns_nameservers {dns.address}", hosts="127.0.0.1 named.test alias.test # comment\n")
    for name in ("named.test", "alias.test"):
        same(ask(proxy, f"http://{name}:{origin.port}/p").status, 200, name)
        same(dns.asked(name), 0, f"queries for {name}")
    proxy.write("hosts", "127.0.0.1 localhost later.test\n")
    proxy.reload()
    lab.eventually(lambda: proxy.status(f"http://later.test:{origin.port}/p") == 200, "the new name is known after a reload")


@scenario("dns.append-domain", "append_domain completes names without a dot")
def _(lab):
    dns, origin = lab.dns(), lab.origin()
    origin.page("/p", body="page")
    dns.add("intra.office.test", "127.0.0.1")
    proxy = lab.proxy(f"dns_nameservers {dns.address}\nappend_domain .office.test")
    same(ask(proxy, f"http://intra:{origin.port}/p").text, "page", "a bare name")
    one_of(ask(proxy, f"http://intra.test:{origin.port}/p").status, (502, 503), "a name with a dot is left alone")


@scenario("dns.next-address", "The first address refuses: the next one serves, at once")
def _(lab):
    dns, origin = lab.dns(), lab.origin()
    origin.page("/p", body="page")
    dns.add("site.test", "127.0.0.91", "127.0.0.92", "127.0.0.1")
    proxy = lab.proxy(f"dns_nameservers {dns.address}")
    for _ in range(3):
        took = lab.stopwatch()
        same(ask(proxy, f"http://site.test:{origin.port}/p").text, "page", "reply")
        check(took() < 2, f"after {took():.2f} s")


@scenario("dns.eyeballs", "An address that swallows packets costs little: the other family is tried meanwhile")
def _(lab):
    dns, origin = lab.dns(), lab.origin()
    origin.page("/p", body="page")
    full = socket.socket(socket.AF_INET6)        # a listener whose queue is full answers nothing
    full.bind(("::1", origin.port))
    full.listen(0)
    fillers = []
    for _ in range(3):
        filler = socket.socket(socket.AF_INET6)
        filler.setblocking(False)
        filler.connect_ex(("::1", origin.port))
        fillers.append(filler)
    dns.add("site.test", "::1", "127.0.0.1")
    proxy = lab.proxy(f"dns_nameservers {dns.address}\nconnect_timeout 8 seconds\nhappy_eyeballs_connect_timeout 250")
    took = lab.stopwatch()
    same(ask(proxy, f"http://site.test:{origin.port}/p").text, "page", "reply")
    check(took() < 3, f"after {took():.2f} s")
    full.close()


@scenario("dns.ipv6", "A name with only an IPv6 address")
def _(lab):
    dns, origin = lab.dns(), lab.origin(address="::1")
    origin.page("/p", body="six")
    dns.add("six.test", "::1")
    proxy = lab.proxy(f"dns_nameservers {dns.address}")
    same(ask(proxy, f"http://six.test:{origin.port}/p").text, "six", "reply")
    contains(proxy.log_line("six.test"), "HIER_DIRECT/::1", "log")


@scenario("dns.bad-names", "Names that cannot be: an error page, no waiting", squid="asks for labels longer than 63 bytes and waits for an answer")
def _(lab):
    dns = lab.dns()
    proxy = lab.proxy(f"dns_nameservers {dns.address}")
    for name in ("a" * 70 + ".test", "a..test", ".test", "x" * 300):
        between(ask(proxy, f"http://{name}/").status, 400, 599, name[:20])


@scenario("dns.dst-acl", "acl dst looks the name up; -n does not")
def _(lab):
    dns, origin = lab.dns(), lab.origin()
    origin.page("/p")
    dns.add("local.test", "127.0.0.1")
    proxy = lab.proxy(f"dns_nameservers {dns.address}\nacl here dst 127.0.0.0/8\nhttp_access deny here\nhttp_access allow all")
    same(ask(proxy, f"http://local.test:{origin.port}/p").status, 403, "by its address")
    proxy = lab.proxy(f"dns_nameservers {dns.address}\nacl here dst -n 127.0.0.0/8\nhttp_access deny here\nhttp_access allow all")
    same(ask(proxy, f"http://local.test:{origin.port}/p").status, 200, "without a lookup")
    same(ask(proxy, origin.url("/p")).status, 403, "a literal address")
