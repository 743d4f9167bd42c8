// The head of a response as the disk store keeps it: what lookup, freshness and
// replies need after a restart. What follows from the head's own text, or from the
// configuration (the refresh_pattern line), is made anew.
//
//   u8 form (2), u8 flags, u16 number of Vary names
//   i64 response_time, date, initial_age, freshness, stale_while_revalidate, stale_if_error
//   u64 content_length, moment (the newest ban when its request went out; not in form 1)
//   u32 length of url, selecting key, head; their bytes
//   for each Vary name u16 length, bytes
//
// Integers little-endian. The store's checksums guard the bytes; they are still
// read as if anybody could have written them.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/response.h"
#include "store/disk/disk.h"

namespace loligo::cache {

// `length`, if given: of a body that broke off.
std::string stored_form(const Response&, uint64_t length = store::kUnknownLength);

// What a lookup compares.
struct StoredSelection {
  std::string_view url, selecting_key;
  std::vector<std::string> vary_names;
  uint64_t moment = 0;
};
// False: not a form of ours.
bool read_selection(std::string_view form, StoredSelection&);

// Null: not a form of ours. The rule is left to the caller.
base::Ref<Response> read_stored_form(const store::Key&, std::string_view form, base::Ref<store::Body>);

// The same for what is not to be sent: without the body, whatever its length.
base::Ref<Response> read_stored_head(const store::Key&, std::string_view form);

// What tells variants apart on disk: by the names that select, and by what they selected.
store::Variant variant_of(const Response&);

}  // namespace loligo::cache
