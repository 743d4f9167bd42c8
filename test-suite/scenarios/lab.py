"""What a scenario gets: a laboratory that makes proxies, origins, clients and name servers, keeps a transcript
of all that passes between them, and takes everything down at the end.

    @scenario("A1", "Vary: * is never a hit")
    def _(lab):
        origin, proxy = lab.origin(), lab.proxy()
        ...
"""
import os
import shutil
import tempfile
import threading
import time

import client
import dns
import origin
import proxy

SCENARIOS = []


class Scenario:
    def __init__(self, id, title, function, long, timeout, squid, gnutls=None, later=None):
        self.id, self.title, self.function = id, title, function
        self.long, self.timeout, self.later = long, timeout, later
        self.group = function.__globals__.get("GROUP", "other")
        self.differs = {"squid": squid, "squid with GnuTLS": gnutls or squid}


def scenario(id, title, long=False, timeout=60, squid=None, gnutls=None, later=None):
    """Registers a scenario. `later` names what is not promised yet: listed and not run. `squid` tells why Squid 5.7 is expected to fail it, `gnutls` why its GnuTLS build alone is."""
    def register(function):
        SCENARIOS.append(Scenario(id, title, function, long, timeout, squid, gnutls, later))
        return function
    return register


class Failure(AssertionError):
    pass


class Skipped(Exception):
    pass


# --- checks; each says what it wanted when it fails

def check(condition, what):
    if not condition:
        raise Failure(what)


def same(actual, expected, what):
    if actual != expected:
        raise Failure(f"{what}: {actual!r}, expected {expected!r}")


def one_of(actual, allowed, what):
    if actual not in allowed:
        raise Failure(f"{what}: {actual!r}, expected one of {allowed!r}")


def contains(text, part, what):
    if part not in text:
        raise Failure(f"{what}: {part!r} is missing in {text[:2000]!r}")


def lacks(text, part, what):
    if part in text:
        raise Failure(f"{what}: {part!r} should not be in {text[:2000]!r}")


def between(value, low, high, what):
    if not low <= value <= high:
        raise Failure(f"{what}: {value!r}, expected {low!r} to {high!r}")


class Lab:
    def __init__(self, binary, patience=1.0, folder=None):
        self.binary, self.patience = binary, patience
        self.kind = "squid" if "squid" in os.path.basename(binary) else "loligo"
        self.folder = folder or tempfile.mkdtemp(prefix="loligo-lab-")
        os.chmod(self.folder, 0o777)
        self.events, self.cleanups, self.problems, self.proxies = [], [], [], []
        self.lock = threading.Lock()
        self.began = time.monotonic()

    # --- the cast

    def proxy(self, config="", port_options="", **more):
        made = proxy.Proxy.__new__(proxy.Proxy)
        self.proxies.append(made)
        made.__init__(self, config, port_options, name=f"proxy{len(self.proxies) if len(self.proxies) > 1 else ''}", **more)
        return made

    def accelerator(self, target, config="", port_options="", peer_options="", **more):
        """A proxy in front of one origin."""
        return self.proxy(f"cache_peer {target.host} parent {target.port} 0 no-query originserver no-digest {peer_options}\n{config}",
                          "accel defaultsite=site.test " + port_options, **more)

    def origin(self, **more):
        number = sum(1 for e in self.cleanups if getattr(e, "__name__", "") == "stop")
        return origin.Origin(self, **{"name": f"origin{number or ''}", **more})

    def dns(self):
        return dns.Dns(self)

    def client(self, address, **more):
        return client.Client(self, address, **more)

    def make_folder(self, name):
        path = os.path.join(self.folder, name)
        os.makedirs(path, exist_ok=True)
        os.chmod(path, 0o777)
        return path

    # --- what is happening

    def trace(self, who, what, data=""):
        if isinstance(data, (bytes, bytearray)):
            data = bytes(data[:600]).decode("latin-1") + (f" … ({len(data)} bytes)" if len(data) > 600 else "")
        with self.lock:
            self.events.append((time.monotonic() - self.began, who, what, data[:1500]))

    def fail(self, message):
        raise Failure(message)

    def problem(self, message):
        """A failure noticed while taking down."""
        self.problems.append(message)

    def skip(self, why):
        raise Skipped(why)

    def eventually(self, condition, what, timeout=5.0):
        """Waits until condition() is true; returns what it returned."""
        deadline = time.monotonic() + timeout * self.patience
        while True:
            result = condition()
            if result:
                return result
            if time.monotonic() > deadline:
                raise Failure(f"not within {timeout} s: {what}")
            time.sleep(0.03)

    def stopwatch(self):
        began = time.monotonic()
        return lambda: time.monotonic() - began

    def together(self, count, function):
        """Calls function(i) in `count` threads at once; the results in order. The first exception is raised."""
        results, errors = [None] * count, []
        barrier = threading.Barrier(count)

        def work(i):
            try:
                barrier.wait()
                results[i] = function(i)
            except Exception as error:   # noqa: BLE001 - handed to the caller
                errors.append(error)
        threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(count)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(60 * self.patience)
        if errors:
            raise errors[0]
        return results

    def background(self, function, *arguments):
        """Runs it beside the scenario; .result() waits for what it returns."""
        return Background(function, arguments)

    # --- the end

    def cleanup(self, function):
        self.cleanups.append(function)

    def remember_process(self, pid):
        with open(os.path.join(self.folder, "pids"), "a") as out:
            out.write(f"{pid}\n")

    def take_down(self, keep):
        for function in reversed(self.cleanups):
            try:
                function()
            except OSError:
                pass
        self.cleanups = []
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)

    def story(self):
        """The transcript and the ends of the logs, for a failure's report."""
        out = []
        for at, who, what, data in self.events[-60:]:
            out.append(f"  {at:7.3f} {who} {what}")
            out += [f"            | {line}" for line in data.replace("\r\n", "\n").rstrip("\n").split("\n")[:25] if line]
        for each in self.proxies:
            if not hasattr(each, "folder"):
                continue
            for name, count in (("proxy.conf", 40), ("access.log", 15), ("cache.log", 25), ("stderr", 25)):
                lines = each.read(name).splitlines()[-count:]
                if lines:
                    out.append(f"  --- {each.name}: {name}")
                    out += [f"    {line[:400]}" for line in lines]
        return "\n".join(out)


class Background:
    def __init__(self, function, arguments):
        self.value = self.error = None

        def work():
            try:
                self.value = function(*arguments)
            except Exception as error:   # noqa: BLE001 - handed to result()
                self.error = error
        self.thread = threading.Thread(target=work, daemon=True)
        self.thread.start()

    def result(self, timeout=60):
        self.thread.join(timeout)
        if self.thread.is_alive():
            raise Failure("still not finished")
        if self.error:
            raise self.error
        return self.value
