#include "http/blanks.h"

#include "base/text.h"

namespace loligo::http {
namespace {

void append_mended(std::string& out, std::string_view target, BlanksInTarget how) {
  for (char c : target) {
    if (!base::is_ows(c)) out.push_back(c);
    else if (how == BlanksInTarget::chop) return;
    else if (how == BlanksInTarget::encode) out.append(c == ' ' ? "%20" : "%09");
  }
}

}  // namespace

Mended mend_target(std::string_view bytes, BlanksInTarget how) {
  if (how == BlanksInTarget::deny) return {};
  const size_t start = std::min(bytes.find_first_not_of("\r\n"), bytes.size());
  const size_t end = bytes.find_first_of("\r\n", start);
  if (end == bytes.npos || end + 1 == bytes.size()) return {MendedState::incomplete, {}};
  if (bytes.substr(end, 2) != "\r\n") return {};
  const std::string_view line = bytes.substr(start, end - start);
  const size_t method_end = line.find(' '), version = line.rfind(' ');
  if (method_end == line.npos || version == method_end || !line.substr(version + 1).starts_with("HTTP/")) return {};
  const std::string_view target = line.substr(method_end + 1, version - method_end - 1);
  if (target.find_first_of(" \t") == target.npos) return {};
  Mended out{MendedState::mended, {}};
  out.bytes.reserve(bytes.size() + 16);
  out.bytes.append(bytes.substr(0, start + method_end + 1));
  append_mended(out.bytes, target, how);
  out.bytes.append(bytes.substr(start + version));
  return out;
}

}  // namespace loligo::http
