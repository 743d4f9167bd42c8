#include "icp/selection.h"

#include <algorithm>

namespace loligo::icp {

namespace {

using log::HierarchyCode;

bool available(const PeerEntry& entry, const SelectionQuestion& q) {
  const Peer& peer = entry.config;
  if (!entry.usable_as_parent() || !entry.state->alive.load(std::memory_order_relaxed)) return false;
  if (peer.max_conn > 0 && entry.state->open_connections.load(std::memory_order_relaxed) >= peer.max_conn) return false;
  if (q.connect && peer.originserver && !q.accelerated) return false;
  access::Facts facts = q.facts;
  facts.peer_name = peer.name;
  return entry.access.check_fast(facts, true).allowed;
}

class Chooser {
 public:
  Chooser(const PeerTable& table, const SelectionQuestion& q) : q_(q) {
    for (auto& entry : table.entries) if (available(entry, q)) parents_.push_back(&entry);
  }

  void add_direct() {
    if (q_.direct != Direct::no) add({nullptr, HierarchyCode::direct});
  }

  // The one parent that the configured method names first.
  void add_some_parent() {
    if (const PeerEntry* p = round_robin()) return add({p, HierarchyCode::roundrobin_parent});
    for (const PeerEntry* p : parents_)
      if (!p->config.default_ && !p->config.round_robin) return add({p, HierarchyCode::firstup_parent});
    for (const PeerEntry* p : parents_)
      if (p->config.default_) return add({p, HierarchyCode::default_parent});
  }

  void add_all_parents() {
    for (const PeerEntry* p : parents_) if (!p->config.default_) add({p, HierarchyCode::any_old_parent});
    for (const PeerEntry* p : parents_) if (p->config.default_) add({p, HierarchyCode::default_parent});
  }

  std::vector<Destination> take() { return std::move(list_); }

 private:
  void add(Destination d) {
    if (list_.size() >= std::max(q_.max_tries, 1u)) return;
    for (auto& known : list_) if (known.peer == d.peer) return;
    list_.push_back(d);
  }

  // The least used by weight: counts live with the peer, so that all workers and reloads share one round.
  const PeerEntry* round_robin() {
    const PeerEntry* best = nullptr;
    double least = 0;
    for (const PeerEntry* p : parents_) {
      if (!p->config.round_robin) continue;
      double load = double(p->state->rounds.load(std::memory_order_relaxed)) / std::max(p->config.weight, 1);
      if (!best || load < least) best = p, least = load;
    }
    if (best && !q_.preview) best->state->rounds.fetch_add(1, std::memory_order_relaxed);
    return best;
  }

  const SelectionQuestion& q_;
  std::vector<const PeerEntry*> parents_;
  std::vector<Destination> list_;
};

}  // namespace

std::vector<Destination> select(const PeerTable& table, const SelectionQuestion& q) {
  Chooser chooser(table, q);
  if (q.direct == Direct::always) {
    chooser.add_direct();
    return chooser.take();
  }
  bool direct_first = q.direct == Direct::maybe && (q.prefer_direct || (!q.hierarchical && q.nonhierarchical_direct));
  if (direct_first) chooser.add_direct();
  chooser.add_some_parent();
  chooser.add_direct();
  chooser.add_all_parents();
  return chooser.take();
}

}  // namespace loligo::icp
