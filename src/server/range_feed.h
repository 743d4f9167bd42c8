// Makes the bytes of some ranges from the parts that are known of a representation,
// one after the other, and fetches what lies between them: the one writer of a
// body that one client reads, and that is let go behind it.
//
//   part that is there       copied from memory, or read from its file
//   part that is arriving    read as it comes, whoever fetches it
//   gap                      claimed, and fetched as a part that others can follow: Range, and If-Range with the validator
//
// What is no part of the same representation never gets in. Before the answer has begun the owner hears of it and goes
// on from there; afterwards the body fails, and the client sees a transfer that breaks off.
//
// A machine of callbacks on one worker; the transaction owns it.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "cache/cache.h"
#include "http/range.h"
#include "server/fetch.h"
#include "server/upstream.h"

namespace loligo::server {

class RangeFeedOwner {
 public:
  // The answer may begin: the body's first bytes are there, or surely on their way. To be read from now on.
  virtual void feed_ready() = 0;
  // The origin answered something else, and the owner takes over the fetch of it, if it goes on. The parts may be gone.
  virtual void feed_changed(cache::ResponseRef, Fetch*, const FetchFacts&) = 0;
  virtual void feed_failed(FetchError, const FetchFacts&) = 0;
  virtual void feed_interim(int status, std::string_view head) = 0;

 protected:
  ~RangeFeedOwner() = default;
};

class RangeFeed final : FetchOwner, store::Writer {
 public:
  using MakeRequest = std::function<FetchRequest()>;
  // Ranges lie within the representation. `make_request`: for the URL, with what the client's request carries.
  RangeFeed(Upstream&, cache::SparseRef, std::vector<http::ByteRange>, std::shared_ptr<const cache::Policy>, MakeRequest make_request, RangeFeedOwner*);
  ~RangeFeed();
  // The owner hears nothing before this has returned.
  void begin();
  // The owner hears nothing any more; fetches go on as long as others need them. To be destroyed later.
  void close();
  const base::Ref<store::Body>& body() const { return body_; }
  // Of the first fetch that there was; attempts 0: none.
  const FetchFacts& facts() const { return facts_; }

 private:
  struct Reader;
  struct Part {                       // what is read at present
    cache::ResponseRef response;      // null: nothing is
    uint64_t number = 0;
    uint64_t skew = 0;                // position in the representation - position in the part's body
    uint64_t end = 0;                 // position up to which it is used
    bool attached = false;
  };
  enum class Step : unsigned char { on, wait, over };

  void fetch_interim(int status, std::string_view head) override;
  void fetch_response(cache::ResponseRef, Source, const FetchFacts&) override;
  void fetch_switched(ServerConnectionPtr, cache::ResponseRef, std::string, const FetchFacts&) override {}
  void fetch_failed(FetchError, const FetchFacts&) override;
  void fetch_ended(const FetchFacts&) override;
  void writer_woken() override { wake(); }

  void wake();
  void pump();
  Step step(uint64_t& budget);
  Step find();
  Step part_found(cache::ResponseRef, uint64_t part, uint64_t skew, uint64_t end);
  Step ask_for(uint64_t part, uint64_t first, uint64_t end);
  Step copy(uint64_t room);
  Step copy_from_file(store::BodySource&, uint64_t at, uint64_t most);
  Step part_over();
  void part_damaged();
  void leave_part();
  bool attach(const cache::ResponseRef&, uint64_t at);
  void changed(cache::ResponseRef);
  void fail(FetchError);
  void release_claim();

  Upstream& upstream_;
  const cache::SparseRef sparse_;
  const std::vector<http::ByteRange> ranges_;
  const std::shared_ptr<const cache::Policy> policy_;
  const MakeRequest make_request_;
  RangeFeedOwner* owner_;
  base::Ref<store::Body> body_;
  size_t range_ = 0;
  uint64_t position_ = 0;             // of the representation: the next byte
  Part part_;
  Fetch* fetch_ = nullptr;
  uint64_t claimed_ = 0;              // the part that fetch_ is to bring, until its head is there
  uint64_t asked_first_ = 0, asked_end_ = 0;
  unsigned tries_ = 0;                // without a byte
  bool begun_ = false, over_ = false, asks_disk_ = false, asks_server_ = false, pumping_ = false, woken_ = false;
  FetchFacts facts_;
  std::shared_ptr<Reader> reader_;
  std::shared_ptr<RangeFeed*> self_;  // nulled at the end; what posts hold
};

}  // namespace loligo::server
