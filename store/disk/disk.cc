#include "store/disk/disk.h"

#include <algorithm>

#include "base/clock.h"
#include "store/disk/directory.h"
#include "store/disk/record_reader.h"

namespace loligo::store {

using disk::Core;
using disk::Directory;
using disk::Finder;

namespace {

constexpr unsigned kDirectoryShift = Core::kDirectoryShift;
constexpr size_t kMostDirectories = 64;
constexpr uint64_t inner_id(uint64_t id) { return id & ((uint64_t(1) << kDirectoryShift) - 1); }

}  // namespace

struct Disk::Rooms {
  std::shared_ptr<Core::Shared> shared;
  std::vector<std::unique_ptr<Directory>> directories;
  std::atomic<unsigned> next{0};

  Directory* of(uint64_t id) const {
    size_t n = id >> kDirectoryShift;
    return n < directories.size() ? directories[n].get() : nullptr;
  }
  size_t choose(const Key&, uint64_t length);   // no directory: their number
  bool find(const Key&, uint64_t memory_limit, const Match&, bool no_wait, Found& best);

  // Ids are microseconds since 1970, or the next number: they grow over restarts, and the newest is the greatest.
  std::atomic<uint64_t> last_id{0};
  uint64_t new_id() {
    uint64_t last = last_id.load(std::memory_order_relaxed), id;
    do id = std::max(last + 1, uint64_t(base::wall_now_microseconds()));
    while (!last_id.compare_exchange_weak(last, id, std::memory_order_relaxed));
    return inner_id(id);
  }
};

std::unique_ptr<Disk> Disk::open(DiskOptions options, Files& files, std::vector<std::string>& failures) {
  auto rooms = std::make_unique<Rooms>();
  rooms->shared = std::make_shared<Core::Shared>();
  rooms->shared->options = std::move(options);
  for (const DiskDirectoryOptions& d : rooms->shared->options.directories) {
    std::string failure;
    if (rooms->directories.size() == kMostDirectories) failure = "cache_dir " + d.path + ": too many";
    else if (auto directory = Directory::open(rooms->shared, d, files, unsigned(rooms->directories.size()), failure)) rooms->directories.push_back(std::move(directory));
    if (!failure.empty()) failures.push_back(std::move(failure));
  }
  return std::unique_ptr<Disk>(new Disk(std::move(rooms)));
}

Disk::Disk(std::unique_ptr<Rooms> rooms) : rooms_(std::move(rooms)) {}
Disk::~Disk() = default;

// ---- finding -------------------------------------------------------------------

bool Disk::may_have(const Key& key) const {
  for (auto& d : rooms_->directories)
    if (!d->core().health.failed() && d->finder().may_have(key)) return true;
  return false;
}

bool Disk::is_writing(const Key& key) const {
  for (auto& d : rooms_->directories)
    if (d->writer().has_pending(key)) return true;
  return false;
}

// A key's variants may lie in several directories, and an old object may have come back with its directory: of those that
// match the newest counts, and the others go. False: somebody must wait for a disk.
bool Disk::Rooms::find(const Key& key, uint64_t memory_limit, const Match& match, bool no_wait, Found& best) {
  best = {};
  bool other_variant = false;
  auto drop = [&](uint64_t id) { of(id)->writer().erase(key, inner_id(id)); };
  for (size_t n = 0; n < directories.size(); ++n) {
    Directory& d = *directories[n];
    if (!d.finder().may_have(key)) continue;
    Found found;
    if (!no_wait) shared->tally.add(&Counters::pool_reads);
    if (d.finder().find(key, memory_limit, match, no_wait, found) == Finder::Answer::again) return false;
    other_variant |= found.other_variant;
    if (!found) continue;
    found.id |= uint64_t(n) << kDirectoryShift;
    if (best && inner_id(best.id) > inner_id(found.id)) {
      drop(found.id);
      continue;
    }
    if (best) drop(best.id);
    best = std::move(found);
  }
  best.other_variant = other_variant && !best;
  if (best) shared->tally.add(&Counters::found);
  return true;
}

bool Disk::find(const Key& key, uint64_t memory_limit, Match match, Found& now, Done later) {
  rooms_->shared->tally.add(&Counters::finds);
  if (rooms_->find(key, memory_limit, match, true, now)) {
    if (now) rooms_->shared->tally.add(&Counters::found_now);
    return true;
  }
  auto done = std::make_shared<Done>(std::move(later));
  std::function<void()> job = [this, key, memory_limit, match = std::move(match), done] {
    Found found;
    rooms_->find(key, memory_limit, match, false, found);
    (*done)(std::move(found));
  };
  now = {};
  for (auto& d : rooms_->directories)
    if (d->finder().may_have(key)) return !d->pool().post(job);   // refused: too many wait already
  return true;
}

// ---- storing -------------------------------------------------------------------

// Where the key is already; else by the configured rule. What may become of any length goes where most lengths may.
size_t Disk::Rooms::choose(const Key& key, uint64_t length) {
  size_t none = directories.size(), best = none;
  for (size_t i = 0; i < directories.size(); ++i) {
    if (!directories[i]->takes(length)) continue;
    if (directories.size() == 1 || directories[i]->core().table.contains(key)) return i;
    auto longest = [&](size_t n) { return directories[n]->core().options.max_object; };
    bool longer = length == kUnknownLength && best != none && longest(i) != longest(best);
    if (best == none || (longer ? longest(i) > longest(best) : directories[i]->load() < directories[best]->load())) best = i;
  }
  if (!shared->options.round_robin || length == kUnknownLength) return best;
  unsigned from = next.fetch_add(1, std::memory_order_relaxed);
  for (size_t i = 0; i < directories.size(); ++i)
    if (size_t n = (from + i) % directories.size(); directories[n]->takes(length)) return n;
  return none;
}

uint64_t Disk::store(const Key& key, Variant variant, std::string head, base::Ref<Body> body, uint64_t expected, bool keeps_older, bool* busy) {
  uint64_t length = body->state() == Body::State::complete ? body->length() : expected;
  size_t n = rooms_->choose(key, length);
  uint64_t id = rooms_->new_id();
  Directory* chosen = n < rooms_->directories.size() ? rooms_->directories[n].get() : nullptr;
  if (!chosen) rooms_->shared->tally.add(&Counters::not_stored_limits);
  bool taken = chosen && chosen->writer().store(key, variant, id, std::move(head), std::move(body), expected, keeps_older, busy);
  // A variant lives in one directory; an older one that may have to stay goes when it is next met.
  if (taken && keeps_older) return id | uint64_t(n) << kDirectoryShift;
  for (auto& d : rooms_->directories)
    if (d.get() != chosen && (!taken || d->finder().may_have(key) || d->writer().has_pending(key))) d->writer().erase_replaced(key, variant);
  return taken ? id | uint64_t(n) << kDirectoryShift : 0;
}

bool Disk::rehead(const Key& key, uint64_t id, std::string head) {
  Directory* d = rooms_->of(id);
  return d && d->writer().rehead(key, inner_id(id), std::move(head));
}

// ---- removing ------------------------------------------------------------------

void Disk::erase(const Key& key, Erased durable) {
  struct Sum {
    std::atomic<unsigned> count{0}, open{1};
    std::atomic<bool> lasts{true};
    Erased durable;
    void add(std::optional<unsigned> n) {
      if (n) count += *n;
      else lasts = false;
      if (--open == 0 && durable) durable(lasts ? std::optional<unsigned>(count) : std::nullopt);
    }
  };
  auto sum = std::make_shared<Sum>();
  sum->durable = std::move(durable);
  bool any = false;
  for (auto& d : rooms_->directories) {
    ++sum->open;
    if (d->writer().erase(key, [sum](std::optional<unsigned> n) { sum->add(n); })) any = true;
    else --sum->open;
  }
  if (any || !sum->durable) return sum->add(0);
  // Nothing to wait for; yet the answer comes on a thread of the store.
  std::function<void()> job = [sum] { sum->add(0); };
  if (rooms_->directories.empty() || !rooms_->directories[0]->pool().post(job)) job();
}

void Disk::erase(const Key& key, uint64_t id) {
  if (Directory* d = rooms_->of(id)) d->writer().erase(key, inner_id(id));
}

// ---- telling -------------------------------------------------------------------

std::vector<Disk::DirectoryState> Disk::directories() const {
  std::vector<DirectoryState> states;
  for (auto& d : rooms_->directories) states.push_back(d->state());
  return states;
}

Disk::Counters Disk::counters() const { return rooms_->shared->tally.read(); }

uint64_t Disk::objects() const {
  uint64_t n = 0;
  for (auto& d : rooms_->directories) n += d->core().table.objects();
  return n;
}

static Disk::Listed listed(const Core& core, const disk::Entry& e) {
  Disk::Listed l{e.key(), core.outer_id(e.id()), e.bytes(), core.number, e.place.segment, e.place.offset(), e.uses};
  if (e.tick) l.idle_seconds = int64_t((core.tick() - e.tick) & 0x7FFF) * disk::Entry::kTickSeconds;
  return l;
}

// The cursor: directory, shard, position in it. What changes meanwhile may be missed or seen twice.
bool Disk::list(uint64_t& cursor, unsigned most, std::vector<Listed>& out) const {
  unsigned directory = unsigned(cursor >> 48), shard = unsigned(cursor >> 40 & 255);
  uint64_t at = cursor & ((uint64_t(1) << 40) - 1);
  std::vector<disk::Entry> some;
  while (directory < rooms_->directories.size() && some.empty()) {
    const disk::Table& table = rooms_->directories[directory]->core().table;
    table.copy_from(shard, uint32_t(at), most, some);
    at += some.size();
    if (!some.empty()) break;
    at = 0;
    if (++shard == disk::Table::kShards) shard = 0, ++directory;
  }
  for (const disk::Entry& e : some) out.push_back(listed(rooms_->directories[directory]->core(), e));
  cursor = uint64_t(directory) << 48 | uint64_t(shard) << 40 | at;
  return !some.empty();
}

bool Disk::where(const Key& key, uint64_t id, Listed& l) const {
  const Directory* d = rooms_->of(id);
  auto entry = d ? d->core().table.find(key, inner_id(id)) : std::nullopt;
  if (entry) l = listed(d->core(), *entry);
  return entry.has_value();
}

bool Disk::head_in_reach(const Listed& l, std::string& head, uint64_t& length, bool wait) const {
  Directory* d = rooms_->of(l.id);
  auto entry = d && !d->core().health.failed() ? d->core().table.find(l.key, inner_id(l.id)) : std::nullopt;
  if (!entry) return false;
  disk::RecordReader reader(d->core(), *entry, !wait);
  if (reader.read_head() != disk::RecordReader::Result::fine) return false;
  head = std::move(reader.head());
  length = reader.header().length;
  return true;
}

void Disk::look(const Key& key, std::function<void(std::vector<Looked>)> done) const {
  std::vector<Looked> all;
  for (auto& d : rooms_->directories)
    for (const disk::Entry& e : d->core().table.find(key)) all.push_back({listed(d->core(), e), {}, 0});
  std::sort(all.begin(), all.end(), [](const Looked& a, const Looked& b) { return inner_id(a.place.id) > inner_id(b.place.id); });
  if (all.empty()) return done({});
  auto shared = std::make_shared<std::pair<std::vector<Looked>, std::function<void(std::vector<Looked>)>>>(std::move(all), std::move(done));
  std::function<void()> job = [this, shared] {
    for (Looked& l : shared->first) {
      Directory* d = rooms_->of(l.place.id);
      auto entry = d->core().health.failed() ? std::nullopt : d->core().table.find(l.place.key, inner_id(l.place.id));
      if (!entry) continue;
      disk::RecordReader reader(d->core(), *entry, false);
      reader.be_quiet();
      if (reader.read_head() != disk::RecordReader::Result::fine) continue;
      l.head = std::move(reader.head());
      l.length = reader.header().length;
    }
    shared->second(std::move(shared->first));
  };
  if (!rooms_->of(shared->first.front().place.id)->pool().post(job)) shared->second(std::move(shared->first));
}

std::vector<Disk::Writing> Disk::writing() const {
  std::vector<Writing> all;
  for (auto& d : rooms_->directories) d->writer().list_pending(all);
  return all;
}

bool Disk::is_writing(const Key& key, uint64_t id) const {
  Directory* d = rooms_->of(id);
  return d && d->writer().has_pending(key, inner_id(id));
}

// ---- notes ---------------------------------------------------------------------

std::vector<Note> Disk::notes() const {
  std::vector<Note> all;
  for (auto& d : rooms_->directories) all.push_back(disk::read_note(d->core().files, d->core().options.path));
  return all;
}

bool Disk::keep_note(std::string_view bytes) {
  bool kept = true;
  for (auto& d : rooms_->directories)
    if (!d->core().health.failed() && disk::write_note(d->core().files, d->core().options.path, bytes)) kept = false;
  return kept;
}

}  // namespace loligo::store
