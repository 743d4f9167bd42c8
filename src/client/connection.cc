// The receiving half of a connection, and its life.
#include "client/connection.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <utility>

#include "base/event_log.h"
#include "base/text.h"
#include "client/connection_output.h"
#include "client/transaction.h"

namespace loligo::client {

namespace {
constexpr int kReadsPerTurn = 16;
constexpr int64_t kLingerBytes = 1 << 20;
constexpr base::Milliseconds kLingerTime{2000};

// A line without a version (HTTP/0.9) is read for the manager alone: squidclient -V - sends it. Written anew as a request
// of today's form; empty for every other. Anywhere else such a line is a mistake or an attack.
std::string manager_request(const http::Head& head, const char* bytes) {
  std::string_view target = head.target().in(bytes);
  if (head.error() != http::HeadError::no_version || head.method() != http::Method::get) return {};
  if (!base::istarts_with(target, "cache_object://") && !target.starts_with("/squid-internal-mgr/")) return {};
  return fmt::format("GET {} HTTP/1.0\r\n\r\n", target);
}

size_t body_capacity(const Settings& settings) {
  constexpr int64_t kLeast = 1024, kMost = int64_t(1) << 30;
  const int64_t wanted = settings.client_request_buffer_max_size;
  return size_t(wanted < 0 ? kMost : std::clamp(wanted, kLeast, kMost));
}
}  // namespace

Connection::Connection(Worker& worker, std::unique_ptr<net::Stream> stream, const net::Address& client, const net::Address& local,
                       std::shared_ptr<const PortContext> port)
    : worker_(worker), stream_(std::move(stream)), port_(std::move(port)), client_(client), local_(local) {
  next_ = worker_.connections;
  previous_ = &worker_.connections;
  if (next_) next_->previous_ = &next_;
  worker_.connections = this;
  ++worker_.connection_count;
  accepted_ms_ = worker_.loop.now_ms();
  generation_ = worker_.generation;
  const Settings& settings = worker_.snapshot->settings;
  if (settings.client_db) row_ = &worker_.clients.row(client_);
  if (settings.client_db || settings.client_ip_max_connections >= 0) {
    open_ = worker_.connection_counts.of(client_);
    open_->fetch_add(1, std::memory_order_relaxed);
  }
  worker_.loop.counters().client_connections.add();
}

Connection::~Connection() {
  if (reader_) reader_->connection = nullptr;
}

void Connection::accept(Worker& worker, std::unique_ptr<net::Stream> stream, const net::Address& client, const net::Address& local,
                        std::shared_ptr<const PortContext> port) {
  // Linked into the worker's list by its constructor; destroy() takes it back.
  Connection* c = std::make_unique<Connection>(worker, std::move(stream), client, local, std::move(port)).release();
  if (int most = worker.snapshot->settings.client_ip_max_connections; most >= 0 && c->client_connections() > most) {
    base::log_event(base::Section::client, 2, "{} has {} connections already: closed", client.text(), most);
    return c->destroy();
  }
  if (c->stream_->is_tls()) {
    c->state_ = State::handshake;
    worker.loop.arm(*c, worker.snapshot->settings.request_start_timeout);
    if (!c->register_with_loop()) return c->destroy();
    return c->on_event(EPOLLIN);
  }
  worker.loop.arm(*c, worker.snapshot->settings.request_start_timeout);
  // Under load the request has come with the connection: one that ends with its reply never meets epoll.
  c->read_input();
  if (c->state_ != State::closed && !c->registered_ && !c->register_with_loop()) c->destroy();
}

bool Connection::register_with_loop() {
  registered_ = worker_.loop.add(stream_->fd(), this);
  return registered_;
}

void Connection::destroy() {
  if (state_ == State::closed) return;
  state_ = State::closed;
  cancel();
  // No reader any more before the transaction lets go of its fetch: else that would go on for us.
  if (out_ && out_->attached) out_->response->body->detach(reader_.get());
  if (out_ && out_->file_waits) out_->file_waits->leave(reader_.get());
  if (joined_) std::exchange(joined_, {})->body->detach(reader_.get());
  out_.reset();
  if (transaction_) {
    transaction_->client_left();
    worker_.give_back(std::move(transaction_));
  }
  if (request_body_) request_body_->producer = nullptr;
  relay_.reset();
  if (reader_) reader_->connection = nullptr;
  *previous_ = next_;
  if (next_) next_->previous_ = previous_;
  --worker_.connection_count;
  if (open_) open_->fetch_sub(1, std::memory_order_relaxed);
  worker_.loop.forget(this);
  worker_.loop.counters().sock_closes.add();
  if (reset_) {
    struct ::linger hard{1, 0};
    ::setsockopt(stream_->fd(), SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  }
  stream_.reset();
  worker_.loop.delete_later(std::unique_ptr<Connection>(this));
}

void Connection::close_now() {
  reset_ = true;
  destroy();
}

// client_lifetime is over, whatever is under way. An answer cut here must not look whole.
void Connection::end_of_life() {
  if (state_ == State::closed) return;
  if (relay_ && transaction_) transaction_->tunnel_ended(server::Relay::End::idle_timeout);
  else if (transaction_) transaction_->client_left(true);
  if (out_) reset_ = true;
  destroy();
}

void Connection::drain() {
  close_ = true;
  if (idle() && state_ == State::reading) destroy();
}

// ---- events ------------------------------------------------------------------

void Connection::on_event(uint32_t events) {
  if (state_ == State::handshake) {
    net::IoResult r = stream_->handshake();
    if (r.status == net::IoStatus::again) return;
    if (r.status != net::IoStatus::ok) {
      base::log_event(base::Section::tls, 1, "TLS handshake with {} failed: {}", client_.text(), stream_->failure());
      return destroy();
    }
    state_ = State::reading;
    return read_input();
  }
  if (relay_) return relay_->client_event(events);
  const bool input = events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR);
  // Noted first: the reply may end below, and no second event tells of the request that waits behind it.
  if (input) more_input_ = true;
  if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) input_ended_ = true;
  // Under TLS a write may have waited for something to read.
  if (out_ && ((events & EPOLLOUT) || stream_->is_tls())) {
    if (pump_output()) return;
    if (state_ == State::closed) return;
  }
  if (!input) return;
  if (transaction_ && (events & (EPOLLHUP | EPOLLERR))) return client_left();
  if (transaction_ && (events & EPOLLRDHUP) && request_body_done() && !worker_.snapshot->settings.half_closed_clients) return client_left();
  read_input();
}

