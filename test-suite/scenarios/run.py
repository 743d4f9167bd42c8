#!/usr/bin/env python3
"""Runs the end-to-end scenarios against a proxy binary.

    run.py --binary src/loligo                      everything that is fast
    run.py --binary src/loligo --only A1,A3         these
    run.py --binary src/loligo --group forward      one group
    run.py --list                                   what there is
    run.py --self-test                              the runner notices failures, hangs and crashes

Each scenario runs in a process of its own. One that fails prints its transcript: requests, replies, log lines.
The last line is "N passed, M failed"; exit status 1 when something failed.
"""
import argparse
import importlib
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import certs
import lab as laboratory

MODULES = ("cases_cache", "cases_access", "cases_operation", "forward_messages", "forward_connections",
           "forward_tunnel", "forward_fields",
           "forward_dns", "forward_errors", "timeouts",
           "accelerator", "accel_tls",
           "cache_memory", "cache_sharing", "cache_refresh", "cache_rules", "ranges_sparse", "purge",
           "access_log", "access_log_files", "reasons",
           "manager_access", "manager_numbers", "manager_pages", "manager_objects", "explain",
           "access_rules", "configuration", "command_line", "directives", "directives_more", "directives_network",
           "disk_hits", "disk_rules", "disk_faults", "disk_io", "disk_pressure", "store_log")


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", help="the proxy: loligo, or a Squid to check the scenarios themselves")
    parser.add_argument("--only", help="ids, separated by commas; a trailing * stands for any end")
    parser.add_argument("--skip", help="ids not to run")
    parser.add_argument("--group")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--store", choices=("memory", "disk", "both"), default="memory",
                        help="where proxies keep objects whose configuration has no cache_dir (disk: there alone)")
    parser.add_argument("--long", action="store_true", help="the long ones too")
    parser.add_argument("--patience", type=float, default=1.0, help="factor on timeouts, for sanitizer builds")
    parser.add_argument("--strict", action="store_true", help="expected differences of a Squid count as failures")
    parser.add_argument("--keep", action="store_true", help="keep the folders of failed scenarios")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--verbose", "-v", action="store_true", help="transcripts of passing scenarios and expected differences too")
    return parser.parse_args()


def matches(id, patterns):
    return any(id == p or (p.endswith("*") and id.startswith(p[:-1])) for p in patterns.split(","))


def chosen(all_scenarios, wanted):
    out = []
    for each in all_scenarios:
        if wanted.only and not matches(each.id, wanted.only):
            continue
        if wanted.skip and matches(each.id, wanted.skip):
            continue
        if wanted.group and each.group not in wanted.group.split(","):
            continue
        if each.long and not (wanted.long or wanted.only):
            continue
        out.append(each)
    return out


def perform(each, binary, patience, folder, keep, verbose):
    """In the scenario's own process: run it and write the outcome to FOLDER/outcome."""
    os.setsid()
    lab = laboratory.Lab(binary, patience, folder)
    outcome, text = "ok", ""
    try:
        each.function(lab)
        for stage in lab.proxies:
            laboratory.check(stage.process is None or stage.alive() or stage.expect_death, "the proxy is still running")
        for event in [e for c in lab.cleanups for e in getattr(getattr(c, "__self__", None), "errors", [])]:
            raise laboratory.Failure(f"the proxy sent an origin: {event}")
    except laboratory.Skipped as why:
        outcome, text = "skip", str(why)
    except laboratory.Failure as failure:
        outcome, text = "fail", f"  {failure}\n  {where(failure)}"
    except Exception as error:   # noqa: BLE001 - any exception fails the scenario
        outcome, text = "fail", f"  {type(error).__name__}: {error}\n  {where(error)}"
    story = lab.story()
    lab.take_down(keep=True)
    if lab.problems and outcome == "ok":
        outcome, text = "fail", "  " + "; ".join(lab.problems)
    if outcome == "fail" or verbose:
        text += "\n" + story
    with open(os.path.join(folder, "outcome"), "w", errors="surrogateescape") as out:
        json.dump([outcome, text], out)


def where(error):
    """The scenario's own line at fault."""
    frames = [f for f in traceback.extract_tb(error.__traceback__)]
    own = [f for f in frames if os.path.basename(f.filename).split(".")[0] not in ("lab", "wire", "client", "origin", "proxy", "run")]
    frame = (own or frames)[-1]
    return f"at {os.path.basename(frame.filename)}:{frame.lineno}: {frame.line}"


