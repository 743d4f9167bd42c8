#include "log/format_codes.h"

#include "base/text.h"
#include "log/fields.h"

namespace loligo::log {
namespace {

using Text = std::string_view (*)(const Record&, Fetch&);
using Number = int64_t (*)(const Record&);

constexpr Code text_code(std::string_view name, Text text) { return {.name = name, .kind = Kind::text, .text = text}; }
constexpr Code url_code(std::string_view name, Text text) {
  return {.name = name, .kind = Kind::text, .text = text, .plain = Encoding::url, .one_word = true};
}
constexpr Code user_code(std::string_view name, Text text) {
  return {.name = name, .kind = Kind::text, .text = text, .one_word = true};
}
constexpr Code field_code(std::string_view name, Text text) {
  return {.name = name, .kind = Kind::text, .text = text, .takes_field = true};
}
constexpr Code number_code(std::string_view name, Number number) { return {.name = name, .kind = Kind::number, .number = number}; }
constexpr Code of_kind(Kind kind, std::string_view name, Number number) { return {.name = name, .kind = kind, .number = number}; }
constexpr Code later(std::string_view name, bool argument = false) {
  return {.name = name, .takes_field = argument, .support = Support::later};
}
constexpr Code obsolete(std::string_view name, Text text = nullptr) {
  return {.name = name, .text = text, .support = Support::obsolete};
}

std::string_view address_text(const net::Address& address, Fetch& fetch) {
  if (!address.valid()) return {};
  fetch.scratch.commit(write_address(address, fetch.scratch.reserve(64)));
  return fetch.scratch.view();
}
int64_t port_number(const net::Address& address) { return address.valid() ? address.port() : kNone; }

std::string_view first_of(std::initializer_list<std::string_view> candidates) {
  for (auto candidate : candidates)
    if (!candidate.empty()) return candidate;
  return {};
}

std::string_view without_query(std::string_view url, const Record& record, const RenderOptions& options) {
  bool udp = record.tag >= ResultTag::udp_hit;  // ICP and HTCP queries keep it, as Squid has it
  if (!options.strip_query_terms || udp) return url;
  return url.substr(0, std::min(url.find('?'), url.size() - 1) + 1);
}

std::string_view user_name(const Record& r, Fetch&) { return first_of({r.user, r.auth_user, r.ext_user, r.tls_user}); }
std::string_view url_text(const Record& r, Fetch& f) { return logged_url(r, f.options); }
std::string_view client_url_text(const Record& r, Fetch& f) {
  return without_query(r.client_url.empty() ? r.url : r.client_url, r, f.options);
}
std::string_view path_text(const Record& r, Fetch& f) { return without_query(r.path, r, f.options); }
std::string_view method_text(const Record& r, Fetch&) { return r.method; }
std::string_view scheme_text(const Record& r, Fetch&) { return r.scheme; }
std::string_view host_text(const Record& r, Fetch&) { return r.host; }
int64_t url_port(const Record& r) { return r.url_port ? r.url_port : kNone; }
std::string_view client_version(const Record& r, Fetch&) { return r.request_minor == 0 ? "1.0" : "1.1"; }
std::string_view client_address(const Record& r, Fetch& f) { return address_text(masked_client(r, f.options), f); }
std::string_view local_address(const Record& r, Fetch& f) { return address_text(r.local, f); }
int64_t local_port(const Record& r) { return port_number(r.local); }
std::string_view outgoing_address(const Record& r, Fetch& f) { return address_text(r.server_local, f); }
int64_t reply_status(const Record& r) { return r.status; }
std::string_view server_address(const Record& r, Fetch& f) {
  return r.server.valid() ? address_text(r.server, f) : r.peer_host;
}
std::string_view server_name(const Record& r, Fetch& f) {
  return r.peer_host.empty() ? address_text(r.server, f) : r.peer_host;
}
std::string_view request_fields(const Record& r, Fetch& f) {
  if (f.item.text.empty()) return request_field_block(r);
  return f.item.element.empty() ? request_field(r, f.item.text, f.scratch)
                                : list_member(request_field(r, f.item.text, f.scratch), f.item.separator, f.item.element);
}
std::string_view reply_fields(const Record& r, Fetch& f) {
  if (f.item.text.empty()) return reply_field_block(r);
  return f.item.element.empty() ? reply_field(r, f.item.text, f.scratch)
                                : list_member(reply_field(r, f.item.text, f.scratch), f.item.separator, f.item.element);
}
std::string_view notes_text(const Record& r, Fetch& f) {
  for (const auto& [name, value] : r.notes) {
    if (!f.item.text.empty() && !base::iequals(name, f.item.text)) continue;
    if (!f.scratch.empty()) f.scratch.push(',');
    if (f.item.text.empty()) f.scratch.append(name), f.scratch.append(": ");
    f.scratch.append(value);
  }
  return f.scratch.view();
}
// "miss.absent,not-stored.private": why this was no hit, and why the next one will not be.
std::string_view reason_text(const Record& r, Fetch& f) {
  for (std::string_view reason : r.reasons) {
    if (reason.empty()) continue;
    if (!f.scratch.empty()) f.scratch.push(',');
    f.scratch.append(reason);
  }
  return f.scratch.view();
}
std::string_view tag_text(const Record& r, Fetch& f) {
  f.scratch.commit(write_tag(r, f.scratch.reserve(kMaxTag)));
  return f.scratch.view();
}
std::string_view hierarchy_text(const Record& r, Fetch& f) {
  f.scratch.commit(write_hierarchy(r, f.scratch.reserve(kMaxTag)));
  return f.scratch.view();
}

constexpr Code kCodes[] = {
    // Client
    text_code(">a", client_address),
    text_code(">A", client_address),  // names of clients are not looked up
    number_code(">p", [](const Record& r) { return port_number(r.client); }),
    text_code(">la", local_address),
    number_code(">lp", local_port),
    text_code("la", local_address),
    number_code("lp", local_port),
    later(">eui"), later(">qos"), later(">nfmark"), later("transport::>connection_id"), later(">handshake"),
    // Server
    text_code("<a", server_address),
    text_code("<A", server_name),
    number_code("<p", [](const Record& r) { return port_number(r.server); }),
    text_code("<la", outgoing_address),
    text_code("oa", outgoing_address),
    number_code("<lp", [](const Record& r) { return port_number(r.server_local); }),
    later("<qos"), later("<nfmark"),
    // Time
    number_code("ts", [](const Record& r) { return r.end_us / 1'000'000; }),
    of_kind(Kind::subsecond, "tu", [](const Record& r) { return r.end_us; }),
    of_kind(Kind::local_date, "tl", [](const Record& r) { return r.end_us / 1'000'000; }),
    of_kind(Kind::utc_date, "tg", [](const Record& r) { return r.end_us / 1'000'000; }),
    of_kind(Kind::milliseconds, "tr", [](const Record& r) { return r.elapsed_us; }),
    of_kind(Kind::milliseconds, "dt", [](const Record& r) { return r.dns_us; }),
    of_kind(Kind::timestamp, "tS", [](const Record& r) { return r.start_us; }),
    later("busy_time"),
    // User
    user_code("un", user_name),
    user_code("ul", [](const Record& r, Fetch&) { return r.auth_user; }),
    user_code("ue", [](const Record& r, Fetch&) { return r.ext_user; }),
    user_code("us", [](const Record& r, Fetch&) { return r.tls_user; }),
    user_code("et", [](const Record& r, Fetch&) { return r.ext_tag; }),
    user_code("ea", [](const Record& r, Fetch&) { return r.ext_log; }),
    user_code("credentials", [](const Record& r, Fetch&) { return r.credentials; }),
    obsolete("ui"),
    // Request
    url_code("rm", method_text), url_code(">rm", method_text), url_code("<rm", method_text),
    url_code("ru", url_text), url_code(">ru", client_url_text), url_code("<ru", url_text),
    url_code("rp", path_text), url_code(">rp", path_text), url_code("<rp", path_text),
    text_code("rv", client_version), text_code(">rv", client_version),
    text_code("<rv", [](const Record& r, Fetch&) -> std::string_view { return r.server.valid() ? "1.1" : ""; }),
    obsolete(">v", client_version), obsolete("rG"),
    text_code("rs", scheme_text), text_code(">rs", scheme_text), text_code("<rs", scheme_text),
    text_code("rd", host_text), text_code(">rd", host_text), text_code("<rd", host_text),
    number_code("rP", url_port), number_code(">rP", url_port), number_code("<rP", url_port),
    field_code(">h", request_fields),
    later(">ha", true),
    // Reply
    number_code(">Hs", reply_status), number_code("Hs", reply_status),
    number_code("<Hs", [](const Record& r) { return r.server_status ? int64_t(r.server_status) : kNone; }),
    field_code("<h", reply_fields),
    text_code("mt", [](const Record& r, Fetch&) { return media_type(r.content_type); }),
    // Sizes
    number_code("st", [](const Record& r) { return int64_t(r.request_total_size + r.reply_total_size); }),
    number_code(">st", [](const Record& r) { return int64_t(r.request_total_size); }),
    number_code("<st", [](const Record& r) { return int64_t(r.reply_total_size); }),
    number_code(">sh", [](const Record& r) { return int64_t(r.request_head_size); }),
    number_code("<sh", [](const Record& r) { return int64_t(r.reply_head_size); }),
    number_code("<bs", [](const Record& r) { return int64_t(r.server_body_size); }),
    number_code("<sH", [](const Record& r) { return int64_t(r.high_offset); }),
    number_code("<sS", [](const Record& r) { return int64_t(r.object_size); }),
    // Waiting for servers
    of_kind(Kind::milliseconds, "<pt", [](const Record& r) { return r.peer_us; }),
    of_kind(Kind::milliseconds, "<tt", [](const Record& r) { return r.total_server_us; }),
    // The proxy's view
    text_code("Ss", tag_text),
    text_code("Sh", hierarchy_text),
    number_code("sn", [](const Record& r) { return int64_t(r.sequence); }),
    text_code("err_code", [](const Record& r, Fetch&) { return r.err_code; }),
    text_code("err_detail", [](const Record& r, Fetch&) { return r.err_detail; }),
    number_code("request_attempts", [](const Record& r) { return int64_t(r.attempts); }),
    number_code("master_xaction", [](const Record& r) { return r.transaction ? int64_t(r.transaction) : kNone; }),
    field_code("note", notes_text),
    // TLS
    text_code("ssl::bump_mode", [](const Record& r, Fetch&) { return r.bump_mode; }),
    text_code("ssl::>sni", [](const Record& r, Fetch&) { return r.sni; }),
    text_code("ssl::>negotiated_version", [](const Record& r, Fetch&) { return r.tls_version; }),
    text_code("ssl::<negotiated_version", [](const Record& r, Fetch&) { return r.server_tls_version; }),
    text_code("ssl::>negotiated_cipher", [](const Record& r, Fetch&) { return r.tls_cipher; }),
    text_code("ssl::<negotiated_cipher", [](const Record& r, Fetch&) { return r.server_tls_cipher; }),
    later("ssl::>received_hello_version"), later("ssl::<received_hello_version"),
    later("ssl::>received_supported_version"), later("ssl::<received_supported_version"),
    later("ssl::>cert_subject"), later("ssl::>cert_issuer"), later("ssl::<cert_subject"), later("ssl::<cert_issuer"),
    later("ssl::<cert_errors"), later("ssl::<cert"),
    // Content adaptation and the PROXY protocol
    later("icap::tt"), later("icap::<A"), later("icap::<service_name"), later("icap::ru"), later("icap::rm"),
    later("icap::>st"), later("icap::<st"), later("icap::<bs"), later("icap::>h", true), later("icap::<h", true),
    later("icap::tr"), later("icap::tio"), later("icap::to"), later("icap::Hs"), later("icap::<last_h", true),
    later("adapt::all_trs", true), later("adapt::sum_trs", true), later("adapt::<last_h", true),
    later("proxy_protocol::>h", true), later("byte", true),
    // Our own: why a request was answered as it was
    text_code("loligo::access_rule", [](const Record& r, Fetch&) { return r.access_rule; }),
    text_code("loligo::reason", reason_text),
};

}  // namespace

std::span<const Code> codes() { return kCodes; }

const Code* find_code(std::string_view text, size_t& length) {
  struct Prefix { std::string_view written, meant; };
  constexpr Prefix kPrefixes[] = {{"http::", ""}, {"tls::", "ssl::"}, {"", ""}};
  const Code* best = nullptr;
  for (const Prefix& prefix : kPrefixes) {
    if (!text.starts_with(prefix.written)) continue;
    std::string_view rest = text.substr(prefix.written.size());
    for (const Code& code : kCodes) {
      if (!code.name.starts_with(prefix.meant)) continue;
      std::string_view name = code.name.substr(prefix.meant.size());
      // "http::" belongs to codes without a namespace of their own.
      if (!prefix.written.empty() && prefix.meant.empty() && name.find("::") != name.npos) continue;
      if (!rest.starts_with(name) || (best && name.size() + prefix.written.size() <= length)) continue;
      best = &code;
      length = name.size() + prefix.written.size();
    }
    if (best) break;
  }
  return best;
}

char* write_tag(const Record& record, char* out) {
  auto put = [&out](std::string_view text) { out = std::copy(text.begin(), text.end(), out); };
  std::string_view tag = text(record.tag);
  if (record.collapsed && tag.starts_with("TCP_")) {
    put("TCP_CF_");
    tag.remove_prefix(4);
  }
  put(tag);
  if (record.ignored) put("_IGNORED");
  if (record.timed_out) put("_TIMEDOUT");
  if (record.aborted) put("_ABORTED");
  return out;
}

char* write_hierarchy(const Record& record, char* out) {
  auto put = [&out](std::string_view text) { out = std::copy(text.begin(), text.end(), out); };
  if (record.hierarchy_timeout) put("TIMEOUT_");
  put(text(record.hierarchy));
  return out;
}

std::string_view logged_url(const Record& record, const RenderOptions& options) {
  return record.url.empty() ? record.url : without_query(record.url, record, options);
}

net::Address masked_client(const Record& record, const RenderOptions& options) {
  const net::Address &client = record.client, &mask = options.client_netmask;
  if (!client.valid() || !mask.valid() || client.family() != mask.family()) return client;
  unsigned char bytes[16], mask_bytes[16];
  client.mapped_bytes(bytes);
  mask.mapped_bytes(mask_bytes);
  if (client.v4()) {
    sockaddr_in masked = *reinterpret_cast<const sockaddr_in*>(client.data());
    masked.sin_addr.s_addr &= reinterpret_cast<const sockaddr_in*>(mask.data())->sin_addr.s_addr;
    return net::Address::from(reinterpret_cast<const sockaddr*>(&masked), sizeof masked);
  }
  sockaddr_in6 masked = *reinterpret_cast<const sockaddr_in6*>(client.data());
  for (int i = 0; i < 16; ++i) masked.sin6_addr.s6_addr[i] = bytes[i] & mask_bytes[i];
  return net::Address::from(reinterpret_cast<const sockaddr*>(&masked), sizeof masked);
}

std::string_view media_type(std::string_view content_type) {
  size_t length = 0;   // a loop: find_first_of() calls memchr for each character
  while (length < content_type.size() && content_type[length] != ';' && content_type[length] != ' ' && content_type[length] != '\t') ++length;
  return content_type.substr(0, length);
}

}  // namespace loligo::log
