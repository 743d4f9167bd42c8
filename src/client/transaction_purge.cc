// PURGE: of a URL, of what carries tags, of what an expression matches; for good,
// or softly: then it is stale, to be validated or served while that is done.
//
//   PURGE http://host/page            all variants of the URL
//   Surrogate-Key: a b                instead all objects with one of these tags (also xkey, Cache-Tag), of any URL
//   X-Ban-Url: ^http://host/dir/      instead all objects whose URL matches
//   Soft-Purge: 1                     (also Fastly-Soft-Purge) stale rather than gone
#include <fmt/format.h>

#include "cache/tags.h"
#include "client/reason.h"
#include "client/transaction.h"

namespace loligo::client {

using log::ResultTag;

namespace {

constexpr size_t kMostTags = 256;   // in one request

bool is_soft(const http::Head& head, const char* bytes) {
  return head.value("Soft-Purge", bytes) == "1" || head.value("Fastly-Soft-Purge", bytes) == "1";
}

constexpr std::string_view kBanField = "X-Ban-Url";

}  // namespace

// Off unless some ACL names the method: nobody purges by accident.
void Transaction::answer_purge() {
  if (!snapshot_->purge_enabled) return deny(verdict_);
  // The answer waits until the disk will not bring it back.
  keep();
  step_ = Step::following;
  tag_ = ResultTag::miss;
  if (!token_) token_ = std::make_shared<Transaction*>(this);
  const bool soft = is_soft(head, bytes_);
  std::vector<std::string_view> tags = cache::tag_names(head, bytes_);
  std::string_view pattern = head.value(kBanField, bytes_);
  if (!pattern.empty() && !tags.empty()) return simple_answer(400, reason_phrase(400), {}, "Tags or an expression, not both.\n", "text/plain");
  std::vector<cache::BanRequest> bans;
  if (!pattern.empty()) bans.push_back({cache::BanKind::pattern, soft, std::string(pattern)});
  for (std::string_view tag : tags) bans.push_back({cache::BanKind::tag, soft, std::string(tag)});
  if (bans.size() > kMostTags) return simple_answer(400, reason_phrase(400), {}, "Too many tags.\n", "text/plain");
  if (!bans.empty()) return ban(std::move(bans), pattern.empty());
  if (!soft) {
    worker_->cache.purge(target_.url, [token = token_, &loop = worker_->loop](std::optional<unsigned> gone) {
      loop.hand_over([token, gone] { if (*token) (*token)->purged(gone); });
    });
  } else if (worker_->cache.may_have(cache::key_of(target_.url))) {
    ban({{cache::BanKind::url, true, target_.url}}, false);
  } else {
    simple_answer(404, reason_phrase(404), {}, {});
  }
}

void Transaction::ban(std::vector<cache::BanRequest> bans, bool count) {
  const bool soft = bans.front().soft;
  auto done = [token = token_, &loop = worker_->loop, count, soft](const cache::BanAnswer& answer) {
    loop.hand_over([token, answer, count, soft] { if (*token) (*token)->banned(answer, count, soft); });
  };
  if (!worker_->cache.ban_keeper().add(std::move(bans), count, std::move(done)))
    simple_answer(503, reason_phrase(503), "Retry-After: 1\r\n", "Too many purges wait.\n", "text/plain");
}

void Transaction::banned(const cache::BanAnswer& answer, bool count, bool soft) {
  using Outcome = cache::BanAnswer::Outcome;
  auto say = [this](int status, std::string_view fields, std::string_view text, std::string_view type) {
    simple_answer(status, reason_phrase(status), fields, text, type);
    if (done()) connection_->transaction_ended_late();
  };
  switch (answer.outcome) {
    case Outcome::bad: return say(400, {}, answer.error + "\n", "text/plain");
    case Outcome::refused: return say(503, "Retry-After: 60\r\n", "Too many purges are in force.\n", "text/plain");
    case Outcome::not_durable: return say(503, {}, fmt::format("Ban {} is in force, but a cache_dir did not take it: after a restart it may be forgotten.\n", answer.id), "text/plain");
    case Outcome::in_force: break;
  }
  if (count && !soft) worker_->loop.counters().purged_objects.add(answer.taken);
  std::string text = fmt::format("{{\"ban\": {}", answer.id);
  if (count) text += fmt::format(", \"{}\": {}, \"complete\": {}", soft ? "stale" : "purged", answer.taken, answer.complete);
  say(200, {}, text + "}\n", "application/json");
}

void Transaction::purged(std::optional<unsigned> gone) {
  worker_->loop.counters().purged_objects.add(gone.value_or(0));
  int status = !gone ? 503 : *gone ? 200 : 404;
  if (gone) simple_answer(status, reason_phrase(status), {}, {});
  else simple_answer(status, reason_phrase(status), {}, "It is gone, but a cache_dir did not take that: after a restart it may be back.\n", "text/plain");
  if (done()) connection_->transaction_ended_late();
}

}  // namespace loligo::client
