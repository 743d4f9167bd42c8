"""The proxy under test: its configuration, its process, its logs."""
import functools
import os
import random
import re
import signal
import socket
import subprocess
import time

import client
import wire

# Said in every configuration unless the scenario says the directive itself.
BASE = {
    "http_access": "http_access allow all",
    "visible_hostname": "visible_hostname proxy.test",
    "pid_filename": "pid_filename none",
    "coredump_dir": "coredump_dir {folder}",
    "cache_log": "cache_log {folder}/cache.log",
    "access_log": "access_log stdio:{folder}/access.log squid",
    "pinger_enable": "pinger_enable off",
    "netdb_filename": "netdb_filename none",
    "shutdown_lifetime": "shutdown_lifetime 0 seconds",
    "cache_mem": "cache_mem 16 MB",
    "icp_port": "icp_port 0",
    "hosts_file": "hosts_file {folder}/hosts",
}
SANITIZER = re.compile(r"ERROR: \w*Sanitizer|WARNING: ThreadSanitizer|runtime error:")


def store():
    """run.py --store."""
    return os.environ.get("SCENARIO_STORE", "memory")


def free_port():
    """A port below the kernel's ephemeral range that nobody listens on."""
    while True:
        port = random.randrange(20000, 32000)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def listening(port):
    """Whether anyone listens on the TCP port, without connecting to it."""
    mark = f":{port:04X}"
    for name in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(name) as table:
                for line in table:
                    words = line.split()
                    if words[3] == "0A" and words[1].endswith(mark):
                        return True
        except OSError:
            pass
    return False


@functools.cache
def is_sanitized(binary):
    with open(binary, "rb") as program:
        text = program.read()
    return b"__asan_init" in text or b"__tsan_init" in text


