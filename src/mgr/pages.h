// The pages of the manager, one function each; manager.cc lists them.
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "mgr/manager.h"

namespace loligo::mgr {

#define LOLIGO_PAGES(X)                                                                                              \
  X(index) X(menu) X(offline_toggle) X(shutdown) X(reconfigure) X(rotate) X(pconn) X(mem) X(config) X(client_list)   \
  X(ipcache) X(fqdncache) X(idns) X(info) X(service_times) X(filedescriptors) X(counters) X(five_minutes)            \
  X(sixty_minutes) X(utilization) X(histograms) X(active_requests) X(storedir) X(store_io) X(reasons) X(bans) X(events) X(server_list)
#define X(name) void page_##name(const PageContext&, std::string& out);
LOLIGO_PAGES(X)
#undef X

// pages_objects.cc: as long as the store is large.
std::unique_ptr<PageStream> page_objects(const PageContext&);
std::unique_ptr<PageStream> page_vm_objects(const PageContext&);
std::unique_ptr<PageStream> page_openfd_objects(const PageContext&);
void print_object(const ObjectRow&, std::string& out);

// pages_explain.cc: answers later, when the disk has been asked.
void page_explain(const PageContext&, std::string_view query, std::string_view client, Reply&);

template <class... Args>
void print(std::string& out, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

// "Mon, 30 Nov 2026 09:28:12 GMT"
std::string date(base::WallMicroseconds);
// Of nothing, nothing: 0 when `whole` is 0.
inline double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }
// A text that came from the network, on one line of a page: controls become '?'.
std::string one_line(std::string_view);

}  // namespace loligo::mgr
