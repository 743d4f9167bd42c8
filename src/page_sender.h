// Sends a page that is made some rows at a time: into a body, as fast as its one
// reader takes it and never more than a little ahead. Between two pieces the loop
// has its turn.
//
// Owner: ManagerRoom, and what is posted. The thread of its loop; the body's
// reader may be on any other.
#pragma once
#include <atomic>
#include <memory>
#include <string>

#include "mgr/manager.h"
#include "net/loop.h"
#include "store/body.h"

namespace loligo {

class PageSender final : store::Writer, public std::enable_shared_from_this<PageSender> {
 public:
  static constexpr uint64_t kAheadBytes = 128 << 10, kBytesPerTurn = 32 << 10;
  static constexpr int64_t kComeMs = 10'000;   // so long a reader is waited for

  PageSender(net::Loop&, std::unique_ptr<mgr::PageStream>);
  ~PageSender();
  // Hand it on before start().
  const base::Ref<store::Body>& body() const { return body_; }
  void start() { again(); }
  bool ended() const { return !stream_; }

 private:
  void writer_woken() override { again(); }
  void again();
  void fill();
  bool wanted();
  void end();

  net::Loop& loop_;
  std::unique_ptr<mgr::PageStream> stream_;   // until the end
  const base::Ref<store::Body> body_;
  std::string piece_;
  net::FunctionTimer look_;
  bool came_ = false;
  const int64_t began_ms_;
  std::atomic<bool> posted_{false};
};

}  // namespace loligo
