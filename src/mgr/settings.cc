#include "mgr/settings.h"

#include <algorithm>

#include "config/bind.h"

namespace loligo::mgr {
namespace {

using namespace config;

void parse_password(const Statement& s, void* settings, Problems& problems) {
  if (!require_word(s, 1, "a password and at least one action", problems)) return;
  Password p;
  if (s.words[0].text == "none") p.kind = Password::Kind::none;
  else if (s.words[0].text == "disable") p.kind = Password::Kind::disable;
  p.password = s.words[0].text;
  for (size_t i = 1; i < s.words.size(); ++i) p.actions.push_back(s.words[i].text);
  static_cast<Settings*>(settings)->cachemgr_passwd.push_back(std::move(p));
}

// mgr:config is read by more people than the file: it never shows a password.
void dump_password(const Directive& self, const void* settings, std::string& out) {
  for (const Password& p : static_cast<const Settings*>(settings)->cachemgr_passwd) {
    std::string value = p.kind == Password::Kind::password ? "XXXXXXXXXX" : p.password;
    for (auto& action : p.actions) value += " " + action;
    dump_line(self, value, out);
  }
}

constexpr Directive kDirectives[] = {
    custom("cachemgr_passwd", "password|none|disable action ...", "none",
           "A password for actions of the cache manager. none opens them, disable closes them; the action all stands for every one. "
           "Without a line, actions that change something and config are closed and the others open.",
           parse_password, dump_password, true, WordStyle::quoted),
};

}  // namespace

const Password* Settings::find(std::string_view action) const {
  for (const Password& p : cachemgr_passwd)
    for (const std::string& a : p.actions)
      if (a == action || a == "all") return &p;
  return nullptr;
}

std::span<const config::Directive> directives() { return kDirectives; }

}  // namespace loligo::mgr
