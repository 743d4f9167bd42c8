"""The manager: every form of request, squidclient, passwords, errors."""
import base64
import os
import signal
import subprocess

from lab import check, contains, one_of, same, scenario

GROUP = "manager"


def squidclient(proxy, *arguments, check_code=True):
    done = subprocess.run(("squidclient", "-h", "127.0.0.1", "-p", str(proxy.port)) + arguments, capture_output=True, timeout=20)
    text = done.stdout.decode("utf-8", "replace")
    proxy.lab.trace("squidclient", " ".join(arguments), text[:1200])
    if check_code:
        same(done.returncode, 0, f"squidclient {' '.join(arguments)}: exit code")
    return text


@scenario("mgr.forms", "Every form of request for a page that clients use")
def _(lab):
    proxy = lab.proxy()
    here = f"127.0.0.1:{proxy.port}"
    forms = {
        "squidclient 5": f"GET cache_object://localhost/info HTTP/1.0\r\nHost: localhost\r\nUser-Agent: squidclient/5.7\r\nAccept: */*\r\nConnection: close\r\n\r\n",
        "another host": "GET cache_object://otherhost/info HTTP/1.0\r\n\r\n",
        "with a port": f"GET cache_object://{here}/info HTTP/1.0\r\nHost: {here}\r\n\r\n",
        "munin, no Host": "GET cache_object://127.0.0.1/info HTTP/1.0\r\nAuthorization: Basic eDp5\r\nProxy-Authorization: Basic eDp5\r\nAccept: */*\r\n\r\n",
        "HTTP/1.1": f"GET cache_object://{here}/info HTTP/1.1\r\nHost: {here}\r\nConnection: close\r\n\r\n",
        "origin-form, address": f"GET /squid-internal-mgr/info HTTP/1.1\r\nHost: {here}\r\nConnection: close\r\n\r\n",
        "origin-form, name": "GET /squid-internal-mgr/info HTTP/1.1\r\nHost: proxy.test\r\nConnection: close\r\n\r\n",
        "squidclient 6": f"GET http://proxy.test:{proxy.port}/squid-internal-mgr/info HTTP/1.0\r\nHost: proxy.test:{proxy.port}\r\n\r\n",
        "query": f"GET /squid-internal-mgr/info?x=1 HTTP/1.1\r\nHost: {here}\r\nConnection: close\r\n\r\n",
        "POST": f"POST cache_object://{here}/info HTTP/1.0\r\nContent-Length: 0\r\n\r\n",
    }
    for name, request in forms.items():
        with proxy.client() as client:
            client.send(request)
            answer = client.reply()
        same(answer.status, 200, name)
        contains(answer.text, "Number of HTTP requests received:", name)
        contains(answer.get("Content-Type", ""), "text/plain", name)
        if "HTTP/1.0" in request:
            check(not answer.has("Transfer-Encoding"), f"{name}: not chunked")
    with proxy.client() as client:
        head = client.request("HEAD", "/squid-internal-mgr/info", host=here)
        same((head.status, head.body), (200, b""), "HEAD")


@scenario("mgr.own-address", "Absolute-form with one of our own addresses", squid="forwards it to itself")
def _(lab):
    proxy = lab.proxy()
    same(proxy.get(f"http://127.0.0.1:{proxy.port}/squid-internal-mgr/info").status, 200, "status")


@scenario("mgr.names", "Empty name = menu; case counts; unknown 404; fields of the reply")
def _(lab):
    proxy = lab.proxy()
    here = f"127.0.0.1:{proxy.port}"
    menu = proxy.get(f"cache_object://{here}/", version="1.0", host="")
    contains(menu.text, "General Runtime Information", "cache_object:// without a name")
    for name in ("INFO", "nosuch", "info2"):
        answer = proxy.get(f"/squid-internal-mgr/{name}", host=here)
        same((answer.status, answer.get("X-Squid-Error", "").split()[0]), (404, "ERR_INVALID_URL"), name)
    same(proxy.get("/squid-internal-foo/", host=here).status, 404, "another internal path")
    page = proxy.get("/squid-internal-mgr/info", "Origin: http://dash.test", host=here)
    same(page.get("Access-Control-Allow-Origin"), "http://dash.test", "Access-Control-Allow-Origin")
    for field in ("Date", "Expires", "Last-Modified", "X-Cache", "Via", "Server"):
        check(page.has(field), field)


