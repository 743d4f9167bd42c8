#include "http/cache_groups.h"

#include "http/structured_field.h"

namespace loligo::http {

static std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) out += text[i] == '\\' ? text[++i] : text[i];
  return out;
}

std::vector<std::string> cache_groups(const Head& head, const char* bytes, FieldId field) {
  std::vector<std::string> groups;
  bool good = true;
  for_each_value(head, field, bytes, [&](std::string_view line) {
    StructuredReader reader(line);
    while (good && !reader.at_end()) {
      StructuredItem item = reader.member();
      reader.separator();
      good = reader.good() && item.kind == StructuredItem::Kind::string && groups.size() < kMostGroups && item.text.size() <= kLongestGroup;
      if (good) groups.push_back(unescaped(item.text));
    }
    good = good && reader.good();
  });
  if (!good) groups.clear();
  return groups;
}

}  // namespace loligo::http
