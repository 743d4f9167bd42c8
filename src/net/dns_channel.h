// One c-ares channel driven by a worker's loop: sends questions, hands back reply packets.
//
// Owner: Resolver. The loop's thread only. Sockets are opened through our own
// functions so that queries, replies and result codes are counted per name
// server, which c-ares does not report. on_reply() is never called from inside ask().
#pragma once
#include <array>
#include <memory>
#include <vector>

#include "net/dns_reply.h"
#include "net/loop.h"

struct ares_channeldata;

namespace loligo::net {

struct DnsSettings;
class DnsChannel;

// One question. Its owner may destroy it at any time; the reply is then dropped.
class DnsQuery {
 public:
  DnsQuery() = default;
  DnsQuery(const DnsQuery&) = delete;
  DnsQuery& operator=(const DnsQuery&) = delete;
  virtual void on_reply(int ares_status, Packet) = 0;
  bool open() const { return ticket_ != nullptr; }

 protected:
  ~DnsQuery();

 private:
  friend class DnsChannel;
  struct Ticket;
  Ticket* ticket_ = nullptr;
};

class DnsChannel final : private Timer {
 public:
  static constexpr unsigned kRcodes = 24;   // the header has 0-15, extended ones are not counted
  struct Server {
    Address address;
    uint64_t queries = 0, replies = 0;
  };

  DnsChannel(Loop&, const DnsSettings&);
  ~DnsChannel();

  // `type` is the record type (1 = A, 28 = AAAA, 12 = PTR); `search` also tries resolv.conf's domains.
  void ask(const std::string& name, int type, bool search, DnsQuery&);
  size_t open_queries() const { return open_queries_; }

  const std::vector<Server>& servers() const { return servers_; }
  const std::array<uint64_t, kRcodes>& rcodes() const { return rcodes_; }

 private:
  struct Socket;
  struct Hooks;

  void set_servers(const std::vector<std::string>& texts);
  void on_timer() override;
  void process(int read_fd, int write_fd);
  void rearm();
  void completed(std::unique_ptr<DnsQuery::Ticket>, int status, Packet);
  void deliver_finished();
  Socket* socket_of(int fd);

  Loop& loop_;
  ares_channeldata* channel_ = nullptr;
  std::vector<std::unique_ptr<Socket>> sockets_;
  std::vector<Server> servers_;
  std::array<uint64_t, kRcodes> rcodes_{};
  std::vector<std::unique_ptr<DnsQuery::Ticket>> finished_;   // completed inside ask()
  size_t open_queries_ = 0;
  bool asking_ = false, closing_ = false;
};

}  // namespace loligo::net
