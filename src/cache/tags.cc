#include "cache/tags.h"

#include <xxhash.h>

#include <algorithm>

#include "base/text.h"

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

Tags tags_of(const http::Head& head, const char* bytes) {
  Tags tags;
  const std::vector<std::string_view> names = tag_names(head, bytes);
  if (names.empty()) return tags;
  std::vector<uint64_t> all;
  for (std::string_view name : names) all.push_back(tag_hash(name));
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  tags.too_many = all.size() > Tags::kMost;
  if (!tags.too_many) tags.hashes.assign(all.begin(), all.end());
  return tags;
}

}  // namespace loligo::cache