MENU = {"menu": "Cache Manager Menu", "info": "General Runtime Information", "counters": "Traffic and Resource Counters", "5min": "5 Minute Average of Counters",
        "60min": "60 Minute Average of Counters", "utilization": "Cache Utilization", "service_times": "Service Times (Percentiles)",
        "client_list": "Cache Client List", "server_list": "Peer Cache Statistics", "storedir": "Store Directory Stats", "mem": "Memory Utilization",
        "ipcache": "IP Cache Stats and Contents", "fqdncache": "FQDN Cache Stats and Contents", "idns": "Internal DNS Statistics",
        "pconn": "Persistent Connection Utilization Histograms", "filedescriptors": "Process Filedescriptor Allocation",
        "active_requests": "Client-side Active Requests", "config": "Current Squid Configuration", "events": "Event Queue"}


@scenario("mgr.menu", "The menu lists the pages with their protection, and each public one answers")
def _(lab):
    proxy = lab.proxy("cachemgr_passwd secret config\ncachemgr_passwd disable events\nlogformat keep %>a")
    menu = {line[1:23].strip(): line.split("\t") for line in proxy.manager("menu").splitlines()}
    for name, title in MENU.items():
        check(name in menu, f"{name} is in the menu")
        check(len(menu[name]) == 3 and menu[name][0] == f" {name:<22}" and menu[name][1] == f"{title:<32}", f"the columns of {menu[name]}")
        same(menu[name][2], {"config": "protected", "events": "disabled"}.get(name, "public"), f"{name}: protection")
        if menu[name][2] == "public":
            text = proxy.manager(name)
            check(text.endswith("\n") and "\r" not in text, f"{name}: lines end with LF")
    for name in ("shutdown", "reconfigure", "rotate", "offline_toggle"):
        if name in menu:
            same(menu[name][2], "hidden", f"{name} needs a password")


@scenario("mgr.squidclient", "Debian's squidclient: pages, URLs, methods, options")
def _(lab):
    origin = lab.origin()
    proxy = lab.proxy("acl purge method PURGE\nhttp_access allow purge\nhttp_access allow all")
    origin.page("/p", "Cache-Control: max-age=60", body="fetched")
    for page in ("info", "counters", "menu", "client_list", ""):
        text = squidclient(proxy, f"mgr:{page}")
        check(text.startswith("HTTP/1.1 200 OK\r\n"), f"mgr:{page}: {text[:60]!r}")
    contains(squidclient(proxy, origin.url("/p")), "fetched", "a URL")
    contains(squidclient(proxy, "-m", "HEAD", origin.url("/p")), "200 OK", "-m HEAD")
    contains(squidclient(proxy, "-m", "PURGE", origin.url("/p")), "200 OK", "-m PURGE")
    contains(squidclient(proxy, "-m", "PURGE", origin.url("/p")), "404 Not Found", "-m PURGE again")
    contains(squidclient(proxy, "-r", origin.url("/p")), "fetched", "-r")
    contains(squidclient(proxy, "mgr:nosuch"), "404", "an unknown page")
    upload = os.path.join(lab.folder, "upload")
    with open(upload, "w") as out:
        out.write("uploaded bytes")
    squidclient(proxy, "-m", "PUT", "-P", upload, origin.url("/up"))
    same(origin.last("/up").body, b"uploaded bytes", "-P")
    contains(squidclient(proxy, "-t", "0", origin.url("/p")), "TRACE", "-t 0")
    text = squidclient(proxy, "-V", "1.1", "-H", "Connection: close\\r\\n", origin.url("/p"))
    contains(text, "fetched", "-V 1.1")


