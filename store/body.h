// The bytes of one response while they arrive and afterwards: one writer, many
// readers, each at a pace of its own, on any thread.
//
//   writer   append() ... complete() or fail()
//   reader   attach(), then view(offset) and advance(); wait() to be woken once
//            when there is more
//
// A body that is retained (it may be stored) keeps every byte, and a reader may
// join at any time. One that is not lets its chunks go behind its slowest
// reader; the writer asks room() and is held back by the fastest reader, so that
// memory stays bounded whatever the two sides do. A reader that lags far behind
// holds the others for a moment only: then it is cut off.
//
// Where the disk follows such a body, what memory lets go is history: it lies in
// files. Who comes late, or lags, reads there until it has caught up.
//
// Errors: a failed body ends visibly short; nothing ever turns it into a whole one.
#pragma once
#include <sys/uio.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/ref.h"

namespace loligo::store {

inline constexpr uint64_t kUnknownLength = ~uint64_t(0);

class Body;

// Bytes that several may hold, up to a limit in all. Any thread.
class Budget {
 public:
  explicit Budget(uint64_t limit) : limit_(limit) {}
  bool take(uint64_t bytes) {
    if (used_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= limit_) return true;
    give(bytes);
    return false;
  }
  void give(uint64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  const uint64_t limit_;
  std::atomic<uint64_t> used_{0};
};

// Registered with a body. woken() is called on the writer's thread (or another reader's), under the body's lock:
// it must only note the event and post to its own thread.
// A background reader (the disk's) takes what others make come: it neither holds them back (what it lags behind is held
// within its budget; beyond it, it is cut at once) nor counts as somebody who wants the body; only when nobody else is left
// does the writer go at its pace.
class Reader {
 public:
  explicit Reader(Budget* background = nullptr) : background_(background) {}
  virtual void woken() = 0;
  bool cut() const { return cut_.load(std::memory_order_acquire); }  // lagged too far behind
  bool behind() const { return behind_.load(std::memory_order_acquire); }   // its next byte is history: see Body::history()

 protected:
  ~Reader() = default;

 private:
  friend class Body;
  Budget* const background_;
  uint64_t granted_ = 0;                    // of the budget
  uint64_t offset_ = 0;                     // what it has taken
  uint64_t holds_from_ = 0;                 // what it may still look at
  bool by_file_ = false;
  mutable bool viewing_ = false;            // the pieces of its last view() are in use, whatever becomes of it
  uint64_t waiting_for_ = kUnknownLength;   // wake when length exceeds this; kUnknownLength = not waiting
  int64_t moved_ms_ = 0, lagging_since_ms_ = 0;
  std::atomic<bool> cut_{false}, behind_{false};
};

// The writer's side of flow control; writer_woken() follows the same rule as woken(). It comes when there is room again
// after room() was 0, and when the last reader has gone: whether to go on without one is the writer's decision.
class Writer {
 public:
  virtual void writer_woken() = 0;

 protected:
  ~Writer() = default;
};

// Bytes of a complete body that lie in a file. Any thread; implemented by the disk store.
class BodySource : public base::RefCounted {
 public:
  virtual ~BodySource() = default;
  struct Piece { int fd = -1; uint64_t file_offset = 0, bytes = 0; };
  enum class Ready : uint8_t {
    now,       // the piece is checked, and in the page cache as far as can be known
    later,     // it is being read and checked
    damaged,   // it cannot be had: the transfer must end visibly
  };
  // The piece that begins at body offset `offset` (before the end), as long as may be.
  virtual Ready piece(uint64_t offset, Piece&) = 0;
  // Wakes the reader once, on a thread of the store, when piece(offset) is no longer `later`. False = it is not now.
  virtual bool wait(Reader*, uint64_t offset) = 0;
  // The reader is not woken any more once this has returned.
  virtual void leave(Reader*) = 0;
};

class Body final : public base::RefCounted {
 public:
  enum class State : uint8_t { filling, complete, failed };

  // `expected` bytes, if known, decides the size of the first chunk (at most kMaxChunk).
  Body(uint64_t expected, bool retained, uint64_t read_ahead);
  // A complete body whose bytes lie in a file: view() and attach() do not apply, source() tells where they are.
  Body(base::Ref<BodySource>, uint64_t length);
  ~Body();
  BodySource* source() const { return source_.get(); }