// The client has closed (or reset) while its answer was being prepared or sent.
void Connection::client_left() {
  if (state_ == State::closed) return;
  if (state_ == State::lingering || !transaction_) return destroy();
  loligo::base::log_event(base::Section::client, 3, "client {} left before the end", client_.text());
  destroy();
}

void Connection::on_timer() {
  if (state_ == State::lingering || state_ == State::handshake) return destroy();
  if (transaction_) {
    if (out_) {
      output_done(ReplyEnd::timed_out);
      return;
    }
    // A request body that has stopped coming.
    if (request_body_ && !request_body_done()) {
      request_body_->abort();
      if (transaction_) transaction_->client_left(true);
      return destroy();
    }
    return;
  }
  if (head_begun_) {
    transaction_ = worker_.take_transaction();
    std::string bytes = std::exchange(input_, {});
    transaction_->begin_malformed(*this, bytes, ErrorId::request_parse_timeout, 408, "the request head did not come in time");
    close_ = true;
    if (transaction_ && transaction_->done()) end_transaction();
    return;
  }
  if (requests_ == 0) {
    transaction_ = worker_.take_transaction();
    transaction_->begin_malformed(*this, {}, ErrorId::none, 0, "error:transaction-end-before-headers");
  }
  destroy();
}

// ---- input -------------------------------------------------------------------

