// Conditional requests (RFC 9110 section 13) evaluated against a stored response, and validators for our own.
#pragma once
#include <string_view>

#include "base/clock.h"
#include "http/head.h"

namespace loligo::http {

bool weak_match(std::string_view etag_a, std::string_view etag_b);
bool strong_match(std::string_view etag_a, std::string_view etag_b);
// Does a list of entity tags (or "*") contain `etag`? Quoted-string aware.
bool list_matches(std::string_view list, std::string_view etag, bool strong);

enum class ConditionVerdict : uint8_t { proceed, not_modified };
struct StoredValidators { std::string_view etag, last_modified; int status = 200; base::WallSeconds date = 0; };
// If-None-Match, else If-Modified-Since (RFC 9110 13.2.2). For GET and HEAD. If-Match and If-Unmodified-Since are for the origin:
// a cache must not evaluate them (RFC 9111 4.3.2).
ConditionVerdict evaluate(const Head& request, const char* bytes, const StoredValidators&, base::WallSeconds now);
// If-Range: true if the Range applies (strong comparison only; a date only when it equals Last-Modified exactly and is strong: 13.1.5).
bool if_range_holds(const Head& request, const char* bytes, const StoredValidators&, base::WallSeconds now);
// What If-Range may say of this representation, and what parts must have in common to be parts of one: a strong entity tag, or
// without any tag a date that is strong (RFC 9110 13.1.5 and 8.8.2.2). Empty: nothing.
std::string_view strong_validator(const StoredValidators&);

// Is a 304 about this stored response (RFC 9111 4.3.4)? By the entity tag where both have one, weakly; else by Last-Modified,
// which must be a strong validator where the 304 has a strong tag. One without validators is about what was asked for.
bool selects(const Head& not_modified, const char* bytes, const StoredValidators&);
// A 200 to HEAD: does it describe this stored response still (RFC 9111 4.3.5)? Each validator that it has, and Content-Length, must
// be that of what is stored. An unknown length of ours (empty) fits any.
bool describes(const Head& answer, const char* bytes, const StoredValidators&, std::string_view content_length);

}  // namespace loligo::http
