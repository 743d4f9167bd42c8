// The access log: from the settings a plan, from the plan a front end for each
// worker, from there blocks of lines to the writer.
//
//   AccessLog log(writer);                                   main
//   auto plan = log.plan(settings.log, failures);            main, at start and at each reconfigure
//   WorkerLog worker_log(writer, plan);                      each worker
//   worker_log.log(record, [&](size_t i) { return rules[i].allows(...); });
//   worker_log.flush();                                      each second
//   worker_log.adopt(new_plan);                              each worker, after a reconfigure
//
// `i` is an index of Settings::access_logs; it is asked only for lines with acls.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "log/settings.h"
#include "log/writer.h"

namespace loligo::log {

// What one configuration says, with its destinations open. Immutable; any thread.
struct LogPlan {
  struct Outlet {
    DestinationPtr destination;
    size_t block_bytes;  // hand over when so many have gathered
  };
  struct Line {
    size_t index;          // in Settings::access_logs
    bool conditional;
    bool ends;             // "none": no line after it writes
    size_t outlet;         // not for "none"
    Format format;
  };
  std::vector<Outlet> outlets;
  std::vector<Line> lines;
  RenderOptions options;
  DestinationPtr store_log;   // cache_store_log; null = none
};
using LogPlanPtr = std::shared_ptr<const LogPlan>;

// Owner: main; main's thread.
class AccessLog {
 public:
  explicit AccessLog(Writer& writer) : writer_(writer) {}
  // Destinations that are open already stay open. `failures` gets a line for each place that cannot be opened now (it is
  // tried again later; at start that is a reason to give up).
  LogPlanPtr plan(const Settings&, std::vector<std::string>& failures);

 private:
  Writer& writer_;
};

// Owner: a worker; its thread only.
class WorkerLog {
 public:
  WorkerLog(Writer&, LogPlanPtr);
  ~WorkerLog() { flush(); }
  WorkerLog(const WorkerLog&) = delete;
  WorkerLog& operator=(const WorkerLog&) = delete;

  // Writes every line whose acls match into its block. Neither blocks nor, once warm, allocates.
  template <class Predicate>
  void log(const Record& record, Predicate&& applies) {
    for (Line& line : lines_) {
      if (line.conditional && !applies(line.index)) continue;
      if (line.ends) return;
      write(line, record);
    }
  }
  bool logs_anything() const { return !lines_.empty(); }
  // Hands what has gathered to the writer.
  void flush();
  // Goes over to another plan; what has gathered is handed over first.
  void adopt(LogPlanPtr);

 private:
  using Line = LogPlan::Line;
  struct Outlet {
    DestinationPtr destination;
    size_t block_bytes;
    Block block;
  };
  void write(Line&, const Record&);

  Writer& writer_;
  std::vector<Outlet> outlets_;
  std::vector<Line> lines_;  // copies: a format keeps its cache of dates
  RenderOptions options_;
};

}  // namespace loligo::log