@scenario("mgr.usual-rules", "With the rules of the shipped loligo.conf, and of Debian's squid.conf, a client on this machine gets the pages")
def _(lab):
    rules = ("acl SSL_ports port 443\nacl Safe_ports port 80 21 443 70 210 1025-65535 280 488 591 777\nhttp_access deny !Safe_ports\n"
             "http_access deny CONNECT !SSL_ports\nhttp_access allow localhost manager\nhttp_access deny manager\nhttp_access allow localhost\nhttp_access deny all")
    proxy = lab.proxy(rules)
    here = f"127.0.0.1:{proxy.port}"
    contains(squidclient(proxy, "mgr:info"), "Number of HTTP requests received", "squidclient")
    for target, status in (("cache_object://localhost/info", 200), (f"cache_object://{here}/info", 200), (f"http://{here}/squid-internal-mgr/info", 200),
                           ("cache_object://localhost:25/info", 403)):
        with proxy.client() as client:
            client.send(f"GET {target} HTTP/1.0\r\nHost: {here}\r\n\r\n")
            same(client.reply().status, status, target)


@scenario("mgr.squidclient-9", "squidclient -V - (no version at all) gets the page", squid=None)
def _(lab):
    proxy = lab.proxy()
    contains(squidclient(proxy, "-V", "-", "mgr:info"), "Number of HTTP requests received", "reply")


@scenario("mgr.no-version", "A request line without a version is for the manager alone", squid="serves HTTP/0.9")
def _(lab):
    origin = lab.origin()
    proxy = lab.proxy()
    for line, status in ((f"GET cache_object://127.0.0.1/info", 200), ("GET /squid-internal-mgr/menu", 200), ("GET cache_object://127.0.0.1/none", 404),
                         (f"GET {origin.url('/p')}", 400), ("GET /", 400), ("POST cache_object://127.0.0.1/info", 400), ("GET cache_object://127.0.0.1/info ", 400)):
        with proxy.client() as client:
            client.send(line + "\r\nGET /squid-internal-mgr/counters HTTP/1.1\r\nHost: x\r\n\r\n")
            answer = client.reply()
            same(answer.status, status, line)
            check(answer.raw.startswith(b"HTTP/1.1 "), "a full reply")
            same(client.rest(), b"", f"{line}: the connection ends with it")
    same(origin.requests("/p"), [], "requests at the origin")


def basic(password, user="x"):
    return "Authorization: Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


@scenario("mgr.passwords", "cachemgr_passwd: first match, none, disable, all; needless ones are ignored")
def _(lab):
    proxy = lab.proxy("cachemgr_passwd one info\ncachemgr_passwd none counters\ncachemgr_passwd disable menu\ncachemgr_passwd other all\nlogformat keep %>a")
    here = f"127.0.0.1:{proxy.port}"

    def status(page, *fields):
        return proxy.get(f"/squid-internal-mgr/{page}", *fields, host=here).status
    for page, password, expected in (("info", None, 401), ("info", "one", 200), ("info", "other", 401), ("counters", None, 200), ("counters", "x", 200),
                                     ("menu", None, 404), ("menu", "other", 404), ("pconn", None, 401), ("pconn", "other", 200), ("pconn", "one", 401)):
        same(status(page, *((basic(password),) if password else ())), expected, f"{page} with {password}")
    same(proxy.get("cache_object://x/info@one", version="1.0", host="").status, 200, "info@one")
    same(proxy.get("cache_object://x/info@two", version="1.0", host="").status, 401, "info@two")
    same(proxy.get("cache_object://x/info@two", basic("one"), version="1.0", host="").status, 200, "the field beats the URL")
    denied = proxy.get("/squid-internal-mgr/info", host=here)
    contains(denied.get("X-Squid-Error", ""), "ERR_CACHE_MGR_ACCESS_DENIED", "X-Squid-Error")
    lab.eventually(lambda: "info" in proxy.read("cache.log"), "cache.log tells of the refusal")


