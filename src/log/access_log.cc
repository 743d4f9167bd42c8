#include "log/access_log.h"

#include <algorithm>

namespace loligo::log {
namespace {

// The outlet of this destination, made when it is not there yet; of several wishes the smallest block counts.
size_t outlet_for(LogPlan& plan, const DestinationPtr& destination, size_t block_bytes) {
  for (size_t i = 0; i < plan.outlets.size(); ++i)
    if (plan.outlets[i].destination == destination) {
      plan.outlets[i].block_bytes = std::min(plan.outlets[i].block_bytes, block_bytes);
      return i;
    }
  plan.outlets.push_back({destination, block_bytes});
  return plan.outlets.size() - 1;
}

// What the lines for one place ask for; of several wishes the strictest counts.
OnError on_error(const Settings& settings, const Target& target) {
  using Wish = AccessLogSetting::OnError;
  bool all_drop = true;
  for (const AccessLogSetting& log : settings.access_logs) {
    if (log.target.place != target.place) continue;
    if (log.on_error == Wish::die) return OnError::end;
    all_drop = all_drop && log.on_error == Wish::drop;
  }
  return all_drop ? OnError::go_on : OnError::end_for_file;
}

}  // namespace

LogPlanPtr AccessLog::plan(const Settings& settings, std::vector<std::string>& failures) {
  auto plan = std::make_shared<LogPlan>();
  plan->options = settings.render_options();
  if (settings.store_log.kind != Target::Kind::none) {
    std::string why;
    plan->store_log = writer_.open(settings.store_log, {.sink = {.pack_datagrams = settings.buffered_logs}, .counts = DestinationOptions::Counts::store}, why);
    if (!why.empty()) failures.push_back("cannot open store log " + why);
  }
  for (size_t i = 0; i < settings.access_logs.size(); ++i) {
    const AccessLogSetting& setting = settings.access_logs[i];
    LogPlan::Line line{.index = i, .conditional = setting.conditional(), .ends = setting.target.kind == Target::Kind::none,
                       .outlet = 0, .format = setting.format};
    if (!line.ends) {
      DestinationOptions options{.sink = {.pack_datagrams = settings.buffered_logs}, .rotate = setting.rotate};
      options.on_error = on_error(settings, setting.target);
      std::string why;
      DestinationPtr destination = writer_.open(setting.target, options, why);
      if (!why.empty()) failures.push_back("cannot open access log " + why);
      line.outlet = outlet_for(*plan, destination, setting.buffer_bytes);
    }
    plan->lines.push_back(std::move(line));
  }
  return plan;
}

WorkerLog::WorkerLog(Writer& writer, LogPlanPtr plan) : writer_(writer) { adopt(std::move(plan)); }

void WorkerLog::write(Line& line, const Record& record) {
  Outlet& outlet = outlets_[line.outlet];
  line.format.render(record, options_, outlet.block.bytes);
  outlet.block.bytes.push('\n');
  ++outlet.block.lines;
  if (outlet.block.bytes.size() >= outlet.block_bytes) writer_.submit(outlet.destination, outlet.block);
}

void WorkerLog::flush() {
  for (Outlet& outlet : outlets_) writer_.submit(outlet.destination, outlet.block);
}

void WorkerLog::adopt(LogPlanPtr plan) {
  flush();
  outlets_.clear();
  for (const LogPlan::Outlet& outlet : plan->outlets) outlets_.push_back({outlet.destination, outlet.block_bytes, Block()});
  lines_ = plan->lines;
  options_ = plan->options;
}

}  // namespace loligo::log
