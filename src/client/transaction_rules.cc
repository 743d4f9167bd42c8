// What rules ask of a transaction beyond its request: the client behind other
// proxies, the reply, and the values of fields that an administrator adds.
#include "base/event_log.h"
#include "base/text.h"
#include "client/transaction.h"

namespace loligo::client {

using http::FieldId;
using log::ResultTag;

namespace {
constexpr int kMaxHops = 64;   // proxies believed in one X-Forwarded-For
}

// From the nearest proxy outwards, as far as each one that follow_x_forwarded_for trusts names the one before it.
void Transaction::follow_forwarded() {
  std::string all;
  http::for_each_value(head, FieldId::x_forwarded_for, bytes_, [&](std::string_view value) { all.append(all.empty() ? "" : ",").append(value); });
  std::string_view left = all;
  for (int i = 0; i < kMaxHops && !left.empty(); ++i) {
    if (!snapshot_->follow_forwarded.check_fast(facts_, false).allowed) break;
    size_t comma = left.rfind(',');
    auto address = net::Address::parse(base::trim_ows(left.substr(comma == left.npos ? 0 : comma + 1)));
    if (!address) break;
    facts_.client = *address;
    left = left.substr(0, comma == left.npos ? 0 : comma);
  }
  indirect_client_ = facts_.client;
  if (!snapshot_->settings.acl_uses_indirect_client) facts_.client = connection_->client();
}

net::Address Transaction::logged_client() const {
  bool indirect = !snapshot_->follow_forwarded.empty() && facts_filled_ && !malformed_ && snapshot_->settings.log_uses_indirect_client;
  return indirect ? indirect_client_ : connection_->client();
}

// http_reply_access and reply_body_max_size. False: the client has been answered otherwise.
bool Transaction::reply_passes(const cache::Response& r) {
  reply_bytes_ = r.head + "\r\n";
  if (!reply_head_) reply_head_ = std::make_unique<http::Head>();
  if (reply_head_->parse_response(reply_bytes_.data(), reply_bytes_.size(), {uint32_t(reply_bytes_.size()) + 1, http::kMaxFields}) ==
      http::ParseState::complete) {
    facts_.reply = reply_head_.get();
    facts_.reply_bytes = reply_bytes_.data();
  }
  if (access::Verdict v = snapshot_->http_reply_access.check_fast(facts_, true); !v.allowed) {
    verdict_ = v;
    served_ = http::CacheReason::reply_rule;
    base::log_event(base::Section::access, 3, "denied the reply to {} {} by {}", facts_.method_text, target_.url, v.rule);
    deny(v, ErrorId::access_denied, ResultTag::denied_reply);
    return false;
  }
  for (auto& limit : snapshot_->reply_limits) {
    if (!limit.condition.check_fast(facts_, true).allowed) continue;
    uint64_t size = r.content_length;
    if (size == store::kUnknownLength && r.body->state() == store::Body::State::complete) size = r.body->length();
    reply_limit_ = size == store::kUnknownLength ? limit.bytes : store::kUnknownLength;
    if (size == store::kUnknownLength || size <= limit.bytes) break;
    tag_ = ResultTag::denied_reply;
    served_ = http::CacheReason::reply_too_large;
    error(ErrorId::too_big, 403);
    return false;
  }
  return true;
}

// What %codes in request_header_add and reply_header_add may tell: client, request, and the reply once there is one.
void Transaction::describe_for_fields(log::Record& r) const {
  r.start_us = started_us_;
  r.end_us = worker_->loop.wall_us();
  r.client = logged_client();
  r.local = connection_->local();
  r.listening_port_name = connection_->port().name;
  record_request(r);
  r.status = response_ ? response_->status : status_;
  r.tag = tag_;
}

}  // namespace loligo::client
