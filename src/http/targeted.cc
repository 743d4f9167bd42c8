// A member that is given again replaces the one before (RFC 9651 section 3.2).
#include "http/targeted.h"

#include <algorithm>

#include "base/text.h"
#include "http/cache_control_rows.h"
#include "http/scan.h"
#include "http/structured_field.h"

namespace loligo::http {
namespace {

using Item = StructuredItem;
using Kind = StructuredItem::Kind;

// no-cache and private: true, or the names of fields. False: of no type that they may have.
bool whole_or_fields(const Item& item, bool& whole, std::vector<std::string_view>& fields) {
  fields.clear();
  whole = item.kind == Kind::boolean && item.number;
  if (item.kind == Kind::boolean) return true;
  if (item.kind != Kind::string) return false;
  bool good = true;
  for_each_list_member(item.text, [&](std::string_view name) {
    good = good && is_token(name) && fields.size() < 64;
    if (good) fields.push_back(name);
  });
  whole = !good || fields.empty();
  return true;
}

// False: a value of the wrong type.
bool apply(std::string_view key, const Item& item, ResponseCacheControl& out) {
  for (const ResponseSeconds& row : kResponseSeconds) {
    if (row.name != key) continue;
    out.*row.member = std::max<int64_t>(item.number, 0);
    return item.kind == Kind::integer;
  }
  for (const ResponseFlag& row : kResponseFlags) {
    if (row.name != key) continue;
    out.*row.member = item.number;
    return item.kind == Kind::boolean;
  }
  if (key == "no-cache") return whole_or_fields(item, out.no_cache, out.no_cache_fields);
  if (key == "private") return whole_or_fields(item, out.private_, out.private_fields);
  return true;
}

}  // namespace

std::optional<ResponseCacheControl> targeted_cache_control(const Head& response, const char* bytes) {
  ResponseCacheControl out;
  out.targeted = true;
  bool good = true, empty = true;
  for_each_value(response, FieldId::cdn_cache_control, bytes, [&](std::string_view line) {
    StructuredReader reader(line);
    while (good && !reader.at_end()) {
      std::string_view key = reader.key();
      Item item = reader.value();
      reader.separator();
      empty = false;
      good = reader.good() && apply(key, item, out);
    }
  });
  if (!good || empty) return std::nullopt;
  return out;
}

}  // namespace loligo::http
