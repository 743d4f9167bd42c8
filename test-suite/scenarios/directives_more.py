"""More directives that no other scenario covers: error pages, validation, sizes, buffers."""
import socket
import time

import wire
from lab import between, check, contains, lacks, same, scenario
from origin import http_date

GROUP = "directives"
OLD = "Mon, 01 Jan 2024 00:00:00 GMT"


@scenario("dir.reply-replace", "reply_header_replace gives denied reply fields another value")
def _(lab):
    origin = lab.origin()
    origin.page("/p", "Server: apple")
    proxy = lab.proxy("reply_header_access Server deny all\nreply_header_replace Server nothing special")
    same(proxy.get(origin.url("/p")).get("Server"), "nothing special", "Server")


@scenario("dir.reply-fields-own", "reply_header_access, reply_header_replace and reply_header_add hold for our own pages too")
def _(lab):
    lines = ("acl bad http_status 400-599\nreply_header_access Server deny all\nreply_header_access Content-Language deny all\n"
             "reply_header_replace Server nothing\nreply_header_add X-Told \"%Hs\" all\nreply_header_add X-Bad \"yes\" bad\n")
    proxy = lab.proxy(lines + "http_access allow manager\nhttp_access deny all")
    answer = proxy.get("http://x.test/")
    same((answer.status, answer.whole), (403, True), "status, whole")
    same((answer.get("Server"), answer.get("Content-Language"), answer.get("X-Told"), answer.get("X-Bad")), ("nothing", None, "403", "yes"), "fields")
    contains(answer.text, "http://x.test/", "the page")
    page = proxy.get("/squid-internal-mgr/menu", host=f"127.0.0.1:{proxy.port}")
    same((page.status, page.get("Server"), page.get("X-Told"), page.get("X-Bad")), (200, "nothing", "200", None), "a page of the manager")


@scenario("dir.reply-fields-early", "reply_header_* hold on pages for requests that no rule has seen: malformed, too large, no URL",
          squid="a blank before the colon is mended")
def _(lab):
    proxy = lab.proxy("acl here myportname near\nacl other src 127.0.0.99\nreply_header_access Server deny here\nreply_header_replace Server nothing\n"
                      "reply_header_add X-Told \"%Hs\" here\nreply_header_add X-Other \"yes\" other\nrequest_header_max_size 4 KB", "name=near")
    with proxy.client(source="127.0.0.99") as client:   # its facts are not the next one's
        client.send("GET http://x.test/ HTTP/1.1\r\nHost : x.test\r\n\r\n")
        same(client.reply().get("X-Other"), "yes", "from another address")
    for text, status in (("GET http://x.test/ HTTP/1.1\r\nHost : x.test\r\n\r\n", 400), ("GET http://[x/ HTTP/1.1\r\nHost: [x\r\n\r\n", 400),
                         ("GET http://x.test/ HTTP/1.1\r\nHost: x.test\r\nX: " + "x" * 5000, 431), ("GET http://x.test/ HTTP/3.1\r\nHost: x.test\r\n\r\n", 505)):
        with proxy.client() as client:
            client.send(text)
            answer = client.reply()
        same((answer.status, answer.get("Server"), answer.get("X-Told"), answer.get("X-Other")), (status, "nothing", str(status), None), repr(text[:70]))


@scenario("dir.refresh-all-ims", "refresh_all_ims on: every If-Modified-Since reaches the origin")
def _(lab):
    origin = lab.origin()
    origin.page("/p", "Cache-Control: max-age=60", f"Last-Modified: {OLD}")
    for value, expected in (("off", 1), ("on", 2)):
        origin.forget()
        proxy = lab.proxy(f"refresh_all_ims {value}")
        proxy.get(origin.url("/p"))
        proxy.get(origin.url("/p"), f"If-Modified-Since: {OLD}")
        same(len(origin.requests()), expected, value)


@scenario("dir.miss-revalidate", "cache_miss_revalidate off: a conditional request that misses fetches the whole for the cache")
def _(lab):
    origin = lab.origin()
    origin.page("/p", "Cache-Control: max-age=60", 'ETag: "a"', f"Last-Modified: {OLD}", body="body")
    for value, conditional in (("on", True), ("off", False)):
        proxy = lab.proxy(f"cache_miss_revalidate {value}")
        proxy.get(origin.url("/p"), 'If-None-Match: "other"', f"If-Modified-Since: {OLD}")
        same(origin.last().has("If-None-Match") or origin.last().has("If-Modified-Since"), conditional, f"{value}: conditional at the origin")
        proxy.stop()


@scenario("dir.object-sizes", "maximum_object_size and minimum_object_size")
def _(lab):
    origin = lab.origin()
    for size in (2_000, 20_000, 200_000):
        origin.page(f"/{size}", "Cache-Control: max-age=60", body=b"o" * size)
    proxy = lab.proxy("minimum_object_size 10 KB\nmaximum_object_size 100 KB\nmaximum_object_size_in_memory 100 KB")
    for size, expected in ((2_000, 2), (20_000, 1), (200_000, 2)):
        for _ in range(2):
            proxy.get(origin.url(f"/{size}"))
        same(len(origin.requests(f"/{size}")), expected, f"{size} bytes: requests at the origin")