class Running:
    def __init__(self, each, wanted):
        self.each = each
        self.folder = tempfile.mkdtemp(prefix=f"loligo-{each.id.replace('*', '')}-")
        self.began = time.monotonic()
        self.limit = each.timeout * wanted.patience
        context = multiprocessing.get_context("fork")
        self.process = context.Process(target=perform, args=(each, wanted.binary, wanted.patience, self.folder, wanted.keep, wanted.verbose))
        self.process.start()

    def finished(self):
        """(outcome, text) or None while it runs."""
        if self.process.is_alive():
            if time.monotonic() - self.began < self.limit:
                return None
            self.process.kill()
            self.process.join()
            result = ["fail", f"  still running after {self.limit:.0f} s\n" + self.tails()]
        else:
            self.process.join()
            try:
                with open(os.path.join(self.folder, "outcome")) as source:
                    result = json.load(source)
            except (OSError, ValueError):
                result = ["fail", f"  the scenario's process ended with exit code {self.process.exitcode}"]
        self.kill_left_over()
        return result

    def tails(self):
        out = []
        for name in ("access.log", "cache.log", "stderr"):
            try:
                with open(os.path.join(self.folder, "proxy", name), errors="replace") as source:
                    out += [f"  --- {name}"] + ["    " + line.rstrip() for line in source.readlines()[-20:]]
            except OSError:
                pass
        return "\n".join(out)

    def kill_left_over(self):
        """Ends proxies that a killed scenario left, by the ids it wrote down, if they are still ours."""
        try:
            with open(os.path.join(self.folder, "pids")) as source:
                pids = [int(p) for p in source.read().split()]
        except OSError:
            return
        for pid in pids:
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as source:
                    if self.folder.encode() in source.read():
                        os.kill(pid, signal.SIGKILL)
            except OSError:
                pass


def kind_of(binary):
    """Whose list of expected differences applies."""
    if "squid" not in os.path.basename(binary):
        return "loligo"
    version = subprocess.run((binary, "-v"), capture_output=True, text=True, check=False).stdout
    return "squid with GnuTLS" if "with-gnutls" in version else "squid"


class Score:
    def __init__(self, wanted):
        self.wanted = wanted
        self.kind = kind_of(wanted.binary)
        self.passed = self.failed = self.skipped = self.differed = 0
        self.names = []

    def count(self, run, outcome, text):
        each, seconds = run.each, time.monotonic() - run.began
        expected = each.differs.get(self.kind)
        if outcome == "ok":
            self.passed += 1
            note = f" [expected to differ: {expected}]" if expected else ""
            print(f"ok {each.id} {each.title} ({seconds:.1f} s){note}")
            if text and self.wanted.verbose:
                print(text)
        elif outcome == "skip":
            self.skipped += 1
            print(f"skip {each.id} {each.title}: {text}")
        elif expected and not self.wanted.strict:
            self.differed += 1
            print(f"differs {each.id} {each.title} ({seconds:.1f} s): {expected}")
            if self.wanted.verbose:
                print(text)
        else:
            self.failed += 1
            self.names.append(each.id)
            print(f"FAIL {each.id} {each.title} ({seconds:.1f} s)\n{text}")
        sys.stdout.flush()
        if not (self.wanted.keep and outcome == "fail"):
            shutil.rmtree(run.folder, ignore_errors=True)
        else:
            print(f"  kept: {run.folder}")

    def summary(self, seconds):
        print(f"{seconds:.0f} s; {self.skipped} skipped, {self.differed} expected differences" +
              (f"; failed: {','.join(self.names)}" if self.names else ""))
        print(f"{self.passed} passed, {self.failed} failed")


def run_all(scenarios, wanted):
    score, began = Score(wanted), time.monotonic()
    for each in scenarios:
        if each.later and score.kind == "loligo":
            print(f"later {each.id} {each.title}: {each.later}")
    waiting, running = sorted((s for s in scenarios if not (s.later and score.kind == "loligo")), key=lambda s: -s.timeout), []
    while waiting or running:
        while waiting and len(running) < wanted.jobs:
            running.append(Running(waiting.pop(0), wanted))
        time.sleep(0.02)
        for run in list(running):
            result = run.finished()
            if result:
                running.remove(run)
                score.count(run, *result)
    score.summary(time.monotonic() - began)
    return score


def main():
    wanted = options()
    sys.stdout.reconfigure(errors="backslashreplace")
    if wanted.self_test:
        import self_test
        return self_test.main(run_all, wanted)
    os.environ["SCENARIO_STORE"] = wanted.store
    for name in MODULES:
        importlib.import_module(name)
    ids = [s.id for s in laboratory.SCENARIOS]
    if len(ids) != len(set(ids)):
        sys.exit(f"an id is used twice: {sorted(i for i in set(ids) if ids.count(i) > 1)}")
    scenarios = chosen(laboratory.SCENARIOS, wanted)
    if wanted.list:
        for each in scenarios:
            print(f"{each.id:28} {each.group:10} {each.title}{' (long)' if each.long else ''}")
        return 0
    if not wanted.binary:
        sys.exit("--binary PATH is missing")
    wanted.binary = os.path.abspath(wanted.binary)
    os.environ["SCENARIO_CERTS"] = tempfile.mkdtemp(prefix="loligo-certs-")
    certs.make_all()
    try:
        return 1 if run_all(scenarios, wanted).failed else 0
    finally:
        shutil.rmtree(os.environ["SCENARIO_CERTS"], ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
