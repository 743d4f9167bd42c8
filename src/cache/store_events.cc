#include "cache/store_events.h"

#include "cache/stored_form.h"
#include "http/date.h"

namespace loligo::cache {

using Action = log::StoreRecord::Action;

namespace {

std::string_view method_text(http::Method method) {
  static constexpr std::string_view kTexts[] = {"OTHER", "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "PURGE"};
  return kTexts[unsigned(method)];
}

// Views lead into `r`.
log::StoreRecord record_of(Action action, const Response& r, uint64_t length) {
  log::StoreRecord record;
  record.action = action;
  record.time_us = base::wall_now_microseconds();
  record.key_high = r.key.high;
  record.key_low = r.key.low;
  record.status = r.status;
  if (r.has_date) record.date = r.lifetimes.date;
  if (auto t = http::parse_date(r.last_modified, record.time_us / 1'000'000); t && !r.last_modified.empty()) record.last_modified = *t;
  if (r.lifetimes.explicit_lifetime) record.expires = r.lifetimes.date + r.lifetimes.freshness;
  record.content_type = r.content_type;
  if (r.content_length != store::kUnknownLength) record.expected = int64_t(r.content_length);
  record.real = int64_t(length);
  record.method = method_text(r.method);
  record.url = r.url;
  return record;
}

}  // namespace

void StoreEvents::write(Action action, const Response& r) { log_->write(record_of(action, r, r.body->length())); }

void StoreEvents::write(Action action, const Event& e) {
  base::Ref<Response> r = read_stored_head(e.key, e.head);
  log::StoreRecord record;
  if (r) record = record_of(action, *r, e.length);
  record.described = bool(r);
  record.action = action;
  record.time_us = base::wall_now_microseconds();
  record.directory = e.directory;
  record.file = e.segment;
  record.key_high = e.key.high;
  record.key_low = e.key.low;
  log_->write(record);
}

// ---- memory --------------------------------------------------------------------

void StoreEvents::removed(const store::Object& object) {
  auto& r = static_cast<const Response&>(object);
  if (r.disk_id == 0 || r.memory_only.load(std::memory_order_relaxed)) write(Action::release, r);
}

void StoreEvents::passed(const Response& r) {
  if (wants()) write(Action::release, r);
}

void StoreEvents::refused(const Response& r) {
  if (wants()) write(Action::so_fail, r);
}

// ---- the disk ------------------------------------------------------------------

// Whether memory has it still: then it is memory's to report from now on.
bool StoreEvents::left_to_memory(const Event& e) {
  return bool(memory_.peek(e.key, [&](const store::Object& o) {
    auto& r = static_cast<const Response&>(o);
    if (r.disk_id != e.id) return false;
    r.memory_only.store(true, std::memory_order_relaxed);
    return true;
  }));
}

void StoreEvents::stored(const Event& e) { write(Action::swapout, e); }

void StoreEvents::given_up(const Event& e) {
  write(Action::so_fail, e);
  if (!left_to_memory(e)) write(Action::release, e);
}

void StoreEvents::withdrawn(const Event& e) {
  if (!left_to_memory(e)) write(Action::release, e);
}

void StoreEvents::removed(const Event& e) {
  left_to_memory(e);
  write(Action::release, e);
}

}  // namespace loligo::cache
