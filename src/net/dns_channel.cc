#include "net/dns_channel.h"

#include <ares.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/event_log.h"
#include "net/dns.h"

namespace loligo::net {

using base::Section;

// Travels through c-ares as the callback's argument.
struct DnsQuery::Ticket {
  DnsQuery* query;       // null once the owner is gone
  DnsChannel* channel;
  int status = ARES_SUCCESS;
};

DnsQuery::~DnsQuery() {
  if (ticket_) ticket_->query = nullptr;
}

struct DnsChannel::Socket final : Watcher {
  DnsChannel* channel;
  int fd;
  bool stream, watched = false;
  int server = -1;   // index into servers_

  void on_event(uint32_t events) override {
    const bool broken = events & (EPOLLERR | EPOLLHUP);
    channel->process(broken || events & EPOLLIN ? fd : ARES_SOCKET_BAD, broken || events & EPOLLOUT ? fd : ARES_SOCKET_BAD);
  }
};

// What c-ares calls. `data` is the channel throughout.
struct DnsChannel::Hooks {
  static DnsChannel& self(void* data) { return *static_cast<DnsChannel*>(data); }

  static ares_socket_t open(int family, int type, int protocol, void* data) {
    int fd = ::socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);
    if (fd < 0) return ARES_SOCKET_BAD;
    DnsChannel& channel = self(data);
    channel.loop_.counters().sock_sockets.add();
    auto socket = std::make_unique<Socket>();
    socket->channel = &channel;
    socket->fd = fd;
    socket->stream = type == SOCK_STREAM;
    if (socket->stream) {
      int on = 1;
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    channel.sockets_.push_back(std::move(socket));
    return fd;
  }

  static int close(ares_socket_t fd, void* data) {
    DnsChannel& channel = self(data);
    auto at = std::find_if(channel.sockets_.begin(), channel.sockets_.end(), [&](auto& s) { return s->fd == fd; });
    if (at != channel.sockets_.end()) {
      if ((*at)->watched) channel.loop_.remove(fd, at->get());
      channel.loop_.delete_later(std::move(*at));   // its on_event may be what led here
      channel.sockets_.erase(at);
    }
    channel.loop_.counters().sock_closes.add();
    return ::close(fd);
  }

  static int connect(ares_socket_t fd, const sockaddr* to, ares_socklen_t size, void* data) {
    DnsChannel& channel = self(data);
    Address address = Address::from(to, size);
    for (size_t i = 0; i < channel.servers_.size(); ++i)
      if (Socket* socket = channel.socket_of(fd); socket && channel.servers_[i].address == address) socket->server = int(i);
    return ::connect(fd, to, size);
  }

  static ares_ssize_t receive(ares_socket_t fd, void* into, size_t size, int flags, sockaddr* from, ares_socklen_t* from_size,
                              void* data) {
    ares_ssize_t n = ::recvfrom(fd, into, size, flags, from, from_size);
    DnsChannel& channel = self(data);
    Socket* socket = channel.socket_of(fd);
    // Replies over TCP come in pieces and are rare: counted as replies by their first bytes, without a result code.
    if (!socket || n < (socket->stream ? 1 : 4)) return n;
    if (socket->server >= 0) ++channel.servers_[size_t(socket->server)].replies;
    if (!socket->stream) ++channel.rcodes_[static_cast<unsigned char*>(into)[3] & 15];
    return n;
  }

  static ares_ssize_t send(ares_socket_t fd, const iovec* parts, int count, void* data) {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(parts);
    message.msg_iovlen = size_t(count);
    ares_ssize_t n = ::sendmsg(fd, &message, MSG_NOSIGNAL);
    DnsChannel& channel = self(data);
    Socket* socket = channel.socket_of(fd);
    if (n > 0 && socket && socket->server >= 0) ++channel.servers_[size_t(socket->server)].queries;
    return n;
  }

  static void state_changed(void* data, ares_socket_t fd, int readable, int writable) {
    DnsChannel& channel = self(data);
    Socket* socket = channel.socket_of(fd);
    if (!socket) return;
    // Level-triggered: c-ares reads one batch per call and expects to be called again.
    const uint32_t events = (readable ? unsigned(EPOLLIN) : 0u) | (writable ? unsigned(EPOLLOUT) : 0u);
    if (events == 0) {
      if (socket->watched) channel.loop_.remove(fd, socket);
      socket->watched = false;
    } else if (socket->watched) {
      channel.loop_.modify(fd, socket, events);
    } else {
      socket->watched = channel.loop_.add(fd, socket, events);
    }
  }

