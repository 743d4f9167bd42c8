// CONNECT and protocol upgrades: the client's stream is tied to a server's.
#include <fmt/format.h>

#include "base/event_log.h"
#include "base/text.h"
#include "client/tunnel_peer.h"
#include "client/transaction.h"
#include "server/base64.h"

namespace loligo::client {

using log::ResultTag;

void Transaction::begin_tunnel() {
  keep();
  close_ = true;
  tag_ = ResultTag::none;   // until it is open: what fails is logged as NONE_NONE
  step_ = Step::tunnelling;
  if (!snapshot_->miss_access.empty() && !snapshot_->miss_access.check_fast(facts_, true).allowed) return error(ErrorId::forwarding_denied, 403);
  const server::Routing& routing = *snapshot_->routing;
  icp::SelectionQuestion q;
  q.facts = facts_;
  q.connect = true;
  q.hierarchical = false;
  q.direct = routing.direct_for(facts_, false, true);
  q.nonhierarchical_direct = routing.nonhierarchical_direct;
  q.prefer_direct = routing.prefer_direct;
  q.max_tries = unsigned(routing.settings.forward_max_tries);
  tunnel_destinations_ = icp::select(routing.peers, q);
  if (tunnel_destinations_.empty()) return error(ErrorId::cannot_forward, 503);
  tunnel_next();
}

void Transaction::tunnel_next() {
  icp::Destination d = tunnel_destinations_[next_tunnel_++];
  const server::Routing& routing = *snapshot_->routing;
  base::Milliseconds left = routing.settings.forward_timeout - base::Milliseconds((worker_->loop.now_us() - started_steady_us_) / 1000);
  if (left.count() <= 0) return tunnel_failed(server::FetchError::forward_timeout, {}, ETIMEDOUT);
  server::ConnectTarget target = routing.connect_target(d, left);
  target.max_attempts = unsigned(routing.settings.forward_max_tries) - std::min(tunnel_tries_, unsigned(routing.settings.forward_max_tries) - 1);
  target.local = routing.outgoing(facts_, d);
  code_ = d.code;
  ++fetch_facts_.attempts;
  fetch_facts_.peer_host = d.peer ? d.peer->config.name : target_.host;
  if (!d.peer) target.host = target_.host, target.port = target_.port;
  if (d.peer && d.peer->config.tls && !target.tls) return tunnel_failed(server::FetchError::tls, "TLS to servers is switched off", 0);
  worker_->loop.counters().server_other_requests.add();
  connector_ = std::make_unique<server::Connector>(worker_->loop, worker_->resolver);
  connector_->start(std::move(target), [this, d](server::ConnectResult result) {
    auto finished = std::move(connector_);
    auto* loop = &worker_->loop;
    loop->delete_later(std::move(finished));
    if (result.dns_us >= 0) fetch_facts_.dns_us = result.dns_us;
    fetch_facts_.server = result.connection ? result.connection->address : result.last_address;
    tunnel_tries_ += std::max(result.attempts, 1u);
    if (!result.connection) {
      if (next_tunnel_ < tunnel_destinations_.size() && tunnel_tries_ < unsigned(snapshot_->routing->settings.forward_max_tries)) return tunnel_next();
      return tunnel_failed(server::fetch_error(result.error), result.detail, result.system_error);
    }
    fetch_facts_.local = result.connection->local;
    if (!d.peer) return tunnel_connected(std::move(result.connection));
    // A parent is asked for the tunnel first; its refusal is its answer to our client.
    std::string request = fmt::format("CONNECT {} HTTP/1.1\r\nHost: {}\r\n", target_.url, target_.url);
    std::string_view login = d.peer->config.login;
    if (login == "PASS" || login == "PASSTHRU") {
      if (auto v = head.value(http::FieldId::proxy_authorization, bytes_); !v.empty()) request += fmt::format("Proxy-Authorization: {}\r\n", v);
    } else if (!login.empty()) {
      request += fmt::format("Proxy-Authorization: Basic {}\r\n", server::base64(login));
    }
    request += "\r\n";
    tunnel_peer_ = std::make_unique<TunnelPeer>(worker_->loop, std::move(result.connection));
    tunnel_peer_->ask(std::move(request), snapshot_->routing->settings.read_timeout, [this](TunnelPeer::Answer answer) {
      worker_->loop.delete_later(std::move(tunnel_peer_));
      if (answer.connection) {
        early_bytes_ = std::move(answer.early);
        return tunnel_connected(std::move(answer.connection));
      }
      worker_->loop.counters().server_other_errors.add();
      fetch_facts_.server_status = answer.status;
      int status = answer.status >= 400 ? answer.status : 502;
      error(ErrorId::cannot_forward, status == 407 ? 502 : status);
      if (done()) connection_->transaction_ended_late();
    });
  });
}

void Transaction::tunnel_failed(server::FetchError failure, std::string detail, int system_error) {
  worker_->loop.counters().server_other_errors.add();
  if (!fetch_facts_.server.valid()) code_ = log::HierarchyCode::none;
  failure_page(failure, detail, system_error);
  if (done() && !in_run_) connection_->transaction_ended_late();
}

void Transaction::tunnel_connected(server::ServerConnectionPtr server) {
  tag_ = ResultTag::tunnel;
  status_ = 200;
  std::string established = "HTTP/1.1 200 Connection established\r\n\r\n";
  head_size_ = established.size();
  established += early_bytes_;
  connection_->tunnel(std::move(server), std::move(established), snapshot_->routing->settings.read_timeout);
}

void Transaction::fetch_switched(server::ServerConnectionPtr server, cache::ResponseRef response, std::string early, const server::FetchFacts& facts) {
  fetch_ = nullptr;
  fetch_facts_ = facts;
  code_ = facts.code;
  response_ = response;
  tag_ = ResultTag::miss;
  status_ = 101;
  close_ = true;
  step_ = Step::tunnelling;
  std::string head_text = response->head;
  head_text += fmt::format("Upgrade: {}\r\nConnection: Upgrade\r\n{}\r\n", upgrade_reply_.empty() ? upgrade_allowed() : upgrade_reply_,
                           connection_->port().outcome_fields(false, found_));
  head_size_ = head_text.size();
  connection_->tunnel(std::move(server), head_text + early, snapshot_->routing->settings.read_timeout);
}

void Transaction::tunnel_ended(server::Relay::End end) {
  if (const server::Relay* relay = connection_->relay()) {
    tunnel_down_ = relay->bytes_to_client();
    tunnel_up_ = relay->bytes_to_server();
  }
  worker_->loop.counters().server_other_bytes_in.add(tunnel_down_);
  worker_->loop.counters().server_other_bytes_out.add(tunnel_up_);
  timed_out_ = end == server::Relay::End::idle_timeout;
  finish();
}

}  // namespace loligo::client
