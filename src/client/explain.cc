// The steps of a request as client/transaction*.cc takes them, told instead of done.
#include "client/explain.h"

#include <fmt/format.h>

#include <iterator>

#include "base/text.h"
#include "cache/inspection.h"
#include "client/explain_text.h"
#include "client/target.h"
#include "http/conditional.h"
#include "server/fetch.h"

namespace loligo::client {

namespace {

using http::CacheReason;
using http::FieldId;
using http::Method;

// One question under way; it holds all that the cache's answer needs.
class Explainer : public std::enable_shared_from_this<Explainer> {
 public:
  Explainer(std::shared_ptr<const Snapshot> snapshot, const cache::Cache& cache, ExplainQuestion question, base::WallSeconds now)
      : snapshot_(std::move(snapshot)), cache_(cache), question_(std::move(question)), now_(now) {}
  void run(std::function<void(ExplainAnswer)> done);

 private:
  bool choose_port();
  bool read_request();
  bool read_target();
  void know_facts();
  bool access();
  bool may_look_up();
  void looked_up(const cache::Inspection&);
  void tell_variants(const cache::Inspection&, const cache::Inspected* chosen);
  void judge(const cache::Inspected&);
  void miss(CacheReason, const cache::Response* stale);
  void tell_paths();
  void tell_storing();
  std::string may_be_stored() const;
  bool refuse(std::string why);
  template <class... Args> void line(std::string_view label, fmt::format_string<Args...> format, Args&&... args) {
    explain_line(text_, label, fmt::format(format, std::forward<Args>(args)...));
  }

