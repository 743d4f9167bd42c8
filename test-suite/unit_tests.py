#!/usr/bin/env python3
"""Runs `make check` in a build directory and counts test cases, not programs.

usage: unit_tests.py BUILD_DIRECTORY [JOBS]

The test programs report in Boost.Test's short form (set by test-suite/local.mk),
which says how many cases passed and failed. A program that ends without a report
has crashed, and counts as one failure. Shows the log of what failed; the last line
is "N passed, M failed".
"""
import os
import re
import subprocess
import sys

REPORT = re.compile(r'(\d+) test cases? out of \d+ (passed|failed|aborted)')


def count(log):
    """(passed, failed) of one program's log, or None when there is no report in it."""
    found = REPORT.findall(log)
    if not found:
        return None
    totals = {'passed': 0, 'failed': 0, 'aborted': 0}
    for number, what in found:
        totals[what] += int(number)
    return totals['passed'], totals['failed'] + totals['aborted']


def main():
    build = sys.argv[1]
    jobs = sys.argv[2] if len(sys.argv) > 2 else '2'
    make = subprocess.run(['make', '-C', build, '--silent', '-k', '-j' + jobs, 'check'], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors='replace')
    passed = failed = programs = 0
    for folder, _, names in sorted(os.walk(build)):
        for name in sorted(n for n in names if n.endswith('.trs')):
            programs += 1
            path = os.path.join(folder, name)
            ok = ':test-result: PASS' in open(path).read()
            log = open(path[:-4] + '.log', errors='replace').read() if os.path.exists(path[:-4] + '.log') else ''
            counts = count(log)
            p, f = counts if counts else (int(ok), int(not ok))
            if not ok and f == 0:
                f = 1
            passed, failed = passed + p, failed + f
            print(f'{"ok  " if f == 0 else "FAIL"} {os.path.relpath(path[:-4], build)}: {p} passed, {f} failed')
            if f:
                print(log[-8000:])
    if make.returncode != 0 and failed == 0 or programs == 0:
        print(make.stdout[-12000:])
        failed += 1
    print(f'{passed} passed, {failed} failed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
