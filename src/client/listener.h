// Listening sockets. Each worker has one of its own for every port
// (SO_REUSEPORT), so that the kernel spreads connections and no lock is shared.
// They stay open over a reload: a port is found again by its address.
#pragma once
#include <memory>
#include <string>

#include "client/worker.h"
#include "net/loop.h"

namespace loligo::client {

// The address a port binds: its host (a literal, or empty for any) and number.
std::string listen_address(const Port&, net::Address& address, bool& dual_stack);

class Listener final : net::Watcher {
 public:
  Listener(Worker&, std::shared_ptr<const PortContext>);
  ~Listener();
  // Binds and listens; "" or why not, naming the address.
  std::string open();
  void start();                      // accept from now on; on the worker's thread
  void stop();                       // closes; connections go on
  void adopt(std::shared_ptr<const PortContext>);
  const net::Address& address() const { return address_; }
  int fd() const { return fd_; }
  const PortContext& port() const { return *port_; }

 private:
  void on_event(uint32_t) override;
  void pause();
  void size_buffer();
  Worker& worker_;
  std::shared_ptr<const PortContext> port_;
  net::Address address_;
  int fd_ = -1;
  bool started_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  net::FunctionTimer resume_;
};

}  // namespace loligo::client