@scenario("mgr.actions", "Pages that act need a password; offline_toggle, reconfigure, rotate, shutdown")
def _(lab):
    origin = lab.origin()
    open_one = lab.proxy()
    here = f"127.0.0.1:{open_one.port}"
    for page in ("shutdown", "reconfigure", "rotate", "offline_toggle"):
        one_of(open_one.get(f"/squid-internal-mgr/{page}", host=here).status, (401, 404), f"{page} without cachemgr_passwd")
    check(open_one.alive(), "it still runs")
    proxy = lab.proxy("cachemgr_passwd key shutdown reconfigure rotate offline_toggle\nlogfile_rotate 3")
    here = f"127.0.0.1:{proxy.port}"

    def act(page):
        return proxy.get(f"/squid-internal-mgr/{page}", basic("key"), host=here)
    contains(act("offline_toggle").text, "offline_mode is now ON", "offline_toggle")
    contains(act("offline_toggle").text, "offline_mode is now OFF", "offline_toggle again")
    proxy.get(origin.url("/p"))
    proxy.log_line("/p")
    same(act("rotate").status, 200, "rotate")
    lab.eventually(lambda: os.path.exists(proxy.path("access.log.0")), "the log is rotated")
    proxy.configure(proxy.config.replace("http_access allow all", "http_access deny all"))
    contains(act("reconfigure").text, "econfigur", "reconfigure")
    lab.eventually(lambda: proxy.status(origin.url("/p")) == 403, "the new rules apply")
    proxy.expect_death = True
    proxy.configure(proxy.config.replace("http_access deny all", "http_access allow all"))
    proxy.signal(signal.SIGHUP)
    lab.eventually(lambda: proxy.status("/squid-internal-mgr/menu", host=here) == 200, "open again")
    act("shutdown")
    proxy.wait_exit(10)


@scenario("mgr.denied", "http_access decides about the manager: 403 in both forms, and the default localhost rules")
def _(lab):
    proxy = lab.proxy("http_access allow localhost manager\nhttp_access deny manager\nhttp_access allow all")
    here = f"127.0.0.1:{proxy.port}"
    same(proxy.get("/squid-internal-mgr/info", host=here).status, 200, "from localhost")
    for url, host in (("/squid-internal-mgr/info", here), ("cache_object://localhost/info", None)):
        answer = proxy.get(url, host=host, source="127.0.0.8" if False else None)
        same(answer.status, 200, url)
    strict = lab.proxy("acl me src 10.0.0.1\nhttp_access allow me manager\nhttp_access deny manager\nhttp_access allow all")
    here = f"127.0.0.1:{strict.port}"
    for url in ("/squid-internal-mgr/info", "cache_object://localhost/info", f"http://proxy.test:{strict.port}/squid-internal-mgr/info"):
        answer = strict.get(url, host=here)
        same((answer.status, answer.get("X-Squid-Error", "").split()[0]), (403, "ERR_ACCESS_DENIED"), url)


@scenario("mgr.hammer", "Pages asked for from everywhere at once, and clients that leave, never end it")
def _(lab):
    proxy = lab.proxy("logformat keep %>a\ncachemgr_passwd none all")
    names = [n for n in MENU if n not in ("menu",)]

    def ask(i):
        with proxy.client() as client:
            for n in range(20):
                client.ask("GET", f"/squid-internal-mgr/{names[(i + n) % len(names)]}", host=f"127.0.0.1:{proxy.port}")
                if n % 7 == 6:
                    return client.reset()
                same(client.reply().status, 200, names[(i + n) % len(names)])
    lab.together(16, ask)
    check(proxy.alive(), "it still runs")
