// The words of mgr:explain: verdicts, what is stored, the arithmetic of freshness. Private to client/explain*.cc. Pure.
#pragma once
#include <string>
#include <string_view>

#include "cache/inspection.h"
#include "client/settings.h"

namespace loligo::client {

// "Label:          text"; controls, which came from a request or a stored head, as '?'.
void explain_line(std::string& out, std::string_view label, std::string_view text);
// "forward", "accel", with "TLS".
std::string explain_mode(const Port&);
// "denied by squid.conf:12 (deny !Safe_ports)"
std::string explain_verdict(const access::Verdict&);
// One line of a stored variant: where it is, and whether this request selects it.
std::string explain_variant(const cache::Inspected&, bool selected, const http::Head& request, const char* bytes);
// The lines of the selected one: status, validators, Vary, lifetime, age, until when it is fresh, refresh_pattern.
void explain_response(std::string& out, const cache::Inspected&, const cache::Policy&, std::string_view url, base::WallSeconds now);

}  // namespace loligo::client