void Connection::read_input() {
  for (int i = 0; i < kReadsPerTurn; ++i) {
    if (state_ == State::closed || relay_) return;
    bool body = ingest_ && !ingest_->done;
    if (transaction_ && !body) return;   // the next request waits in the kernel
    size_t want = worker_.scratch.size();
    if (body) {
      want = std::min(want, request_body_->space());
      if (want == 0) return cancel();    // the server is the slow one; body_space() goes on
    }
    worker_.loop.counters().sock_reads.add();
    net::IoResult r = stream_->read(worker_.scratch.data(), want);
    if (r.status == net::IoStatus::again) {
      more_input_ = false;
      return;
    }
    if (r.status == net::IoStatus::ok) {
      total_in_ += r.bytes;
      worker_.loop.counters().client_bytes_in.add(r.bytes);
      more_input_ = input_ended_ || !(r.bytes < want && stream_->short_read_drains());
      if (state_ == State::lingering) {
        discarded_ += int64_t(r.bytes);
        if (discarded_ > kLingerBytes) return destroy();
      } else {
        process({worker_.scratch.data(), r.bytes});
      }
      if (!more_input_) return;
      continue;
    }
    read_ended_ = true;
    if (state_ == State::lingering || r.status == net::IoStatus::failed) return client_left();
    if (body) {
      ingest_->done = true;
      request_body_->abort();
      if (transaction_) transaction_->client_left();
      return destroy();
    }
    if (requests_ == 0 || !input_.empty()) {
      transaction_ = worker_.take_transaction();
      std::string bytes = std::exchange(input_, {});
      transaction_->begin_malformed(*this, bytes, ErrorId::none, 0, "error:transaction-end-before-headers");
    }
    return destroy();
  }
  worker_.loop.defer([reader = reader_ ? reader_ : (reader_ = std::make_shared<BodyReader>(worker_.loop, this))] {
    if (reader->connection) reader->connection->read_input();
  });
}

// Uses bytes that have been read: request heads and bodies, in turn. What cannot be used now goes to input_.
void Connection::process(std::string_view bytes) {
  const Settings& settings = worker_.snapshot->settings;
  http::HeadLimits limits;
  limits.max_bytes = uint32_t(std::clamp<int64_t>(settings.request_header_max_size, 1024, 1 << 24));
  std::string joined;
  if (!input_.empty()) {
    const size_t seen = input_.size();
    input_.append(bytes);
    // A head that comes in drops is not judged from its start at each of them.
    if (head_begun_ && input_.size() < limits.max_bytes && !http::may_end_head(input_.data(), seen, input_.size())) return;
    joined = std::exchange(input_, {});
    bytes = joined;
  }
  in_process_ = true;
  while (!bytes.empty() && state_ == State::reading && !relay_) {
    if (ingest_ && !ingest_->done) {
      size_t before = bytes.size();
      bytes = take_body(bytes);
      if (transaction_ && transaction_->done()) {   // answered because of what the body was
        end_transaction();
        continue;
      }
      if (bytes.size() == before) break;
      continue;
    }
    if (transaction_) break;
    if (close_) { bytes = {}; break; }   // the last reply was the end: what follows is not read
    std::unique_ptr<Transaction> t = worker_.take_transaction();
    http::ParseState parsed = t->head.parse_request(bytes.data(), bytes.size(), limits);
    if (parsed == http::ParseState::failed && settings.uri_whitespace != http::BlanksInTarget::deny) [[unlikely]] {
      http::Mended mended = http::mend_target(bytes, settings.uri_whitespace);
      if (mended.state == http::MendedState::incomplete && bytes.size() < limits.max_bytes) parsed = http::ParseState::incomplete;
      if (mended.state == http::MendedState::mended) {
        joined = std::move(mended.bytes);
        bytes = joined;
        parsed = t->head.parse_request(bytes.data(), bytes.size(), limits);
      }
    }
    if (parsed == http::ParseState::incomplete) {
      worker_.give_back(std::move(t));
      // One deadline for the whole head: further bytes do not extend it.
      if (!head_begun_) worker_.loop.arm(*this, settings.request_timeout);
      head_begun_ = true;
      break;
    }
    transaction_ = std::move(t);
    ++requests_;
    if (generation_ != worker_.generation) [[unlikely]] find_port();
    head_begun_ = false;
    cancel();
    if (parsed == http::ParseState::failed) {
      std::string simple = manager_request(transaction_->head, bytes.data());
      if (!simple.empty() && transaction_->head.parse_request(simple.data(), simple.size(), limits) == http::ParseState::complete)
        begin_request(simple.data(), transaction_->head, {});
      else
        bad_request(transaction_->head, bytes);
      close_ = true;
      bytes = {};
    } else {
      std::string_view head_bytes = bytes.substr(0, transaction_->head.size());
      bytes.remove_prefix(transaction_->head.size());
      begin_request(head_bytes.data(), transaction_->head, bytes);
    }
    if (state_ == State::closed) return;
    if (transaction_ && transaction_->done()) end_transaction();
  }
  in_process_ = false;
  if (state_ != State::reading || bytes.empty()) return;
  if (bytes.size() == joined.size()) input_ = std::move(joined);
  else input_.assign(bytes);
}

