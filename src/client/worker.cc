#include "client/worker.h"

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

std::unique_ptr<Transaction> Worker::take_transaction() {
  if (idle_transactions_.empty()) return std::make_unique<Transaction>();
  auto t = std::move(idle_transactions_.back());
  idle_transactions_.pop_back();
  return t;
}

void Worker::give_back(std::unique_ptr<Transaction> t) {
  t->reset();
  if (idle_transactions_.size() < kMaxIdleTransactions) idle_transactions_.push_back(std::move(t));
}

}  // namespace loligo::client
