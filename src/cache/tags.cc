#include "cache/tags.h"

#include <xxhash.h>

#include <algorithm>

#include "base/text.h"
#include "http/cache_groups.h"
#include "http/uri.h"

namespace loligo::cache {
namespace {

struct TagField { std::string_view name, separators; };
constexpr TagField kTagFields[] = {{"Surrogate-Key", " \t"}, {"xkey", " \t,"}, {"Cache-Tag", ","}};

// Most heads have none of them, and are not compared byte by byte.
const TagField* tag_field(std::string_view name) {
  for (const TagField& f : kTagFields)
    if (base::iequals(f.name, name)) return &f;
  return nullptr;
}

void split(std::string_view value, std::string_view separators, std::vector<std::string_view>& out) {
  while (!value.empty()) {
    const size_t end = std::min(value.find_first_of(separators), value.size());
    if (std::string_view tag = base::trim_ows(value.substr(0, end)); !tag.empty()) out.push_back(tag);
    value.remove_prefix(std::min(end + 1, value.size()));
  }
}

}  // namespace

uint64_t tag_hash(std::string_view tag) { return XXH3_64bits(tag.data(), tag.size()); }

std::vector<std::string_view> tag_names(const http::Head& head, const char* bytes) {
  std::vector<std::string_view> names;
  for (const http::Field& f : head)
    if (const TagField* field = tag_field(f.name.in(bytes))) split(f.value.in(bytes), field->separators, names);
  return names;
}

std::string group_tag(std::string_view url, std::string_view group) {
  std::string tag(http::origin_of(url));
  return tag.append("\x01").append(group);
}

Tags tags_of(const http::Head& head, const char* bytes, std::string_view url) {
  Tags tags;
  std::vector<uint64_t> all;
  for (std::string_view name : tag_names(head, bytes)) all.push_back(tag_hash(name));
  if (head.has(http::FieldId::cache_groups))
    for (const std::string& group : http::cache_groups(head, bytes, http::FieldId::cache_groups)) all.push_back(tag_hash(group_tag(url, group)));
  if (all.empty()) return tags;
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  tags.too_many = all.size() > Tags::kMost;
  if (!tags.too_many) tags.hashes.assign(all.begin(), all.end());
  return tags;
}

}  // namespace loligo::cache
