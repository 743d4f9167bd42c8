#include "client/worker.h"

#include <algorithm>

#include "client/transaction.h"

namespace loligo::client {

namespace {
constexpr size_t kMaxIdleTransactions = 64;
}

Worker::Worker(net::Loop& loop, net::Resolver& resolver, server::Upstream& upstream, cache::Cache& cache, log::WorkerLog& log,
               ConnectionCounts& counts)
    : loop(loop), resolver(resolver), upstream(upstream), cache(cache), log(log), connection_counts(counts) {}

Worker::~Worker() {
  while (connections) connections->close_now();
}

// One walk over all connections now and then costs less than a second timer on each.
void Worker::end_old_connections() {
  const int64_t now = loop.now_ms(), lifetime = snapshot->settings.client_lifetime.count();
  if (lifetime <= 0 || now < next_look_ms_) return;
  next_look_ms_ = now + std::clamp<int64_t>(lifetime / 100, 0, 60'000);
  Connection* next = nullptr;
  for (Connection* c = connections; c; c = next) {
    next = c->next();
    if (now - c->accepted_ms() >= lifetime) c->end_of_life();
  }
}

std::unique_ptr<Transaction> Worker::take_transaction() {
  if (idle_transactions_.empty()) {
    ++transactions_made;
    return std::make_unique<Transaction>();
  }
  auto t = std::move(idle_transactions_.back());
  idle_transactions_.pop_back();
  return t;
}

void Worker::give_back(std::unique_ptr<Transaction> t) {
  t->reset();
  if (idle_transactions_.size() < kMaxIdleTransactions) idle_transactions_.push_back(std::move(t));
}

}  // namespace loligo::client
