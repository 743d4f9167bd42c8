"""refresh_pattern and what else changes lifetimes: one scenario for each option that fails when it is ignored."""
import signal
import time

from lab import check, contains, one_of, same, scenario
from origin import http_date

GROUP = "cache"
OLD = "Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT"


def asked(lab, config, fields, second=(), wait=0.0, times=2):
    """How many of `times` GETs reach the origin."""
    origin, proxy = lab.origin(), lab.proxy(config)
    origin.page("/p", *fields)
    for number in range(times):
        if number:
            time.sleep(wait)
        same(proxy.get(origin.url("/p"), *(second if number else ())).status, 200, "status")
    proxy.stop()
    return len(origin.requests("/p"))


def differs(lab, option, fields, without, with_it, line=". 0 20% 4320", **more):
    same(asked(lab, f"refresh_pattern {line}", fields, **more), without, f"{fields} without {option}")
    same(asked(lab, f"refresh_pattern {line} {option}", fields, **more), with_it, f"{fields} with {option}")


@scenario("refresh.min", "min: lifetime of replies that say nothing themselves")
def _(lab):
    same(asked(lab, "refresh_pattern . 0 20% 4320", ()), 2, "min 0")
    same(asked(lab, "refresh_pattern . 5 20% 4320", ()), 1, "min 5")
    same(asked(lab, "refresh_pattern . 5 20% 4320", ("Cache-Control: max-age=0",)), 2, "the reply's own lifetime counts")


@scenario("refresh.percent-max", "percent of the age at arrival, at most max")
def _(lab):
    def young(percent, maximum, wait):
        return asked(lab, f"refresh_pattern . 0 {percent}% {maximum}", ("Last-Modified: " + http_date(-20),), wait=wait)
    same(young(50, 4320, 1.2), 1, "50 % of 20 s, after one second")
    same(young(5, 4320, 2.2), 2, "5 % of 20 s, after two seconds")
    same(young(20, 0, 1.2), 2, "max 0")


@scenario("refresh.first-match", "The first matching pattern decides; -i ignores case")
def _(lab):
    same(asked(lab, "refresh_pattern /p$ 0 0% 0\nrefresh_pattern . 5 20% 4320", ()), 2, "the first")
    same(asked(lab, "refresh_pattern /P$ 0 0% 0\nrefresh_pattern . 5 20% 4320", ()), 1, "case counts")
    same(asked(lab, "refresh_pattern -i /P$ 0 0% 0\nrefresh_pattern . 5 20% 4320", ()), 2, "-i")


@scenario("refresh.override-expire", "override-expire: min beats Expires and max-age")
def _(lab):
    differs(lab, "override-expire", ("Cache-Control: max-age=1",), 2, 1, line=". 5 20% 4320", wait=2.1)
    differs(lab, "override-expire", ("Expires: " + http_date(1),), 2, 1, line=". 5 20% 4320", wait=2.1)


@scenario("refresh.override-lastmod", "override-lastmod: min beats the age of the object")
def _(lab):
    differs(lab, "override-lastmod", ("Last-Modified: " + http_date(-10),), 2, 1, line=". 5 1% 4320", wait=2.1)


@scenario("refresh.ignore-reload", "ignore-reload: a client's reload is served from the cache")
def _(lab):
    differs(lab, "ignore-reload", ("Cache-Control: max-age=60",), 2, 1, second=("Cache-Control: no-cache", "Pragma: no-cache"))


@scenario("refresh.reload-into-ims", "reload-into-ims and reload_into_ims: a reload becomes a conditional request")
def _(lab):
    for config in ("refresh_pattern . 0 20% 4320 reload-into-ims", "reload_into_ims on"):
        origin, proxy = lab.origin(), lab.proxy(config)
        origin.page("/p", "Cache-Control: max-age=60", OLD)
        proxy.get(origin.url("/p"))
        proxy.get(origin.url("/p"), "Cache-Control: no-cache")
        check(origin.last().has("If-Modified-Since"), f"{config}: conditional")


@scenario("refresh.ignore-no-store", "ignore-no-store: kept although the reply says no-store")
def _(lab):
    differs(lab, "ignore-no-store", ("Cache-Control: no-store", OLD), 2, 1)


@scenario("refresh.ignore-private", "ignore-private: kept although the reply says private")
def _(lab):
    for option, kept in (("", False), ("ignore-private", True)):
        origin, proxy = lab.origin(), lab.proxy(f"refresh_pattern . 0 20% 4320 {option}")
        origin.page("/p", "Cache-Control: private, max-age=60", 'ETag: "a"')
        for _ in range(2):
            proxy.get(origin.url("/p"))
        hit = len(origin.requests()) == 1 or origin.last().has("If-None-Match")      # Squid asks each time
        same(hit, kept, f"{option or 'without'}: kept")


@scenario("refresh.max-stale", "max-stale=N and max_stale bound how stale a reply may be when the origin is down")
def _(lab):
    def status(config):
        origin, proxy = lab.origin(), lab.proxy(config + "\nconnect_timeout 1 second\nforward_timeout 2 seconds")
        origin.page("/p", "Cache-Control: max-age=1", 'ETag: "a"')
        proxy.get(origin.url("/p"))
        origin.stop()
        time.sleep(4.1)
        return proxy.get(origin.url("/p"), timeout=10).status
    one_of(status(""), (200, 502, 503, 504), "by default")
    one_of(status("refresh_pattern . 0 20% 4320 max-stale=0"), (502, 503, 504), "max-stale=0")
    one_of(status("max_stale 1 second"), (502, 503, 504), "max_stale 1 second")


