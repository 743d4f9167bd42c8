// Every error the proxy answers by itself, once: enumerator, the name that
// users know from error templates, deny_info and the log (ERR_*), and the
// status it gets unless the caller knows better.
// Pure data, any thread.
#pragma once
#include <cstdint>
#include <string_view>

namespace loligo::client {

//  X(enumerator, "ERR_NAME", status)
#define LOLIGO_ERRORS(X)                                             \
  X(access_denied, "ERR_ACCESS_DENIED", 403)                         \
  X(cache_access_denied, "ERR_CACHE_ACCESS_DENIED", 407)             \
  X(cache_mgr_access_denied, "ERR_CACHE_MGR_ACCESS_DENIED", 401)     \
  X(forwarding_denied, "ERR_FORWARDING_DENIED", 403)                 \
  X(no_relay, "ERR_NO_RELAY", 502)                                   \
  X(cannot_forward, "ERR_CANNOT_FORWARD", 503)                       \
  X(connect_fail, "ERR_CONNECT_FAIL", 503)                           \
  X(secure_connect_fail, "ERR_SECURE_CONNECT_FAIL", 503)             \
  X(secure_accept_fail, "ERR_SECURE_ACCEPT_FAIL", 400)               \
  X(dns_fail, "ERR_DNS_FAIL", 502)                                   \
  X(gateway_failure, "ERR_GATEWAY_FAILURE", 502)                     \
  X(read_timeout, "ERR_READ_TIMEOUT", 504)                           \
  X(lifetime_exp, "ERR_LIFETIME_EXP", 408)                           \
  X(request_start_timeout, "ERR_REQUEST_START_TIMEOUT", 408)         \
  X(request_parse_timeout, "ERR_REQUEST_PARSE_TIMEOUT", 408)         \
  X(read_error, "ERR_READ_ERROR", 502)                               \
  X(write_error, "ERR_WRITE_ERROR", 502)                             \
  X(zero_size_object, "ERR_ZERO_SIZE_OBJECT", 502)                   \
  X(invalid_resp, "ERR_INVALID_RESP", 502)                           \
  X(invalid_req, "ERR_INVALID_REQ", 400)                             \
  X(invalid_url, "ERR_INVALID_URL", 400)                             \
  X(conflict_host, "ERR_CONFLICT_HOST", 409)                         \
  X(unsup_req, "ERR_UNSUP_REQ", 501)                                 \
  X(unsup_httpversion, "ERR_UNSUP_HTTPVERSION", 505)                 \
  X(protocol_unknown, "ERR_PROTOCOL_UNKNOWN", 400)                   \
  X(too_big, "ERR_TOO_BIG", 413)                                     \
  X(only_if_cached_miss, "ERR_ONLY_IF_CACHED_MISS", 504)             \
  X(precondition_failed, "ERR_PRECONDITION_FAILED", 412)             \
  X(urn_resolve, "ERR_URN_RESOLVE", 404)                             \
  X(socket_failure, "ERR_SOCKET_FAILURE", 500)                       \
  X(icap_failure, "ERR_ICAP_FAILURE", 500)                           \
  X(esi, "ERR_ESI", 503)                                             \
  X(shutting_down, "ERR_SHUTTING_DOWN", 503)                         \
  X(client_gone, "ERR_CLIENT_GONE", 503)                             \
  X(ftp_disabled, "ERR_FTP_DISABLED", 400)                           \
  X(ftp_failure, "ERR_FTP_FAILURE", 502)                             \
  X(ftp_forbidden, "ERR_FTP_FORBIDDEN", 403)                         \
  X(ftp_not_found, "ERR_FTP_NOT_FOUND", 404)                         \
  X(ftp_unavailable, "ERR_FTP_UNAVAILABLE", 503)                     \
  X(acl_time_quota_exceeded, "ERR_ACL_TIME_QUOTA_EXCEEDED", 403)     \
  X(agent_configure, "ERR_AGENT_CONFIGURE", 403)                     \
  X(agent_wpad, "ERR_AGENT_WPAD", 403)

// Ids from count_ on are pages of the user's own (deny_info NAME), known only to one ErrorPages.
enum class ErrorId : uint16_t {
#define X(id, name, status) id,
  LOLIGO_ERRORS(X)
#undef X
  count_,
  none = 0xffff,
};

struct ErrorRow {
  ErrorId id;
  std::string_view name;
  int status;
};
inline constexpr ErrorRow kErrorRows[] = {
#define X(id, name, status) {ErrorId::id, name, status},
    LOLIGO_ERRORS(X)
#undef X
};

// The built-in English words. `headline` is one sentence, `text` the paragraphs as HTML; both may hold %-codes.
struct ErrorText {
  ErrorId id;
  std::string_view headline;
  std::string_view text;
};
const ErrorText& error_text(ErrorId);   // of a built-in id; any other gives access_denied

constexpr std::string_view error_name(ErrorId id) {
  return unsigned(id) < unsigned(ErrorId::count_) ? kErrorRows[unsigned(id)].name : std::string_view();
}

}  // namespace loligo::client
