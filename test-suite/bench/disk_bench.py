#!/usr/bin/env python3
"""Side-by-side benchmark of disk caches: peerbench.py's machinery, with every system's own disk cache.

Each system gets --mb of disk and a memory cache of --mem MB, far smaller than the set, and is driven on one core
while the origin and wrk run on the other. The page cache of the kernel is warm (all was just written), so what is
measured is the way from the file to the socket. Quote the ratios, never the absolute rates.

  fill       --count objects of 10 KB never asked for before: requests a second, CPU of the server's processes
  hit-10k    uniformly random URLs of the last fill; hit-1m the same over --large objects of 1 MB
  mem-10k    one URL over and over: what the same set-up does with a hot object

Beside the rate each line says what shows that the disk really answered: requests that still went to the origin (in
percent), bytes read from files (KB a request; Varnish maps its file), and bytes that the device had to read (0 = warm;
Traffic Server reads past the page cache).

Systems: nginx proxy_cache, squid (aufs), squidrock, trafficserver (a storage file), varnish (-s file), and
loligo / before (cache_dir ufs). Example: disk_bench.py --loligo ./src/loligo
"""
import argparse, json, os, re, resource, shutil, signal, statistics, subprocess, sys, time, urllib.request

from peerbench import BASE, Bench, sh

ALL = {'nginx': '/usr/sbin/nginx', 'squid': '/usr/sbin/squid', 'squidrock': '/usr/sbin/squid', 'trafficserver': '/usr/bin/traffic_server',
       'varnish': '/usr/sbin/varnishd'}
OURS = ('loligo', 'before')
PREFIX = {'10k': 10240, '1m': 1 << 20}


