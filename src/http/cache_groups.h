// Cache-Groups and Cache-Group-Invalidation (RFC 9875): lists of strings by which an
// origin says what belongs together, and, in the answer to an unsafe request, which
// of these groups changed.
//
// Pure code; any thread. Bounded: kMostGroups names of kLongestGroup bytes; what is more is an error, and the field none.
#pragma once
#include <string>
#include <vector>

#include "http/head.h"

namespace loligo::http {

inline constexpr size_t kMostGroups = 128, kLongestGroup = 1024;

// The groups that the field's lines name, unescaped, in order; none where one line has an error or another type in it.
std::vector<std::string> cache_groups(const Head&, const char* bytes, FieldId);

}  // namespace loligo::http