  // ---- writer ----
  void attach_writer(Writer*);   // one at a time, until detach_writer(), complete() or fail()
  void detach_writer();
  void append(std::string_view bytes);
  // The same without a copy: `data` is of malloc, `size` bytes, of which `used` are the body's. Takes ownership.
  void append_owned(char* data, uint32_t size, uint32_t used);
  void complete(std::string trailers = {});
  void fail();
  // Bytes that may be appended now; 0 = wait for writer_woken(). Unlimited while retained.
  uint64_t room();
  // Whoever was to read from the start has come, or nobody will: until then (or the first attach() of a reader that is not
  // in the background) nothing goes behind background readers.
  void release_start();
  // No longer to be stored: chunks go behind the readers from now on. No reader may join any more.
  void stop_retaining();
  // Cuts off the readers that hold the others back (call about once a second while room() stays 0). Number cut.
  unsigned cut_laggards(int64_t now_ms);

  // ---- readers ----
  // False: byte `offset` is no longer held. `by_file`: it can read history.
  bool attach(Reader*, uint64_t offset, int64_t now_ms, bool by_file = false);
  void detach(Reader*);
  unsigned reader_count() const;   // without background readers
  bool followed() const;           // by a background reader
  // Of the reader itself. True: memory holds `offset`, and it reads there from now on. False: history does.
  bool catch_up(Reader*, uint64_t offset);
  BodySource* history() const { return history_.get(); }   // for readers that are behind
  // A background reader's: the bytes before `end` lie there.
  void keep_history(const base::Ref<BodySource>&, uint64_t end);
  struct View {
    int parts = 0;            // iovecs filled
    uint64_t bytes = 0;
    State state = State::filling;   // as of the same moment: complete and bytes == 0 means the end
  };
  // Up to `max_parts` pieces from `offset` on, at most `max_bytes`. They stay valid until advance() or detach().
  View view(uint64_t offset, iovec* parts, int max_parts, uint64_t max_bytes) const;
  // The same for an attached reader, which may be cut or fall behind at any moment. Nothing for one that has. The pieces
  // stay until advance(), end_view(), wait() or detach().
  View view(const Reader*, uint64_t offset, iovec* parts, int max_parts, uint64_t max_bytes) const;
  // Copies from `offset` on, up to `most` bytes, under the lock: safe while a cut may come at any moment. The view says
  // how many; nothing for a reader that was cut.
  View copy(const Reader*, uint64_t offset, char* to, uint64_t most) const;
  void end_view(Reader*);
  // `holds_from`, if given: what it has not done with yet.
  void advance(Reader*, uint64_t offset, int64_t now_ms, uint64_t holds_from = kUnknownLength);
  // Wakes the reader once when there are bytes past `offset` or the state changed. False = there are already.
  bool wait(Reader*, uint64_t offset);

  State state() const { return state_.load(std::memory_order_acquire); }
  uint64_t length() const { return length_.load(std::memory_order_acquire); }   // appended so far
  bool retained() const { return retained_.load(std::memory_order_acquire); }
  uint64_t memory() const { return memory_.load(std::memory_order_relaxed); }   // bytes allocated now
  const std::string& trailers() const { return trailers_; }                     // after complete

  static constexpr uint64_t kMaxChunk = 1 << 20;
  static constexpr uint64_t kHoldLimit = 4 << 20;   // what a lagging reader may make an unretained body hold

 private:
  struct Chunk { char* data; uint32_t size, used; };
  Chunk* space();
  View view_locked(uint64_t offset, iovec* parts, int max_parts, uint64_t max_bytes) const;
  void release_behind_readers();
  void release_all();
  void wake_readers();
  void wake_writer();
  bool wanted_locked() const;
  bool leads(const Reader& r) const { return !r.background_ && !r.cut() && !r.behind(); }
  bool led_locked() const;
  bool followed_locked() const;
  bool let_fall_behind(Reader&);
  void start_over(Reader&, uint64_t offset, int64_t now_ms);
  bool grant(Reader&, uint64_t lag);
  void look_at_background();
  uint64_t slowest(bool background_too = true) const;
  uint64_t fastest() const;
  uint64_t room_locked() const;

  const base::Ref<BodySource> source_;
  base::Ref<BodySource> history_;     // set once, before anybody is behind
  uint64_t history_end_ = 0;
  mutable std::mutex mutex_;
  std::vector<Chunk> chunks_;
  uint64_t first_offset_ = 0;    // of chunks_.front()
  uint64_t expected_, read_ahead_;
  std::vector<Reader*> readers_;
  Writer* writer_ = nullptr;
  bool writer_waits_ = false;    // for room
  bool start_held_ = true;
  std::string trailers_;
  std::atomic<uint64_t> length_{0}, memory_{0};
  std::atomic<State> state_{State::filling};
  std::atomic<bool> retained_;
};

}  // namespace loligo::store