  const std::shared_ptr<const Snapshot> snapshot_;
  const cache::Cache& cache_;
  const ExplainQuestion question_;
  const base::WallSeconds now_;
  const PortContext* port_ = nullptr;
  server::KeptHead kept_;
  http::Framing framing_;
  Target target_;
  std::optional<net::Address> destination_;
  access::Facts facts_;
  http::RequestCacheControl control_;
  store::Key key_;
  bool understood_ = true, cache_allows_ = true;
  std::string text_;
};

bool Explainer::refuse(std::string why) {
  understood_ = false;
  text_ += why + "\n";
  return false;
}

// The port with that number; otherwise the first of the kind that the URL is for.
bool Explainer::choose_port() {
  const bool path = question_.url.starts_with('/');
  for (auto& port : snapshot_->ports) {
    const bool fits = question_.port ? port->config.port == *question_.port : (port->config.mode == Port::Mode::accel) == path;
    if (fits && !port_) port_ = port.get();
  }
  if (!port_ && !question_.port && !snapshot_->ports.empty()) port_ = snapshot_->ports.front().get();
  if (!port_) return refuse(fmt::format("There is no listening port {}.", question_.port.value_or(0)));
  line("Port", "{} ({}, {}:{}){}", port_->name, explain_mode(port_->config), port_->config.place.file, port_->config.place.line, question_.port ? "" : ", chosen by the URL");
  return true;
}

bool Explainer::read_request() {
  std::string& bytes = kept_.bytes;
  bytes = question_.method + " " + question_.url + " HTTP/1.1\r\n";
  bool host = false;
  for (const std::string& header : question_.headers) {
    bytes.append(header).append("\r\n");
    host = host || base::istarts_with(header, "host:");
  }
  if (auto uri = host ? std::nullopt : http::parse_absolute(question_.url)) {
    std::string authority(uri->authority.ipv6_literal ? fmt::format("[{}]", uri->authority.host) : std::string(uri->authority.host));
    if (uri->authority.port) authority += fmt::format(":{}", uri->authority.port);
    bytes.append("Host: ").append(authority).append("\r\n");
  } else if (!host) {
    bytes.append("Host: ").append(question_.method == "CONNECT" ? question_.url : "localhost").append("\r\n");
  }
  bytes += "\r\n";
  if (kept_.head.parse_request(bytes.data(), bytes.size(), {}) != http::ParseState::complete)
    return refuse(fmt::format("That is no request: {}", http::describe(kept_.head.error()).text));
  framing_ = http::request_framing(kept_.head, bytes.data());
  if (framing_.error != http::FramingError::none) return refuse(fmt::format("That is no request: {}", http::describe(framing_.error).text));
  line("Request", "{} {}", question_.method, question_.url);
  for (const std::string& header : question_.headers) line("", "{}", header);
  return true;
}

bool Explainer::read_target() {
  const http::Head& head = kept_.head;
  const char* bytes = kept_.bytes.data();
  target_ = effective_target(port_->config, head.method(), head.target().in(bytes), head.value(FieldId::host, bytes), port_->config.port);
  switch (target_.error) {
    case TargetError::none: break;
    case TargetError::bad_url: line("Answer", "400: the URL is none that this port takes"); return false;
    case TargetError::bad_authority: line("Answer", "400: host and port are none"); return false;
    case TargetError::missing_site: line("Answer", "400: no site is named, neither by Host nor by defaultsite"); return false;
    case TargetError::unsupported_scheme: line("Answer", "501: a scheme that is not fetched"); return false;
  }
  line("URL", "{}", target_.url);
  return true;
}

void Explainer::know_facts() {
  access::Facts& f = facts_;
  if (auto client = net::Address::parse(question_.client)) f.client = *client;
  if (auto local = net::Address::parse(port_->config.host.empty() ? "127.0.0.1" : port_->config.host, port_->config.port)) f.local = *local;
  f.port_name = port_->name;
  f.now = now_;
  f.method = kept_.head.method();
  f.method_text = kept_.head.method_text().in(kept_.bytes.data());
  f.scheme = target_.scheme;
  f.host = target_.host;
  f.port = target_.port;
  f.url = target_.url;
  f.path = target_.path_query;
  f.request = &kept_.head;
  f.request_bytes = kept_.bytes.data();
  destination_ = net::Address::parse(target_.host);
  f.host_is_address = destination_.has_value();
  if (!destination_) return;
  f.destinations = &*destination_;
  f.destination_count = 1;
  f.destinations_known = true;
}

bool Explainer::access() {
  line("Client", "{}", question_.client);
  access::Verdict verdict = snapshot_->http_access.check(facts_, false);
  if (verdict.need != access::Need::nothing) {
    line("Note", "http_access asks for {}, which a request looks up and this page does not: it counts as not known",
         verdict.need == access::Need::destinations ? "the addresses of the host" : "the host's name");
    verdict = snapshot_->http_access.check_fast(facts_, false);
  }
  if (!snapshot_->follow_forwarded.empty()) line("Note", "X-Forwarded-For is not followed here: the client is the one above");
  line("http_access", "{}", explain_verdict(verdict));
  if (!verdict.allowed) line("Answer", "403, or what deny_info says for {}", verdict.last_acl.empty() ? std::string_view("it") : verdict.last_acl);
  return verdict.allowed;
}

// As Transaction::look_up(): what the cache has a say in.
bool Explainer::may_look_up() {
  const cache::Policy& policy = *snapshot_->policy;
  const Method method = kept_.head.method();
  if (target_.kind == TargetKind::tunnel) return line("Answer", "a tunnel; nothing of it is cached"), false;
  if (target_.kind != TargetKind::resource) return line("Answer", "by this proxy itself; nothing of it is cached"), false;
  if (method == Method::purge) return line("Answer", "a purge, where a rule on the method PURGE allows it"), false;
  control_ = port_->config.ignore_cc ? http::RequestCacheControl{} : http::request_cache_control(kept_.head, kept_.bytes.data());
  if (port_->config.ignore_cc) line("Note", "the port's ignore-cc: Cache-Control of the request has no say");
  const access::Verdict cache = policy.cache.check_fast(facts_, true);
  cache_allows_ = cache.allowed;
  line("cache", "{}", explain_verdict(cache));
  key_ = cache::key_of(target_.url);
  if (method != Method::get && method != Method::head) return miss(CacheReason::method, nullptr), false;
  if (framing_.kind != http::BodyKind::none) return miss(CacheReason::request_body, nullptr), false;
  if (!cache.allowed) return miss(CacheReason::cache_rule, nullptr), false;
  return true;
}

void Explainer::run(std::function<void(ExplainAnswer)> done) {
  bool looks = choose_port() && read_request() && read_target();
  if (looks) {
    know_facts();
    looks = access() && may_look_up();
  }
  if (!looks) return done({understood_, std::move(text_)});
  cache::Question q{key_, target_.url, &kept_.head, kept_.bytes.data(), control_,
                    cache_.limits(*snapshot_->policy, port_->config.ignore_cc, kept_.head.has(FieldId::if_modified_since)), now_};
  auto self = shared_from_this();
  cache_.inspect(q, self, snapshot_->policy, port_->config.mode == Port::Mode::accel, [self, done = std::move(done)](cache::Inspection found) {
    self->looked_up(found);
    done({true, std::move(self->text_)});
  });
}

void Explainer::tell_variants(const cache::Inspection& found, const cache::Inspected* chosen) {
  line("Key", "{:016X}{:016X}", key_.high, key_.low);
  if (found.loading) line("Note", "a cache_dir is reading its index: what only it has may be missing here");
  if (found.unread) line("Note", "{} more on disk, whose heads cannot be read", found.unread);
  size_t told = 0;
  for (const cache::Inspected& v : found.variants) {
    if (++told > 64) break;
    line("Stored", "{}", explain_variant(v, &v == chosen, kept_.head, kept_.bytes.data()));
  }
  if (found.variants.empty()) line("Stored", "nothing, neither in memory nor on disk");
}

void Explainer::looked_up(const cache::Inspection& found) {
  const cache::Inspected* chosen = found.selected();
  tell_variants(found, chosen);
  if (chosen) return judge(*chosen);
  bool other = false, purged = false;
  for (const cache::Inspected& v : found.variants) other |= v.same_url && !v.matches, purged |= v.matches && v.banned;
  miss(other ? CacheReason::other_variant : purged ? CacheReason::purged : CacheReason::absent, nullptr);
}

void Explainer::judge(const cache::Inspected& v) {
  const cache::Response& r = *v.response;
  const cache::Policy& policy = *snapshot_->policy;
  explain_response(text_, v, policy, target_.url, now_);
  const access::Verdict send = policy.send_hit.check_fast(facts_, true);
  line("send_hit", "{}", explain_verdict(send));
  if (!send.allowed) return miss(CacheReason::send_hit_rule, nullptr);
  if (!v.complete && !r.body->retained()) line("Note", "it is still arriving and does not stay in memory: only who comes early may join it");
  http::Judgement j = http::judge(v.lifetimes, control_, r.rule, cache_.limits(policy, port_->config.ignore_cc, kept_.head.has(FieldId::if_modified_since)), now_);
  if (v.lifetimes.freshness < r.lifetimes.freshness && http::describe(j.why).family == http::ReasonFamily::stale && r.lifetimes.freshness > http::current_age(r.lifetimes, now_))
    j.why = CacheReason::softly_purged;
  if (j.verdict == http::FreshnessVerdict::stale) return miss(j.why, &r);
  const std::string_view how = j.verdict == http::FreshnessVerdict::fresh ? "a hit" : j.verdict == http::FreshnessVerdict::stale_revalidate ? "a hit, stale, validated in the background" : "a hit, stale";
  line("Outcome", "{}", how);
  if (j.why != CacheReason::none) line("Reason", "{}: {}", http::text(j.why), http::describe(j.why).meaning);
  int status = r.status;
  if (status == 200 || status == 206) {
    auto verdict = http::evaluate(kept_.head, kept_.bytes.data(), {r.etag, r.last_modified, r.status, r.lifetimes.date}, now_);
    if (verdict == http::ConditionVerdict::not_modified) status = 304;
  }
  line("Answer", "{} from {}{}", status, v.in_memory ? "memory" : "disk", kept_.head.has(FieldId::range) && status == 200 ? ", or the part that Range asks for" : "");
}

void Explainer::miss(CacheReason why, const cache::Response* stale) {
  const cache::Policy& policy = *snapshot_->policy;
  const bool reload = control_.no_cache;
  const bool validates = stale && (!stale->etag.empty() || !stale->last_modified.empty()) && (!reload || policy.settings.reload_into_ims || stale->rule.reload_into_ims);
  line("Outcome", "{}", validates ? "validated with the server" : stale ? "fetched anew" : http::describe(why).family == http::ReasonFamily::bypass ? "forwarded" : "a miss");
  line("Reason", "{}: {}", http::text(why), http::describe(why).meaning);
  if (validates && !stale->etag.empty()) line("Asks", "If-None-Match: {}", stale->etag);
  if (validates && !stale->last_modified.empty()) line("Asks", "If-Modified-Since: {}", stale->last_modified);
  if (control_.only_if_cached) return line("Answer", "504: {}", http::describe(CacheReason::only_if_cached).meaning);
  const access::Verdict access = snapshot_->miss_access.check_fast(facts_, true);
  if (!snapshot_->miss_access.empty()) line("miss_access", "{}", explain_verdict(access));
  if (!access.allowed) return line("Answer", "403: {}", http::describe(CacheReason::miss_access).meaning);
  tell_paths();
  tell_storing();
}

void Explainer::tell_paths() {
  const server::Routing& routing = *snapshot_->routing;
  icp::SelectionQuestion q = routing.selection(facts_, port_->config.mode == Port::Mode::accel, port_->config.allow_direct);
  q.preview = true;
  const std::vector<icp::Destination> paths = icp::select(routing.peers, q);
  if (paths.empty()) return line("Answer", "503: {}", http::describe(CacheReason::no_path).meaning);
  static constexpr std::string_view kWhere[] = {"first", "then"};
  for (size_t i = 0; i < paths.size(); ++i) {
    const icp::Destination& d = paths[i];
    line("Path", "{} {} {}", kWhere[i > 0], log::text(d.code), d.peer ? fmt::format("{} ({}:{})", d.peer->config.name, d.peer->config.host, d.peer->config.http_port) : fmt::format("{}:{}", target_.host, target_.port));
  }
}

// What is known before there is a reply.
void Explainer::tell_storing() {
  const access::Verdict verdict = snapshot_->policy->store_miss.check_fast(facts_, true);
  line("store_miss", "{}", explain_verdict(verdict));
  CacheReason refusal = CacheReason::none;
  const Method method = kept_.head.method();
  if (method != Method::get && method != Method::post) refusal = CacheReason::request_method;
  else if (method == Method::get && framing_.kind != http::BodyKind::none) refusal = CacheReason::request_with_body;
  else if (!cache_allows_) refusal = CacheReason::denied_by_cache_rule;
  else if (control_.no_store) refusal = CacheReason::request_no_store;
  else if (!verdict.allowed) refusal = CacheReason::denied_by_store_miss;
  if (refusal != CacheReason::none) line("Reply", "{}: {}", http::text(refusal), http::describe(refusal).meaning);
  else line("Reply", "stored where what it says allows it{}", kept_.head.has(FieldId::authorization) ? " (with credentials only by public, s-maxage or must-revalidate)" : method == Method::post ? " (to POST: with its own Content-Location and a lifetime)" : "");
}

}  // namespace

void explain(std::shared_ptr<const Snapshot> snapshot, const cache::Cache& cache, ExplainQuestion question, base::WallSeconds now, std::function<void(ExplainAnswer)> done) {
  std::make_shared<Explainer>(std::move(snapshot), cache, std::move(question), now)->run(std::move(done));
}

}  // namespace loligo::client
