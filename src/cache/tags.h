// Tags that an origin gives its responses, so that what belongs together can be
// purged together: Surrogate-Key (separated by blanks), xkey (by blanks or
// commas), Cache-Tag (by commas). All name the same set; case counts. A group of
// RFC 9875 (Cache-Groups) is a tag of its origin's own.
//
// A tag is kept as its hash: two that collide cost a fetch, never a wrong page.
// Pure functions, any thread.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "http/head.h"

namespace loligo::cache {

struct Tags {
  static constexpr size_t kMost = 128;
  std::vector<uint64_t> hashes;   // sorted
  bool too_many = false;          // more than are kept: then any purge by tag takes the object
};

uint64_t tag_hash(std::string_view tag);
// The tags that the fields of a head name, in order.
std::vector<std::string_view> tag_names(const http::Head&, const char* bytes);
Tags tags_of(const http::Head&, const char* bytes, std::string_view url);
// The tag that stands for a group of the origin of a URL: no field above can name it.
std::string group_tag(std::string_view url, std::string_view group);

}  // namespace loligo::cache
