#include "server/range_feed.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <utility>

#include "http/conditional.h"

namespace loligo::server {

namespace {
constexpr uint64_t kBytesPerTurn = 1 << 20;   // then others get their turn
constexpr uint64_t kLargestRead = 128 << 10;
constexpr uint64_t kReadAhead = 256 << 10;    // of the client
constexpr unsigned kMaxTries = 3;             // without a byte, of places and of fetches

uint64_t total(const std::vector<http::ByteRange>& ranges) {
  uint64_t n = 0;
  for (auto& r : ranges) n += r.last - r.first + 1;
  return n;
}

std::string_view validator_of(const cache::Response& r) {
  return http::strong_validator({r.etag, r.last_modified, r.status, r.lifetimes.date});
}

// Is this an answer about the resource as such, so that what was known of it no longer holds?
bool tells_of_another(int status) {
  switch (status) {
    case 200: case 206: case 404: case 410: case 416: return true;
    default: return false;
  }
}
}  // namespace

// Hears of bytes on their writer's thread and passes it on, with at most one message pending.
struct RangeFeed::Reader final : store::Reader, std::enable_shared_from_this<Reader> {
  Reader(net::Loop& loop, RangeFeed* feed) : loop(loop), feed(feed) {}
  void woken() override {
    if (pending.exchange(true)) return;
    loop.hand_over([self = shared_from_this()] {
      self->pending.store(false);
      if (self->feed) self->feed->pump();
    });
  }
  net::Loop& loop;
  RangeFeed* feed;
  std::atomic<bool> pending{false};
};

RangeFeed::RangeFeed(Upstream& upstream, cache::SparseRef sparse, std::vector<http::ByteRange> ranges, std::shared_ptr<const cache::Policy> policy,
                     MakeRequest make_request, RangeFeedOwner* owner)
    : upstream_(upstream), sparse_(std::move(sparse)), ranges_(std::move(ranges)), policy_(std::move(policy)), make_request_(std::move(make_request)),
      owner_(owner), body_(base::make_ref<store::Body>(total(ranges_), false, kReadAhead)), position_(ranges_.front().first),
      reader_(std::make_shared<Reader>(upstream.loop, this)), self_(std::make_shared<RangeFeed*>(this)) {
  body_->attach_writer(this);
}

RangeFeed::~RangeFeed() { close(); }

void RangeFeed::begin() { wake(); }

void RangeFeed::close() {
  if (!self_ || !*self_) return;
  *self_ = nullptr;
  owner_ = nullptr;
  over_ = true;
  leave_part();
  reader_->feed = nullptr;
  if (fetch_) std::exchange(fetch_, nullptr)->abandon();
  release_claim();
  body_->detach_writer();
  body_->fail();
}

// A fetch that ended without an answer brings nothing; others must not wait for it.
void RangeFeed::release_claim() {
  if (claimed_) sparse_->forget(std::exchange(claimed_, 0));
}

void RangeFeed::wake() {
  upstream_.loop.hand_over([self = self_] { if (*self) (*self)->pump(); });
}

void RangeFeed::pump() {
  if (pumping_) {
    woken_ = true;
    return;
  }
  pumping_ = true;
  auto self = self_;
  uint64_t budget = kBytesPerTurn;
  for (Step next = Step::on; next != Step::over;) {
    woken_ = false;
    next = step(budget);
    if (!*self) return;   // the owner has let us go
    if (next == Step::wait && !woken_) break;
  }
  pumping_ = false;
}

RangeFeed::Step RangeFeed::step(uint64_t& budget) {
  if (over_) return Step::over;
  if (position_ > ranges_[range_].last) {
    if (++range_ == ranges_.size()) {
      over_ = true;
      leave_part();
      body_->complete();
      return Step::over;
    }
    leave_part();
    position_ = ranges_[range_].first;
  }
  if (!part_.response) return find();
  if (!std::exchange(begun_, true)) {
    owner_->feed_ready();
    return Step::on;
  }
  if (body_->reader_count() == 0) return Step::wait;   // the owner will tell
  if (budget == 0) {
    wake();
    return Step::wait;
  }
  const uint64_t room = std::min(body_->room(), budget);
  if (room == 0) return Step::wait;
  const uint64_t before = position_;
  Step next = copy(room);
  if (position_ > before) tries_ = 0;
  budget -= std::min(budget, position_ - before);
  return next;
}

// ---- where the next byte is ------------------------------------------------------

RangeFeed::Step RangeFeed::find() {
  if (asks_disk_ || asks_server_) return Step::wait;
  if (tries_++ > kMaxTries) return fail(FetchError::read), Step::over;
  const uint64_t end = ranges_[range_].last + 1;
  using What = cache::Sparse::Place::What;
  auto place = sparse_->next(position_, end, [self = self_, &loop = upstream_.loop] { loop.hand_over([self] { if (*self) (*self)->pump(); }); });
  const uint64_t skew = position_ - place.skip;
  switch (place.what) {
    case What::awaited: --tries_; return Step::wait;
    case What::gap: return ask_for(place.part, place.first, place.end);
    case What::arriving:
      if (part_found(place.response, place.part, skew, place.end) == Step::on) return Step::on;
      if (sparse_->let_go(place.part, true)) return Step::on;   // written meanwhile: the store has it
      // Its bytes went by before anybody could keep them.
      return ask_for(0, position_, std::min(place.end, position_ + cache::Sparse::kLargestGap));
    case What::part: break;
  }
  cache::OnDisk now;
  auto later = [self = self_, &loop = upstream_.loop, part = place.part, skew, end = place.end](cache::OnDisk answer) {
    loop.post([self, part, skew, end, answer = std::move(answer)] {
      if (!*self) return;
      (*self)->asks_disk_ = false;
      if (!answer.response || !cache::Cache::is_part(*answer.response, *(*self)->sparse_, skew) || (*self)->part_found(answer.response, part, skew, end) != Step::on) (*self)->sparse_->forget(part);
      (*self)->pump();
    });
  };
  if (!upstream_.cache.find_part(sparse_, place.part, policy_, now, std::move(later))) {
    asks_disk_ = true;
    return Step::wait;
  }
  if (!now.response || !cache::Cache::is_part(*now.response, *sparse_, skew) || part_found(now.response, place.part, skew, place.end) != Step::on) sparse_->forget(place.part);
  return Step::on;
}

// Not `on`: it cannot be read from there.
RangeFeed::Step RangeFeed::part_found(cache::ResponseRef response, uint64_t part, uint64_t skew, uint64_t end) {
  leave_part();
  if (response->body->source()) {
    if (response->body->length() + skew <= position_) return Step::over;
    part_ = {std::move(response), part, skew, end, false};
    return Step::on;
  }
  if (!attach(response, position_ - skew)) return Step::over;
  part_ = {std::move(response), part, skew, end, true};
  return Step::on;
}

bool RangeFeed::attach(const cache::ResponseRef& response, uint64_t at) {
  store::Body& body = *response->body;
  if (body.state() != store::Body::State::filling && body.length() <= at) return false;
  return body.attach(reader_.get(), at, upstream_.loop.now_ms(), true);
}

void RangeFeed::leave_part() {
  if (!part_.response) return;
  if (part_.attached) part_.response->body->detach(reader_.get());
  if (store::BodySource* source = part_.attached ? part_.response->body->history() : part_.response->body->source()) source->leave(reader_.get());
  part_ = {};
}

RangeFeed::Step RangeFeed::ask_for(uint64_t part, uint64_t first, uint64_t end) {
  if (fetch_) std::exchange(fetch_, nullptr)->abandon();   // of the part before
  const cache::ResponseRef head = sparse_->head();
  FetchRequest r = make_request_();
  claimed_ = part;
  if (r.destinations.empty()) return fail(FetchError::cannot_forward), Step::over;
  r.validators = fmt::format("Range: bytes={}-{}\r\nIf-Range: {}\r\n", first, end - 1, validator_of(*head));
  r.gap = {sparse_, part, first, end};
  upstream_.loop.counters().gaps_fetched.add();
  asked_first_ = first;
  asked_end_ = end;
  asks_server_ = true;
  fetch_ = upstream_.start(std::move(r), this);
  return Step::wait;
}

// ---- copying ---------------------------------------------------------------------

RangeFeed::Step RangeFeed::copy(uint64_t room) {
  const uint64_t end = std::min(part_.end, ranges_[range_].last + 1);
  if (position_ >= end) return part_over();
  const uint64_t at = position_ - part_.skew, most = std::min(room, end - position_);
  store::Body& body = *part_.response->body;
  if (body.source()) return at < body.length() ? copy_from_file(*body.source(), at, std::min(most, body.length() - at)) : part_over();
  if (reader_->cut()) return part_over();
  if (!body.catch_up(reader_.get(), at)) {
    if (store::BodySource* history = body.history()) return copy_from_file(*history, at, most);
    return part_over();
  }
  constexpr int kParts = 16;
  iovec parts[kParts];
  auto view = body.view(reader_.get(), at, parts, kParts, most);
  for (int i = 0; i < view.parts; ++i) body_->append({static_cast<const char*>(parts[i].iov_base), parts[i].iov_len});
  position_ += view.bytes;
  if (view.bytes) {
    body.advance(reader_.get(), at + view.bytes, upstream_.loop.now_ms());
    return Step::on;
  }
  if (body.wait(reader_.get(), at)) return Step::wait;
  if (reader_->behind() || body.length() > at) return Step::on;
  return part_over();
}

RangeFeed::Step RangeFeed::copy_from_file(store::BodySource& source, uint64_t at, uint64_t most) {
  store::BodySource::Piece piece;
  switch (source.piece(at, piece)) {
    case store::BodySource::Ready::later: return source.wait(reader_.get(), at) ? Step::wait : Step::on;
    case store::BodySource::Ready::damaged: return part_damaged(), Step::on;
    case store::BodySource::Ready::now: break;
  }
  const size_t want = size_t(std::min({piece.bytes, most, kLargestRead}));
  char* data = static_cast<char*>(std::malloc(want));
  if (!data) throw std::bad_alloc();
  const ssize_t n = ::pread(piece.fd, data, want, off_t(piece.file_offset));
  if (n <= 0) {
    std::free(data);
    return part_damaged(), Step::on;
  }
  body_->append_owned(data, uint32_t(want), uint32_t(n));
  position_ += uint64_t(n);
  if (part_.attached) part_.response->body->advance(reader_.get(), at + uint64_t(n), upstream_.loop.now_ms());
  return Step::on;
}

// Used up, or it broke off: on with what follows.
RangeFeed::Step RangeFeed::part_over() {
  leave_part();
  return Step::on;
}

// What the disk has lost the origin has still.
void RangeFeed::part_damaged() {
  const uint64_t part = part_.number;
  leave_part();
  if (part) sparse_->forget(part);
}

// ---- what a fetch tells ----------------------------------------------------------

void RangeFeed::fetch_interim(int status, std::string_view head) {
  if (!begun_ && owner_) owner_->feed_interim(status, head);
}

void RangeFeed::fetch_response(cache::ResponseRef response, Source, const FetchFacts& facts) {
  asks_server_ = false;
  if (facts_.attempts == 0) facts_ = facts;
  const uint64_t part = std::exchange(claimed_, 0);
  if (part && response->part.number != part) sparse_->forget(part);   // it is not kept
  if (!response->fits_gap) return changed(std::move(response));
  // It may bring less than was asked for.
  const uint64_t end = std::min(asked_end_, asked_first_ + response->content_length);
  if (part_found(std::move(response), part, asked_first_, end) != Step::on) part_ = {};
  pump();
}

void RangeFeed::changed(cache::ResponseRef response) {
  if (tells_of_another(response->status)) upstream_.cache.outdate(sparse_);
  if (begun_) return fail(FetchError::read);
  over_ = true;
  Fetch* fetch = std::exchange(fetch_, nullptr);
  owner_->feed_changed(std::move(response), fetch, facts_);
}

void RangeFeed::fetch_failed(FetchError error, const FetchFacts& facts) {
  fetch_ = nullptr;
  asks_server_ = false;
  if (facts_.attempts == 0) facts_ = facts;
  release_claim();
  if (!begun_ || tries_ > kMaxTries) return fail(error);
  pump();
}

void RangeFeed::fetch_ended(const FetchFacts& facts) {
  fetch_ = nullptr;
  facts_.body_bytes += facts.body_bytes;
  facts_.total_us = facts.total_us;
}

void RangeFeed::fail(FetchError error) {
  over_ = true;
  release_claim();
  leave_part();
  if (begun_) return body_->fail();
  if (owner_) owner_->feed_failed(error, facts_);
}

}  // namespace loligo::server
