#include "cache/ban_keeper.h"

#include <algorithm>

#include "base/clock.h"
#include "base/event_log.h"
#include "cache/stored_form.h"

namespace loligo::cache {
namespace {

constexpr int64_t kLongestCountUs = 2'000'000;
constexpr size_t kKeysAtATime = 256, kHeadsAtATime = 32;

const Response& response_of(const store::Object& o) { return static_cast<const Response&>(o); }

}  // namespace

BanKeeper::BanKeeper(Bans& bans, store::Memory& memory, Arriving& arriving) : bans_(bans), memory_(memory), arriving_(arriving) {}

BanKeeper::~BanKeeper() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void BanKeeper::set_times(int64_t least_age_us, int64_t again_us) {
  least_age_us_ = least_age_us;
  again_us_ = again_us;
}

void BanKeeper::use_disk(store::Disk& disk) {
  disk_ = &disk;
  bool damaged = false;
  for (const store::Note& note : disk.notes()) damaged |= note.damaged || !bans_.load(note.bytes);
  if (damaged) {
    base::log_event(base::Section::storage, 1, "WARNING: what was purged from the disk cache cannot be read: all that is stored counts as purged");
    bans_.ban_everything();
    unkept_ = true;
  }
  std::lock_guard lock(mutex_);
  if (!bans_.all().empty()) begin();
}

void BanKeeper::begin() {
  if (!std::exchange(running_, true)) thread_ = std::thread([this] { run(); });
}

bool BanKeeper::add(std::vector<BanRequest> bans, bool count, Done done) {
  std::lock_guard lock(mutex_);
  if (stopping_ || queue_.size() >= kMostWaiting) return false;
  queue_.push_back({std::move(bans), count, std::move(done)});
  begin();
  wake_.notify_one();
  return true;
}

unsigned BanKeeper::enforce(std::vector<BanRequest> bans) {
  unsigned added = 0;
  std::string error;
  for (BanRequest& request : bans) added += bool(bans_.add(std::move(request), error, true));
  std::lock_guard lock(mutex_);
  if (!added || stopping_) return added;
  enforced_ = true;
  begin();
  wake_.notify_one();
  return added;
}

void BanKeeper::run() {
  for (;;) {
    std::vector<Job> jobs;
    bool enforced = false;
    {
      std::unique_lock lock(mutex_);
      auto wanted = [this] { return stopping_ || enforced_ || !queue_.empty(); };
      if (!wanted() && !sweep_) {
        const bool idle = waiting_.empty() && !unkept_ && bans_.all().empty();
        if (idle) wake_.wait(lock, wanted);
        else wake_.wait_for(lock, std::chrono::milliseconds(200), wanted);
      }
      if (stopping_) return;
      jobs.assign(std::move_iterator(queue_.begin()), std::move_iterator(queue_.end()));
      queue_.clear();
      enforced = std::exchange(enforced_, false);
    }
    if (!jobs.empty()) accept(std::move(jobs));
    else if (enforced) keep();
    if (!sweep_ && wants_sweep()) {
      sweep_ = std::make_unique<Sweep>();
      sweep_->target = bans_.newest();
      sweep_->whole = !disk_loading();
      sweep_->began_us = base::wall_now_microseconds();
    }
    if (sweep_) step();
    answer_waiting();
    if (!sweep_) end_old();
  }
}

// ---- requests ------------------------------------------------------------------

// In force first, then durable, then answered: all that wait share one write.
void BanKeeper::accept(std::vector<Job> jobs) {
  std::vector<Waiting> added;
  for (Job& job : jobs) {
    Waiting w{{}, {}, base::wall_now_microseconds() + (job.count ? kLongestCountUs : 0), std::move(job.done)};
    for (BanRequest& request : job.bans) {
      BanRef ban = bans_.add(std::move(request), w.answer.error);
      if (!ban) {
        w.answer.outcome = w.answer.error.empty() ? BanAnswer::Outcome::refused : BanAnswer::Outcome::bad;
        break;
      }
      w.answer.id = ban->id;
      w.bans.push_back(std::move(ban));
    }
    added.push_back(std::move(w));
  }
  const bool durable = keep();
  for (Waiting& w : added) {
    if (w.answer.outcome == BanAnswer::Outcome::in_force) {
      if (!durable) w.answer.outcome = BanAnswer::Outcome::not_durable;
      waiting_.push_back(std::move(w));
    } else {
      w.done(w.answer);
    }
  }
}

bool BanKeeper::keep() {
  unkept_ = disk_ && !disk_->keep_note(bans_.text());
  return !unkept_;
}

void BanKeeper::answer_waiting() {
  const int64_t now = base::wall_now_microseconds();
  std::erase_if(waiting_, [now](Waiting& w) {
    w.answer.complete = std::all_of(w.bans.begin(), w.bans.end(), [](auto& b) { return b->swept.load(); });
    if (!w.answer.complete && now < w.deadline_us) return false;
    for (const BanRef& ban : w.bans) w.answer.taken += ban->taken.load(std::memory_order_relaxed);
    w.done(w.answer);
    return true;
  });
}

// ---- looking through everything ------------------------------------------------

bool BanKeeper::disk_loading() const {
  if (!disk_) return false;
  auto states = disk_->directories();
  return std::any_of(states.begin(), states.end(), [](auto& d) { return d.loading && !d.failed; });
}

bool BanKeeper::wants_sweep() const {
  const bool again = base::wall_now_microseconds() >= look_again_us_;
  bool wanted = false;
  for (const BanRef& ban : bans_.all()) wanted |= !ban->swept ? ban->id > partly_swept_ || !disk_loading() : ban->what.soft && again;
  return wanted;
}

void BanKeeper::step() {
  switch (sweep_->where) {
    case Sweep::Where::arriving: sweep_arriving(); break;
    case Sweep::Where::memory: step_memory(); break;
    case Sweep::Where::disk: step_disk(); break;
    case Sweep::Where::over: finish(); break;
  }
}

// What the disk has not got whole yet. It stands in no list afterwards until it is in the table, which comes last.
void BanKeeper::sweep_arriving() {
  BanRef stale;
  arriving_.erase_if([&](const Response& r) { return !bans_.ask_all(r, false, stale); });
  if (disk_)
    for (const store::Disk::Writing& w : disk_->writing())
      if (auto r = read_stored_head(w.key, w.head); r && !bans_.ask_all(*r, false, stale)) disk_->erase(w.key, w.id);
  sweep_->where = Sweep::Where::memory;
}

void BanKeeper::step_memory() {
  if (sweep_->keys.empty()) {
    if (sweep_->shard == memory_.shards()) {
      sweep_->where = disk_ ? Sweep::Where::disk : Sweep::Where::over;
      return;
    }
    memory_.keys(sweep_->shard++, sweep_->keys);
  }
  for (size_t n = 0; n < kKeysAtATime && !sweep_->keys.empty(); ++n) {
    const store::Key key = sweep_->keys.back();
    sweep_->keys.pop_back();
    std::vector<uint64_t> on_disk;
    memory_.erase_if(key, [&](const store::Object& o) {
      BanRef stale;
      const Response& r = response_of(o);
      if (bans_.ask_all(r, true, stale)) {
        if (stale) ++sweep_->stale[stale.get()];
        return false;
      }
      if (r.disk_id) on_disk.push_back(r.disk_id);
      return true;
    });
    for (uint64_t id : on_disk) disk_->erase(key, id);
  }
}

void BanKeeper::step_disk() {
  if (sweep_->listed.empty() && !disk_->list(sweep_->cursor, UINT32_MAX, sweep_->listed)) {
    sweep_->where = Sweep::Where::over;
    return;
  }
  std::string head;
  uint64_t length = 0;
  for (size_t n = 0; n < kHeadsAtATime && !sweep_->listed.empty(); ++n) {
    const store::Disk::Listed l = sweep_->listed.back();
    sweep_->listed.pop_back();
    if (!disk_->head_in_reach(l, head, length, true)) continue;
    auto r = read_stored_head(l.key, head);
    BanRef stale;
    if (!r) continue;
    if (!bans_.ask_all(*r, true, stale)) disk_->erase(l.key, l.id);
    else if (stale && !memory_.peek(l.key, [&](const store::Object& o) { return response_of(o).disk_id == l.id; })) ++sweep_->stale[stale.get()];
  }
}

void BanKeeper::finish() {
  const int64_t now = base::wall_now_microseconds();
  for (const BanRef& ban : bans_.all()) {
    if (ban->id > sweep_->target) continue;
    if (ban->what.soft) {
      ban->held = sweep_->stale[ban.get()];
      if (ban->held > ban->taken) ban->taken = ban->held.load();
    }
    if (sweep_->whole) ban->swept = true;
  }
  if (!sweep_->whole) partly_swept_ = sweep_->target;
  // Not more than a hundredth of the time.
  look_again_us_ = now + std::max(again_us_.load(), 100 * (now - sweep_->began_us));
  sweep_.reset();
}

// Its objects are gone, and what was under way when it came has ended, or will not be stored (Cache::admit).
void BanKeeper::end_old() {
  const int64_t now = base::wall_now_microseconds();
  std::vector<BanRef> old;
  for (const BanRef& ban : bans_.all())
    if (ban->swept && now - int64_t(ban->id) >= least_age_us_ && (!ban->what.soft || ban->held == 0)) old.push_back(ban);
  if (!old.empty()) bans_.end(old);
  if (!old.empty() || unkept_) keep();
}

}  // namespace loligo::cache
