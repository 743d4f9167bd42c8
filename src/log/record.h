// What is known of one transaction when it ends: the input of access-log lines
// and access_log ACLs. Filled by the client side; views live until log() returns.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "http/head.h"
#include "net/address.h"

namespace loligo::log {

// Result tags as Squid writes them (LogTags.cc).
//  X(enumerator, "TEXT after TCP_ or whole", is_hit)
#define LOLIGO_RESULT_TAGS(X)                          \
  X(none, "NONE_NONE", false)                          \
  X(hit, "TCP_HIT", true)                              \
  X(miss, "TCP_MISS", false)                           \
  X(refresh_unmodified, "TCP_REFRESH_UNMODIFIED", true) \
  X(refresh_fail_old, "TCP_REFRESH_FAIL_OLD", true)    \
  X(refresh_fail_err, "TCP_REFRESH_FAIL_ERR", false)   \
  X(refresh_modified, "TCP_REFRESH_MODIFIED", false)   \
  X(refresh, "TCP_REFRESH", false)                     \
  X(client_refresh_miss, "TCP_CLIENT_REFRESH_MISS", false) \
  X(ims_hit, "TCP_IMS_HIT", true)                      \
  X(inm_hit, "TCP_INM_HIT", true)                      \
  X(swapfail_miss, "TCP_SWAPFAIL_MISS", false)         \
  X(negative_hit, "TCP_NEGATIVE_HIT", true)            \
  X(mem_hit, "TCP_MEM_HIT", true)                      \
  X(denied, "TCP_DENIED", false)                       \
  X(denied_reply, "TCP_DENIED_REPLY", false)           \
  X(offline_hit, "TCP_OFFLINE_HIT", true)              \
  X(redirect, "TCP_REDIRECT", false)                   \
  X(tunnel, "TCP_TUNNEL", false)                       \
  X(udp_hit, "UDP_HIT", true)                          \
  X(udp_miss, "UDP_MISS", false)                       \
  X(udp_denied, "UDP_DENIED", false)                   \
  X(udp_invalid, "UDP_INVALID", false)                 \
  X(udp_miss_nofetch, "UDP_MISS_NOFETCH", false)

enum class ResultTag : uint8_t {
#define X(id, text, hit) id,
  LOLIGO_RESULT_TAGS(X)
#undef X
};

#define LOLIGO_HIERARCHY_CODES(X) \
  X(none, "HIER_NONE") X(direct, "HIER_DIRECT") X(sibling_hit, "SIBLING_HIT") X(parent_hit, "PARENT_HIT") \
  X(default_parent, "DEFAULT_PARENT") X(single_parent, "SINGLE_PARENT") X(firstup_parent, "FIRSTUP_PARENT") \
  X(first_parent_miss, "FIRST_PARENT_MISS") X(closest_parent_miss, "CLOSEST_PARENT_MISS") X(closest_parent, "CLOSEST_PARENT") \
  X(closest_direct, "CLOSEST_DIRECT") X(no_direct_fail, "NO_DIRECT_FAIL") X(source_fastest, "SOURCE_FASTEST") \
  X(roundrobin_parent, "ROUNDROBIN_PARENT") X(cd_parent_hit, "CD_PARENT_HIT") X(cd_sibling_hit, "CD_SIBLING_HIT") \
  X(carp, "CARP") X(any_old_parent, "ANY_OLD_PARENT") X(userhash_parent, "USERHASH_PARENT") \
  X(sourcehash_parent, "SOURCEHASH_PARENT") X(pinned, "PINNED") X(original_dst, "ORIGINAL_DST") X(standby_pool, "STANDBY_POOL")

enum class HierarchyCode : uint8_t {
#define X(id, text) id,
  LOLIGO_HIERARCHY_CODES(X)
#undef X
};
std::string_view text(ResultTag);
std::string_view text(HierarchyCode);
bool is_hit(ResultTag);

struct Record {
  // Time
  base::WallMicroseconds start_us = 0, end_us = 0;      // wall clock
  int64_t elapsed_us = 0;                                // steady
  int64_t dns_us = -1;                                   // total wait for DNS, -1 = none
  int64_t peer_us = -1, total_server_us = -1;            // %<pt %<tt
  // Client
  net::Address client, local;                            // local = the address and port the client connected to
  std::string_view listening_port_name;
  std::string_view user, auth_user, ext_user, tls_user;  // empty = "-"
  // Request
  std::string_view method;                               // as received
  std::string_view url;                                  // canonical URL, with query; "error:..." for what is none
  std::string_view client_url;                           // as the client sent it (%>ru)
  std::string_view scheme, host, path;                   // of url; path with query
  uint16_t url_port = 0;
  int request_minor = 1;
  const http::Head* request = nullptr;                   // null where there was none
  const char* request_bytes = nullptr;
  uint64_t request_head_size = 0, request_total_size = 0;   // %>sh %>st
  // Reply to the client
  int status = 0;                                        // 0 = none sent
  int reply_minor = 1;
  std::string_view reply_head;                           // the whole head as sent, for %<h and log_mime_hdrs; may be empty
  std::string_view content_type;                         // empty = "-"
  uint64_t reply_head_size = 0, reply_total_size = 0;    // %<sh %<st
  uint64_t object_size = 0, high_offset = 0;             // %<sS %<sH
  // Server side
  ResultTag tag = ResultTag::none;
  bool collapsed = false, aborted = false, timed_out = false, ignored = false;
  HierarchyCode hierarchy = HierarchyCode::none;
  bool hierarchy_timeout = false;
  std::string_view peer_host;                            // address or peer name for %<a / %<A; empty = "-"
  net::Address server, server_local;
  int server_status = 0;                                 // %<Hs
  uint64_t server_body_size = 0;                         // %<bs
  uint32_t attempts = 0;                                 // %request_attempts
  std::string_view err_code, err_detail;                 // ERR_*; empty = "-"
  uint64_t sequence = 0;                                 // %sn
  uint64_t transaction = 0;                              // %master_xaction; 0 = "-"
  std::string_view ext_tag, ext_log, credentials;        // %et %ea %credentials; empty = "-"
  std::span<const std::pair<std::string_view, std::string_view>> notes;  // %note
  // Why: "file:line" of the rule that decided http_access; words of http/cache_reason.h, those that apply.
  std::string_view access_rule, reasons[3];              // empty = "-"
  // TLS
  std::string_view sni, tls_version, tls_cipher;         // client side; empty = "-"
  std::string_view server_tls_version, server_tls_cipher;
  std::string_view bump_mode;
};

}  // namespace loligo::log
