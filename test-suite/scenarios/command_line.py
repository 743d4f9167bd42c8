"""The command line: -k …, -z, -v, -a, signals, pid files, what cannot be opened."""
import os
import pwd
import re
import signal
import socket
import subprocess
import time

from lab import check, contains, same, scenario
from proxy import free_port, listening

GROUP = "cmdline"


def with_pid(lab, config="", **more):
    return lab.proxy(f"pid_filename {lab.folder}/the.pid\n{config}", **more)


@scenario("cli.version", "-v names the program and its version; -h its options")
def _(lab):
    proxy = lab.proxy(start=False)
    done = subprocess.run((lab.binary, "-v"), capture_output=True, text=True, timeout=10)
    same(done.returncode, 0, "exit code")
    check(re.search(r"(Squid Cache|Loligo).*\d", done.stdout + done.stderr), done.stdout[:200])
    done = subprocess.run((lab.binary, "-h"), capture_output=True, text=True, timeout=10)
    text = done.stdout + done.stderr
    for option in ("-f", "-k", "-N", "-z", "-v"):
        contains(text, option, "-h")


@scenario("cli.unknown", "An unknown option or command: exit 1, usage")
def _(lab):
    proxy = lab.proxy(start=False)
    for arguments in (("-k", "nonsense"), ("-W",), ("--no-such-option",)):
        code, text = proxy.run(*arguments)
        check(code != 0, f"{arguments}: exit code {code}")
        check(text.strip(), f"{arguments}: it says something")


@scenario("cli.check", "-k check: 0 while it runs, 1 when it does not")
def _(lab):
    proxy = with_pid(lab)
    same(proxy.run("-k", "check")[0], 0, "running")
    proxy.kill()
    check(proxy.run("-k", "check")[0] != 0, "not running")
    check(proxy.run("-k", "shutdown")[0] != 0, "-k shutdown without a process")


@scenario("cli.reconfigure", "-k reconfigure")
def _(lab):
    origin = lab.origin()
    proxy = with_pid(lab)
    proxy.configure(f"pid_filename {lab.folder}/the.pid\nhttp_access deny all")
    same(proxy.run("-k", "reconfigure")[0], 0, "exit code")
    lab.eventually(lambda: proxy.status(origin.url("/")) == 403, "the new rules")


@scenario("cli.reconfigure-bad", "-k reconfigure with a bad file: says so, and the old one serves on")
def _(lab):
    origin = lab.origin()
    proxy = with_pid(lab)
    proxy.configure(f"pid_filename {lab.folder}/the.pid\nhttp_access deny all\nfrobnicate on")
    code, text = proxy.run("-k", "reconfigure")
    check(code != 0, "exit code")
    contains(text, "frobnicate", "the problem is told")
    time.sleep(0.5)
    same(proxy.status(origin.url("/")), 404, "the old rules")


@scenario("cli.rotate", "-k rotate")
def _(lab):
    origin = lab.origin()
    proxy = with_pid(lab, "logfile_rotate 3")
    proxy.get(origin.url("/p"))
    proxy.log_line("/p")
    same(proxy.run("-k", "rotate")[0], 0, "exit code")
    lab.eventually(lambda: os.path.exists(proxy.path("access.log.0")), "the log is rotated")
    lab.eventually(lambda: os.path.exists(proxy.path("cache.log.0")), "cache.log too")


@scenario("cli.shutdown", "-k shutdown, -k interrupt and -k kill end it; the pid file goes (not with kill)")
def _(lab):
    for command, code in (("shutdown", 0), ("interrupt", 0), ("kill", -9)):
        proxy = with_pid(lab)
        proxy.expect_death = True
        same(proxy.run("-k", command)[0], 0, f"-k {command}: exit code")
        same(proxy.wait_exit(10), code, f"-k {command}: the proxy's exit code")
        same(os.path.exists(lab.folder + "/the.pid"), command == "kill", f"-k {command}: the pid file is left")


@scenario("cli.signals", "SIGTERM, SIGINT end it; USR2 toggles debugging; PIPE is harmless")
def _(lab):
    origin = lab.origin()
    for number in (signal.SIGTERM, signal.SIGINT):
        proxy = lab.proxy()
        proxy.expect_death = True
        proxy.signal(number)
        same(proxy.wait_exit(10), 0, f"{number.name}: exit code")
    proxy = lab.proxy()
    for number in (signal.SIGUSR2, signal.SIGPIPE, signal.SIGUSR2, signal.SIGUSR1):
        proxy.signal(number)
        time.sleep(0.2)
        same(proxy.status(origin.url("/")), 404, f"after {number.name}")


@scenario("cli.make-dirs", "-z makes cache_dir and ends, exit 0; -S and -C are accepted")
def _(lab):
    proxy = lab.proxy(f"cache_dir ufs {lab.folder}/proxy/store 10 4 4", start=False)
    code, text = proxy.run("-z", "-N")
    same(code, 0, f"exit code: {text[-300:]}")
    for options in (("-C",), ("-d", "1"), ("-s",), ("-Y",)):
        other = lab.proxy(arguments=options)
        check(other.alive(), f"{options}")
        other.stop()


@scenario("cli.port", "-a replaces the port of the configuration", squid="does not open it")
def _(lab):
    port = free_port()
    proxy = lab.proxy("http_port 127.0.0.1:{0}".format(free_port()), arguments=("-a", str(port)), start=False)
    proxy.launch()
    lab.eventually(lambda: listening(port), "the port of -a")


