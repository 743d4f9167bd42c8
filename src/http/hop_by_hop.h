// Fields that end at this hop (RFC 9110 section 7.6.1).
#pragma once
#include <array>
#include <string_view>
#include <vector>

#include "http/head.h"

namespace loligo::http {

// Connection, Proxy-Connection, Keep-Alive, TE, Trailer, Transfer-Encoding, Upgrade, Proxy-Authenticate(1), Proxy-Authorization(1),
// Proxy-Authentication-Info(1), HTTP2-Settings. (1) ends here for requests we answer ourselves; the caller decides.
bool is_hop_by_hop(FieldId);

// The fields that Connection names, gathered once per message; nominated(field) is then cheap when there are none.
class ConnectionOptions {
 public:
  ConnectionOptions(const Head&, const char* bytes);
  bool close() const { return close_; }
  bool keep_alive() const { return keep_alive_; }
  bool upgrade() const { return upgrade_; }
  bool nominated(const Field&, const char* bytes) const;  // named by Connection; end-to-end names that must survive
                                                          // (Host, Content-Length, Cache-Control, Date, ...) are never nominated
 private:
  // More options than this: every field that is not end-to-end counts as nominated (bounds the work per field).
  static constexpr size_t kMaxNominated = 64;
  std::vector<std::string_view> names_;
  bool close_ = false, keep_alive_ = false, upgrade_ = false, all_unknown_ = false;
};

}  // namespace loligo::http
