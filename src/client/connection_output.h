// What a connection keeps of a reply that could not be sent at once. Private to client/connection*.cc.
#pragma once
#include "client/connection.h"

namespace loligo::client {

struct Connection::Outgoing {
  std::string text;              // bytes to send before the body's next ones
  size_t text_sent = 0;
  cache::ResponseRef response;
  uint64_t next = 0, to = store::kUnknownLength;
  bool chunked = false, last_chunk_written = false, first_chunk = true;
  uint64_t chunk_left = 0;       // of the chunk whose size line is out
  std::vector<Reply::Part> parts;
  size_t next_part = 0;
  bool attached = false;
  store::BodySource* file_waits = nullptr;   // that has to read the next piece first
  uint64_t limit = store::kUnknownLength;
  bool interim_only = false;     // 1xx heads that the client was slow to take; the answer comes later

  bool text_pending() const { return text_sent < text.size(); }
  bool range_done() const { return !response || next >= to; }
};

// Hears of new body bytes on the writer's thread and passes it on, with at most one message pending.
struct Connection::BodyReader final : store::Reader, std::enable_shared_from_this<BodyReader> {
  BodyReader(net::Loop& loop, Connection* connection) : loop(loop), connection(connection) {}
  void woken() override {
    if (pending.exchange(true)) return;
    loop.hand_over([self = shared_from_this()] {
      self->pending.store(false);
      if (self->connection) self->connection->body_ready();
    });
  }
  net::Loop& loop;
  Connection* connection;
  std::atomic<bool> pending{false};
};

}  // namespace loligo::client
