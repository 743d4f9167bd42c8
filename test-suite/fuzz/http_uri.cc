// sources: src/http/*.cc
// Canonical forms are stable: what canonical() writes, parse_absolute() reads, and once more gives the same text.
#include <string>

#include "http/scan.h"
#include "http/uri.h"
#include "test-suite/fuzz/check.h"

using namespace loligo::http;

namespace {

std::string canonical_text(const Uri& uri) {
  std::string out;
  canonical(uri.scheme, uri.authority.host, uri.authority.ipv6_literal, uri.authority.port, uri.path_query, out);
  return out;
}

void check_canonical(std::string_view text) {
  std::optional<Uri> uri = parse_absolute(text);
  FUZZ_CHECK(uri.has_value());
  FUZZ_CHECK(uri->userinfo.empty() && uri->path_query.front() == '/');
  FUZZ_CHECK(canonical_text(*uri) == text);
  FUZZ_CHECK(same_origin(text, text));
  FUZZ_CHECK(is_all(text, kTarget));
}

void check_authority(std::string_view text) {
  std::optional<Authority> a = parse_authority(text);
  if (!a) return;
  FUZZ_CHECK(!a->host.empty() && a->host.size() <= 255);
  for (char c : a->host) FUZZ_CHECK(is_class(c, kRegName) || (a->ipv6_literal && c == ':'));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string input(reinterpret_cast<const char*>(data), size);
  check_authority(input);
  std::string base = "http://a/b/c/d;p?q";
  if (std::optional<Uri> uri = parse_absolute(input)) {
    base = canonical_text(*uri);
    check_canonical(base);
  }
  // The part after a blank is a reference against the first, or against the usual base.
  size_t blank = input.find(' ');
  std::string_view reference = std::string_view(input).substr(blank == input.npos ? 0 : blank + 1);
  if (std::optional<Uri> uri = parse_absolute(std::string_view(input).substr(0, blank))) base = canonical_text(*uri);
  if (std::optional<std::string> resolved = resolve_reference(base, reference)) {
    check_canonical(*resolved);
    std::optional<std::string> again = resolve_reference(base, *resolved);
    FUZZ_CHECK(again && *again == *resolved);
  }
  std::optional<std::string> decoded = percent_decode(input);
  FUZZ_CHECK(!decoded || decoded->size() <= input.size());
  FUZZ_CHECK(decoded || input.find('%') != input.npos);
  return 0;
}
