// Who talks to the proxy and with whom it talks: client_list, server_list,
// active_requests, pconn, filedescriptors.
#include "mgr/pages.h"

namespace loligo::mgr {
namespace {

// Squid's percentages round, and are 0 of 0.
int whole_percent(uint64_t part, uint64_t whole) { return int(percent(double(part), double(whole)) + 0.5); }

uint64_t print_tags(std::string& out, const std::vector<TagCount>& tags, uint64_t all) {
  uint64_t hits = 0;
  for (const TagCount& tag : tags) {
    if (tag.count == 0) continue;
    print(out, "        {:<20.20} {:7} {:3}%\n", tag.tag, tag.count, whole_percent(tag.count, all));
    if (tag.hit) hits += tag.count;
  }
  return hits;
}

void print_age(std::string& out, std::string_view label, int64_t seconds) {
  if (seconds < 0) print(out, "{:<11}: {}\n", label, "never");
  else print(out, "{:<11}: {:8} seconds ago\n", label, seconds);
}

void print_peer(std::string& out, const PeerRow& peer) {
  print(out, "\n{:<11.11}: {}\n", peer.type, peer.name);
  print(out, "Host       : {}/{}/{}\n", peer.host, peer.http_port, peer.icp_port);
  print(out, "Flags      :{}{}\n", peer.options.empty() ? "" : " ", peer.options);
  for (size_t i = 0; i < peer.addresses.size(); ++i) print(out, "Address[{}] : {}\n", i, peer.addresses[i]);
  print(out, "Status     : {}\n", peer.up ? "Up" : "Down");
  print(out, "FETCHES    : {}\nOPEN CONNS : {}\nAVG RTT    : {} msec\n", peer.fetches, peer.open_connections, peer.rtt_ms);
  if (peer.icp_port != 0) {
    print_age(out, "LAST QUERY", peer.last_query_seconds);
    print_age(out, "LAST REPLY", peer.last_reply_seconds);
    print(out, "PINGS SENT : {:8}\n", peer.pings_sent);
    print(out, "PINGS ACKED: {:8} {:3}%\n", peer.pings_acked, whole_percent(peer.pings_acked, peer.pings_sent));
    print(out, "IGNORED    : {:8} {:3}%\n", peer.ignored, whole_percent(peer.ignored, peer.pings_acked));
    print(out, "Histogram of PINGS ACKED:\n");
    for (const TagCount& tag : peer.acked)
      if (tag.count) print(out, "    {:>12} : {:8} {:3}%\n", tag.tag, tag.count, whole_percent(tag.count, peer.pings_acked));
  }
  if (peer.last_failure_seconds >= 0) print(out, "Last failed connect() : {} seconds ago\n", peer.last_failure_seconds);
  print(out, "keep-alive ratio: {}%\n", whole_percent(peer.keepalives_granted, peer.keepalives_asked));
}

}  // namespace

void page_client_list(const PageContext& c, std::string& out) {
  uint64_t icp = 0, icp_hits = 0, http = 0, http_hits = 0;
  out += "Cache Clients:\n";
  for (const ClientRow& client : ask(c.sources.clients)) {
    print(out, "Address: {}\n", client.address);
    if (!client.name.empty() && client.name != client.address) print(out, "Name:    {}\n", one_line(client.name));
    print(out, "Currently established connections: {}\n", client.connections);
    print(out, "    ICP  Requests {}\n", client.icp_requests);
    icp_hits += print_tags(out, client.icp_tags, client.icp_requests);
    print(out, "    HTTP Requests {}\n", client.http_requests);
    http_hits += print_tags(out, client.http_tags, client.http_requests);
    out += '\n';
    icp += client.icp_requests;
    http += client.http_requests;
  }
  print(out, "TOTALS\nICP : {} Queries, {} Hits ({:3}%)\nHTTP: {} Requests, {} Hits ({:3}%)\n", icp, icp_hits,
        whole_percent(icp_hits, icp), http, http_hits, whole_percent(http_hits, http));
}

void page_server_list(const PageContext& c, std::string& out) {
  auto peers = ask(c.sources.peers);
  if (peers.empty()) out += "There are no neighbors installed.\n";
  for (const PeerRow& peer : peers) print_peer(out, peer);
}

void page_active_requests(const PageContext& c, std::string& out) {
  for (const ActiveRequestRow& row : ask(c.sources.active_requests)) {
    print(out, "Connection: {:#x}\n\tFD {}, read {}, wrote {}\n\tFD desc: {}\n", row.connection, row.fd, row.read_bytes,
          row.written_bytes, one_line(row.description));
    print(out, "\tin: buf {:#x}, used {}, free {}\n\tremote: {}\n\tlocal: {}\n\tnrequests: {}\n", row.connection, row.buffer_used,
          row.buffer_free, row.remote, row.local, row.connection_requests);
    print(out, "uri {}\nlogType {}\nout.offset {}, out.size {}\nreq_sz {}\n", one_line(row.url), row.tag, row.out_offset,
          row.out_size, row.request_bytes);
    print(out, "entry {:#x}/{}\n", row.entry, row.key.empty() ? "N/A" : row.key);
    print(out, "start {}.{:06} ({:.6f} seconds ago)\n", row.start_wall_us / 1'000'000, row.start_wall_us % 1'000'000, row.age_seconds);
    print(out, "username {}\n\n", row.user.empty() ? "-" : one_line(row.user));
  }
}

void page_pconn(const PageContext& c, std::string& out) {
  auto pools = ask(c.sources.idle_pools);
  for (size_t i = 0; i < pools.size(); ++i) {
    print(out, "\n Pool {} Stats\n{} persistent connection counts:\n\n\t Requests\t Connection Count\n\t --------\t ----------------\n", i,
          pools[i].name);
    for (auto& [requests, connections] : pools[i].requests_per_connection)
      if (connections) print(out, "\t{}\t{}\n", requests, connections);
    print(out, "\n Pool {} Hash Table\n", i);
    for (size_t item = 0; item < pools[i].idle.size(); ++item)
      print(out, "\t item {}:\t{}\t{}\n", item, pools[i].idle[item].first, pools[i].idle[item].second);
  }
}

void page_filedescriptors(const PageContext& c, std::string& out) {
  out += "Active file descriptors:\n"
         "File Type   Tout Nread  * Nwrite * Remote Address        Description\n"
         "---- ------ ---- -------- -------- --------------------- ------------------------------\n";
  for (const DescriptorRow& row : ask(c.sources.descriptors))
    print(out, "{:4} {:<6.6} {:4} {:7}{} {:7}{} {:<21} {}\n", row.fd, row.type, row.timeout_seconds, row.read_bytes,
          row.reading ? '*' : ' ', row.written_bytes, row.writing ? '*' : ' ', row.remote, one_line(row.description));
}

}  // namespace loligo::mgr
