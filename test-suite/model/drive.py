#!/usr/bin/env python3
"""Random sequences of requests through the real binary, each held against the model (model.py).

usage: drive.py --binary src/loligo [--sequences N] [--seed N] [--mode forward,accelerator] [--store memory,both] [--only I] [--keep]

A sequence has its own URL and clock: it is drawn from the seed and its number alone, so `--seed S --only I` with one mode
and store does the same again. What differs is shown with the shortest part of its sequence that still differs.
The last line is "N passed, M failed": a run of each mode and store counts once, each sequence that differs is a failure.
"""
import argparse
import collections
import mmap
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

from model import Model
from stored import Request
from stories import Origin, Story
from talk import Line, Silence

HERE = os.path.dirname(os.path.abspath(__file__))
CONFIG = """
http_access allow all
visible_hostname proxy.test
pid_filename none
coredump_dir {folder}
cache_log {folder}/cache.log
access_log none
hosts_file none
icp_port 0
pinger_enable off
netdb_filename none
shutdown_lifetime 0 seconds
workers 1
cache_mem 128 MB
refresh_pattern . 0 20% 4320
"""
STORES = {"memory": "", "both": "cache_dir ufs {folder}/store 2000 16 256\n"}
SHOWN = 5          # differences explained in full; the others are counted


class Clock:
    """The proxy's wall clock (clock_shim.c)."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "clock")
        with open(self.path, "wb") as out:
            out.write(bytes(8))
        self.file = open(self.path, "r+b")
        self.map = mmap.mmap(self.file.fileno(), 8)
        self.set(int(time.time()))

    def set(self, now):
        self.now = now
        struct.pack_into("=q", self.map, 0, now)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


class Bench:
    """The proxy, its clock, and both ends."""

    def __init__(self, binary, mode, store, folder):
        self.mode, self.store, self.folder = mode, store, folder
        shim = os.path.join(folder, "clock.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", shim, os.path.join(HERE, "clock_shim.c")], check=True)
        self.clock = Clock(folder)
        port = free_port()
        self.line = Line(port)
        self.site = "http://site.test" if mode == "accelerator" else f"http://127.0.0.1:{self.line.origin_port}"
        config = (CONFIG + STORES[store]).format(folder=folder)
        if mode == "accelerator":
            config += f"http_port 127.0.0.1:{port} accel defaultsite=site.test\n" \
                      f"cache_peer 127.0.0.1 parent {self.line.origin_port} 0 no-query originserver no-digest login=PASSTHRU\n"
        else:
            config += f"http_port 127.0.0.1:{port}\n"
        with open(os.path.join(folder, "proxy.conf"), "w") as out:
            out.write(config)
        os.makedirs(os.path.join(folder, "store"), exist_ok=True)
        os.system(f"chmod -R a+rwx {folder}")
        environment = dict(os.environ, LD_PRELOAD=shim, CLOCK_SHIM=self.clock.path)
        self.log = open(os.path.join(folder, "stderr"), "ab")
        self.process = subprocess.Popen([binary, "-n", "model" + "".join(random.choices("abcdefghij", k=10)), "-N", "-f", os.path.join(folder, "proxy.conf")],
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, env=environment, cwd=folder)
        self.wait_for_port(port)

    def wait_for_port(self, port):
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        with open(os.path.join(self.folder, "stderr")) as log:
            raise SystemExit("the proxy does not listen:\n" + log.read()[-2000:] + "\n0 passed, 1 failed")

    def stop(self):
        """What was wrong with its end, or nothing."""
        self.line.close()
        early = self.process.poll()
        if early is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                return "the proxy did not end within 20 s"
        self.log.close()
        return f"the proxy ended by itself: {early}" if early is not None else None

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    # --- one sequence

    def play(self, story, steps=None):
        """Plays a story, or some of its steps; the others' time passes too. (what was wrong, what happened as text)"""
        model, origin, tale, wrong = Model(self.mode == "accelerator"), Origin(story), [], []
        self.clock.set(story.begin)
        for number, step in enumerate(story.steps):
            self.clock.set(self.clock.now + step.wait)
            origin.version += step.changed
            if steps is not None and number not in steps:
                self.clock.set(self.clock.now + step.delay)
                continue
            wrong = self.take(model, origin, step, tale)
            if wrong:
                break
        return wrong, tale

    def take(self, model, origin, step, tale):
        target = step.path if self.mode == "accelerator" else self.site + step.path
        request = Request(step.method, self.site + step.path, step.fields, step.body)
        began, slept = self.clock.now, []

        def respond(asked, attempt):
            when = self.clock.now
            if step.delay and not slept:
                slept.append(1)
                self.clock.set(when + step.delay)
            asked.url = self.site + asked.url
            reply = origin.answer(step, asked, attempt, self.clock.now)
            return reply, when, self.clock.now

        reading = model.read(request, began)
        try:
            answer, exchanges = self.line.ask(step.method, self.wire(request, target), respond, lambda exchanges: model.expects_more(reading, exchanges))
        except Silence as silence:
            tale.append((began, request, reading, [], None))
            return [str(silence)]
        tale.append((began, request, reading, exchanges, answer))
        if reading.background:
            self.meet()
        if not slept:
            self.clock.set(self.clock.now + step.delay)
        wrong = model.check(reading, exchanges, answer)
        stray = self.line.idle()
        return wrong + ([f"the origin was asked besides: {stray}"] if stray else [])

    def meet(self):
        """Nothing tells when the proxy has taken up the origin's answer to a background refresh, but it answers in order."""
        self.met = getattr(self, "met", 0) + 1
        request = Request("GET", f"{self.site}/meet/{self.met}", [("Cache-Control", "only-if-cached")])
        self.line.ask("GET", self.wire(request, request.url.removeprefix(self.site) if self.mode == "accelerator" else request.url), None)

    def wire(self, request, target):
        lines = [f"{request.method} {target} HTTP/1.1", "Host: " + self.site.removeprefix("http://"), *(f"{n}: {v}" for n, v in request.fields)]
        if request.body:
            lines.append(f"Content-Length: {len(request.body)}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + request.body

    def shortest(self, story, last):
        """Leaves out steps, one after the other, while something still differs. Under another path: what is stored stays."""
        steps = list(range(last + 1))
        for leave_out in range(last):
            fewer = [s for s in steps if s != leave_out]
            if self.play(self.renamed(story), fewer)[0]:
                steps = fewer
        return steps

    def renamed(self, story):
        self.renames = getattr(self, "renames", 0) + 1
        other = Story(story.seed, story.number, story.accelerated, f"/{story.number}-{self.renames}")
        return other


def tell(wrong, tale):
    """A sequence that differs, for a reader."""
    out, start = [], tale[0][0]
    for began, request, reading, exchanges, answer in tale:
        out.append(f"  +{began - start} s  {request.method} {request.url}   (the model: {' or '.join(c.kind for c in reading.courses)})")
        out += [f"        {n}: {v}" for n, v in request.fields]
        for e in exchanges:
            out.append(f"    origin asked at +{e.asked - start}: {e.request.method} " + "; ".join(f"{n}: {v}" for n, v in e.request.fields if n.lower() not in ("host", "via", "x-forwarded-for", "connection")))
            out.append(f"    answers at +{e.answered - start}: {e.reply.status or 'nothing'}{'' if e.reply.complete else ' (cut)'} {len(e.reply.body)} bytes")
            out += [f"            {n}: {v}" for n, v in e.reply.fields]
        if answer:
            out.append(f"    client gets {answer.status}{'' if answer.complete else ' (cut)'} {answer.body[:30]!r} ({len(answer.body)})")
            out += [f"            {n}: {v}" for n, v in answer.fields]
    return "\n".join([*out, *(f"  ! {line}" for line in wrong)])


def run(options, mode, store):
    """(sequences, requests, failures)."""
    folder = tempfile.mkdtemp(prefix="loligo-model-")
    bench = Bench(options.binary, mode, store, folder)
    try:
        return play_all(options, bench)
    finally:
        bench.kill()
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)


