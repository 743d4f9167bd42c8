#include "log/event_log.h"

#include <ctime>

#include "base/clock.h"
#include "log/encode.h"

namespace loligo::log {
namespace {

// Which EventLog the sink serves. base::EventSink is a plain function, so the pointer has to be static; the lock lets an
// event on another thread end before its log goes.
std::mutex active_lock;
EventLog* active = nullptr;

constexpr size_t kMaxEventBytes = 16 * 1024;

std::string date_of(int64_t second) {
  std::time_t time = second;
  std::tm parts{};
  localtime_r(&time, &parts);
  char text[32];
  return std::string(text, std::strftime(text, sizeof text, "%Y/%m/%d %H:%M:%S", &parts));
}

}  // namespace

EventLog::EventLog(Writer& writer) : writer_(writer) {
  std::string why;
  Target target;
  target.place = target.path = "/dev/stderr";
  standard_error_ = writer_.open(target, {.counts = DestinationOptions::Counts::nothing}, why);
  std::lock_guard lock(active_lock);
  active = this;
}

EventLog::~EventLog() {
  base::event_log_state().sink.store(nullptr, std::memory_order_release);
  std::lock_guard lock(active_lock);
  if (active == this) active = nullptr;
}

bool EventLog::apply(const EventLogSetting& setting, int stderr_level, std::vector<std::string>& failures) {
  DestinationPtr file;
  std::string why;
  if (!setting.path.empty()) {
    Target target;
    target.place = target.path = setting.path;
    file = writer_.open(target, {.rotate = setting.rotate, .counts = DestinationOptions::Counts::nothing}, why);
  }
  if (!why.empty()) failures.push_back("cannot open cache_log " + why);
  for (unsigned i = 0; i < base::kSections; ++i)
    base::event_log_state().level[i].store(setting.levels[i], std::memory_order_relaxed);
  {
    std::lock_guard lock(active_lock);
    file_ = file;
    stderr_level_ = why.empty() ? stderr_level : std::max(stderr_level, 1);
  }
  base::event_log_state().sink.store(&EventLog::sink, std::memory_order_release);
  return why.empty();
}

void EventLog::sink(base::Section section, int level, std::string_view line) {
  std::lock_guard lock(active_lock);
  if (active) active->write(section, level, line);
}

// Under active_lock. Events quote what the network sent: no control character reaches the log or a terminal.
void EventLog::write(base::Section section, int level, std::string_view text) {
  int64_t now_us = base::wall_now_microseconds(), second = now_us / 1'000'000;
  if (second != second_) date_ = date_of(second), second_ = second;
  line_ = date_;
  if (level > 1) {
    char digits[24];
    line_ += '.';
    line_.append(digits, write_padded(uint64_t(now_us % 1'000'000) / 1000, 3, digits));
    line_.append("| ").append(std::to_string(unsigned(section))).append(",").append(std::to_string(level));
  }
  line_ += "| ";
  text = text.substr(0, kMaxEventBytes);
  size_t length = line_.size();
  line_.resize(length + kGrowth * text.size() + kExtra);
  line_.resize(size_t(encode(Encoding::event, text, line_.data() + length) - line_.data()));
  if (file_) writer_.append(file_, line_);
  bool same = file_ && (file_->target().path == "/dev/stderr");
  if (level <= stderr_level_ && !same) writer_.append(standard_error_, line_);
}

}  // namespace loligo::log
