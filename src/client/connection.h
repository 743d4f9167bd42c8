// A client connection: the wire. It reads, finds heads and body bytes, hands each
// request to a Transaction, and sends what the transaction answers; one request
// at a time, pipelined ones in their order. It knows framing and nothing of caching.
//
// An idle connection keeps no buffer: reads go into the worker's scratch, and
// only what cannot be used at once is copied. One worker, one thread.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cache/response.h"
#include "client/snapshot.h"
#include "client/worker.h"
#include "http/chunked.h"
#include "http/framing.h"
#include "http/range.h"
#include "net/loop.h"
#include "net/stream.h"
#include "server/relay.h"
#include "server/request_body.h"

namespace loligo::client {

class Transaction;

// What to send. Views must live until reply() returns; what could not be sent at once is copied.
struct Reply {
  std::string_view head, tail;                 // the head's bytes: stored part, changing part with the empty line
  std::string_view text;                       // a body of our own, whole; used when there is no response
  cache::ResponseRef response;                 // else the body to send, from `from` to before `to`
  uint64_t from = 0, to = store::kUnknownLength;
  uint64_t limit = store::kUnknownLength;      // a body that grows beyond is cut off
  bool chunked = false;                        // for a body whose length the head does not tell
  bool close = false;                          // the connection ends with this reply
  struct Part { std::string text; uint64_t from, to; };
  std::vector<Part> parts;                     // multipart/byteranges: text then bytes, repeatedly; the last may have no bytes
};

enum class ReplyEnd : unsigned char { sent, client_gone, body_failed, timed_out, cut_off };

class Connection final : net::Watcher, net::Timer, server::RequestBody::Producer {
 public:
  Connection(Worker&, std::unique_ptr<net::Stream>, const net::Address& client, const net::Address& local, std::shared_ptr<const PortContext>);
  ~Connection();
  // Takes over the descriptor: tries to read at once, and registers with the loop if more is to come.
  static void accept(Worker&, std::unique_ptr<net::Stream>, const net::Address& client, const net::Address& local,
                     std::shared_ptr<const PortContext>);

  // ---- for its transaction ----
  Worker& worker() { return worker_; }
  const PortContext& port() const { return *port_; }
  const net::Address& client() const { return client_; }
  const net::Address& local() const { return local_; }
  net::Stream& stream() { return *stream_; }
  ClientRow* row() { return row_; }
  int client_connections() const { return open_ ? open_->load(std::memory_order_relaxed) : 0; }
  // Sends an answer. True: all of it went out at once. Else Transaction::reply_ended() comes later.
  bool reply(Reply&&);
  // For a body that memory does not keep whole: takes part from its start on, until the reply that comes next, and for it
  // if it is of this body, whole and not chunked. False: too late.
  bool join(const cache::ResponseRef&);
  // Bytes ahead of the reply (1xx heads). False when the client is gone.
  bool send_interim(std::string_view text);
  uint64_t bytes_sent() const { return bytes_sent_; }          // of the current reply
  // Ties the client to a server from now on; Transaction::tunnel_ended() comes at the end.
  void tunnel(server::ServerConnectionPtr, std::string first_to_client, base::Milliseconds idle_timeout);
  const server::Relay* relay() const { return relay_.get(); }
  // The request's body, made when the request has one.
  const std::shared_ptr<server::RequestBody>& request_body() const { return request_body_; }
  bool request_body_done() const { return !ingest_ || ingest_->done; }
  void reset_when_done() { reset_ = true; }                    // deny_info TCP_RESET
  void close_now();
  // The transaction ended outside of process() and reply_ended().
  void transaction_ended_late() { if (state_ != State::closed && transaction_) end_transaction(); }

  // ---- for the manager and the end ----
  Transaction* transaction() const { return transaction_.get(); }
  Connection* next() const { return next_; }
  uint64_t requests() const { return requests_; }
  uint64_t total_in() const { return total_in_; }
  uint64_t total_out() const { return total_out_; }
  bool idle() const { return !transaction_ && input_.empty(); }
  void end_of_life();
  int64_t accepted_ms() const { return accepted_ms_; }
  void drain();                                                // close when idle, now or after the current reply

 private:
  friend struct Worker;
  struct BodyReader;
  struct Outgoing;   // a reply that could not be sent at once
  struct Ingest {    // a request body that is being read
    http::Framing framing;
    uint64_t left = 0, total = 0;
    http::ChunkedDecoder chunked;
    bool done = false;
  };
  enum class State : unsigned char { handshake, reading, lingering, closed };

  void on_event(uint32_t events) override;
  void on_timer() override;
  void body_space() override;

  bool register_with_loop();
  void read_input();
  void process(std::string_view bytes);
  void begin_request(const char* bytes, const http::Head&, std::string_view rest);
  std::string_view take_body(std::string_view bytes);
  void find_port();
  void bad_request(const http::Head&, std::string_view bytes);
  void after_request();
  void continue_input();
  void client_left();
  bool reply_complete(Reply&);
  bool pump_output();
  enum class Pumped : unsigned char { on, waits, ended };
  Pumped pump_file(Outgoing&, store::BodySource&, uint64_t& turn);
  store::BodySource* file_of(const Outgoing&) const;
  bool take_joined(const Reply&);
  bool fill_chunk(Outgoing&);
  void output_done(ReplyEnd);
  void end_transaction();
  void linger();
  void destroy();
  void body_ready();
  void wait_for_request();
  void wait_for_writing();

  Worker& worker_;
  std::unique_ptr<net::Stream> stream_;
  std::shared_ptr<const PortContext> port_;
  net::Address client_, local_;
  ClientRow* row_ = nullptr;
  std::shared_ptr<std::atomic<int>> open_;
  Connection *next_ = nullptr, **previous_ = nullptr;
  std::unique_ptr<Transaction> transaction_;
  std::shared_ptr<Ingest> ingest_;
  std::shared_ptr<server::RequestBody> request_body_;
  std::unique_ptr<Outgoing> out_;
  std::unique_ptr<server::Relay> relay_;
  std::shared_ptr<BodyReader> reader_;
  cache::ResponseRef joined_;
  std::string input_;               // bytes read and not used yet
  State state_ = State::reading;
  bool registered_ = false, close_ = false, reset_ = false, head_begun_ = false, read_ended_ = false;
  bool in_process_ = false;
  bool more_input_ = false;         // the kernel may hold bytes, or the end, of which no further event tells
  bool input_ended_ = false;        // the end stands behind what is read now: a short read does not mean drained
  uint32_t requests_ = 0;
  unsigned generation_ = 0;         // of the worker's snapshot when port_ was looked up
  uint64_t bytes_sent_ = 0, total_in_ = 0, total_out_ = 0;
  int64_t accepted_ms_ = 0;
  int64_t discarded_ = 0;
};

}  // namespace loligo::client
