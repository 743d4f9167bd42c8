// The sending half of a connection.
#include "client/connection_output.h"

#include <sys/socket.h>

#include "client/transaction.h"

namespace loligo::client {

namespace {
constexpr int kMaxParts = 64;
constexpr uint64_t kBytesPerTurn = 4 << 20;   // then others get their turn
constexpr uint64_t kMaxChunk = 256 * 1024;
constexpr size_t kMaxInterimText = 64 * 1024;   // 1xx heads that wait for a client to read
}  // namespace

bool Connection::join(const cache::ResponseRef& response) {
  if (!reader_) reader_ = std::make_shared<BodyReader>(worker_.loop, this);
  if (!response->body->attach(reader_.get(), 0, worker_.loop.now_ms(), true)) return false;
  joined_ = response;
  return true;
}

// True: the reply is of the body that was joined.
bool Connection::take_joined(const Reply& r) {
  cache::ResponseRef joined = std::exchange(joined_, {});
  if (!joined) return false;
  if (r.response && r.response->body == joined->body && r.from == 0 && !r.chunked && r.parts.empty()) return true;
  joined->body->detach(reader_.get());
  return false;
}

// The file that holds the body's next bytes, if they lie in one.
store::BodySource* Connection::file_of(const Outgoing& o) const {
  if (!o.response) return nullptr;
  store::Body& body = *o.response->body;
  if (body.source()) return body.source();
  return o.attached && !body.catch_up(reader_.get(), o.next) ? body.history() : nullptr;
}

// The common case in one gathered write, without keeping anything: head, changing fields, and a body that is all there.
bool Connection::reply(Reply&& r) {
  bytes_sent_ = 0;
  close_ = close_ || r.close;
  iovec parts[kMaxParts];
  int count = 0;
  uint64_t total = 0;
  auto add = [&](std::string_view piece) {
    if (piece.empty()) return;
    parts[count++] = {const_cast<char*>(piece.data()), piece.size()};
    total += piece.size();
  };
  add(r.head);
  add(r.tail);
  add(r.text);
  uint64_t fixed = total, body = 0;
  bool whole = true, attached = joined_ && take_joined(r);
  if (r.response) {
    whole = false;
    store::Body& b = *r.response->body;
    // What still grows may move under a reader that is not attached (its writer is another thread); what is complete and
    // kept never does.
    if (!attached && (!b.retained() || b.state() != store::Body::State::complete)) {
      if (!reader_) reader_ = std::make_shared<BodyReader>(worker_.loop, this);
      attached = b.attach(reader_.get(), r.from, worker_.loop.now_ms(), !r.chunked && r.parts.empty());
      if (!attached) {   // it went on without us: nothing right can be sent any more
        worker_.loop.defer([reader = reader_] { if (reader->connection) reader->connection->output_done(ReplyEnd::cut_off); });
        return false;
      }
    }
    if (!r.chunked && r.parts.empty()) {
      auto view = attached ? b.view(reader_.get(), r.from, parts + count, kMaxParts - count, r.to - r.from)
                           : b.view(r.from, parts + count, kMaxParts - count, r.to - r.from);
      count += view.parts;
      total += view.bytes;
      body = view.bytes;
      whole = view.bytes == r.to - r.from || (r.to == store::kUnknownLength && view.state == store::Body::State::complete && r.from + view.bytes == b.length());
      if (r.to == r.from) whole = true;
    }
  }
  size_t sent = 0;
  // Head and file share a packet: see pump_file().
  const bool from_file = r.response && !whole && (r.response->body->source() || (attached && reader_->behind()));
  if (out_ == nullptr && total > 0 && !from_file) {
    worker_.loop.counters().sock_writes.add();
    net::IoResult w = stream_->write(parts, count);
    if (w.status == net::IoStatus::ok) sent = w.bytes;
    else if (w.status != net::IoStatus::again) {
      if (attached) r.response->body->detach(reader_.get());
      worker_.loop.defer([reader = reader_ ? reader_ : (reader_ = std::make_shared<BodyReader>(worker_.loop, this))] {
        if (reader->connection) reader->connection->client_left();
      });
      return false;
    }
  }
  bytes_sent_ = sent;
  total_out_ += sent;
  if (whole && sent == total) {
    if (attached) r.response->body->detach(reader_.get());
    return true;
  }

  if (!out_) out_ = std::make_unique<Outgoing>();
  Outgoing& o = *out_;
  o.interim_only = false;
  size_t skip = sent;
  for (std::string_view piece : {r.head, r.tail, r.text}) {
    size_t n = std::min(skip, piece.size());
    o.text.append(piece.substr(n));
    skip -= n;
  }
  o.response = r.response;
  o.next = r.from + (sent > fixed ? std::min<uint64_t>(sent - fixed, body) : 0);
  o.to = r.response ? r.to : 0;
  o.chunked = r.chunked;
  o.limit = r.limit;
  o.parts = std::move(r.parts);
  o.attached = attached;
  if (attached && o.next > r.from) o.response->body->advance(reader_.get(), o.next, worker_.loop.now_ms());
  worker_.loop.defer([reader = reader_ ? reader_ : (reader_ = std::make_shared<BodyReader>(worker_.loop, this))] {
    if (reader->connection) reader->connection->body_ready();
  });
  return false;
}

bool Connection::send_interim(std::string_view text) {
  if (out_) {
    if (out_->text.size() - out_->text_sent + text.size() > kMaxInterimText) return true;   // a 1xx may be left out
    out_->text.append(text);
    return true;
  }
  iovec part{const_cast<char*>(text.data()), text.size()};
  net::IoResult w = stream_->write(&part, 1);
  size_t sent = w.status == net::IoStatus::ok ? w.bytes : 0;
  total_out_ += sent;
  if (w.status == net::IoStatus::failed) return false;
  if (sent < text.size()) {
    out_ = std::make_unique<Outgoing>();
    out_->text.assign(text.substr(sent));
    out_->to = 0;
    out_->interim_only = true;
    wait_for_writing();
  }
  return true;
}

void Connection::body_ready() {
  if (out_ && transaction_) pump_output();   // may end the reply, and us
}

// Writes the size line of the next chunk, or the last chunk, into the text. False: nothing to write now.
bool Connection::fill_chunk(Outgoing& o) {
  if (!o.chunked || o.chunk_left > 0 || o.last_chunk_written) return false;
  store::Body& body = *o.response->body;
  iovec ignored[kMaxParts];
  auto view = body.view(o.next, ignored, kMaxParts, std::min(o.to - o.next, kMaxChunk));
  auto append = [&](std::string_view s) {
    if (!o.text_pending()) o.text.clear(), o.text_sent = 0;
    o.text.append(s);
  };
  char size[24];
  if (view.bytes > 0) {
    if (!o.first_chunk) append("\r\n");
    append({size, http::write_chunk_size(view.bytes, size)});
    o.first_chunk = false;
    o.chunk_left = view.bytes;
    return true;
  }
  if (view.state == store::Body::State::complete) {
    if (!o.first_chunk) append("\r\n");
    append("0\r\n");
    append(body.trailers());
    append("\r\n");
    o.last_chunk_written = true;
    return true;
  }
  return false;
}

// A body that lies in a file: the text before it, then the piece that is checked and ready.
Connection::Pumped Connection::pump_file(Outgoing& o, store::BodySource& source, uint64_t& turn) {
  store::BodySource::Piece piece;
  const auto ready = source.piece(o.next, piece);
  const bool now = ready == store::BodySource::Ready::now;
  if (ready == store::BodySource::Ready::damaged) return output_done(ReplyEnd::body_failed), Pumped::ended;
  net::IoResult w;
  if (o.text_pending()) {
    iovec text{o.text.data() + o.text_sent, o.text.size() - o.text_sent};
    w = stream_->write(&text, 1, now);
  } else if (!now) {
    if (!reader_) reader_ = std::make_shared<BodyReader>(worker_.loop, this);
    if (!source.wait(reader_.get(), o.next)) return Pumped::on;
    o.file_waits = &source;
    cancel();   // the disk is the slow one
    return Pumped::waits;
  } else {
    w = stream_->send_file(piece.fd, piece.file_offset, size_t(std::min({piece.bytes, o.to - o.next, kBytesPerTurn})));
  }
  worker_.loop.counters().sock_writes.add();
  if (w.status == net::IoStatus::again) return wait_for_writing(), Pumped::waits;
  if (w.status != net::IoStatus::ok) return output_done(w.error == EIO ? ReplyEnd::body_failed : ReplyEnd::client_gone), Pumped::ended;
  bytes_sent_ += w.bytes;
  total_out_ += w.bytes;
  turn += w.bytes;
  if (o.text_pending()) {
    o.text_sent += w.bytes;
  } else {
    o.next += w.bytes;
    if (o.attached) o.response->body->advance(reader_.get(), o.next, worker_.loop.now_ms());
  }
  return Pumped::on;
}

// Sends what can be sent. True when the reply has ended (and this may be gone).
bool Connection::pump_output() {
  uint64_t turn = 0;
  for (;;) {
    Outgoing& o = *out_;
    store::Body* body = o.response ? o.response->body.get() : nullptr;
    if (body && reader_ && reader_->cut()) return output_done(ReplyEnd::cut_off), true;
    if (o.next > o.limit) return output_done(ReplyEnd::cut_off), true;
    store::BodySource* file = o.range_done() || turn > kBytesPerTurn ? nullptr : file_of(o);
    if (file) {
      switch (pump_file(o, *file, turn)) {
        case Pumped::on: continue;
        case Pumped::waits: return false;
        case Pumped::ended: return true;
      }
    }
    if (turn > kBytesPerTurn) {
      worker_.loop.defer([reader = reader_ ? reader_ : (reader_ = std::make_shared<BodyReader>(worker_.loop, this))] {
        if (reader->connection) reader->connection->body_ready();
      });
      return false;
    }
    fill_chunk(o);
    iovec parts[kMaxParts];
    int count = 0;
    if (o.text_pending()) parts[count++] = {o.text.data() + o.text_sent, o.text.size() - o.text_sent};
    size_t text = count ? parts[0].iov_len : 0;
    store::Body::View view{};
    if (body && !o.range_done()) {
      const uint64_t most = o.chunked ? o.chunk_left : o.to - o.next;
      view = o.attached ? body->view(reader_.get(), o.next, parts + count, kMaxParts - count, most) : body->view(o.next, parts + count, kMaxParts - count, most);
      count += view.parts;
    }
    if (count == 0 && o.interim_only) {   // the answer itself is still to come
      out_.reset();
      cancel();
      return false;
    }
    if (count == 0) {
      bool body_over = !body || o.range_done() || (view.state == store::Body::State::complete && o.next >= body->length());
      if (body_over && (!o.chunked || o.last_chunk_written)) {
        if (o.next_part < o.parts.size()) {
          Reply::Part& part = o.parts[o.next_part++];
          o.text = std::move(part.text);
          o.text_sent = 0;
          o.next = part.from;
          o.to = part.to;
          continue;
        }
        if (!transaction_) return true;
        if (body && o.to != store::kUnknownLength && o.next < o.to) return output_done(ReplyEnd::body_failed), true;
        return output_done(ReplyEnd::sent), true;
      }
      if (body && body->state() == store::Body::State::failed) return output_done(ReplyEnd::body_failed), true;
      if (body && body->wait(reader_.get(), o.next)) {
        cancel();   // the server is the slow one; its own deadline runs
        return false;
      }
      continue;
    }
    worker_.loop.counters().sock_writes.add();
    net::IoResult w = stream_->write(parts, count);
    if (w.status == net::IoStatus::again) {
      if (o.attached && view.bytes > 0) body->end_view(reader_.get());
      wait_for_writing();
      return false;
    }
    if (w.status != net::IoStatus::ok) return output_done(ReplyEnd::client_gone), true;
    bytes_sent_ += w.bytes;
    total_out_ += w.bytes;
    turn += w.bytes;
    size_t of_text = std::min(w.bytes, text);
    o.text_sent += of_text;
    if (uint64_t of_body = w.bytes - of_text) {
      o.next += of_body;
      if (o.chunked) o.chunk_left -= of_body;
      if (o.attached) body->advance(reader_.get(), o.next, worker_.loop.now_ms());
    }
  }
}

void Connection::output_done(ReplyEnd end) {
  cancel();
  if (out_) {
    if (out_->attached) out_->response->body->detach(reader_.get());
    if (out_->file_waits) out_->file_waits->leave(reader_.get());
    // A cut-off body must not look whole: where neither length nor chunks tell, only a reset does (RFC 9112 section 8).
    if (end == ReplyEnd::body_failed || end == ReplyEnd::cut_off) reset_ = true;
    out_.reset();
  }
  if (!transaction_) return;
  if (end != ReplyEnd::sent) close_ = true;
  transaction_->reply_ended(end);
  if (end != ReplyEnd::sent) return destroy();
  if (transaction_ && transaction_->done()) end_transaction();
}

void Connection::wait_for_writing() {
  worker_.loop.arm(*this, worker_.snapshot->settings.write_timeout);
}

}  // namespace loligo::client