class Proxy:
    """`config` is squid.conf text; lines of BASE fill in what it does not say. Without an http_port line it
    gets one on a free port, with `port_options` behind."""

    def __init__(self, lab, config="", port_options="", start=True, arguments=(), environment=None, hosts="", name="proxy"):
        self.lab, self.name = lab, name
        self.folder = lab.make_folder(name)
        self.service = "lab" + "".join(random.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=10))
        self.port = free_port()
        self.port_options, self.arguments = port_options, tuple(arguments)
        self.environment = environment
        self.process, self.expect_death = None, False
        self.write("hosts", "127.0.0.1 localhost\n" + hosts)
        self.configure(config)
        lab.cleanup(self.stop)
        if start:
            self.start()

    # --- files

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w") as out:
            out.write(text)
        os.chmod(self.path(name), 0o666)
        return self.path(name)

    def read(self, name):
        try:
            with open(self.path(name), encoding="utf-8", errors="surrogateescape") as source:
                return source.read()
        except FileNotFoundError:
            return ""

    def configure(self, config):
        """Writes the configuration file (SIGHUP makes a running proxy read it)."""
        said = {line.split()[0] for line in config.splitlines() if line.split()}
        lines = [line.strip() for line in config.splitlines()]
        if not said & {"http_port", "https_port"}:
            lines.insert(0, f"http_port 127.0.0.1:{self.port} {self.port_options}".rstrip())
        if store() != "memory" and "cache_dir" not in said:
            lines.append(f"cache_dir ufs {self.lab.make_folder(self.name + '-store')} 100 16 256")
            if store() == "disk" and "maximum_object_size_in_memory" not in said:
                lines.append("maximum_object_size_in_memory 0 KB")
        lines += [text.format(folder=self.folder) for name, text in BASE.items() if name not in said]
        self.config = "\n".join(lines) + "\n"
        self.write("proxy.conf", self.config)

    # --- process

    def command(self, *arguments):
        return [self.lab.binary, "-n", self.service, *arguments, "-f", self.path("proxy.conf")]

    def run(self, *arguments, timeout=20, environment=None):
        """Runs the binary for a command (-k parse, -v, ...): (exit code, everything it printed)."""
        done = subprocess.run(self.command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout * self.lab.patience,
                              stdin=subprocess.DEVNULL, env=self.full_environment(environment), cwd=self.folder)
        text = done.stdout.decode("utf-8", "replace")
        self.lab.trace(self.name, f"runs {' '.join(arguments)} = {done.returncode}", text)
        return done.returncode, text

    def parse(self):
        return self.run("-k", "parse")

    def full_environment(self, more=None):
        environment = dict(os.environ)
        environment.update(self.environment or {})
        environment.update(more or {})
        return environment

    def launch(self):
        """Starts the process without waiting."""
        self.stderr = open(self.path("stderr"), "ab")
        os.chmod(self.path("stderr"), 0o666)
        self.process = subprocess.Popen(self.command("-N", *self.arguments), stdout=self.stderr, stderr=self.stderr,
                                        stdin=subprocess.DEVNULL, env=self.full_environment(), cwd=self.folder)
        self.lab.remember_process(self.process.pid)

    def start(self, timeout=15):
        self.launch()
        deadline = time.monotonic() + timeout * self.lab.patience
        ports = self.ports()
        while time.monotonic() < deadline:
            if all(listening(port) for port in ports):
                return self
            if self.process.poll() is not None:
                self.lab.fail(f"the proxy did not start: exit {self.process.returncode}")
            time.sleep(0.02)
        self.lab.fail("the proxy does not listen")

    def ports(self):
        return [int(p) for p in re.findall(r"^https?_port (?:\S*:)?(\d+)", self.config, re.M)]

    @property
    def pid(self):
        return self.process.pid

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def signal(self, number):
        self.lab.trace(self.name, "gets", signal.Signals(number).name)
        os.kill(self.pid, number)

    def reload(self, config=None):
        if config is not None:
            self.configure(config)
        self.signal(signal.SIGHUP)

    def wait_exit(self, timeout=10):
        """Waits for the process to end; its exit code."""
        try:
            return self.process.wait(timeout * self.lab.patience)
        except subprocess.TimeoutExpired:
            self.lab.fail(f"the proxy still runs after {timeout} s")

    def kill(self):
        self.expect_death = True
        if self.alive():
            self.process.kill()
            self.process.wait()

    def stop(self):
        """SIGTERM, then SIGKILL; a proxy that crashed or that a sanitizer complains about fails the scenario."""
        if self.process is None:
            return
        crashed = self.process.poll()
        if crashed is None:
            if self.lab.kind == "squid":     # takes seconds to leave, and is not what is tested
                self.process.kill()
            else:
                self.process.terminate()
            try:
                self.process.wait(10 * self.lab.patience)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                self.lab.problem("the proxy did not end within 10 s of SIGTERM")
        code, self.process = self.process.returncode, None
        self.stderr.close()
        if code < 0 and code not in (-signal.SIGTERM, -signal.SIGKILL) and not self.expect_death:
            self.lab.problem(f"the proxy died of {signal.Signals(-code).name}")
        elif crashed and not self.expect_death:
            self.lab.problem(f"the proxy ended by itself with exit code {crashed}")
        for name in ("stderr", "cache.log"):
            if SANITIZER.search(self.read(name)):
                self.lab.problem(f"a sanitizer complains in {name}")

    # --- what it is seen doing

    def memory(self, field="VmRSS"):
        """Kilobytes of resident memory now (VmRSS) or at most (VmHWM). Skips where a sanitizer keeps freed memory."""
        if is_sanitized(self.lab.binary):
            self.lab.skip("memory is not measured under a sanitizer")
        with open(f"/proc/{self.pid}/status") as status:
            for line in status:
                if line.startswith(field + ":"):
                    return int(line.split()[1])
        return 0

    def open_sockets(self):
        count = 0
        for name in os.listdir(f"/proc/{self.pid}/fd"):
            try:
                count += os.readlink(f"/proc/{self.pid}/fd/{name}").startswith("socket:")
            except OSError:
                pass
        return count

    def log(self, name="access.log"):
        return self.read(name).splitlines()

    def log_line(self, *parts, name="access.log", timeout=3.0):
        """The first line that holds all parts; waits for it."""
        deadline = time.monotonic() + timeout * self.lab.patience
        while True:
            for line in self.log(name):
                if all(part in line for part in parts):
                    return line
            if time.monotonic() > deadline:
                self.lab.fail(f"no line in {name} with {' and '.join(map(repr, parts))}")
            time.sleep(0.02)

    def log_lines(self, count, name="access.log", timeout=3.0):
        """All lines once there are at least `count`."""
        deadline = time.monotonic() + timeout * self.lab.patience
        while len(self.log(name)) < count:
            if time.monotonic() > deadline:
                self.lab.fail(f"{len(self.log(name))} lines in {name}, expected {count}")
            time.sleep(0.02)
        return self.log(name)

    def entry(self, *parts, **more):
        """A native log line, split: time elapsed client tag status bytes method url user hierarchy peer type."""
        return Entry(self.log_line(*parts, **more))

    # --- talking to it

    def client(self, **more):
        return client.Client(self.lab, ("127.0.0.1", self.port), **more)

    def get(self, url, *fields, **more):
        """One request on a connection of its own."""
        return self.ask("GET", url, *fields, **more)

    def ask(self, method, url, *fields, source=None, **more):
        with self.client(source=source) as c:
            answer = c.request(method, url, *fields, **more)
        if store() != "memory":
            time.sleep(0.1 * self.lab.patience)     # what is on its way to the disk arrives there
        return answer

    def status(self, url, *fields, **more):
        """The status of one GET, or None where the connection fails."""
        try:
            return self.get(url, *fields, **more).status
        except (OSError, wire.Gone):
            return None

    def manager(self, page, *fields):
        """A manager page's body."""
        answer = self.get(f"/squid-internal-mgr/{page}", *fields, host=f"127.0.0.1:{self.port}")
        if answer.status != 200:
            self.lab.fail(f"manager page {page}: {answer.status}")
        return answer.text

    def counters(self):
        return {k.strip(): float(v.split()[0]) for k, _, v in (line.partition("=") for line in self.manager("counters").splitlines()) if v.strip()}


class Entry:
    """A line of the native access log."""

    def __init__(self, line):
        self.line = line
        words = line.split()
        if len(words) != 10:
            raise AssertionError(f"not ten words in the log line {line!r}")
        self.time, self.elapsed, self.client = float(words[0]), int(words[1]), words[2]
        self.tag, _, self.status = words[3].partition("/")
        self.bytes, self.method, self.url, self.user = int(words[4]), words[5], words[6], words[7]
        self.hierarchy, _, self.peer = words[8].partition("/")
        self.type = words[9]

    def __repr__(self):
        return self.line
