// The cache manager: which actions there are, who may call them, and their
// pages. The words, their order and the separators are Squid's, because
// squidclient's users, munin, exporters and shell scripts parse them.
//
// Owner: main, one per process, on one thread (another worker posts its
// request there). Settings belong to a configuration: main calls
// set_settings() at a reload. History lives on.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "client/error_page_table.h"
#include "mgr/history.h"
#include "mgr/request.h"
#include "mgr/settings.h"
#include "mgr/sources.h"

namespace loligo::mgr {

struct Reply {
  int status = 200;
  client::ErrorId error = client::ErrorId::none;   // with it: send that error page with `status`
  std::string realm;                               // 401: WWW-Authenticate: Basic realm="..."; characters of action names only
  std::string_view content_type;
  std::string body;
  std::unique_ptr<class PageStream> stream;        // instead of a body: a page without an end in sight
  // Instead of both: call it, and `done` hears status and body, once, perhaps at once, on any thread.
  std::function<void(std::function<void(int status, std::string body)> done)> later;
};

// A page that is made a piece at a time.
class PageStream {
 public:
  virtual ~PageStream() = default;
  // Appends a piece, some KiB at most. False: it was the last.
  virtual bool more(std::string& out) = 0;
};

struct PageContext {
  const Sources& sources;
  const History& history;
  const Totals& now;
  const Settings& settings;
};

struct Action {
  std::string_view name, description;
  bool needs_password;                             // closed unless cachemgr_passwd names it
  void (*render)(const PageContext&, std::string& out);
  std::string_view content_type = "text/plain;charset=utf-8";
  std::unique_ptr<PageStream> (*stream)(const PageContext&) = nullptr;   // instead of render
  void (*ask)(const PageContext&, std::string_view query, std::string_view client, Reply&) = nullptr;   // the same: it has a query
};
std::span<const Action> actions();                 // in the order of the menu

enum class Protection : unsigned char { open, password, hidden, disabled };
Protection protection(const Action&, const Settings&);
std::string_view text(Protection);                 // "public", "protected", "hidden", "disabled"

class Manager {
 public:
  Manager(Sources sources, Settings settings);
  void set_settings(Settings settings) { settings_ = std::move(settings); }
  Sources& sources() { return sources_; }

  // Once a second or once a minute (the first call happens in the constructor).
  void tick();

  double seconds_to_next_sample() const { return history_.seconds_to_next(ask(sources_.times)); }

  // Judges and renders. For requests that is_for_manager() or is_internal() claims.
  Reply answer(const Request&);

 private:
  Totals totals() const;
  Sources sources_;
  Settings settings_;
  History history_;
};

}  // namespace loligo::mgr
