#include "page_sender.h"

namespace loligo {

PageSender::PageSender(net::Loop& loop, std::unique_ptr<mgr::PageStream> stream)
    : loop_(loop), stream_(std::move(stream)), body_(base::make_ref<store::Body>(store::kUnknownLength, false, kAheadBytes)), began_ms_(loop.now_ms()) {
  body_->attach_writer(this);
  look_.call = [this] { fill(); };
}

PageSender::~PageSender() { end(); }

// Under the body's lock, perhaps.
void PageSender::again() {
  if (posted_.exchange(true)) return;
  loop_.post([self = weak_from_this()] {
    if (auto sender = self.lock()) sender->fill();
  });
}

// The client may not have begun to read; once it has, it is gone when nobody reads.
bool PageSender::wanted() {
  if (body_->reader_count() > 0) return came_ = true;
  return !came_ && loop_.now_ms() - began_ms_ < kComeMs;
}

void PageSender::fill() {
  posted_.store(false);
  look_.cancel();
  if (ended()) return;
  if (!wanted()) return end();
  for (uint64_t bytes = 0; bytes < kBytesPerTurn; bytes += piece_.size()) {
    // Without a reader the body does not say when it is full.
    if (!came_ && body_->length() >= kAheadBytes) return loop_.arm(look_, base::Milliseconds(64));
    if (body_->room() == 0) return;
    piece_.clear();
    bool more = stream_->more(piece_);
    body_->append(piece_);
    if (more) continue;
    body_->complete();
    return end();
  }
  again();
}

void PageSender::end() {
  body_->detach_writer();
  body_->fail();   // nothing, once it is complete
  look_.cancel();
  stream_.reset();
}

}  // namespace loligo
