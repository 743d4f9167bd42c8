// The query of mgr:explain: url=...&method=...&header=Name:%20value&client=...&port=...
//
//   url      once; what the request line would have: an absolute URL, or a path on an accelerator's port
//   method   GET where it is not said
//   header   a field of the request, as often as there are fields
//   client   an address, for the access rules; that of the asker where it is not said
//   port     the number of a listening port; a fitting one where it is not said
//
// Percent-encoded ('+' is a plus). Pure.
#pragma once
#include <string>
#include <string_view>

#include "client/explain.h"

namespace loligo::mgr {

inline constexpr size_t kMaxExplainQuery = 16 << 10, kMaxExplainHeaders = 64;

// Empty: it was understood. Else what is wrong with it.
std::string read_explain_query(std::string_view query, client::ExplainQuestion&);

}  // namespace loligo::mgr