@scenario("dir.vary-ignore-expire", "vary_ignore_expire on: Expires = Date does not make a reply with Vary stale")
def _(lab):
    for value, expected in (("off", 2), ("on", 1)):
        origin, proxy = lab.origin(), lab.proxy(f"vary_ignore_expire {value}")

        @origin.on("/p")
        def _(x):
            now = http_date()
            x.reply(200, f"Date: {now}", f"Expires: {now}", f"Last-Modified: {OLD}", "Vary: X-Kind")
        for _ in range(2):
            proxy.get(origin.url("/p"), "X-Kind: 1")
        same(len(origin.requests()), expected, f"vary_ignore_expire {value}")


@scenario("dir.error-directory", "error_directory: pages of one's own, with their codes; err_html_text, cache_mgr")
def _(lab):
    folder = lab.make_folder("errors")
    for name in ("ERR_ACCESS_DENIED", "ERR_CONNECT_FAIL"):
        with open(f"{folder}/{name}", "w") as out:
            out.write("<html><body>MINE url=%U method=%M client=%i host=%h mail=%w text=%L percent=%% name=%c</body></html>\n")
    proxy = lab.proxy(f"error_directory {folder}\nerr_html_text <b>ask upstairs</b>\ncache_mgr boss@office.test\nhttp_access deny all")
    text = proxy.get("http://x.test/a?<b>").text
    contains(text, "MINE url=http://x.test/a?", "our page")
    for part in ("method=GET", "client=127.0.0.1", "host=proxy.test", "mail=boss@office.test", "text=<b>ask upstairs</b>", "percent=%", "name=ERR_ACCESS_DENIED"):
        contains(text, part, "codes")
    lacks(text, "a?<b>", "escaping")


@scenario("dir.stylesheet", "err_page_stylesheet is put into the page")
def _(lab):
    path = lab.folder + "/own.css"
    with open(path, "w") as out:
        out.write("body { color: rebeccapurple; }\n")
    proxy = lab.proxy(f"err_page_stylesheet {path}\nhttp_access deny all")
    contains(proxy.get("http://x.test/").text, "rebeccapurple", "page")


@scenario("dir.email-data", "email_err_data on: the mail link carries the facts; off: only the address")
def _(lab):
    for value, there in (("on", True), ("off", False)):
        proxy = lab.proxy(f"email_err_data {value}\ncache_mgr help@named.test\nhttp_access deny all")
        text = proxy.get("http://x.test/").text
        contains(text, "mailto:help@named.test", value)
        same("mailto:help@named.test?" in text, there, f"email_err_data {value}: facts in the link")


@scenario("dir.read-ahead", "read_ahead_gap: how far a fetch runs ahead of a client that does not read")
def _(lab):
    def sent(value):
        origin, proxy = lab.origin(), lab.proxy(f"read_ahead_gap {value}")
        count = [0]

        @origin.on("/big")
        def _(x):
            x.send(wire.head("HTTP/1.1 200 OK", "Content-Length: 1000000000", "Cache-Control: no-store"))
            x.sock.settimeout(1)
            try:
                while True:
                    count[0] += x.sock.send(b"b" * 65536)
            except (TimeoutError, socket.timeout, OSError):
                x.close()
        with proxy.client(receive_buffer=4096) as client:
            client.ask("GET", origin.url("/big"))
            time.sleep(2.0)
        proxy.stop()
        return count[0]
    small, large = sent("16 KB"), sent("40 MB")
    check(large - small > 25_000_000, f"{small} bytes with 16 KB, {large} with 40 MB")
    between(large, 30_000_000, 80_000_000, "bytes with 40 MB")


@scenario("dir.nonretriable", "server_pconn_for_nonretriable: whether a POST may take a pooled connection")
def _(lab):
    for lines, connections in (("", 2), ("server_pconn_for_nonretriable allow all", 1)):
        origin, proxy = lab.origin(), lab.proxy(lines)
        origin.page("/p")
        proxy.get(origin.url("/p"))
        proxy.ask("POST", origin.url("/p"), body="x")
        same(origin.used(), connections, lines or "by default")


@scenario("dir.ipcache-size", "ipcache_size bounds the names that are remembered")
def _(lab):
    dns, origin = lab.dns(), lab.origin()
    origin.page("/p")
    proxy = lab.proxy(f"dns_nameservers {dns.address}\nipcache_size 20\nserver_persistent_connections off")
    for i in range(60):
        dns.add(f"n{i}.test", "127.0.0.1")
        same(proxy.get(f"http://n{i}.test:{origin.port}/p").status, 200, "status")

    def entries():
        return int(proxy.manager("ipcache").split("IPcache Entries Cached:")[1].split()[0])
    lab.eventually(lambda: entries() <= 25, "no more than the limit", timeout=15)
    before = dns.asked("n0.test")
    proxy.get(f"http://n0.test:{origin.port}/p")
    check(dns.asked("n0.test") > before, "the first name is asked for again")


@scenario("dir.buffered-logs", "buffered_logs on: the lines come all the same, at the latest at the end")
def _(lab):
    origin, proxy = lab.origin(), lab.proxy("buffered_logs on")
    for i in range(20):
        proxy.get(origin.url(f"/{i}"))
    proxy.expect_death = True
    proxy.process.terminate()
    proxy.wait_exit(10)
    same(len(proxy.log()), 20, "lines")