class DiskBench(Bench):
    def make_files(self):
        os.makedirs(self.path('www/f'))
        for name, size in PREFIX.items():
            with open(self.path('www/f', name), 'wb') as f: f.write(os.urandom(size))

    def lua(self, name, text):
        self.write(name + '.lua', text)
        return name + '.lua'

    def fill_script(self, size, batch, count):
        """Each URL once, then the word to stop; the few URLs that follow let the last ones be answered before it."""
        return self.lua('fill', f'local n = 0\nrequest = function() n = n + 1 if n == {count} + 200 then io.stdout:write("filled\\n") io.stdout:flush() end '
                                f'if n > {count} + 200 then wrk.thread:stop() end return wrk.format("GET", "/{size}/{batch}/" .. n) end\n')

    def hit_script(self, size, batch, count):
        return self.lua('hit', f'math.randomseed({os.getpid()} + os.time())\nrequest = function() '
                               f'return wrk.format("GET", "/{size}/{batch}/" .. math.random({count})) end\n')

    # ---- systems -------------------------------------------------------------
    def start_origin(self):
        conf = self.write('origin.conf', f'''
daemon off; worker_processes 1; pid {self.path("origin.pid")}; error_log {self.path("origin.err")}; worker_rlimit_nofile 16000;
events {{ worker_connections 8192; }}
http {{ access_log off; sendfile on; tcp_nopush on; server_tokens off; keepalive_requests 1000000000; default_type application/octet-stream;
 open_file_cache max=100 inactive=1h; open_file_cache_valid 1h;
 server {{ listen 127.0.0.1:{BASE} backlog=4096; root {self.path("www")}; expires 1d;
  location /10k/ {{ rewrite ^ /f/10k break; }} location /1m/ {{ rewrite ^ /f/1m break; }} location = /status {{ stub_status; }} }} }}''')
        p = self.spawn(['/usr/sbin/nginx', '-c', conf], self.args.load_cores)
        self.wait_port(BASE)
        return p

    def origin_requests(self):
        with urllib.request.urlopen(f'http://127.0.0.1:{BASE}/status', timeout=10) as r:
            return int(re.search(r'\n \d+ \d+ (\d+)', r.read().decode()).group(1))

    def sys_nginx(self, port, workers):
        files = min(resource.getrlimit(resource.RLIMIT_NOFILE)[1], 300000)    # what it keeps open must leave room for connections
        cache = f'open_file_cache max={files - 4000} inactive=60s; open_file_cache_valid 60s; open_file_cache_min_uses 1;' if self.args.nginx_open_files else ''
        return ['/usr/sbin/nginx', '-c', self.write('nginx.conf', f'''
daemon off; worker_processes {workers}; worker_rlimit_nofile {files}; pid {self.path("nginx.pid")}; error_log {self.path("nginx.err")};
events {{ worker_connections 3000; use epoll; multi_accept on; }}
http {{ access_log off; sendfile on; server_tokens off; keepalive_timeout 300; keepalive_requests 1000000000; tcp_nopush on; tcp_nodelay on; {cache}
 proxy_cache_path {self.path("nginx-cache")} levels=1:2 keys_zone=STATIC:128m inactive=24h max_size={self.args.mb}m use_temp_path=off;
 upstream o {{ server 127.0.0.1:{BASE}; keepalive 64; }}
 server {{ listen 127.0.0.1:{port} backlog=4096 reuseport; location / {{ proxy_pass http://o; proxy_http_version 1.1; proxy_set_header Connection "";
   proxy_cache STATIC; }} }} }}''')], None

    def squid_like(self, port, workers, name, cache_dir, own=''):
        return self.write(name + '.conf', f'''
http_port 127.0.0.1:{port} accel defaultsite=127.0.0.1 no-vhost
cache_peer 127.0.0.1 parent {BASE} 0 no-query originserver name=o
http_access allow all
cache_mem {self.args.mem} MB
maximum_object_size 4 MB
cache_dir {cache_dir}
access_log none
cache_log {self.path(name + ".log")}
cache_store_log none
pid_filename {self.path(name + ".pid")}
coredump_dir {self.dir}
shutdown_lifetime 0 seconds
visible_hostname bench
{own}
''')

    def sys_squid(self, port, workers, name='squid', kind='aufs', levels=' 16 256'):
        os.makedirs(self.path(name + '-cache'), exist_ok=True)
        shutil.chown(self.path(name + '-cache'), 'proxy', 'proxy')
        conf = self.squid_like(port, workers, name, f'{kind} {self.path(name + "-cache")} {self.args.mb}{levels}',
                               f'max_filedescriptors 19000\npinger_enable off\nworkers {workers if workers > 1 else 1}')
        service = f'disk{name}{os.getpid()}'
        sh('/usr/sbin/squid', '-n', service, '-N', '-z', '-f', conf, timeout=60)
        return ['/usr/sbin/squid', '-n', service, '-N' if workers == 1 else '--foreground', '-f', conf], None

    def sys_squidrock(self, port, workers):
        return self.sys_squid(port, workers, 'squidrock', 'rock', '')

    def sys_loligo(self, port, workers, name='loligo'):
        conf = self.squid_like(port, workers, name, f'ufs {self.path(name + "-cache")} {self.args.mb} 16 256', f'workers {workers}')
        return [os.path.abspath(getattr(self.args, name)), '-N', '-f', conf], None

    def sys_varnish(self, port, workers):
        cmd, env = super().sys_varnish(port, workers)
        return [f'file,{self.path("varnish-cache")},{self.args.mb}M' if w == 'malloc,1024M' else w for w in cmd], env

    def sys_trafficserver(self, port, workers):
        cmd, env = super().sys_trafficserver(port, workers)
        root = self.path('ats')
        with open(root + '/etc/storage.config', 'w') as f: f.write(f'{root}/cache {self.args.mb}M\n')
        with open(root + '/etc/records.config') as f: text = f.read()
        with open(root + '/etc/records.config', 'w') as f:
            f.write(text.replace('cache.ram_cache.size INT 1073741824', f'cache.ram_cache.size INT {self.args.mem << 20}'))
        return cmd, env

    # ---- measuring -----------------------------------------------------------
    def file_bytes(self, session):
        """(bytes read by read calls and sendfile, bytes the device read) of a session's processes."""
        asked = device = 0
        for d in os.listdir('/proc'):
            if not d.isdigit(): continue
            try:
                with open(f'/proc/{d}/stat') as f: s = f.read()
                if int(s[s.rindex(')') + 2:].split()[3]) != session: continue
                with open(f'/proc/{d}/io') as f: io = dict(line.split(': ') for line in f.read().splitlines())
                asked, device = asked + int(io['rchar']), device + int(io['read_bytes'])
            except (OSError, ValueError): continue
        return asked, device

    def drive(self, system, script, conns, secs):
        """One run of wrk against a system, with what it cost."""
        p, port = self.live[system]
        origin, (ticks, _), (asked, device) = self.origin_requests(), self.cpu_and_rss(p.pid), self.file_bytes(p.pid)
        began = time.monotonic()
        w = subprocess.Popen(['taskset', '-c', self.args.load_cores, 'wrk', '-t', '1', '-c', str(conns), '-d', f'{secs}s', '--latency',
                              '--timeout', '10s'] + (['-s', self.path(script)] if script.endswith('.lua') else []) +
                             [f'http://127.0.0.1:{port}' + ('' if script.endswith('.lua') else script)], stdout=subprocess.PIPE, text=True)
        out, took = '', None
        for line in w.stdout:
            out += line
            if line == 'filled\n':   # wrk itself would sleep to the end of its time
                took = time.monotonic() - began
                w.send_signal(signal.SIGINT)
        w.wait()
        n = max(int(re.search(r'(\d+) requests in', out).group(1)), 1)
        ticks2, rss = self.cpu_and_rss(p.pid)
        asked2, device2 = self.file_bytes(p.pid)
        p99 = re.search(r'99%\s+([\d.]+)(us|ms|s)', out)
        bad = sum(int(x) for x in re.findall(r'(?:connect|read|write|timeout) (\d+)', out)) + sum(int(x) for x in re.findall(r'Non-2xx or 3xx responses: (\d+)', out))
        return dict(rps=n / took if took else float(re.search(r'Requests/sec:\s+([\d.]+)', out).group(1)), cpu_us=(ticks2 - ticks) / os.sysconf('SC_CLK_TCK') * 1e6 / n,
                    p99_ms=float(p99.group(1)) * {'us': 1e-3, 'ms': 1, 's': 1e3}[p99.group(2)] if p99 else 0, errors=bad, rss_mb=rss / 1024,
                    origin=(self.origin_requests() - origin) / n * 100, read_kb=(asked2 - asked) / n / 1024, device_kb=(device2 - device) / n / 1024)

    def cooled(self):
        """What was written reaches the device before the next system is measured, so nobody pays for another's writes."""
        os.sync()

    def fill(self, size, batch, count, conns):
        rows = {}
        for s in self.live:
            rows[s] = self.drive(s, self.fill_script(size, batch, count), conns, self.args.most)
            self.cooled()
        return rows

    def run(self):
        a = self.args
        self.start_origin()
        self.live = {}
        for i, s in enumerate(a.systems.split(',')):
            cmd, env = getattr(self, 'sys_' + s)(BASE + 1 + i, a.workers)
            p = self.spawn(cmd, a.cores, env)
            self.wait_port(BASE + 1 + i)
            self.live[s] = (p, BASE + 1 + i)
        time.sleep(2)
        cases = a.cases.split(',')
        results = {}
        fills = a.rounds if 'fill' in cases else 1
        if {'fill', 'hit-10k'} & set(cases):
            results['fill'] = [self.fill('10k', batch, a.count, 50) for batch in range(fills)]
        if 'hit-1m' in cases:
            self.fill('1m', 0, a.large, 20)
        time.sleep(2)
        for case, script, conns in (('hit-10k', lambda: self.hit_script('10k', fills - 1, a.count), 50), ('hit-1m', lambda: self.hit_script('1m', 0, a.large), 20),
                                    ('mem-10k', lambda: '/10k/hot', 50)):
            if case not in cases: continue
            name = script()
            for s in self.live: self.drive(s, name, conns, 2)
            results[case] = [{s: self.drive(s, name, conns, a.secs) for s in self.live} for _ in range(a.rounds)]
        if 'fill' not in cases: results.pop('fill', None)
        self.report_disk(results)

    def report_disk(self, results):
        titles = {'fill': f'{self.args.count} objects of 10 KB, new; 50 connections', 'hit-10k': f'{self.args.count} objects of 10 KB, random; 50 connections',
                  'hit-1m': f'{self.args.large} objects of 1 MB, random; 20 connections', 'mem-10k': 'one object of 10 KB; 50 connections'}
        for case, rounds in results.items():
            rows = {s: {k: statistics.median(r[s][k] for r in rounds) for k in rounds[0][s]} for s in rounds[0]}
            base = rows.get('nginx') or next(iter(rows.values()))
            print(f'\n{case}  ({titles[case]}; memory caches of {self.args.mem} MB; median of {len(rounds)} rounds)')
            print(f'  {"system":14}{"req/s":>10}{"/nginx":>8}{"cpu us/req":>12}{"/nginx":>8}{"p99 ms":>9}{"errors":>8}{"to origin %":>12}{"file KB/req":>12}{"device KB/req":>14}{"RSS MB":>8}')
            for s, r in sorted(rows.items(), key=lambda x: x[1]['cpu_us']):
                print(f'  {s:14}{r["rps"]:10.0f}{r["rps"] / max(base["rps"], 1e-9):8.2f}{r["cpu_us"]:12.2f}{r["cpu_us"] / max(base["cpu_us"], 1e-9):8.2f}{r["p99_ms"]:9.2f}{r["errors"]:8.0f}'
                      f'{r["origin"]:12.2f}{r["read_kb"]:12.1f}{r["device_kb"]:14.2f}{r["rss_mb"]:8.0f}')
        if self.args.json:
            with open(self.args.json, 'w') as f: json.dump(results, f, indent=1)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('--systems', help='comma-separated; default: all that are given or installed')
    ap.add_argument('--loligo'); ap.add_argument('--before')
    ap.add_argument('--cases', default='fill,hit-10k,hit-1m,mem-10k')
    ap.add_argument('--rounds', type=int, default=3); ap.add_argument('--secs', type=int, default=4)
    ap.add_argument('--count', type=int, default=100000, help='objects of 10 KB'); ap.add_argument('--large', type=int, default=1000, help='objects of 1 MB')
    ap.add_argument('--mb', type=int, default=6000, help='disk of each system; all rounds of fill must fit'); ap.add_argument('--mem', type=int, default=32, help='memory cache of each system, MB')
    ap.add_argument('--most', type=int, default=120, help='seconds after which a fill is cut off')
    ap.add_argument('--no-nginx-open-files', dest='nginx_open_files', action='store_false', help='nginx without open_file_cache')
    ap.add_argument('--cores', default='0', help='cores of the system under test'); ap.add_argument('--load-cores', default='1')
    ap.add_argument('--workers', type=int, default=1); ap.add_argument('--json'); ap.add_argument('--keep', action='store_true')
    a = ap.parse_args()
    a.log, a.nuster, a.kangle = False, None, None
    if not a.systems:
        a.systems = ','.join([n for n, e in ALL.items() if os.path.exists(e)] + [n for n in OURS if getattr(a, n)])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit('ended'))   # so that everything started is stopped
    b = DiskBench(a)
    try: b.run()
    finally: b.close()


if __name__ == '__main__':
    main()