  static void replied(void* argument, int status, int, unsigned char* bytes, int size) {
    std::unique_ptr<DnsQuery::Ticket> ticket(static_cast<DnsQuery::Ticket*>(argument));
    DnsChannel* channel = ticket->channel;
    channel->completed(std::move(ticket), status, bytes && size > 0 ? Packet(bytes, size_t(size)) : Packet());
  }
};

// c-ares doubles the interval after each round over all servers. Enough rounds that dns_timeout, which the resolver
// keeps itself, comes first.
static int rounds_within(base::Milliseconds timeout, base::Milliseconds interval, size_t servers) {
  int rounds = 1;
  int64_t covered = interval.count() * int64_t(servers), step = covered;
  while (covered < timeout.count() && rounds < 12) {
    step *= 2;
    covered += step;
    ++rounds;
  }
  return rounds;
}

DnsChannel::DnsChannel(Loop& loop, const DnsSettings& settings) : loop_(loop) {
  static const int initialised = ares_library_init(ARES_LIB_INIT_ALL);
  (void)initialised;
  const auto interval = std::max(settings.dns_retransmit_interval, base::Milliseconds(1));
  char lookups[] = "b";
  ares_options options{};
  options.timeout = int(std::min<int64_t>(interval.count(), 3'600'000));
  options.tries = rounds_within(settings.dns_timeout, interval, std::max<size_t>(settings.dns_nameservers.size(), 1));
  options.sock_state_cb = Hooks::state_changed;
  options.sock_state_cb_data = this;
  options.lookups = lookups;   // "b": DNS alone; the hosts file is read by us
  int mask = ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB | ARES_OPT_LOOKUPS | ARES_OPT_FLAGS;
  if (settings.dns_packet_max > 512) {
    options.flags |= ARES_FLAG_EDNS;
    options.ednspsz = int(std::min<size_t>(settings.dns_packet_max, 4096));
    mask |= ARES_OPT_EDNSPSZ;
  }
  if (int status = ares_init_options(&channel_, &options, mask); status != ARES_SUCCESS) {
    base::log_event(Section::dns, 0, "DNS cannot start: {}", ares_strerror(status));
    channel_ = nullptr;
    return;
  }
  static constexpr ares_socket_functions kSocketFunctions = {Hooks::open, Hooks::close, Hooks::connect, Hooks::receive,
                                                             Hooks::send};
  ares_set_socket_functions(channel_, &kSocketFunctions, this);
  set_servers(settings.dns_nameservers);
}

void DnsChannel::set_servers(const std::vector<std::string>& texts) {
  std::vector<ares_addr_port_node> nodes;
  for (const std::string& text : texts) {
    auto address = parse_name_server(text);
    if (!address) {
      base::log_event(Section::dns, 1, "dns_nameservers: {} is not an IP address; ignored", text);
      continue;
    }
    ares_addr_port_node node{};
    node.family = address->family();
    unsigned char bytes[16];
    address->mapped_bytes(bytes);
    if (address->v4()) std::memcpy(&node.addr, bytes + 12, 4);
    else std::memcpy(&node.addr, bytes, 16);
    node.udp_port = node.tcp_port = address->port();
    nodes.push_back(node);
  }
  for (size_t i = 0; i + 1 < nodes.size(); ++i) nodes[i].next = &nodes[i + 1];
  if (!nodes.empty()) ares_set_servers_ports(channel_, nodes.data());

  ares_addr_port_node* active = nullptr;
  if (ares_get_servers_ports(channel_, &active) != ARES_SUCCESS) return;
  for (auto* node = active; node; node = node->next) {
    const uint16_t port = node->udp_port ? uint16_t(node->udp_port) : 53;
    servers_.push_back({Address::from_bytes(reinterpret_cast<const unsigned char*>(&node->addr), node->family, port)});
  }
  ares_free_data(active);
}

DnsChannel::~DnsChannel() {
  closing_ = true;
  if (channel_) ares_destroy(channel_);   // completes all queries with EDESTRUCTION and closes the sockets
  for (auto& ticket : finished_)
    if (ticket->query) ticket->query->ticket_ = nullptr;
}

DnsChannel::Socket* DnsChannel::socket_of(int fd) {
  for (auto& socket : sockets_)
    if (socket->fd == fd) return socket.get();
  return nullptr;
}

void DnsChannel::ask(const std::string& name, int type, bool search, DnsQuery& query) {
  auto ticket = std::make_unique<DnsQuery::Ticket>();
  ticket->query = &query;
  ticket->channel = this;
  query.ticket_ = ticket.get();
  ++open_queries_;
  constexpr int kClassInternet = 1;
  asking_ = true;
  if (!channel_) completed(std::move(ticket), ARES_ENOTINITIALIZED, {});
  else if (search) ares_search(channel_, name.c_str(), kClassInternet, type, Hooks::replied, ticket.release());
  else ares_query(channel_, name.c_str(), kClassInternet, type, Hooks::replied, ticket.release());
  asking_ = false;
  rearm();
}

void DnsChannel::completed(std::unique_ptr<DnsQuery::Ticket> ticket, int status, Packet packet) {
  --open_queries_;
  DnsQuery* query = ticket->query;
  if (asking_ && query) {   // failed at once (no route, no memory): told on the next turn of the timer
    ticket->status = status;
    finished_.push_back(std::move(ticket));
    return;
  }
  if (!query) return;
  query->ticket_ = nullptr;
  if (!closing_) query->on_reply(status, packet);   // may destroy the query
}

void DnsChannel::deliver_finished() {
  auto finished = std::move(finished_);
  finished_.clear();
  for (auto& ticket : finished) {
    if (!ticket->query) continue;
    ticket->query->ticket_ = nullptr;
    ticket->query->on_reply(ticket->status, {});
  }
}

void DnsChannel::process(int read_fd, int write_fd) {
  ares_process_fd(channel_, read_fd, write_fd);
  rearm();
}

void DnsChannel::on_timer() {
  if (channel_) ares_process_fd(channel_, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
  deliver_finished();
  rearm();
}

void DnsChannel::rearm() {
  if (!finished_.empty()) return loop_.arm(*this, base::Milliseconds(0));
  timeval wait{};
  if (!channel_ || ares_timeout(channel_, nullptr, &wait) == nullptr) return cancel();
  loop_.arm(*this, base::Milliseconds(int64_t(wait.tv_sec) * 1000 + (wait.tv_usec + 999) / 1000));
}

}  // namespace loligo::net
