// Asks a parent proxy for a tunnel: sends a CONNECT, reads its answer's head.
// One worker; destroying it cancels. The callback runs once, never from within ask().
#pragma once
#include <functional>
#include <string>

#include "net/loop.h"
#include "server/connection.h"

namespace loligo::client {

class TunnelPeer final : net::Watcher {
 public:
  struct Answer {
    int status = 0;                          // 0 = none that could be read
    server::ServerConnectionPtr connection;  // set when the tunnel is open
    std::string early;                       // bytes behind the head
  };
  TunnelPeer(net::Loop&, server::ServerConnectionPtr);
  ~TunnelPeer();
  void ask(std::string request, base::Milliseconds timeout, std::function<void(Answer)> done);

 private:
  void on_event(uint32_t events) override;
  void write();
  void read();
  bool parse();
  void finish(Answer);

  net::Loop& loop_;
  server::ServerConnectionPtr connection_;
  std::string request_, input_;
  size_t sent_ = 0;
  unsigned interim_heads_ = 0;
  net::FunctionTimer timer_;
  std::function<void(Answer)> done_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace loligo::client