// After a reload our port has new options and texts; one that is no longer configured keeps its old ones.
void Connection::find_port() {
  generation_ = worker_.generation;
  for (auto& port : worker_.snapshot->ports)
    if (port->config.port == port_->config.port && port->config.host == port_->config.host) port_ = port;
}

void Connection::bad_request(const http::Head& head, std::string_view bytes) {
  worker_.loop.counters().client_bad_requests.add();
  const http::HeadErrorRow& row = http::describe(head.error());
  using http::HeadError;
  ErrorId page = row.status == 505 ? ErrorId::unsup_httpversion
                 : head.error() == HeadError::too_large || head.error() == HeadError::too_many_fields || head.error() == HeadError::target_too_long
                     ? ErrorId::too_big
                     : ErrorId::invalid_req;
  close_ = true;
  transaction_->begin_malformed(*this, bytes, page, row.status, row.text);
}

void Connection::begin_request(const char* bytes, const http::Head& head, std::string_view) {
  http::Framing framing = http::request_framing(head, bytes);
  if (framing.error != http::FramingError::none) {
    worker_.loop.counters().client_bad_requests.add();
    auto& row = http::describe(framing.error);
    close_ = true;
    return transaction_->begin_malformed(*this, {bytes, head.size()}, row.status == 501 ? ErrorId::unsup_req : ErrorId::invalid_req,
                                         row.status, row.text);
  }
  if (framing.kind != http::BodyKind::none) {
    ingest_ = std::make_shared<Ingest>();
    ingest_->framing = framing;
    ingest_->left = framing.length;
    request_body_ = std::make_shared<server::RequestBody>(body_capacity(worker_.snapshot->settings));
    request_body_->producer = this;
    if (framing.kind == http::BodyKind::length) {
      request_body_->length = framing.length;
      if (framing.length == 0) {
        ingest_->done = true;
        request_body_->finish({});
      }
    }
  }
  if (!framing.keep_alive) close_ = true;
  transaction_->begin(*this, bytes, framing);
}

// Passes on body bytes; returns what lies behind the body.
std::string_view Connection::take_body(std::string_view bytes) {
  // Pushing bytes on may end the transaction (a server that closes), and with it what we hold of the body.
  std::shared_ptr<Ingest> kept = ingest_;
  Ingest& in = *kept;
  std::shared_ptr<server::RequestBody> body = request_body_;
  int64_t limit = worker_.snapshot->settings.request_body_max_size;
  worker_.loop.arm(*this, worker_.snapshot->settings.request_timeout);
  auto count = [&](size_t n) {
    in.total += n;
    if (limit <= 0 || in.total <= uint64_t(limit)) return true;
    in.done = true;
    close_ = true;
    if (transaction_) transaction_->body_too_large();
    return false;
  };
  if (in.framing.kind == http::BodyKind::length) {
    std::string_view part = bytes.substr(0, std::min<uint64_t>(bytes.size(), in.left));
    bytes.remove_prefix(part.size());
    in.left -= part.size();
    if (in.left == 0) in.done = true, cancel();
    if (!count(part.size())) return {};
    body->push(part);
    if (in.left == 0) body->finish({});
    return bytes;
  }
  while (!bytes.empty() && state_ == State::reading && ingest_ == kept) {
    auto r = in.chunked.feed(bytes);
    bytes.remove_prefix(r.consumed);
    if (!r.data.empty()) {
      if (!count(r.data.size())) return {};
      body->push(r.data);
      if (ingest_ != kept) return {};
    }
    if (r.state == http::ChunkedDecoder::State::more) break;
    if (r.state == http::ChunkedDecoder::State::end) {
      in.done = true;
      cancel();
      body->finish(in.chunked.trailers());
      break;
    }
    if (r.state == http::ChunkedDecoder::State::failed) {
      in.done = true;
      close_ = true;
      worker_.loop.counters().client_bad_requests.add();
      body->abort();
      if (transaction_) transaction_->body_malformed();
      return {};
    }
  }
  return bytes;
}

