#include "cache/bans.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <mutex>

#include "access/regex_translate.h"
#include "base/clock.h"
#include "base/text.h"
#include "cache/cache.h"
#include "cache/tags.h"

namespace loligo::cache {

Ban::Ban(BanRequest request) : what(std::move(request)) {}
Ban::~Ban() = default;
Bans::Bans() = default;
Bans::~Bans() = default;

// ---- asking --------------------------------------------------------------------

// Under the lock. Of soft ones the first to find, as staleness begins with any of them.
Bans::Finding Bans::look(const Response& r, uint64_t since) const {
  Finding f;
  auto found = [&](const BanRef& ban) {
    if (!ban || ban->id <= since || f.hard) return;
    if (!ban->what.soft) f.hard = ban.get();
    else if (!f.soft || ban->id < f.soft->id) f.soft = ban;
  };
  auto pair = [&](const Table& table, uint64_t hash) {
    if (auto it = table.find(hash); it != table.end()) found(it->second.hard), found(it->second.soft);
  };
  if (!urls_.empty()) pair(urls_, r.key.high);
  if (!tags_.empty()) {
    for (uint64_t hash : r.tags.hashes) pair(tags_, hash);
    if (r.tags.too_many)
      for (auto& [hash, both] : tags_) found(both.hard), found(both.soft);
  }
  for (auto ban = patterns_.rbegin(); ban != patterns_.rend() && (*ban)->id > since && !f.hard; ++ban)
    if (re2::RE2::PartialMatch(re2::StringPiece(r.url.data(), r.url.size()), *(*ban)->regex)) found(*ban);
  return f;
}

bool Bans::ask(const Response& r, bool count) const {
  const uint64_t newest = this->newest();
  std::shared_lock lock(mutex_);
  Finding f = look(r, r.asked.load(std::memory_order_relaxed));
  if (f.hard) {
    if (count) f.hard->taken.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  if (f.soft && !r.stale_since.load(std::memory_order_relaxed)) r.stale_since.store(int64_t(f.soft->id / 1'000'000), std::memory_order_relaxed);
  r.asked.store(newest, std::memory_order_release);
  return true;
}

bool Bans::ask_all(const Response& r, bool count, BanRef& stale_by) const {
  const uint64_t newest = this->newest();
  if (r.moment >= newest) return true;
  std::shared_lock lock(mutex_);
  Finding f = look(r, r.moment);
  stale_by = std::move(f.soft);
  if (f.hard) {
    if (count) f.hard->taken.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  if (stale_by && !r.stale_since.load(std::memory_order_relaxed)) r.stale_since.store(int64_t(stale_by->id / 1'000'000), std::memory_order_relaxed);
  if (r.asked.load(std::memory_order_relaxed) < newest) r.asked.store(newest, std::memory_order_release);
  return true;
}

uint64_t Bans::concerning(const Response& r, bool& gone) const {
  std::shared_lock lock(mutex_);
  const Finding f = look(r, r.moment);
  gone = f.hard != nullptr;
  return gone ? f.hard->id : f.soft ? f.soft->id : 0;
}

// ---- adding and ending ---------------------------------------------------------

uint64_t Bans::next_id() const { return std::max(newest() + 1, uint64_t(base::wall_now_microseconds())); }

static std::string compile(Ban& ban) {
  if (ban.what.kind == BanKind::tag) ban.hash = tag_hash(ban.what.text);
  if (ban.what.kind == BanKind::url) ban.hash = key_of(ban.what.text).high;
  if (ban.what.kind != BanKind::pattern) return {};
  access::Translation t = access::translate_regex(ban.what.text);
  if (!t.error.empty()) return t.error;
  re2::RE2::Options options(re2::RE2::Latin1);
  options.set_log_errors(false);
  options.set_never_capture(true);
  options.set_max_mem(1 << 20);
  ban.regex = std::make_unique<re2::RE2>(t.re2, options);
  return ban.regex->ok() ? std::string() : ban.regex->error();
}

// Under the lock. The same again takes the place of the old one.
bool Bans::insert(const BanRef& ban, size_t most_others) {
  if (ban->what.kind == BanKind::pattern) {
    for (auto& old : patterns_)
      if (old->what.soft == ban->what.soft && old->what.text == ban->what.text) {
        if (old->id >= ban->id) return true;   // another directory knew it better
        patterns_.erase(patterns_.begin() + (&old - patterns_.data()));
        break;
      }
    if (patterns_.size() >= kMostPatterns) return false;
    patterns_.push_back(ban);
  } else {
    Table& table = ban->what.kind == BanKind::tag ? tags_ : urls_;
    auto it = table.find(ban->hash);
    if (it == table.end()) {
      it = table.try_emplace(ban->hash).first;
    }
    BanRef& place = ban->what.soft ? it->second.soft : it->second.hard;
    if (!place && others_ >= most_others) {
      if (!it->second.hard && !it->second.soft) table.erase(it);
      return false;
    }
    others_ += !place;
    if (!place || place->id < ban->id) place = ban;
  }
  newest_.store(std::max(newest(), ban->id), std::memory_order_release);
  return true;
}

BanRef Bans::add(BanRequest request, std::string& error, bool by_origin) {
  if (request.text.empty() || request.text.size() > kMostText || request.text.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) {
    error = "a text of 1 to 4096 bytes without controls is needed";
    return {};
  }
  // Compiled before the lock is taken, which those wait for who look something up.
  auto ban = std::make_shared<Ban>(std::move(request));
  if (error = compile(*ban); !error.empty()) return {};
  std::lock_guard lock(mutex_);
  ban->id = next_id();
  if (insert(ban, by_origin ? kMostOthers / 2 : kMostOthers)) return ban;
  error.clear();
  return {};
}

std::vector<BanRef> Bans::all() const {
  std::shared_lock lock(mutex_);
  std::vector<BanRef> out(patterns_);
  for (const Table* table : {&tags_, &urls_})
    for (auto& [hash, pair] : *table)
      for (const BanRef& ban : {pair.hard, pair.soft})
        if (ban) out.push_back(ban);
  std::sort(out.begin(), out.end(), [](const BanRef& a, const BanRef& b) { return a->id < b->id; });
  return out;
}

void Bans::end(const std::vector<BanRef>& bans) {
  std::lock_guard lock(mutex_);
  for (const BanRef& ban : bans) {
    ended_.store(std::max(ended(), ban->id), std::memory_order_release);
    if (ban->what.kind == BanKind::pattern) {
      std::erase(patterns_, ban);
      continue;
    }
    Table& table = ban->what.kind == BanKind::tag ? tags_ : urls_;
    auto it = table.find(ban->hash);
    if (it == table.end()) continue;
    BanRef& place = ban->what.soft ? it->second.soft : it->second.hard;
    if (place != ban) continue;
    place.reset();
    --others_;
    if (!it->second.hard && !it->second.soft) table.erase(it);
  }
}

// ---- keeping -------------------------------------------------------------------

// "newest ID", then a line for each: ID KIND SOFT TEXT.
std::string Bans::text() const {
  std::string out = fmt::format("newest {}\n", newest());
  for (const BanRef& ban : all()) fmt::format_to(std::back_inserter(out), "{} {} {} {}\n", ban->id, unsigned(ban->what.kind), unsigned(ban->what.soft), ban->what.text);
  return out;
}

static BanRef read_line(std::string_view line) {
  auto word = [&line] {
    const size_t end = std::min(line.find(' '), line.size());
    std::string_view w = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
    return w;
  };
  auto id = base::parse_decimal<uint64_t>(word());
  auto kind = base::parse_decimal<unsigned>(word()), soft = base::parse_decimal<unsigned>(word());
  if (!id || !kind || !soft || *kind > 2 || *soft > 1 || line.empty() || line.size() > Bans::kMostText) return {};
  auto ban = std::make_shared<Ban>(BanRequest{BanKind(*kind), *soft == 1, std::string(line)});
  ban->id = *id;
  return compile(*ban).empty() ? ban : BanRef();
}

bool Bans::load(std::string_view text) {
  bool first = true;
  std::lock_guard lock(mutex_);
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (end == text.npos) return false;
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (std::exchange(first, false)) {
      if (!line.starts_with("newest ")) return false;
      auto id = base::parse_decimal<uint64_t>(line.substr(7));
      if (!id) return false;
      newest_.store(std::max(newest(), *id), std::memory_order_release);
      continue;
    }
    BanRef ban = read_line(line);
    if (!ban || !insert(ban)) return false;
  }
  std::sort(patterns_.begin(), patterns_.end(), [](const BanRef& a, const BanRef& b) { return a->id < b->id; });
  return true;
}

void Bans::ban_everything() {
  std::string error;
  add({BanKind::pattern, false, "."}, error);
}

}  // namespace loligo::cache
