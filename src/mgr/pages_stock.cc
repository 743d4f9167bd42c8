// What the proxy holds: storedir, mem, ipcache, fqdncache, idns.
#include "mgr/pages.h"

namespace loligo::mgr {
namespace {

double kb(uint64_t bytes) { return double(bytes) / 1024; }

void print_directory(std::string& out, size_t number, const StoreDirectoryRow& row) {
  print(out, "\nStore Directory #{} ({}): {}\nFS Block Size {} Bytes\n", number, row.type, row.path, row.block_bytes);
  print(out, "Maximum Size: {:.0f} KB\nCurrent Size: {:.2f} KB\n", kb(row.max_bytes), kb(row.current_bytes));
  print(out, "Percent Used: {:.2f}%\n", percent(double(row.current_bytes), double(row.max_bytes)));
  print(out, "Filesystem Space in use: {}/{} KB ({:.0f}%)\n", row.filesystem_used_kb, row.filesystem_total_kb,
        percent(double(row.filesystem_used_kb), double(row.filesystem_total_kb)));
  print(out, "Filesystem Inodes in use: {}/{} ({:.0f}%)\n", row.inodes_used, row.inodes_total,
        percent(double(row.inodes_used), double(row.inodes_total)));
  print(out, "Flags:{}{}\n", row.selected ? " SELECTED" : "", row.read_only ? " READ-ONLY" : "");
  print(out, "Removal policy: {}\nLRU reference age: {:.2f} days\n", row.policy, row.reference_age_days);
}

// What the rows of the mem page are percentages of.
struct PoolTotals { double allocated_kb = 0; uint64_t allocations = 0, reused_bytes = 0; double seconds = 0; };

// Columns of chunked pools stay blank, as they do in Squid without chunks.
void print_pool(std::string& out, const PoolRow& p, uint64_t reused_bytes, const PoolTotals& all) {
  uint64_t size = p.object_bytes, allocated = p.in_use + p.idle;
  print(out, "{:<20}\t {:4}\t \t \t \t \t \t \t ", p.name, size);
  print(out, "\t {}\t {:.0f}\t {:.0f}\t {:.2f}\t {:.3f}", allocated, kb(allocated * size), kb(p.allocated_high * size),
        p.allocated_high_hours, percent(kb(allocated * size), all.allocated_kb));
  print(out, "\t {}\t {:.0f}\t {:.0f}\t {:.2f}\t {:.3f}", p.in_use, kb(p.in_use * size), kb(p.in_use_high * size),
        p.in_use_high_hours, percent(double(p.in_use), double(allocated)));
  print(out, "\t {}\t {:.0f}\t {:.0f}", p.idle, kb(p.idle * size), kb(p.idle_high * size));
  print(out, "\t {}\t {:.3f}\t {:.3f}\t {:.3f}\n", p.reused, percent(double(p.reused), double(all.allocations)),
        percent(double(reused_bytes), double(all.reused_bytes)), all.seconds > 0 ? double(p.allocations) / all.seconds : 0);
}

// As C's %3.3d: at least three digits after the sign.
std::string three_digits(int64_t value) { return fmt::format("{}{:03}", value < 0 ? "-" : "", value < 0 ? -value : value); }

}  // namespace

void page_storedir(const PageContext& c, std::string& out) {
  StoreFacts store = ask(c.sources.store);
  double share = percent(double(store.disk_bytes), double(store.disk_capacity_bytes));
  print(out, "Store Directory Statistics:\nStore Entries          : {}\n", store.entries);
  print(out, "Maximum Swap Size      : {:.0f} KB\nCurrent Store Swap Size: {:.2f} KB\n", kb(store.disk_capacity_bytes), kb(store.disk_bytes));
  print(out, "Current Capacity       : {:.2f}% used, {:.2f}% free\n", share, store.disk_capacity_bytes ? 100 - share : 0);
  for (size_t i = 0; i < store.directories.size(); ++i) print_directory(out, i, store.directories[i]);
}

// Squid's four lines; then ours, in the form of mgr:counters.
void page_store_io(const PageContext& c, std::string& out) {
  StoreFacts store = ask(c.sources.store);
  print(out, "Store IO Interface Stats\ncreate.calls {}\ncreate.select_fail {}\ncreate.create_fail {}\ncreate.success {}\n",
        store.creates, store.create_refusals, store.create_failures, store.creates - store.create_refusals - store.create_failures);
  for (const DiskCount& row : store.disk_counts) print(out, "disk.{} = {}\n", row.name, row.count);
  print(out, "disk.write_amplification = {:.3f}\n", store.write_amplification);
}

void page_mem(const PageContext& c, std::string& out) {
  out += "Current memory usage:\n"
         "Pool\t Obj Size\tChunks\t\t\t\t\t\t\tAllocated\t\t\t\t\tIn Use\t\t\t\t\tIdle\t\t\tAllocations Saved\t\t\tRate\t\n"
         " \t (bytes)\tKB/ch\t obj/ch\t(#)\t used\t free\t part\t %Frag\t (#)\t (KB)\t high (KB)\t high (hrs)\t %Tot"
         "\t(#)\t (KB)\t high (KB)\t high (hrs)\t %alloc\t(#)\t (KB)\t high (KB)\t(#)\t %cnt\t %vol\t(#)/sec\t\n";
  auto pools = ask(c.sources.pools);
  PoolRow total{.name = "Total", .object_bytes = 1};   // counts bytes, as objects of one byte
  PoolTotals all;
  size_t used = 0, in_use = 0;
  for (const PoolRow& p : pools) {
    total.in_use += p.in_use * p.object_bytes;
    total.idle += p.idle * p.object_bytes;
    total.in_use_high += p.in_use_high * p.object_bytes;
    total.allocated_high += p.allocated_high * p.object_bytes;
    total.idle_high += p.idle_high * p.object_bytes;
    total.reused += p.reused;
    total.allocations += p.allocations;
    all.reused_bytes += p.reused * p.object_bytes;
    used += p.allocations > 0;
    in_use += p.in_use > 0;
  }
  all.allocated_kb = kb(total.in_use + total.idle);
  all.allocations = total.allocations;
  all.seconds = double(c.now.at.steady_us - ask(c.sources.process).start_steady_us) / 1e6;
  for (const PoolRow& p : pools) print_pool(out, p, p.reused * p.object_bytes, all);
  print_pool(out, total, all.reused_bytes, all);
  print(out, "Total Pools created: {}\nPools ever used:     {} (shown above)\nCurrently in use:    {}\n", pools.size(), used, in_use);
}

void page_ipcache(const PageContext& c, std::string& out) {
  NameCacheFacts names = ask(c.sources.names);
  print(out, "IP Cache Statistics:\nIPcache Entries Cached:  {}\nIPcache Requests: {}\nIPcache Hits:            {}\n", names.rows.size(),
        names.requests, names.hits);
  print(out, "IPcache Negative Hits:       {}\nIPcache Numeric Hits:        {}\nIPcache Misses:          {}\n", names.negative_hits,
        names.numeric_hits, names.misses);
  print(out, "IPcache Retrieved A:     {}\nIPcache Retrieved AAAA:  {}\nIPcache Retrieved CNAME: {}\n", names.a_records,
        names.aaaa_records, names.cname_records);
  print(out, "IPcache CNAME-Only Response: {}\nIPcache Invalid Request: {}\n\n\nIP Cache Contents:\n\n", names.cname_only, names.invalid);
  print(out, " {:<31} {:3} {:>6} {:>6}  N(b)\n", "Hostname", "Flg", "lstref", "TTL");
  for (const NameRow& row : names.rows) {
    size_t bad = 0;
    for (auto& address : row.addresses) bad += !address.ok;
    print(out, " {:<32.32} {}{} {:6} {:6} {:2}({:2})", one_line(row.host), row.from_hosts_file ? 'H' : ' ', row.negative ? 'N' : ' ',
          row.last_use_seconds, row.ttl_seconds, row.addresses.size(), bad);
    for (size_t i = 0; i < row.addresses.size(); ++i)
      print(out, "{}{:>45}-{}", i == 0 ? " " : "\n" + std::string(62, ' '), row.addresses[i].address, row.addresses[i].ok ? "OK " : "BAD");
    out += '\n';
  }
}

void page_fqdncache(const PageContext& c, std::string& out) {
  ReverseCacheFacts names = ask(c.sources.reverse_names);
  print(out, "FQDN Cache Statistics:\nFQDNcache Entries In Use: {0}\nFQDNcache Entries Cached: {0}\n", names.rows.size());
  print(out, "FQDNcache Requests: {}\nFQDNcache Hits: {}\nFQDNcache Negative Hits: {}\nFQDNcache Misses: {}\n", names.requests,
        names.hits, names.negative_hits, names.misses);
  print(out, "FQDN Cache Contents:\n\n{:<45} {:3} {:3} {:3} {}\n", "Address", "Flg", "TTL", "Cnt", "Hostnames");
  for (const ReverseRow& row : names.rows) {
    print(out, "{:<45}  {}{} {} {:3}", row.address, row.negative ? 'N' : ' ', row.from_hosts_file ? 'H' : ' ',
          three_digits(row.ttl_seconds), row.names.size());
    for (const std::string& name : row.names) print(out, " {}", one_line(name));
    out += '\n';
  }
}

void page_idns(const PageContext& c, std::string& out) {
  constexpr struct { int code; std::string_view text; } kCodes[] = {
      {0, "Success"}, {1, "Packet Format Error"}, {2, "DNS Server Failure"}, {3, "Non-Existent Domain"}, {4, "Not Implemented"},
      {5, "Query Refused"}, {6, "Name Exists when it should not"}, {7, "RR Set Exists when it should not"},
      {8, "RR Set that should exist does not"}, {9, "Server Not Authoritative for zone"}, {10, "Name not contained in zone"},
      {16, "Bad OPT Version or TSIG Signature Failure"}};
  ResolverFacts resolver = ask(c.sources.resolver);
  out += "Internal DNS Statistics:\n\nThe Queue:\n                       DELAY SINCE\n"
         "  ID   SIZE SENDS FIRST SEND LAST SEND M FQDN\n------ ---- ----- ---------- --------- - ----\n";
  for (auto& row : resolver.queue)
    print(out, "{:#06x} {:4} {:5} {:10.3f} {:9.3f}   {}\n", row.id, row.bytes, row.sends, row.first_send_seconds, row.last_send_seconds,
          one_line(row.name));
  out += "\nNameservers:\nIP ADDRESS                                     # QUERIES # REPLIES Type\n"
         "---------------------------------------------- --------- --------- --------\n";
  for (auto& server : resolver.servers) print(out, "{:<45} {:9} {:9} recurse\n", server.address, server.queries, server.replies);
  out += "\nRcode Matrix:\nRCODE ATTEMPT1 ATTEMPT2 ATTEMPT3 PROBLEM\n";
  for (auto& [code, text] : kCodes) {
    uint64_t attempts[3] = {};
    for (auto& row : resolver.codes)
      if (row.code == code)
        for (int i = 0; i < 3; ++i) attempts[i] += row.attempts[i];
    print(out, "{:5} {:8} {:8} {:8} : {}\n", code, attempts[0], attempts[1], attempts[2], text);
  }
}

}  // namespace loligo::mgr
