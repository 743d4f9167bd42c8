// The manager's own pages and those that act: index, menu, config, events,
// offline_toggle, shutdown, reconfigure, rotate.
#include "mgr/pages.h"

namespace loligo::mgr {

// For browsers; squidclient and scripts read the menu.
void page_index(const PageContext& c, std::string& out) {
  print(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Cache manager of {0}</title></head>\n"
             "<body><h1>Cache manager of {0}</h1>\n<ul>\n", c.sources.hostname);
  for (const Action& action : actions()) {
    Protection guard = protection(action, c.settings);
    if (guard == Protection::open || guard == Protection::password)
      print(out, "<li><a href=\"/squid-internal-mgr/{0}\">{0}</a>: {1}{2}</li>\n", action.name, action.description,
            guard == Protection::password ? " (password)" : "");
  }
  out += "</ul>\n</body></html>\n";
}

void page_menu(const PageContext& c, std::string& out) {
  for (const Action& action : actions())
    print(out, " {:<22}\t{:<32}\t{}\n", action.name, action.description, text(protection(action, c.settings)));
}

void page_config(const PageContext& c, std::string& out) { out += ask(c.sources.config); }

void page_events(const PageContext& c, std::string& out) {
  TimerFacts timers = ask(c.sources.timers);
  if (!timers.last.empty()) print(out, "Last event to run: {}\n\n", timers.last);
  print(out, "{:<25}\t{:<15}\t{}\t{}\n", "Operation", "Next Execution ", "Weight", "Callback Valid?");
  for (const TimerRow& row : timers.rows)
    print(out, "{:<25}\t{:.3f} sec\t{:5}\t {}\n", one_line(row.name), row.seconds, row.weight, row.cancellable ? "yes" : "N/A");
}

void page_offline_toggle(const PageContext& c, std::string& out) {
  print(out, "offline_mode is now {}\n", ask(c.sources.toggle_offline) ? "ON" : "OFF");
}

void page_shutdown(const PageContext& c, std::string& out) {
  out += "Shutting down Squid Process ....\n";
  if (c.sources.shut_down) c.sources.shut_down();
}

void page_reconfigure(const PageContext& c, std::string& out) {
  out += "Reconfiguring Squid Process ....\n";
  if (c.sources.reconfigure) c.sources.reconfigure();
}

void page_rotate(const PageContext& c, std::string& out) {
  out += "Rotating Squid Process Logs ....\n";
  if (c.sources.rotate) c.sources.rotate();
}

}  // namespace loligo::mgr
