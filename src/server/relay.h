// Two streams tied together: bytes both ways until both directions have ended
// (CONNECT tunnels, Upgrade). Half-close passes through; a direction that cannot
// write does not read, so that at most kBuffer bytes wait on each side.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/loop.h"
#include "net/stream.h"
#include "server/connection.h"

namespace loligo::server {

class Relay {
 public:
  static constexpr size_t kBuffer = 64 * 1024;
  enum class End : unsigned char { finished, idle_timeout, client_error, server_error, cancelled };

  // `client` is already registered with the loop, and its events must be passed to client_event().
  // `scratch` is the worker's read buffer. `done` runs once, never from within start().
  Relay(net::Loop&, net::Stream& client, ServerConnectionPtr server, std::vector<char>& scratch);
  ~Relay();
  void start(std::string to_server, std::string to_client, base::Milliseconds idle_timeout, std::function<void(End)> done);
  void client_event(uint32_t events);

  uint64_t bytes_to_client() const { return down_.bytes; }
  uint64_t bytes_to_server() const { return up_.bytes; }
  const ServerConnection& server() const { return *server_; }

 private:
  struct Direction {
    net::Stream* from;
    net::Stream* to;
    std::string pending;
    size_t sent = 0;
    bool ended = false, closed = false;   // source ended; end passed on
    uint64_t bytes = 0;
  };
  struct ServerSide;
  bool pump(Direction&, End on_read_error, End on_write_error);
  void run();
  void event(uint32_t events, Direction& from, End error);
  void finish(End);

  net::Loop& loop_;
  ServerConnectionPtr server_;
  std::vector<char>& scratch_;
  Direction up_, down_;
  std::unique_ptr<ServerSide> server_side_;
  net::FunctionTimer timer_;
  base::Milliseconds idle_{};
  std::function<void(End)> done_;
  bool running_ = false, again_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace loligo::server