void Connection::body_space() {
  if (!ingest_ || ingest_->done || state_ != State::reading) return;
  worker_.loop.arm(*this, worker_.snapshot->settings.request_timeout);
  worker_.loop.defer([reader = reader_ ? reader_ : (reader_ = std::make_shared<BodyReader>(worker_.loop, this))] {
    if (Connection* c = reader->connection; c && c->ingest_ && !c->ingest_->done && c->more_input_) c->read_input();
  });
}

// ---- between requests --------------------------------------------------------

void Connection::end_transaction() {
  close_ = close_ || transaction_->wants_close();
  worker_.give_back(std::move(transaction_));
  bytes_sent_ = 0;   // the next one may end before it has a reply
  bool unread = ingest_ && !ingest_->done;
  if (request_body_) request_body_->producer = nullptr;
  request_body_.reset();
  ingest_.reset();
  if (reset_) return destroy();
  if (close_ || worker_.draining) {
    if (unread || more_input_ || !input_.empty()) return linger();
    return destroy();
  }
  after_request();
}

void Connection::after_request() {
  wait_for_request();
  if (in_process_) return;
  if (input_.empty() && !more_input_) return;
  continue_input();
}

// After an answer that came later: goes on with what has been read already, then with what waits in the kernel.
void Connection::continue_input() {
  worker_.loop.defer([reader = reader_ ? reader_ : (reader_ = std::make_shared<BodyReader>(worker_.loop, this))] {
    Connection* c = reader->connection;
    if (!c || c->transaction_ || c->state_ != State::reading) return;
    if (!c->input_.empty()) c->process({});
    if (reader->connection && c->more_input_) c->read_input();
  });
}

void Connection::wait_for_request() {
  worker_.loop.arm(*this, worker_.snapshot->settings.client_idle_pconn_timeout);
}

// Closing with bytes unread would reset the connection and could destroy the answer on its way (RFC 9112 section 9.6).
void Connection::linger() {
  state_ = State::lingering;
  input_.clear();
  stream_->shutdown_write();
  if (!registered_ && !register_with_loop()) return destroy();
  worker_.loop.arm(*this, kLingerTime);
  worker_.loop.defer([reader = reader_ ? reader_ : (reader_ = std::make_shared<BodyReader>(worker_.loop, this))] {
    if (reader->connection) reader->connection->read_input();
  });
}

// ---- tunnels -----------------------------------------------------------------

void Connection::tunnel(server::ServerConnectionPtr server, std::string first_to_client, base::Milliseconds idle_timeout) {
  cancel();
  if (!registered_) register_with_loop();
  if (out_) {   // the rest of a 1xx goes first
    first_to_client.insert(0, out_->text, out_->text_sent);
    out_.reset();
  }
  relay_ = std::make_unique<server::Relay>(worker_.loop, *stream_, std::move(server), worker_.scratch);
  relay_->start(std::exchange(input_, {}), std::move(first_to_client), idle_timeout, [this](server::Relay::End end) {
    if (transaction_) transaction_->tunnel_ended(end);
    destroy();
  });
}

}  // namespace loligo::client