@scenario("cli.debug-level", "-d prints events to standard error; -X more")
def _(lab):
    proxy = lab.proxy(arguments=("-d", "1"))
    lab.eventually(lambda: len(proxy.read("stderr")) > 50, "events on standard error")


@scenario("cli.port-in-use", "A port in use: one line naming it, exit 1, nothing left behind", squid="goes on if another port works, crowds the line")
def _(lab):
    taken = socket.create_server(("127.0.0.1", 0))
    port = taken.getsockname()[1]
    proxy = lab.proxy(f"http_port 127.0.0.1:{port}\npid_filename {lab.folder}/the.pid", start=False)
    code, text = proxy.run("-N")
    same(code, 1, "exit code")
    said = [l for l in (text + proxy.read("cache.log")).splitlines() if str(port) in l]
    check(any("in use" in l.lower() for l in said), f"a line names the port: {said}")
    check(len(text.splitlines()) <= 3, f"and little else: {text}")
    check(not os.path.exists(lab.folder + "/the.pid"), "no pid file is left")
    taken.close()
    two = lab.proxy(f"http_port 127.0.0.1:{free_port()}\nhttp_port 127.0.0.1:{port}", start=False)
    holder = socket.create_server(("127.0.0.1", port))
    code, text = two.run("-N", timeout=6)
    same(code, 1, "one of two ports is taken: exit code")
    holder.close()


@scenario("cli.unwritable", "A log folder or pid file that cannot be written: one line naming it, exit 1",
          squid="goes on without the pid file")
def _(lab):
    for directive in (f"access_log stdio:{lab.folder}/none/access.log squid", f"cache_log {lab.folder}/none/cache.log", f"pid_filename {lab.folder}/none/the.pid"):
        proxy = lab.proxy(directive, start=False)
        code, text = proxy.run("-N", timeout=6)
        same(code, 1, f"{directive}: exit code")
        contains(text + proxy.read("cache.log"), f"{lab.folder}/none", f"{directive}: the path is named")


@scenario("cli.daemon", "Without -N it goes to the background, writes its pid and can be told to stop")
def _(lab):
    pid_file = lab.folder + "/the.pid"
    proxy = with_pid(lab, start=False)
    code, text = proxy.run()
    same(code, 0, f"exit code: {text[-300:]}")
    lab.eventually(lambda: os.path.exists(pid_file) and listening(proxy.port), "it listens")
    with open(pid_file) as source:
        pid = int(source.read())
    lab.remember_process(pid)
    check(os.path.exists(f"/proc/{pid}"), "the process of the pid file runs")
    same(proxy.status("http://127.0.0.1:9/"), 503, "it serves")
    same(proxy.run("-k", "shutdown")[0], 0, "-k shutdown")
    lab.eventually(lambda: not os.path.exists(f"/proc/{pid}") and not listening(proxy.port), "it has gone", timeout=12)


@scenario("cli.supervisor", "In the background a crashed worker is started again")
def _(lab):
    pid_file = lab.folder + "/the.pid"
    proxy = with_pid(lab, start=False)
    same(proxy.run()[0], 0, "exit code")
    lab.eventually(lambda: os.path.exists(pid_file) and listening(proxy.port), "it listens")
    with open(pid_file) as source:
        pid = int(source.read())
    lab.remember_process(pid)
    children = [int(c) for c in open(f"/proc/{pid}/task/{pid}/children").read().split()]
    if not children:
        lab.skip("it has no child process")
    for child in children:
        lab.remember_process(child)
        os.kill(child, signal.SIGKILL)
    time.sleep(0.3)
    lab.eventually(lambda: proxy.status("http://127.0.0.1:9/") == 503, "it serves again", timeout=12)
    proxy.run("-k", "shutdown")
    lab.eventually(lambda: not os.path.exists(f"/proc/{pid}"), "it has gone", timeout=12)


@scenario("cli.foreground", "--foreground stays in the foreground and ends with SIGTERM")
def _(lab):
    proxy = lab.proxy(start=False)
    command = [a if a != "-N" else "--foreground" for a in proxy.command("-N")]
    process = subprocess.Popen(command, cwd=proxy.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    lab.remember_process(process.pid)
    lab.eventually(lambda: listening(proxy.port), "it listens")
    same(process.poll(), None, "it stays")
    process.terminate()
    same(process.wait(12), 0, "exit code")
    lab.eventually(lambda: not listening(proxy.port), "the port is closed")


@scenario("cli.privileges", "Started as root it runs as cache_effective_user")
def _(lab):
    if os.geteuid() != 0:
        lab.skip("needs root")
    proxy = lab.proxy("cache_effective_user nobody")
    with open(f"/proc/{proxy.pid}/status") as status:
        uid = int(re.search(r"^Uid:\s+\d+\s+(\d+)", status.read(), re.M)[1])
    same(pwd.getpwuid(uid).pw_name, "nobody", "user")
    code, text = lab.proxy("cache_effective_user no-such-user-here", start=False).run("-N")
    check(code != 0 and "no-such-user-here" in text, f"an unknown user: {text[-200:]}")


@scenario("cli.descriptors", "max_filedescriptors; running out of them is survived")
def _(lab):
    origin = lab.origin()
    origin.page("/p")
    proxy = lab.proxy("max_filedescriptors 128\nclient_idle_pconn_timeout 2 seconds\nrequest_start_timeout 2 seconds")
    held = []
    for _ in range(150):
        try:
            held.append(proxy.client())
        except OSError:
            break
    time.sleep(0.5)
    check(proxy.alive(), "it still runs")
    for client in held:
        client.close()
    lab.eventually(lambda: proxy.status(origin.url("/p")) == 200, "it serves again", timeout=10)
