// Which fields stay on this hop. See RFC 9110 section 7.6.1.
#include "http/hop_by_hop.h"

#include "base/text.h"
#include "http/cache_control.h"

namespace loligo::http {
namespace {

using FieldSet = std::array<bool, size_t(FieldId::count_)>;

template <size_t N> constexpr FieldSet field_set(const FieldId (&ids)[N]) {
  FieldSet out{};
  for (FieldId id : ids) out[size_t(id)] = true;
  return out;
}

constexpr FieldId kHopByHop[] = {
    FieldId::connection, FieldId::proxy_connection, FieldId::keep_alive, FieldId::te, FieldId::trailer,
    FieldId::transfer_encoding, FieldId::upgrade, FieldId::proxy_authenticate, FieldId::proxy_authorization,
    FieldId::proxy_authentication_info, FieldId::http2_settings,
};
constexpr FieldSet kIsHopByHop = field_set(kHopByHop);

// Framing, routing, caching and content fields are for every recipient: to remove one would change the message.
constexpr FieldId kEndToEnd[] = {
    FieldId::host, FieldId::content_length, FieldId::content_type, FieldId::content_encoding, FieldId::content_language,
    FieldId::content_location, FieldId::content_range, FieldId::cache_control, FieldId::pragma, FieldId::expires, FieldId::date,
    FieldId::age, FieldId::vary, FieldId::etag, FieldId::last_modified, FieldId::location, FieldId::set_cookie, FieldId::via,
    FieldId::max_forwards, FieldId::range, FieldId::if_range, FieldId::if_match, FieldId::if_none_match,
    FieldId::if_modified_since, FieldId::if_unmodified_since, FieldId::authorization, FieldId::www_authenticate,
    FieldId::cdn_cache_control, FieldId::surrogate_control,
};
constexpr FieldSet kIsEndToEnd = field_set(kEndToEnd);

}  // namespace

bool is_hop_by_hop(FieldId id) { return kIsHopByHop[size_t(id)]; }

ConnectionOptions::ConnectionOptions(const Head& head, const char* bytes) {
  auto add = [this](std::string_view option) {
    if (base::iequals(option, "close")) close_ = true;
    else if (base::iequals(option, "keep-alive")) keep_alive_ = true;
    else if (base::iequals(option, "upgrade")) upgrade_ = true;
    else if (names_.size() < kMaxNominated) names_.push_back(option);
    else all_unknown_ = true;
  };
  for (FieldId id : {FieldId::connection, FieldId::proxy_connection})
    for_each_value(head, id, bytes, [&](std::string_view value) { for_each_list_member(value, add); });
}

bool ConnectionOptions::nominated(const Field& field, const char* bytes) const {
  if (names_.empty() || kIsEndToEnd[size_t(field.id)]) return false;
  if (all_unknown_) return true;
  for (std::string_view name : names_)
    if (base::iequals(name, field.name.in(bytes))) return true;
  return false;
}

}  // namespace loligo::http
