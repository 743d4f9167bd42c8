#include "cache/response.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

#include "http/hop_by_hop.h"

namespace loligo::cache {

using http::FieldId;

uint64_t Response::head_memory() const {
  uint64_t n = sizeof(Response) - sizeof(store::Object) + url.capacity() + head.capacity() + first_only.capacity() +
               selecting_key.capacity();
  n += tags.hashes.capacity() * sizeof(uint64_t);
  for (auto& v : vary_names) n += v.capacity() + sizeof(std::string);
  return n;
}

http::Lifetimes Response::current_lifetimes() const {
  http::Lifetimes l = lifetimes;
  if (int64_t since = stale_since.load(std::memory_order_relaxed)) l.freshness = std::min(l.freshness, http::current_age(l, since));
  return l;
}

namespace {

void append_line(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ").append(value).append("\r\n");
}

bool dropped(FieldId id) {
  return http::is_hop_by_hop(id) || id == FieldId::content_length || id == FieldId::proxy_authenticate ||
         id == FieldId::proxy_authentication_info;
}

// What these say concerns the stored bytes or their use, and holds for every client.
bool describes_what_is_stored(FieldId id) {
  switch (id) {
    case FieldId::cache_control: case FieldId::cdn_cache_control: case FieldId::surrogate_control: case FieldId::date: case FieldId::expires:
    case FieldId::vary: case FieldId::content_encoding: case FieldId::content_range:
      return true;
    default: return false;
  }
}

bool names(const std::vector<std::string_view>* list, std::string_view name) {
  return list && std::any_of(list->begin(), list->end(), [name](std::string_view n) { return base::iequals(n, name); });
}

}  // namespace

Apart::Apart(const http::ResponseCacheControl& control, const http::RefreshRule& rule, bool keeps_cookies) : keeps_cookies_(keeps_cookies) {
  if (!control.no_cache_fields.empty()) no_cache_ = &control.no_cache_fields;
  if (!control.private_fields.empty() && !rule.ignore_private) private_ = &control.private_fields;
}

bool Apart::operator()(FieldId id, std::string_view name) const {
  if (id == FieldId::set_cookie && !keeps_cookies_) return true;
  if (!no_cache_ && !private_) return false;
  return !describes_what_is_stored(id) && (names(no_cache_, name) || names(private_, name));
}

void write_stored_head(const http::Head& head, const char* bytes, uint64_t length, const Apart& apart, std::string& stored, std::string& first_only) {
  http::ConnectionOptions options(head, bytes);
  stored.reserve(head.size() + 64);
  const int status = head.status();
  const char digits[] = {char('0' + status / 100), char('0' + status / 10 % 10), char('0' + status % 10), ' '};
  stored.assign("HTTP/1.1 ").append(digits, sizeof digits).append(head.reason().in(bytes)).append("\r\n");
  for (const http::Field& field : head) {
    if (dropped(field.id) || options.nominated(field, bytes)) continue;
    const std::string_view name = field.name.in(bytes);
    // Age is made anew for each.
    append_line(field.id == FieldId::age || apart(field.id, name) ? first_only : stored, name, field.value.in(bytes));
  }
  if (length != store::kUnknownLength) append_line(stored, "Content-Length", fmt::to_string(length));
}

std::string freshened_head(const std::string& stored, const http::Head& update, const char* bytes, const Apart& apart) {
  http::ConnectionOptions options(update, bytes);
  auto updates = [&](const http::Field& f) {
    switch (f.id) {
      case FieldId::content_length: case FieldId::content_encoding: case FieldId::content_range: case FieldId::transfer_encoding:
      case FieldId::age:
        return false;
      default:
        return !dropped(f.id) && !options.nominated(f, bytes) && !apart(f.id, f.name.in(bytes));
    }
  };
  http::Head old;
  std::string text = stored + "\r\n";
  if (old.parse_response(text.data(), text.size(), {uint32_t(text.size()) + 1, http::kMaxFields}) != http::ParseState::complete) return stored;
  auto replaced = [&](const http::Field& f) {
    for (const http::Field& u : update)
      if (u.id == f.id && (f.id != FieldId::other || base::iequals(u.name.in(bytes), f.name.in(text.data()))) && updates(u)) return true;
    return false;
  };
  std::string head = text.substr(0, text.find("\r\n") + 2);
  // A message without Date has that of its arrival (RFC 9110 section 6.6.1), which ours has then too.
  bool dated = update.has(FieldId::date);
  for (const http::Field& f : old)
    if ((dated || f.id != FieldId::date) && !replaced(f) && !apart(f.id, f.name.in(text.data()))) append_line(head, f.name.in(text.data()), f.value.in(text.data()));
  for (const http::Field& u : update)
    if (updates(u)) append_line(head, u.name.in(bytes), u.value.in(bytes));
  return head;
}

void index_head(Response& response) {
  http::Head head;
  std::string text = response.head + "\r\n";
  if (head.parse_response(text.data(), text.size(), {uint32_t(text.size()) + 1, http::kMaxFields}) != http::ParseState::complete) return;
  auto view = [&](FieldId id) -> std::string_view {
    if (!head.has(id)) return {};
    std::string_view v = head.value(id, text.data());
    return std::string_view(response.head).substr(size_t(v.data() - text.data()), v.size());
  };
  response.status = head.status();
  response.etag = view(FieldId::etag);
  response.last_modified = view(FieldId::last_modified);
  response.content_type = view(FieldId::content_type);
  response.date_text = view(FieldId::date);
  response.has_date = head.has(FieldId::date);
  response.tags = tags_of(head, text.data(), response.url);
  response.has_surrogate_control = head.has(FieldId::surrogate_control);
}

}  // namespace loligo::cache
