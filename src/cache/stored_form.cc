#include "cache/stored_form.h"

#include <xxhash.h>

#include <bit>
#include <cstring>

namespace loligo::cache {
namespace {

static_assert(std::endian::native == std::endian::little, "forms are written as they lie in memory");

constexpr uint8_t kForm = 2, kFormWithoutMoment = 1;   // the latter: older than any ban
enum Flag : uint8_t { by_http10 = 1, negative = 2, explicit_lifetime = 4, heuristic = 8, must_revalidate = 16, no_cache = 32 };

template <class T> void put(std::string& out, T value) { out.append(reinterpret_cast<const char*>(&value), sizeof value); }

// Takes values from the front; once it lacks bytes, everything it gives is empty and `ok` is false.
struct Taker {
  std::string_view left;
  bool ok = true;

  template <class T> T number() {
    T value{};
    std::string_view b = bytes(sizeof value);
    if (b.size() == sizeof value) std::memcpy(&value, b.data(), sizeof value);
    return value;
  }
  std::string_view bytes(size_t n) {
    if (n > left.size()) {
      ok = false;
      left = {};
      return {};
    }
    std::string_view b = left.substr(0, n);
    left.remove_prefix(n);
    return b;
  }
};

struct Form {
  uint8_t flags = 0;
  http::Lifetimes lifetimes;
  uint64_t content_length = 0, moment = 0;
  std::string_view head;
  StoredSelection selection;
};

bool read(std::string_view form, Form& f) {
  Taker t{form};
  const uint8_t form_number = t.number<uint8_t>();
  if (form_number != kForm && form_number != kFormWithoutMoment) return false;
  f.flags = t.number<uint8_t>();
  unsigned names = t.number<uint16_t>();
  f.lifetimes.response_time = t.number<int64_t>();
  f.lifetimes.date = t.number<int64_t>();
  f.lifetimes.initial_age = t.number<int64_t>();
  f.lifetimes.freshness = t.number<int64_t>();
  f.lifetimes.stale_while_revalidate = t.number<int64_t>();
  f.lifetimes.stale_if_error = t.number<int64_t>();
  f.lifetimes.explicit_lifetime = f.flags & explicit_lifetime;
  f.lifetimes.heuristic = f.flags & heuristic;
  f.lifetimes.must_revalidate = f.flags & must_revalidate;
  f.lifetimes.no_cache = f.flags & no_cache;
  f.content_length = t.number<uint64_t>();
  if (form_number == kForm) f.moment = t.number<uint64_t>();
  size_t url = t.number<uint32_t>(), selecting = t.number<uint32_t>(), head = t.number<uint32_t>();
  f.selection.url = t.bytes(url);
  f.selection.selecting_key = t.bytes(selecting);
  f.head = t.bytes(head);
  for (unsigned i = 0; i < names && t.ok; ++i) f.selection.vary_names.emplace_back(t.bytes(t.number<uint16_t>()));
  return t.ok && t.left.empty();
}

}  // namespace

std::string stored_form(const Response& r, uint64_t length) {
  const http::Lifetimes& l = r.lifetimes;
  std::string out;
  out.reserve(80 + r.url.size() + r.selecting_key.size() + r.head.size());
  put(out, kForm);
  put(out, uint8_t((r.by_http10 ? by_http10 : 0) | (r.negative ? negative : 0) | (l.explicit_lifetime ? explicit_lifetime : 0) |
                   (l.heuristic ? heuristic : 0) | (l.must_revalidate ? must_revalidate : 0) | (l.no_cache ? no_cache : 0)));
  put(out, uint16_t(r.vary_names.size()));
  for (int64_t n : {l.response_time, l.date, l.initial_age, l.freshness, l.stale_while_revalidate, l.stale_if_error}) put(out, n);
  put(out, length == store::kUnknownLength ? r.content_length : length);
  put(out, r.moment);
  for (size_t n : {r.url.size(), r.selecting_key.size(), r.head.size()}) put(out, uint32_t(n));
  out.append(r.url).append(r.selecting_key).append(r.head);
  for (const std::string& name : r.vary_names) {
    put(out, uint16_t(name.size()));
    out.append(name);
  }
  return out;
}

bool read_selection(std::string_view form, StoredSelection& selection) {
  Form f;
  if (!read(form, f)) return false;
  selection = std::move(f.selection);
  selection.moment = f.moment;
  return true;
}

static base::Ref<Response> response_of(const store::Key& key, Form& f, base::Ref<store::Body> body) {
  auto r = base::make_ref<Response>(key, std::move(body));
  r->url = f.selection.url;
  r->head = f.head;
  index_head(*r);
  if (r->status == 0) return {};
  r->by_http10 = f.flags & by_http10;
  r->negative = f.flags & negative;
  r->lifetimes = f.lifetimes;
  r->content_length = f.content_length;
  r->set_moment(f.moment);
  r->vary_names = std::move(f.selection.vary_names);
  r->selecting_key = f.selection.selecting_key;
  r->stored = true;
  return r;
}

base::Ref<Response> read_stored_form(const store::Key& key, std::string_view form, base::Ref<store::Body> body) {
  Form f;
  // A body of another length than the head promises would be a wrong body.
  if (!read(form, f) || f.head.size() < 14 || (f.content_length != store::kUnknownLength && f.content_length != body->length())) return {};
  return response_of(key, f, std::move(body));
}

base::Ref<Response> read_stored_head(const store::Key& key, std::string_view form) {
  Form f;
  if (!read(form, f) || f.head.size() < 14) return {};
  return response_of(key, f, base::make_ref<store::Body>(0, false, 0));
}

store::Variant variant_of(const Response& r) {
  if (r.vary_names.empty()) return {};
  std::string names;
  for (const std::string& name : r.vary_names) names.append(name).push_back('\n');
  // Never 0, which is an object without variants.
  auto fold = [](std::string_view s) { return uint16_t(XXH3_64bits(s.data(), s.size()) | 1); };
  return {fold(names), uint16_t(XXH3_64bits(r.selecting_key.data(), r.selecting_key.size()))};
}

}  // namespace loligo::cache
