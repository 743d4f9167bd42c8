#include "mgr/manager.h"

#include "http/date.h"
#include "mgr/pages.h"

namespace loligo::mgr {
namespace {

constexpr Action stream_of(std::string_view name, std::string_view description, std::unique_ptr<PageStream> (*stream)(const PageContext&)) {
  return {.name = name, .description = description, .needs_password = false, .render = nullptr, .stream = stream};
}

constexpr Action ask_of(std::string_view name, std::string_view description, void (*ask)(const PageContext&, std::string_view, std::string_view, Reply&)) {
  return {.name = name, .description = description, .needs_password = false, .render = nullptr, .ask = ask};
}

constexpr Action kActions[] = {
    {"index", "Cache Manager Interface", false, page_index, "text/html;charset=utf-8"},
    {"menu", "Cache Manager Menu", false, page_menu},
    {"offline_toggle", "Toggle offline_mode setting", true, page_offline_toggle},
    {"shutdown", "Shut Down the Squid Process", true, page_shutdown},
    {"reconfigure", "Reconfigure Squid", true, page_reconfigure},
    {"rotate", "Rotate Squid Logs", true, page_rotate},
    {"pconn", "Persistent Connection Utilization Histograms", false, page_pconn},
    {"mem", "Memory Utilization", false, page_mem},
    {"config", "Current Squid Configuration", true, page_config},
    {"client_list", "Cache Client List", false, page_client_list},
    {"ipcache", "IP Cache Stats and Contents", false, page_ipcache},
    {"fqdncache", "FQDN Cache Stats and Contents", false, page_fqdncache},
    {"idns", "Internal DNS Statistics", false, page_idns},
    {"info", "General Runtime Information", false, page_info},
    {"service_times", "Service Times (Percentiles)", false, page_service_times},
    {"filedescriptors", "Process Filedescriptor Allocation", false, page_filedescriptors},
    stream_of("objects", "All Cache Objects", page_objects),
    stream_of("vm_objects", "In-Memory and In-Transit Objects", page_vm_objects),
    {"counters", "Traffic and Resource Counters", false, page_counters},
    {"5min", "5 Minute Average of Counters", false, page_five_minutes},
    {"60min", "60 Minute Average of Counters", false, page_sixty_minutes},
    {"utilization", "Cache Utilization", false, page_utilization},
    {"histograms", "Full Histogram Counts", false, page_histograms},
    {"active_requests", "Client-side Active Requests", false, page_active_requests},
    stream_of("openfd_objects", "Objects with Swapout files open", page_openfd_objects),
    {"storedir", "Store Directory Stats", false, page_storedir},
    {"reasons", "Why Replies Were Not Hits, Not Stored, Not Served", false, page_reasons},
    ask_of("explain", "What Would Become of a Request (?url=...)", page_explain),
    {"bans", "Purges in Force", false, page_bans},
    {"store_io", "Store IO Interface Stats", false, page_store_io},
    {"events", "Event Queue", false, page_events},
    {"server_list", "Peer Cache Statistics", false, page_server_list},
};

}  // namespace

std::span<const Action> actions() { return kActions; }

Protection protection(const Action& action, const Settings& settings) {
  const Password* line = settings.find(action.name);
  if (!line) return action.needs_password ? Protection::hidden : Protection::open;
  switch (line->kind) {
    case Password::Kind::disable: return Protection::disabled;
    case Password::Kind::none: return Protection::open;
    case Password::Kind::password: break;
  }
  return Protection::password;
}

std::string_view text(Protection protection) {
  constexpr std::string_view kWords[] = {"public", "protected", "hidden", "disabled"};
  return kWords[unsigned(protection)];
}

Manager::Manager(Sources sources, Settings settings) : sources_(std::move(sources)), settings_(std::move(settings)) { tick(); }

Totals Manager::totals() const { return sum(sources_.workers, ask(sources_.other), ask(sources_.times)); }

void Manager::tick() { history_.tick(totals()); }

Reply Manager::answer(const Request& request) {
  Reply reply;
  auto refuse = [&reply](int status, client::ErrorId error) {
    reply.status = status;
    reply.error = error;
    return std::move(reply);
  };
  if (!is_for_manager(request.scheme, request.path)) return refuse(404, client::ErrorId::invalid_req);
  Asked asked = read_request(request);
  const Action* action = nullptr;
  for (const Action& candidate : kActions)
    if (candidate.name == asked.action) action = &candidate;
  // Unknown, hidden and disabled look alike: nobody learns which actions exist.
  Protection guard = action ? protection(*action, settings_) : Protection::disabled;
  if (guard == Protection::hidden || guard == Protection::disabled) return refuse(404, client::ErrorId::invalid_url);
  if (guard == Protection::password &&
      (!asked.password || !same_secret(*asked.password, settings_.find(action->name)->password))) {
    reply.realm = action->name;
    return refuse(401, client::ErrorId::cache_mgr_access_denied);
  }
  Totals now = totals();
  reply.content_type = action->content_type;
  PageContext context{sources_, history_, now, settings_};
  if (action->ask) action->ask(context, asked.query, request.client, reply);
  else if (action->stream) reply.stream = action->stream(context);
  else action->render(context, reply.body);
  return reply;
}

std::string date(base::WallMicroseconds time) {
  char text[http::kDateLength];
  http::format_date(time / 1'000'000, text);
  return {text, sizeof text};
}

std::string one_line(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if ((unsigned char)c < 0x20 || c == 0x7f) c = '?';
  return out;
}

}  // namespace loligo::mgr
