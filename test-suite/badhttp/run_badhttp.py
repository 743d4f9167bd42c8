#!/usr/bin/env python3
"""The corpus of malformed messages against a proxy of our own, in both modes.

usage: run_badhttp.py --binary src/loligo [--mode reverse|forward] [--only ID,ID] [--keep]

Starts the proxy on free ports of 127.0.0.1 with a configuration for the mode, lets
badhttp_run.py judge every case of badhttp.json, and counts a case as passed when
its verdict is as strict as the corpus expects. Explains each failure, with the proxy's
log. The last line is "N passed, M failed".
"""
import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))

COMMON = '''
http_access allow all
cache_mem 16 MB
access_log stdio:{folder}/access.log
cache_log {folder}/cache.log
pid_filename {folder}/proxy.pid
coredump_dir {folder}
shutdown_lifetime 0 seconds
visible_hostname proxy.example
'''
MODES = {
    'reverse': '''http_port 127.0.0.1:{port} accel defaultsite=site.example no-vhost
cache_peer 127.0.0.1 parent {origin} 0 no-query originserver name=origin
''' + COMMON,
    'forward': 'http_port 127.0.0.1:{port}\n' + COMMON,
}


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def listens(port):
    with socket.socket() as s:
        s.settimeout(0.2)
        return s.connect_ex(('127.0.0.1', port)) == 0


def tail(path, lines=30):
    try:
        with open(path, errors='replace') as f:
            return ''.join('    ' + line for line in f.readlines()[-lines:])
    except OSError:
        return ''


def stop(process):
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def run_mode(mode, arguments, folder):
    """The results of one mode, as badhttp_run.py writes them, or None with a message printed."""
    port, origin = free_port(), free_port()
    configuration = os.path.join(folder, 'loligo.conf')
    with open(configuration, 'w') as f:
        f.write(MODES[mode].format(port=port, origin=origin, folder=folder))
    output = open(os.path.join(folder, 'output'), 'w')
    proxy = subprocess.Popen([os.path.abspath(arguments.binary), '-N', '-f', configuration], stdin=subprocess.DEVNULL,
                             stdout=output, stderr=subprocess.STDOUT)
    try:
        deadline = time.monotonic() + 15
        while not listens(port):
            if proxy.poll() is not None or time.monotonic() > deadline:
                print(f'{mode}: the proxy does not listen\n' + tail(output.name) + tail(folder + '/cache.log'))
                return None
            time.sleep(0.05)
        result = os.path.join(folder, 'result.json')
        command = [sys.executable, os.path.join(HERE, 'badhttp_run.py'), f'127.0.0.1:{port}', mode,
                   os.path.join(HERE, 'badhttp.json'), '--origin', f'127.0.0.1:{origin}', '--pid', str(proxy.pid),
                   '--out', result, '--name', mode, '-q'] + (['--only', arguments.only] if arguments.only else [])
        judge = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
        if not os.path.exists(result):
            print(f'{mode}: no result\n{judge.stdout}' + tail(output.name) + tail(folder + '/cache.log'))
            return None
        print(judge.stdout.strip())
        with open(result) as f:
            return json.load(f)['results']
    finally:
        stop(proxy)
        output.close()
        if proxy.returncode not in (0, -signal.SIGTERM):
            print(f'{mode}: the proxy ended with {proxy.returncode}\n' + tail(output.name) + tail(folder + '/cache.log'))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--binary', required=True)
    parser.add_argument('--mode', choices=MODES)
    parser.add_argument('--only')
    parser.add_argument('--keep', action='store_true', help='keep configuration and logs')
    arguments = parser.parse_args()
    passed = failed = 0
    for mode in [arguments.mode] if arguments.mode else MODES:
        folder = tempfile.mkdtemp(prefix='loligo-badhttp-')
        os.chmod(folder, 0o777)  # a proxy started as root gives its privileges up
        results = run_mode(mode, arguments, folder)
        if results is None:
            failed += 1
        for r in results or []:
            if r['strict']:
                passed += 1
                continue
            failed += 1
            print(f"FAIL {mode} {r['id']}: {r['verdict']}, status {r['status']}, {' '.join(r['hazards'] + r['notes'])}")
            for text in r['forwarded'][:1]:
                print('    seen: ' + repr(text[:300]))
        if arguments.keep:
            print(f'{mode}: kept {folder}')
        else:
            shutil.rmtree(folder, ignore_errors=True)
    print(f'{passed} passed, {failed} failed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
