#include "http/surrogate.h"

#include <algorithm>

#include "base/text.h"

namespace loligo::http {
namespace {

struct Orders {
  int64_t max_age = kAbsent, stale = 0;
  bool no_store = false;
};

// "3600", "3600+600"
void read_max_age(std::string_view value, Orders& out) {
  size_t plus = value.find('+');
  out.max_age = std::max<int64_t>(parse_delta_seconds(base::trim_ows(value.substr(0, plus))), 0);
  out.stale = plus == value.npos ? 0 : std::max<int64_t>(parse_delta_seconds(base::trim_ows(value.substr(plus + 1))), 0);
}

void read_order(std::string_view directive, bool remote, Orders& out) {
  size_t equals = directive.find('=');
  std::string_view name = base::trim_ows(directive.substr(0, equals));
  if (base::iequals(name, "no-store") || (remote && base::iequals(name, "no-store-remote"))) out.no_store = true;
  else if (base::iequals(name, "max-age")) read_max_age(equals == directive.npos ? std::string_view() : directive.substr(equals + 1), out);
}

}  // namespace

std::optional<ResponseCacheControl> surrogate_cache_control(const Head& response, const char* bytes, const Surrogate& surrogate) {
  Orders for_all, for_us;
  for_each_value(response, FieldId::surrogate_control, bytes, [&](std::string_view value) {
    for_each_list_member(value, [&](std::string_view member) {
      size_t semicolon = member.rfind(';');
      if (semicolon != member.npos && member.find('"', semicolon) != member.npos) semicolon = member.npos;   // within content="a;b"
      if (semicolon == member.npos) return read_order(member, surrogate.remote, for_all);
      if (base::trim_ows(member.substr(semicolon + 1)) == surrogate.id) read_order(member.substr(0, semicolon), surrogate.remote, for_us);
    });
  });
  const Orders& age = for_us.max_age != kAbsent ? for_us : for_all;
  ResponseCacheControl out;
  // An order to keep it that is ours goes before an order to all not to.
  out.no_store = for_us.no_store || (for_all.no_store && for_us.max_age == kAbsent);
  if (!out.no_store && age.max_age == kAbsent) return std::nullopt;
  out.targeted = true;
  out.max_age = age.max_age;
  out.stale_while_revalidate = age.stale;
  return out;
}

}  // namespace loligo::http