def play_all(options, bench):
    mode, store = bench.mode, bench.store
    failures, asked, kinds = 0, 0, collections.Counter()
    numbers = [options.only] if options.only is not None else range(options.first, options.first + options.sequences)
    for number in numbers:
        story = Story(options.seed, number, mode == "accelerator")
        wrong, tale = bench.play(story)
        asked += len(tale)
        kinds.update(reading.courses[0].kind for _, _, reading, _, _ in tale)
        if not wrong:
            continue
        failures += 1
        if failures <= 40:
            print(f"FAIL {mode}/{store} --seed {options.seed} --only {number}: {wrong[0]}", flush=True)
        if failures <= options.shown and bench.process.poll() is None:
            steps = bench.shortest(story, len(tale) - 1)
            again = bench.play(bench.renamed(story), steps)
            print(tell(*again) if again[0] else "  (not again: this is the first time)\n" + tell(wrong, tale), flush=True)
        if bench.process.poll() is not None or failures >= 200:
            break
    end = bench.stop()
    if end:
        failures += 1
        print(f"FAIL {mode}/{store}: {end}")
    return len(numbers), asked, failures, kinds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--sequences", type=int, default=500, help="of each mode and store")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--only", type=int)
    parser.add_argument("--mode", default="forward,accelerator")
    parser.add_argument("--store", default="memory,both")
    parser.add_argument("--shown", type=int, default=SHOWN)
    parser.add_argument("--keep", action="store_true", help="leave the proxy's files")
    options = parser.parse_args()
    options.binary = os.path.abspath(options.binary)
    if options.seed is None:
        options.seed = random.randrange(10 ** 9)
    passed = failed = 0
    for mode in options.mode.split(","):
        for store in options.store.split(","):
            start = time.monotonic()
            sequences, asked, failures, kinds = run(options, mode, store)
            took = time.monotonic() - start
            print(f"{'ok  ' if not failures else 'FAIL'} {mode}/{store}: seed {options.seed}, {sequences} sequences, {asked} requests, {failures} differ, "
                  f"{took:.1f} s ({asked / took:.0f}/s): " + ", ".join(f"{n} {k}" for k, n in kinds.most_common()), flush=True)
            passed += not failures
            failed += failures
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
