#!/usr/bin/env python3
"""The check of the tree itself: layers, headers, names, lengths, generated files.

usage: tree_check.py [--build DIRECTORY] [--only CHECK,CHECK] [--jobs N]

The layer table is read from doc/ARCHITECTURE.md, the only place where it stands. Looks at the files
git knows (all files where there is no git, as in a release). Prints a line "ok" or "FAIL" for each check with what is
wrong below it, "note" lines that fail nothing, and at the end "N passed, M failed".
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ARCHITECTURE = 'doc/ARCHITECTURE.md'
WARN_LINES, MOST_LINES = 500, 800
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
# Paths of one machine and hosts of package registries have no place in the project. In pieces, so that this file passes.
FORBIDDEN = [re.compile(p) for p in (r'/wo' r'rk/(main|shared)', r'/tm' r'p/w/', r'\bdeb\.deb' r'ian\.org', r'registry\.npm' r'js', r'\bpy' r'pi\.org',
                                     r'proxy\.gol' r'ang\.org', r'\bcra' r'tes\.io')]
DATA = ('test-suite/manager/', 'test-suite/peering/captures/', 'test-suite/badhttp/badhttp.json', 'test-suite/squid-conf/')


class Tree:
    """The project's files and the layer table."""

    def __init__(self):
        self.files = self.list_files()
        self.sources = [f for f in self.files if f.endswith(('.cc', '.h')) and f.split('/')[0] in ('src', 'icp', 'store', 'helpers')]
        self.headers = [f for f in self.sources if f.endswith('.h')]
        self.texts = {}
        self.rooms = self.read_layers()

    @staticmethod
    def list_files():
        git = subprocess.run(['git', '-C', TOP, 'ls-files', '-z'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if git.returncode == 0:
            names = git.stdout.decode().split('\0')
        else:
            names = [os.path.relpath(os.path.join(d, f), TOP) for d, _, fs in os.walk(TOP) for f in fs]
        return sorted(n for n in names if n and os.path.isfile(os.path.join(TOP, n)) and not n.startswith('build'))

    def text(self, name):
        if name not in self.texts:
            with open(os.path.join(TOP, name), encoding='utf-8', errors='replace') as f:
                self.texts[name] = f.read()
        return self.texts[name]

    def read_layers(self):
        """{room: (folder, set of rooms it may include)} from the table whose first column is headed Room."""
        rooms, inside = {}, False
        for line in self.text(ARCHITECTURE).splitlines():
            cells = [c.strip().strip('`') for c in line.strip().strip('|').split('|')] if line.startswith('|') else []
            if not cells:
                inside = False
            elif cells[0] == 'Room':
                inside = True
            elif inside and not set(cells[0]) <= set('-: '):
                rooms[cells[0]] = (cells[1], set(re.findall(r'\w+', cells[2])))
        return rooms

    def room_of(self, path):
        """The room whose folder holds the path; the longest folder wins."""
        best = max(((folder, room) for room, (folder, _) in self.rooms.items() if path.startswith(folder)), default=('', None),
                   key=lambda pair: len(pair[0]))
        return best[1]

    def resolve(self, include):
        """The project file that an include names, or None."""
        for name in ('src/' + include, include):
            if os.path.isfile(os.path.join(TOP, name)):
                return name
        return None

    def closure(self, name, seen=None):
        seen = seen if seen is not None else set()
        if name not in seen:
            seen.add(name)
            for include in INCLUDE.findall(self.text(name)):
                found = self.resolve(include)
                if found:
                    self.closure(found, seen)
        return seen


# ---- the checks: each yields what is wrong; a line that begins with "note:" fails nothing ----------------------

def check_layers(tree, _):
    if not tree.rooms:
        yield f'no layer table in {ARCHITECTURE}'
        return
    for room, (_, below) in tree.rooms.items():
        for other in sorted(below - set(tree.rooms)):
            yield f'{ARCHITECTURE}: {room} may include {other}, which is no room'
    # Down only: whoever a room may include must not be able to come back to it.
    def reach(room, seen):
        for other in tree.rooms.get(room, ('', ()))[1]:
            if other not in seen:
                seen.add(other)
                reach(other, seen)
        return seen
    for room in tree.rooms:
        if room in reach(room, set()):
            yield f'{ARCHITECTURE}: {room} includes itself by way of others'
    for name in tree.sources:
        room = tree.room_of(name)
        if room is None:
            yield f'{name}: in no room of the layer table'
            continue
        for number, line in enumerate(tree.text(name).splitlines(), 1):
            m = INCLUDE.match(line)
            if not m or m.group(1) == 'config.h':
                continue
            found = tree.resolve(m.group(1))
            if found is None:
                yield f'{name}:{number}: no such file: {m.group(1)}'
            elif tree.room_of(found) not in tree.rooms[room][1] | {room}:
                yield f'{name}:{number}: {room} may not include {m.group(1)}'


def check_headers_alone(tree, arguments):
    """Each header compiles by itself. What compiled is remembered by the contents of all that it includes."""
    cache_path = os.path.join(arguments.build, 'tree_check.cache') if os.path.isdir(arguments.build) else None
    try:
        with open(cache_path) as f:
            cache = json.load(f)
    except (OSError, TypeError, ValueError):
        cache = {}
    keys = {h: hashlib.sha1('\0'.join(tree.text(n) for n in sorted(tree.closure(h))).encode()).hexdigest() for h in tree.headers}

    def compile_one(header):
        command = arguments.compiler.split() + ['-std=c++20', '-Wall', '-Wextra', '-Wno-missing-field-initializers', '-Werror', '-fsyntax-only', '-I' + TOP + '/src',
                                                '-I' + TOP, '-x', 'c++', '-']
        return header, subprocess.run(command, input=f'#include "{os.path.join(TOP, header)}"\n', stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True)

    todo = [h for h in tree.headers if cache.get(h) != keys[h]]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for header, result in pool.map(compile_one, todo):
            if result.returncode == 0:
                cache[header] = keys[header]
            else:
                yield f'{header} does not compile alone:\n' + '\n'.join(result.stdout.splitlines()[:6])
    if cache_path:
        with open(cache_path, 'w') as f:
            json.dump({h: k for h, k in cache.items() if h in keys}, f)


def check_header_form(tree, _):
    for name in tree.headers:
        text = tree.text(name)
        if not text.startswith('//'):
            yield f'{name}: does not open with what it is for'
        if '#pragma once' not in text:
            yield f'{name}: no #pragma once'
        if re.search(r'^\s*using namespace', text, re.M):
            yield f'{name}: using namespace in a header'


def check_lengths(tree, _):
    for name in tree.files:
        if not name.endswith(('.cc', '.h', '.c', '.py', '.sh')) or name.startswith(DATA):
            continue
        lines = tree.text(name).count('\n')
        if lines > MOST_LINES:
            yield f'{name}: {lines} lines (at most {MOST_LINES})'
        elif lines > WARN_LINES:
            yield f'note: {name}: {lines} lines; does it tell two stories?'


def check_names(tree, _):
    definition = re.compile(r'^[ \t]*(?:class|struct|enum class|enum)[ \t]+(?:alignas\([^)]*\)[ \t]*)?([A-Za-z_]\w*)(?:[ \t]+final)?[ \t]*(?::[^;{]*)?\{', re.M)
    for name in tree.files:
        base = os.path.basename(name)
        if name.endswith(('.cc', '.h', '.py')) and not re.fullmatch(r'[a-z][a-z0-9]*(_[a-z0-9]+)*\.(cc|h|py)', base):
            yield f'{name}: not snake_case'
    for name in tree.sources:
        for match in definition.finditer(tree.text(name)):
            if not match.group(1)[0].isupper():
                yield f'{name}: type {match.group(1)} is not PascalCase'


def check_forbidden_words(tree, _):
    for name in tree.files:
        for number, line in enumerate(tree.text(name).splitlines(), 1):
            for pattern in FORBIDDEN:
                found = pattern.search(line)
                if found:
                    yield f'{name}:{number}: {found.group(0)}'


def check_tests_beside_code(tree, _):
    """x_test.cc stands beside x.cc or x.h, or beside the start of its name (head_limits_test.cc beside head.cc)."""
    known = set(tree.sources)
    for name in tree.sources:
        if not name.endswith('_test.cc'):
            continue
        parts = name[:-len('_test.cc')].split('_')
        stems = ['_'.join(parts[:n]) for n in range(len(parts), 0, -1)]
        folder = os.path.dirname(name)
        if name in (f'{folder}/{os.path.basename(folder)}_test.cc', f'{folder}/corpus_test.cc'):
            continue  # of the room as a whole
        if not any(stem + ending in known for stem in stems for ending in ('.cc', '.h')):
            yield f'{name}: no code of that name beside it'


def check_listed(tree, _):
    """Every source is in a local.mk, so that it is built and released; and what a local.mk names is there."""
    listed = ' '.join(tree.text(f) for f in tree.files if os.path.basename(f) in ('local.mk', 'Makefile.am'))
    words = set(re.split(r'[\s\\=]+', listed))
    for name in tree.sources:
        if name not in words:
            yield f'{name}: in no local.mk'
    for word in sorted(words):
        if re.fullmatch(r'[\w/-]+\.(cc|h|py|conf|md)', word) and word not in tree.files and word != 'config.h':
            yield f'{word}: named in a local.mk, and not there'


def check_generated_manual(tree, arguments):
    if not arguments.binary:
        yield 'note: no binary, not checked'
        return
    run = subprocess.run([arguments.binary, '--print-manual'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, timeout=60)
    manual = os.path.join(TOP, 'doc/loligo.conf.5')
    if run.returncode != 0 or not run.stdout:
        yield 'src/loligo --print-manual prints nothing'
    elif not os.path.exists(manual) or open(manual, 'rb').read() != run.stdout:
        yield 'doc/loligo.conf.5 is old: src/loligo --print-manual > doc/loligo.conf.5'


def check_examples(tree, arguments):
    """The configurations that we give to users are fine in the eyes of our own reader."""
    if not arguments.binary:
        yield 'note: no binary, not checked'
        return
    for name in tree.files:
        if name.startswith('etc/') and name.endswith('.conf'):
            run = subprocess.run([arguments.binary, '-k', 'parse', '-f', os.path.join(TOP, name)], stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, timeout=60)
            if run.returncode != 0:
                yield f'{name}: -k parse exits {run.returncode}\n{run.stdout[-2000:]}'


def check_manuals(tree, _):
    """The man pages are formatted without complaint, where a formatter is there."""
    for name in tree.files:
        if re.fullmatch(r'doc/.*\.[1-9]', name):
            try:
                run = subprocess.run(['mandoc', '-T', 'lint', '-W', 'warning', os.path.join(TOP, name)], stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, text=True)
            except FileNotFoundError:
                yield 'note: mandoc is not installed, not checked'
                return
            if run.returncode > 2:
                yield f'{name}:\n{run.stdout[:1500]}'


CHECKS = {
    'layers': check_layers,
    'headers_alone': check_headers_alone,
    'header_form': check_header_form,
    'lengths': check_lengths,
    'names': check_names,
    'forbidden_words': check_forbidden_words,
    'tests_beside_code': check_tests_beside_code,
    'listed': check_listed,
    'generated_manual': check_generated_manual,
    'examples': check_examples,
    'manuals': check_manuals,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', default=os.path.join(TOP, 'build'), help='where src/loligo was built')
    parser.add_argument('--only', help='names of checks, with commas')
    parser.add_argument('--jobs', type=int, default=2)
    parser.add_argument('--compiler', default='g++')
    arguments = parser.parse_args()
    binary = os.path.join(arguments.build, 'src/loligo')
    arguments.binary = os.path.abspath(binary) if os.path.exists(binary) else None
    tree = Tree()
    passed = failed = 0
    for name in arguments.only.split(',') if arguments.only else CHECKS:
        found = list(CHECKS[name](tree, arguments))
        wrong = [line for line in found if not line.startswith('note:')]
        passed, failed = passed + (not wrong), failed + bool(wrong)
        print(f'{"FAIL" if wrong else "ok  "} {name}')
        for line in found:
            print('     ' + line.replace('\n', '\n     '))
    print(f'{passed} passed, {failed} failed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
