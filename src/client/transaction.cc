// A transaction's life and its first steps: target, access, route.
#include "client/transaction.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/event_log.h"
#include "base/text.h"
#include "client/reason.h"
#include "client/transaction_flight.h"

namespace loligo::client {

using http::FieldId;
using http::Method;
using log::ResultTag;

Transaction::~Transaction() { reset(); }

void Transaction::reset() {
  feed_.reset();
  sparse_.reset();
  range_body_.reset();
  wanted_.clear();
  parts_tries_ = 0;
  parts_asked_ = false;
  if (fetch_) std::exchange(fetch_, nullptr)->abandon();
  if (flight_) flight_->drop();
  flight_.reset();
  if (token_) *token_ = nullptr;
  token_.reset();
  connector_.reset();
  tunnel_peer_.reset();
  early_bytes_.clear();
  lookup_.cancel();
  reverse_lookup_.cancel();
  connection_ = nullptr;
  snapshot_.reset();
  kept_.reset();
  bytes_ = nullptr;
  response_.reset();
  stale_.reset();
  known_.reset();
  destinations_.clear();
  tunnel_destinations_.clear();
  next_tunnel_ = 0;
  tunnel_tries_ = 0;
  step_ = Step::idle;
  close_ = malformed_ = collapsed_ = cacheable_request_ = keeps_post_ = no_collapse_ = in_run_ = aborted_ = timed_out_ = facts_filled_ = whole_for_range_ = false;
  flights_followed_ = 0;
  disk_asked_ = false;
  on_disk_ = {};
  tag_ = ResultTag::none;
  found_ = FoundWord::none;
  reason_ = served_ = http::CacheReason::none;
  code_ = log::HierarchyCode::none;
  if (fetch_facts_.attempts) fetch_facts_ = {};
  status_ = 0;
  head_size_ = 0;
  error_ = ErrorId::none;
  error_detail_.clear();
  malformed_url_.clear();
  method_text_.clear();
  extra_fields_.clear();
  content_type_ = {};
  verdict_ = {};
  tunnel_up_ = tunnel_down_ = 0;
  reply_limit_ = store::kUnknownLength;
}

void Transaction::keep() {
  if (kept_) return;
  kept_ = std::make_shared<server::KeptHead>();
  kept_->bytes.assign(bytes_, head.size());
  kept_->head = head;
  bytes_ = kept_->bytes.data();
  facts_.request_bytes = bytes_;
  facts_.method_text = head.method_text().in(bytes_);
}

void Transaction::begin(Connection& connection, const char* bytes, const http::Framing& framing) {
  connection_ = &connection;
  worker_ = &connection.worker();
  snapshot_ = worker_->snapshot;
  bytes_ = bytes;
  framing_ = framing;
  started_us_ = worker_->loop.wall_us();
  started_steady_us_ = worker_->loop.now_us();
  worker_->loop.counters().client_requests.add();
  close_ = !framing.keep_alive;
  base::log_event(base::Section::client, 5, "{}: {} {} on {}", connection.client().text(), head.method_text().in(bytes), head.target().in(bytes),
                  connection.port().name);

  const PortContext& port = connection.port();
  target_ = effective_target(port.config, head.method(), head.target().in(bytes), head.value(FieldId::host, bytes),
                             connection.local().port());
  switch (target_.error) {
    case TargetError::none: break;
    case TargetError::bad_url: case TargetError::bad_authority: case TargetError::missing_site:
      close_ = true;
      return error(ErrorId::invalid_url, 400);
    case TargetError::unsupported_scheme: return error(ErrorId::unsup_req, 501);
  }
  if (snapshot_->check_hostnames && !host_name_fits(target_.host, snapshot_->allow_underscore)) return error(ErrorId::invalid_url, 400);
  step_ = Step::access;
  run();
  if (!done() && !kept_) keep();
}

// A request that could not be read. `id` none: nothing can be answered, only logged.
void Transaction::begin_malformed(Connection& connection, std::string_view bytes, ErrorId id, int status, std::string_view detail) {
  connection_ = &connection;
  worker_ = &connection.worker();
  snapshot_ = worker_->snapshot;
  malformed_ = true;
  close_ = true;
  started_us_ = worker_->loop.wall_us();
  started_steady_us_ = worker_->loop.now_us();
  malformed_bytes_.assign(bytes.substr(0, 4096));
  bytes_ = malformed_bytes_.data();
  method_text_.clear();
  if (id == ErrorId::none) {
    malformed_url_ = detail;
    return finish();
  }
  worker_->loop.counters().client_requests.add();
  size_t word = bytes.find_first_of(" \t\r\n");
  method_text_ = word > 0 && word < 32 ? std::string(bytes.substr(0, word)) : "NONE";
  malformed_url_ = id == ErrorId::too_big ? "error:request-too-large" : id == ErrorId::request_parse_timeout ? "error:request-timeout" : "error:invalid-request";
  base::log_event(base::Section::http_server, 1, "refused request from {}: {}", connection.client().text(), detail);
  error(id, status, detail);
}

void Transaction::run() {
  if (in_run_) return;
  in_run_ = true;
  for (Step before = Step::done; step_ != before && !done();) {
    before = step_;
    switch (step_) {
      case Step::access: check_access(); break;
      case Step::route: route(); break;
      case Step::lookup: look_up(); break;
      default: break;
    }
  }
  in_run_ = false;
}

// ---- access ------------------------------------------------------------------

void Transaction::know_facts() {
  if (std::exchange(facts_filled_, true)) return;
  access::Facts& f = facts_;
  f = {};   // those of the request before
  f.client = connection_->client();
  f.local = connection_->local();
  f.port_name = connection_->port().name;
  f.client_connections = connection_->client_connections();
  f.now = worker_->loop.wall_seconds();
  if (malformed_) {   // there is no head to ask: what is known of it is what the log says
    f.method_text = method_text_;
    f.url = malformed_url_;
    return;
  }
  f.method = head.method();
  f.method_text = head.method_text().in(bytes_);
  f.scheme = target_.scheme;
  f.host = target_.host;
  f.port = target_.port;
  f.url = target_.url;
  f.path = target_.path_query;
  f.request = &head;
  f.request_bytes = bytes_;
  if (!snapshot_->follow_forwarded.empty()) follow_forwarded();
  f.host_is_address = target_.ipv6_literal || (!target_.host.empty() && base::is_digit(target_.host.back()) && net::Address::parse(target_.host));
}

void Transaction::check_access() {
  know_facts();
  verdict_ = snapshot_->http_access.check(facts_, false);
  if (verdict_.need == access::Need::destinations) {
    keep();
    auto known = [this](const net::Answer& answer) {
      destinations_ = answer->list;
      facts_.destinations = destinations_.data();
      facts_.destination_count = unsigned(destinations_.size());
      facts_.destinations_known = true;
    };
    const net::Answer* now = worker_->resolver.resolve(target_.host, lookup_, [this, known](const net::Answer& answer) {
      known(answer);
      run_again(Step::access);
    });
    if (!now) return;
    known(*now);
    return check_access();
  }
  if (verdict_.need == access::Need::reverse_name) {
    keep();
    auto known = [this](const net::NamesAnswer& answer) {
      reverse_name_ = answer->list.empty() ? "none" : answer->list.front();
      facts_.reverse_name = reverse_name_;
      facts_.reverse_name_known = true;
    };
    auto address = net::Address::parse(target_.host);
    if (!address) {
      facts_.reverse_name = "none";
      facts_.reverse_name_known = true;
      return check_access();
    }
    const net::NamesAnswer* now = worker_->resolver.resolve(*address, reverse_lookup_, [this, known](const net::NamesAnswer& answer) {
      known(answer);
      run_again(Step::access);
    });
    if (!now) return;
    known(*now);
    return check_access();
  }
  base::log_event(base::Section::access, 3, "{} {} {} from {} by {}", verdict_.allowed ? "allowed" : "denied", facts_.method_text, target_.url,
                  connection_->client().text(), verdict_.rule);
  if (!verdict_.allowed) return deny(verdict_);
  step_ = Step::route;
}

// Goes on after a wait. The connection learns of a transaction that ended meanwhile.
void Transaction::run_again(Step step) {
  step_ = step;
  run();
  if (done()) connection_->transaction_ended_late();
}

void Transaction::deny(const access::Verdict& verdict, ErrorId id, ResultTag tag) {
  tag_ = tag;
  worker_->loop.counters().client_denied.add();
  for (auto& rule : snapshot_->deny_info) {
    if (rule.acl != verdict.last_acl) continue;
    if (rule.info.kind == DenyInfo::Kind::reset) {
      connection_->reset_when_done();
      close_ = true;
      return finish();
    }
    if (rule.info.kind == DenyInfo::Kind::page) {
      ErrorId page = snapshot_->error_pages->find(rule.info.value);
      return error(page == ErrorId::none ? id : page, rule.info.status);
    }
    ErrorFacts facts = error_facts(0, {}, 0);
    std::string location = snapshot_->error_pages->location(rule.info.value, facts, id);
    int status = rule.info.status ? rule.info.status : head.method() == Method::get || head.method() == Method::head ? 302 : 303;
    return simple_answer(status, reason_phrase(status), "Location: " + location + "\r\n", {});
  }
  error(id, 403);
}

// ---- route -------------------------------------------------------------------

namespace {
// Our own name among those that the request has passed (RFC 9110 section 7.6.3).
bool via_names(const http::Head& head, const char* bytes, std::string_view own) {
  bool found = false;
  http::for_each_value(head, FieldId::via, bytes, [&](std::string_view value) {
    http::for_each_list_member(value, [&](std::string_view member) {
      size_t blank = member.find_first_of(" \t");
      if (blank == member.npos) return;
      std::string_view by = base::trim_ows(member.substr(blank));
      found = found || base::iequals(by.substr(0, by.find_first_of(" \t")), own);
    });
  });
  return found;
}
}  // namespace

bool Transaction::looping() const {
  if (head.has(FieldId::via) && via_names(head, bytes_, snapshot_->unique_name)) return true;
  if (connection_->port().config.mode == Port::Mode::accel) return false;
  // Addressed to one of our own ports.
  auto& aliases = snapshot_->settings.hostname_aliases;
  auto address = facts_.host_is_address ? net::Address::parse(target_.host) : std::nullopt;
  bool own_name = base::iequals(target_.host, snapshot_->hostname) || target_.host == "localhost" ||
                  std::any_of(aliases.begin(), aliases.end(), [this](auto& alias) { return base::iequals(target_.host, alias); });
  if (!address && !own_name) return false;
  for (auto& port : snapshot_->ports) {
    if (port->config.port != target_.port) continue;
    if (own_name || address->is_any() || address->same_host(connection_->local())) return true;
    auto listening = net::Address::parse(port->config.host);
    if (listening && (listening->same_host(*address) || (listening->is_any() && address->is_loopback()))) return true;
    if (port->config.host.empty() && address->is_loopback()) return true;
  }
  return false;
}

void Transaction::route() {
  Method method = head.method();
  if (target_.kind == TargetKind::resource && target_.path_query.starts_with("/squid-internal-") && looping_own_address())
    target_.kind = target_.path_query.starts_with("/squid-internal-mgr/") ? TargetKind::manager : TargetKind::internal;
  if (target_.kind == TargetKind::resource && snapshot_->settings.global_internal_static && target_.path_query.starts_with("/squid-internal-static/"))
    target_.kind = TargetKind::internal;
  switch (target_.kind) {
    case TargetKind::manager: return answer_manager();
    case TargetKind::internal: return error(ErrorId::invalid_req, 404);
    case TargetKind::tunnel:
      if (looping()) break;
      return begin_tunnel();
    case TargetKind::server:
      if (method != Method::options) return error(ErrorId::invalid_url, 400);
      if (connection_->port().config.mode != Port::Mode::accel) return answer_options();
      break;
    case TargetKind::resource: break;
  }
  if (looping()) {
    base::log_event(base::Section::http_server, 1, "WARNING: Forwarding loop detected for: {} {} from {}", head.method_text().in(bytes_), target_.url,
                    connection_->client().text());
    return deny(verdict_);
  }
  if (head.has(FieldId::expect) && !base::iequals(head.value(FieldId::expect, bytes_), "100-continue")) return error(ErrorId::invalid_req, 417);
  if (framing_.kind == http::BodyKind::length && snapshot_->settings.request_body_max_size > 0 &&
      framing_.length > uint64_t(snapshot_->settings.request_body_max_size)) {
    close_ = true;
    return error(ErrorId::too_big, 413);
  }
  if (method == Method::purge) return answer_purge();
  if ((method == Method::trace || method == Method::options) && head.has(FieldId::max_forwards)) {
    auto left = base::parse_decimal<uint64_t>(head.value(FieldId::max_forwards, bytes_));
    if (left && *left == 0) return method == Method::trace ? answer_trace() : answer_options();
  }
  step_ = Step::lookup;
}

}  // namespace loligo::client
