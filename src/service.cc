#include "service.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include <algorithm>
#include <map>

#include "base/event_log.h"
#include "cache_dirs.h"
#include "client/connection.h"
#include "manager_room.h"
#include "snapshot_builder.h"

namespace loligo {

using base::log_event;
using base::Section;

namespace {

// Read once for all workers.
std::shared_ptr<const net::HostsFile> hosts_file(const net::DnsSettings& dns) {
  if (dns.hosts_file.empty() || dns.hosts_file == "none") return net::HostsFile::parse({});
  std::string error;
  auto hosts = net::HostsFile::load(dns.hosts_file, error);
  if (!hosts) log_event(Section::dns, 1, "WARNING: {}", error);
  return hosts ? hosts : net::HostsFile::parse({});
}

store::MemoryLimits memory_limits(const store::Settings& s) {
  store::MemoryLimits limits;
  limits.capacity = s.cache_mem < 0 ? uint64_t(1) << 40 : uint64_t(s.cache_mem);
  limits.max_object = s.maximum_object_size_in_memory < 0 ? limits.capacity : uint64_t(s.maximum_object_size_in_memory);
  limits.policy = std::string(store::policy_name(s.memory_replacement_policy));
  return limits;
}

bool same_cache_dirs(const store::Settings& a, const store::Settings& b) {
  return std::equal(a.cache_dirs.begin(), a.cache_dirs.end(), b.cache_dirs.begin(), b.cache_dirs.end(),
                    [](const store::CacheDir& x, const store::CacheDir& y) { return x.original == y.original; });
}

}  // namespace

// ---- a worker ----------------------------------------------------------------

WorkerThread::WorkerThread(unsigned index, const net::DnsSettings& dns, std::shared_ptr<const net::HostsFile> hosts, cache::Cache& cache,
                           log::Writer& writer, log::LogPlanPtr plan, client::ConnectionCounts& counts)
    : resolver(loop, dns, std::move(hosts)), upstream(loop, resolver, cache), log(writer, std::move(plan)),
      worker(loop, resolver, upstream, cache, log, counts) {
  worker.index = index;
}

WorkerThread::~WorkerThread() {
  if (thread.joinable()) thread.join();
}

void WorkerThread::adopt(std::shared_ptr<const client::Snapshot> snapshot) {
  // A pointer of this worker's own: its reference count is on no other's cache line.
  auto own = std::make_shared<std::shared_ptr<const client::Snapshot>>(snapshot);
  worker.snapshot = std::shared_ptr<const client::Snapshot>(own, own->get());
  ++worker.generation;
  upstream.routing = snapshot->routing;
  upstream.policy = snapshot->policy;
  log.adopt(snapshot->log_plan);
}

// ---- start -------------------------------------------------------------------

struct Service::SignalWatcher final : net::Watcher {
  explicit SignalWatcher(Service& s) : service(s) {}
  void on_event(uint32_t) override { service.signals_->drain([this](Command c) { service.command(c); }); }
  Service& service;
};

Service::Service(const MainOptions& options, Settings settings, std::string path, config::ReadOptions read_options)
    : options_(options), settings_(std::move(settings)), config_path_(std::move(path)), read_options_(std::move(read_options)),
      event_log_(writer_), access_log_(writer_), store_log_(writer_) {
  started_wall_us_ = base::wall_now_microseconds();
}

Service::~Service() {
  if (loader_.joinable()) loader_.join();
  for (auto& w : workers_) w->loop.stop();
  for (auto& w : workers_) if (w->thread.joinable()) w->thread.join();
  manager_.reset();
  workers_.clear();
  writer_.stop();
}

std::vector<std::string> Service::prepare() {
  // Before anything listens: a SIGHUP from somebody who saw the port open must wait, not kill.
  signals_ = std::make_unique<Signals>();
  std::vector<std::string> failures;
  int stderr_level = std::max(options_.debug_level, options_.no_daemon || options_.foreground ? 1 : -1);
  log::EventLogSetting events = settings_.log.event_log;
  std::vector<std::string> complaints;
  if (options_.full_debug) log::parse_debug_options("ALL,9", events, complaints);
  event_log_.apply(events, stderr_level, failures);

  config::Problems problems;
  for (uint16_t port : options_.http_ports) {
    client::Port extra;
    extra.port = port;
    extra.name = fmt::to_string(port);
    settings_.client.ports.push_back(extra);
  }
  snapshot_ = build_snapshot(settings_, peers_, access_log_, problems, failures);
  for (auto& p : problems.list())
    if (p.severity == config::Severity::error || p.severity == config::Severity::restricts) failures.push_back(fmt::format("{}:{}: {}", p.place.file, p.place.line, p.message));
  if (!snapshot_ || !failures.empty()) return failures;
  if (snapshot_->ports.empty()) return {"no http_port or https_port line: there is nothing to listen on"};

  unsigned count = unsigned(std::clamp(settings_.process.workers, 1, kMostWorkers));
  cache_ = std::make_unique<cache::Cache>(memory_limits(settings_.store), count);
  cache_->set_offline(settings_.cache.offline_mode);
  cache_->use_store_log(&store_log_);
  store_log_.adopt(snapshot_->log_plan->store_log, settings_.log.strip_query_terms);
  net::DnsSettings dns = net::dns_settings_of(settings_.net);
  auto hosts = hosts_file(dns);
  for (unsigned i = 0; i < count; ++i) {
    workers_.push_back(std::make_unique<WorkerThread>(i, dns, hosts, *cache_, writer_, snapshot_->log_plan, connection_counts_));
    workers_.back()->adopt(snapshot_);
  }
  started_steady_us_ = workers_[0]->loop.now_us();
  return open_listeners(*snapshot_);
}

std::vector<std::string> Service::open_disk() {
  std::vector<std::string> failures;
  store::DiskOptions options = disk_options(settings_.store);
  options.in_memory = [&memory = cache_->memory()](const store::Key& key) { return memory.has(key); };
  options.observer = cache_->disk_observer();
  auto disk = open_cache_dirs(std::move(options), failures);
  if (failures.empty()) cache_->use_disk(std::move(disk));
  return failures;
}

// Opens what is new, on every worker, before anything is changed: all or nothing.
std::vector<std::string> Service::open_listeners(const client::Snapshot& snapshot) {
  std::vector<std::string> failures;
  std::vector<std::vector<std::unique_ptr<client::Listener>>> fresh(workers_.size());
  auto known = [&](const client::PortContext& port) {
    for (auto& l : workers_[0]->listeners)
      if (l->port().config.port == port.config.port && l->port().config.host == port.config.host) return true;
    return false;
  };
  for (auto& port : snapshot.ports) {
    if (known(*port)) continue;
    for (size_t i = 0; i < workers_.size(); ++i) {
      auto listener = std::make_unique<client::Listener>(workers_[i]->worker, port);
      if (std::string error = listener->open(); !error.empty()) {
        failures.push_back(error);
        break;
      }
      fresh[i].push_back(std::move(listener));
    }
  }
  if (!failures.empty()) return failures;
  for (size_t i = 0; i < workers_.size(); ++i) {
    auto take = [this, i, &snapshot, list = std::make_shared<std::vector<std::unique_ptr<client::Listener>>>(std::move(fresh[i]))]
                (const std::vector<std::shared_ptr<const client::PortContext>>& ports) {
      auto& mine = workers_[i]->listeners;
      for (auto& l : *list) mine.push_back(std::move(l));
      std::erase_if(mine, [&](auto& l) {
        for (auto& port : ports)
          if (port->config.port == l->port().config.port && port->config.host == l->port().config.host) {
            l->adopt(port);
            l->start();
            return false;
          }
        return true;   // no longer configured: closes; its connections go on
      });
    };
    if (workers_[i]->thread.joinable()) workers_[i]->loop.post([take, ports = snapshot.ports] { take(ports); });
    else take(snapshot.ports);
  }
  return {};
}

int Service::run(Readiness& readiness) {
  writer_.start();
  signal_watcher_ = std::make_unique<SignalWatcher>(*this);
  WorkerThread& first = *workers_[0];
  first.loop.add(signals_->fd(), signal_watcher_.get(), EPOLLIN);
  manager_ = std::make_unique<ManagerRoom>(*this);
  for (auto& w : workers_) {
    WorkerThread* worker = w.get();
    auto questions = std::make_shared<ManagerQuestions>(worker->loop);
    worker->worker.manager = [this, questions](client::ManagerRequest request, std::function<void(client::ManagerReply)> done) {
      manager_->ask(std::move(request), questions->add(std::move(done)));
    };
    worker->second.call = [this, worker, questions] {
      questions->tick();
      worker->log.flush();
      worker->worker.end_old_connections();
      sample_gauges(*worker);
      if (worker == workers_[0].get()) every_second();
      worker->loop.arm(worker->second, base::Milliseconds(1000));
    };
    worker->loop.arm(worker->second, base::Milliseconds(1000));
    if (worker != &first) worker->thread = std::thread([worker] { worker->loop.run(); });
  }
  announce();
  readiness.ready();
  first.loop.run();
  for (auto& w : workers_) w->loop.stop();
  for (auto& w : workers_) if (w->thread.joinable()) w->thread.join();
  // Sockets, then logs: what the last transactions say is still written.
  for (auto& w : workers_) {
    w->listeners.clear();
    while (w->worker.connections) w->worker.connections->close_now();
    w->log.flush();
  }
  cache_->use_disk(nullptr);   // writes what waits; its threads post to the loops until then
  store_log_.flush();
  log_event(Section::main, 1, "Loligo: exiting {}", exit_code_ == 0 ? "normally" : "after a fatal error");
  writer_.stop(exit_code_ == 0 ? std::chrono::milliseconds(5000) : std::chrono::milliseconds(500));
  return exit_code_;
}

void Service::announce() const {
  for (auto& l : workers_[0]->listeners)
    log_event(Section::main, 1, "Accepting {} connections at {}", l->port().config.tls ? "HTTPS" : l->port().config.mode == client::Port::Mode::accel ? "accelerated HTTP" : "HTTP",
              l->address().text());
  log_event(Section::main, 1, "Loligo {} ready: {} worker{}, {} MB of memory for objects", package_version(), workers_.size(),
            workers_.size() == 1 ? "" : "s", cache_->memory().totals().capacity >> 20);
}

// What is counted for the whole process, into worker 0's counters: they have one writer, this thread.
void Service::feed_process_counters() {
  base::Counters& counters = workers_[0]->loop.counters();
  auto feed = [](base::Counter& counter, uint64_t now, uint64_t& before) {
    counter.add(now - before);
    before = now;
  };
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  feed(counters.page_faults, uint64_t(usage.ru_majflt), page_faults_);
  feed(counters.log_lines, writer_.counters().lines_written.load(std::memory_order_relaxed), lines_written_);
  feed(counters.log_lines_dropped, writer_.counters().lines_dropped.load(std::memory_order_relaxed), lines_dropped_);
  feed(counters.log_store_lines, writer_.counters().store_lines_written.load(std::memory_order_relaxed), store_lines_written_);
  feed(counters.log_store_lines_dropped, writer_.counters().store_lines_dropped.load(std::memory_order_relaxed), store_lines_dropped_);
}

void Service::every_second() {
  store_log_.flush();
  feed_process_counters();
  if (std::string why = writer_.fatal(); exit_code_ == 0 && !why.empty()) {
    log_event(Section::log, 0, "FATAL: cannot log to {} (access_log ... on-error=drop would go on without)", why);
    exit_code_ = 1;
    stop(true);
  }
  manager_->tick();
  workers_[0]->upstream.probe_dead_peers();
  cache_->keep_records();
  if (stopping_) check_stopped();
}

// ---- signals -----------------------------------------------------------------

void Service::command(Command c) {
  switch (c) {
    case Command::reconfigure: return reconfigure();
    case Command::rotate: return rotate();
    case Command::stop: return stop(stopping_);
    case Command::stop_now: return stop(true);
    case Command::toggle_debug: {
      static bool full = false;
      full = !full;
      log::EventLogSetting events = settings_.log.event_log;
      std::vector<std::string> complaints;
      if (full) log::parse_debug_options("ALL,7", events, complaints);
      event_log_.apply(events, options_.debug_level, complaints);
      return;
    }
  }
}

void Service::rotate() {
  for (auto& w : workers_) w->loop.post([worker = w.get()] { worker->log.flush(); });
  store_log_.flush();
  workers_[0]->loop.defer([this] { writer_.rotate(settings_.log.logfile_rotate); });
  log_event(Section::main, 1, "Rotating log files");
}

// Reads the new configuration on a thread of its own: files and names may take their time.
void Service::reconfigure() {
  if (loading_) {
    again_ = true;
    return;
  }
  loading_ = true;
  log_event(Section::main, 1, "Reconfiguring Loligo ({})", config_path_);
  if (loader_.joinable()) loader_.join();
  loader_ = std::thread([this] {
    config::Problems problems;
    std::vector<std::string> complaints;
    auto settings = std::make_shared<Settings>(load_settings(config_path_, read_options_, problems));
    std::shared_ptr<const client::Snapshot> snapshot;
    check_outside(*settings, problems);
    bool ok = may_start(problems);
    if (ok) snapshot = build_snapshot(*settings, peers_, access_log_, problems, complaints);
    if (!complaints.empty()) snapshot.reset();   // a log that cannot be opened
    for (auto& p : problems.list())
      if (p.severity == config::Severity::error || p.severity == config::Severity::restricts || !ok)
        complaints.push_back(fmt::format("{}:{}:{}: {}", p.place.file, p.place.line, p.place.column, p.message));
    workers_[0]->loop.post([this, settings, snapshot, complaints] { reconfigured(settings, snapshot, complaints); });
  });
}

void Service::reconfigured(std::shared_ptr<Settings> settings, std::shared_ptr<const client::Snapshot> snapshot, std::vector<std::string> complaints) {
  loading_ = false;
  for (auto& line : complaints) log_event(Section::config, 1, "{}", line);
  if (snapshot) {
    auto failures = open_listeners(*snapshot);
    for (auto& line : failures) log_event(Section::config, 0, "{}", line);
    if (!failures.empty()) snapshot.reset();
  }
  if (!snapshot) {
    log_event(Section::config, 0, "ERROR: the new configuration was not taken; the old one goes on");
    return;
  }
  if (!same_cache_dirs(settings->store, settings_.store)) log_event(Section::config, 1, "WARNING: cache_dir changes only with a restart");
  if (settings->process.workers != settings_.process.workers)
    log_event(Section::config, 1, "WARNING: workers changes only with a restart");
  settings_ = *settings;
  snapshot_ = snapshot;
  store_log_.adopt(snapshot_->log_plan->store_log, settings_.log.strip_query_terms);
  std::vector<std::string> failures;
  event_log_.apply(settings_.log.event_log, std::max(options_.debug_level, options_.no_daemon || options_.foreground ? 1 : -1), failures);
  cache_->memory().set_limits(memory_limits(settings_.store));
  cache_->set_offline(settings_.cache.offline_mode);
  net::DnsSettings dns = net::dns_settings_of(settings_.net);
  auto hosts = hosts_file(dns);
  for (auto& w : workers_)
    w->loop.post([worker = w.get(), snapshot, dns, hosts] {
      worker->adopt(snapshot);
      worker->resolver.reconfigure(dns, hosts);
    });
  manager_->settings_changed();
  log_event(Section::main, 1, "Reconfigured");
  if (std::exchange(again_, false)) reconfigure();
}

// Stops accepting, lets what is under way end for shutdown_lifetime, then closes.
void Service::stop(bool now) {
  if (!std::exchange(stopping_, true)) {
    log_event(Section::main, 1, "{}", now ? "Shutting down at once" : "Preparing for shutdown");
    stop_deadline_ms_ = workers_[0]->loop.now_ms() + snapshot_->shutdown_lifetime.count();
    for (auto& w : workers_)
      w->loop.post([worker = w.get()] {
        worker->listeners.clear();
        worker->worker.draining = true;
        client::Connection* next = nullptr;
        for (client::Connection* c = worker->worker.connections; c; c = next) {
          next = c->next();
          c->drain();
        }
      });
  }
  if (now) stop_deadline_ms_ = 0;
  workers_[0]->loop.post([this] { check_stopped(); });
}

void Service::check_stopped() {
  size_t open = 0;
  for (auto& w : workers_) open += w->worker.connection_count;
  if (open > 0 && workers_[0]->loop.now_ms() < stop_deadline_ms_) return;
  for (auto& w : workers_) w->loop.stop();
}

}  // namespace loligo
