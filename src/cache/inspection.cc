#include "cache/inspection.h"

#include "cache/stored_form.h"
#include "http/vary.h"

namespace loligo::cache {

namespace {

void judge_variant(Inspected& v, const Bans& bans, const Question& q, const Policy& policy, bool accelerated) {
  const Response& r = *v.response;
  v.same_url = r.url == q.url;
  v.matches = v.same_url && (r.vary_names.empty() || http::selecting_key(r.vary_names, *q.request, q.bytes) == r.selecting_key);
  v.ban = bans.concerning(r, v.banned);
  v.lifetimes = r.current_lifetimes();
  if (v.ban && !v.banned) v.lifetimes.freshness = std::min(v.lifetimes.freshness, http::current_age(r.lifetimes, int64_t(v.ban / 1'000'000)));
  const std::string text = r.head + "\r\n";
  http::Head head;
  if (head.parse_response(text.data(), text.size(), {uint32_t(text.size()) + 1, http::kMaxFields}) == http::ParseState::complete)
    v.source = http::lifetime_source(head, text.data(), control_of(head, text.data(), accelerated, policy), r.lifetimes, policy.settings.vary_ignore_expire);
}

}  // namespace

void Cache::inspect(const Question& q, std::shared_ptr<const void> owner, std::shared_ptr<const Policy> policy, bool accelerated,
                    std::function<void(Inspection)> done) const {
  auto all = std::make_shared<Inspection>();
  memory_.peek(q.key, [&](store::Object& o) {
    Inspected v;
    v.response = ResponseRef(&static_cast<Response&>(o));
    all->variants.push_back(std::move(v));
    return false;
  });
  for (Inspected& v : all->variants) {
    const Response& r = *v.response;
    v.in_memory = true;
    v.usable = r.usable();
    v.complete = r.body->state() == store::Body::State::complete;
    v.body_bytes = r.body->length();
    store::Disk::Listed place;
    v.on_disk = disk_ && r.disk_id && disk_->where(r.key, r.disk_id, place);
    v.writing = disk_ && r.disk_id && !v.on_disk && disk_->is_writing(r.key, r.disk_id);
  }
  auto finish = [this, q, owner = std::move(owner), policy, accelerated, all, done = std::move(done)](std::vector<store::Disk::Looked> on_disk) {
    for (store::Disk::Looked& l : on_disk) {
      auto in_memory = [&](const Inspected& v) { return v.in_memory && v.response->disk_id == l.place.id; };
      if (std::any_of(all->variants.begin(), all->variants.end(), in_memory)) continue;
      Inspected v;
      v.response = read_stored_head(q.key, l.head);
      if (!v.response) {
        ++all->unread;
        continue;
      }
      v.response->rule = policy->refresh_patterns.match(q.url);
      v.on_disk = true;
      v.body_bytes = l.length;
      all->variants.push_back(std::move(v));
    }
    for (Inspected& v : all->variants) judge_variant(v, bans_, q, *policy, accelerated);
    done(std::move(*all));
  };
  if (!disk_) return finish({});
  for (auto& d : disk_->directories()) all->loading |= d.loading;
  disk_->look(q.key, std::move(finish));
}

}  // namespace loligo::cache