@scenario("refresh.refresh-ims", "refresh-ims: a client's If-Modified-Since makes the proxy ask")
def _(lab):
    origin = lab.origin()
    origin.page("/p", "Cache-Control: max-age=60", OLD)
    for option, expected in (("", 1), ("refresh-ims", 2)):
        origin.forget()
        proxy = lab.proxy(f"refresh_pattern . 0 20% 4320 {option}")
        proxy.get(origin.url("/p"))
        proxy.get(origin.url("/p"), OLD.replace("Last-Modified", "If-Modified-Since"))
        same(len(origin.requests()), expected, option or "without")


@scenario("refresh.store-stale", "store-stale: kept although it arrives without a lifetime and without a validator")
def _(lab):
    for option, expected in (("", False), ("store-stale", True)):
        origin, proxy = lab.origin(), lab.proxy(f"refresh_pattern . 0 20% 4320 {option}\nconnect_timeout 1 second\nforward_timeout 2 seconds")
        origin.page("/p", "Cache-Control: max-age=0", OLD)
        proxy.get(origin.url("/p"))
        proxy.get(origin.url("/p"))
        if option:
            check(origin.last().has("If-Modified-Since"), "it was kept and is revalidated")


@scenario("refresh.built-in", "Without any refresh_pattern: 20 % of the age, at most three days")
def _(lab):
    same(asked(lab, "", (OLD,)), 1, "an old object is fresh")
    same(asked(lab, "", ()), 2, "one that says nothing is not")


@scenario("refresh.unknown", "An unknown option is told and does not stop the start")
def _(lab):
    proxy = lab.proxy("refresh_pattern . 0 20% 4320 no-such-option", start=False)
    code, text = proxy.parse()
    contains(text, "no-such-option", "the option is named")
    same(code, 0, "exit code of -k parse")


@scenario("refresh.negative-ttl", "negative_ttl: errors are kept for a while")
def _(lab):
    origin = lab.origin()
    origin.page("/p", status=404)
    for config, expected in (("", 2), ("negative_ttl 20 seconds", 1)):
        origin.forget()
        proxy = lab.proxy(config)
        for _ in range(2):
            same(proxy.get(origin.url("/p")).status, 404, "status")
        same(len(origin.requests("/p")), expected, config or "by default")
    contains(proxy.log_line("TCP_NEGATIVE_HIT/404"), "HIER_NONE", "log")


@scenario("refresh.minimum-expiry", "minimum_expiry_time: what would be stale too soon and has no validator is not kept")
def _(lab):
    same(asked(lab, "minimum_expiry_time 0 seconds", ("Cache-Control: max-age=3",), times=2), 1, "0 seconds")


@scenario("refresh.client-wishes", "A client's max-age, min-fresh, max-stale, no-store")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy()
    origin.page("/p", "Cache-Control: max-age=60", 'ETag: "a"')
    proxy.get(origin.url("/p"))
    time.sleep(2.1)
    for wish, reaches in (("max-age=30", False), ("max-age=1", True), ("min-fresh=10", False), ("min-fresh=3000", True)):
        before = len(origin.requests())
        proxy.get(origin.url("/p"), f"Cache-Control: {wish}")
        same(len(origin.requests()) - before, int(reaches), f"{wish}: requests at the origin")
        if reaches:
            time.sleep(1.1)
    origin.page("/stale", "Cache-Control: max-age=1", 'ETag: "a"')
    proxy.get(origin.url("/stale"))
    time.sleep(2.1)
    proxy.get(origin.url("/stale"), "Cache-Control: max-stale=60")
    same(len(origin.requests("/stale")), 1, "max-stale=60: requests at the origin")


@scenario("refresh.offline-toggle", "mgr:offline_toggle turns offline_mode for every worker; a reload takes the file's again")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("cachemgr_passwd none offline_toggle\nworkers 2")
    origin.page("/p", "Cache-Control: max-age=0", 'ETag: "a"')

    def reaches():
        before = len(origin.requests())
        for _ in range(8):
            same(proxy.get(origin.url("/p")).status, 200, "status")
        return len(origin.requests()) - before
    proxy.get(origin.url("/p"))
    same(reaches(), 8, "requests at the origin at first")
    contains(proxy.manager("offline_toggle"), "ON", "toggled")
    same(reaches(), 0, "requests at the origin offline")
    contains(proxy.manager("offline_toggle"), "OFF", "toggled again")
    same(reaches(), 8, "requests at the origin online")
    proxy.manager("offline_toggle")
    proxy.signal(signal.SIGHUP)
    lab.eventually(lambda: reaches() == 8, "the file says off")


@scenario("refresh.offline", "offline_mode on: the stale is served without asking")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("offline_mode on")
    origin.page("/p", "Cache-Control: max-age=1", 'ETag: "a"')
    proxy.get(origin.url("/p"))
    time.sleep(2.1)
    same(proxy.get(origin.url("/p")).status, 200, "status")
    same(len(origin.requests("/p")), 1, "requests at the origin")
    contains(proxy.log_line("_HIT/200"), "HIER_NONE", "log")
