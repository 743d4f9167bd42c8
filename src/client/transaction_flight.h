// Waiting for another's fetch: hears of its end on the leader's thread and
// passes it to the transaction's own. Private to client/transaction*.cc.
#pragma once
#include <atomic>

#include "client/transaction.h"

namespace loligo::client {

struct Transaction::FlightCell final : cache::Follower, std::enable_shared_from_this<FlightCell> {
  FlightCell(net::Loop& loop, Transaction* t, cache::Flights& flights, const store::Key& key)
      : loop(loop), transaction(t), flights(flights), key(key) {}
  void landed(cache::Landing how) override {
    // Never at once: the leader is in the middle of its own work.
    loop.hand_over([self = shared_from_this(), how] {
      if (self->transaction) self->transaction->flight_over(how);
    });
  }
  void drop() {
    transaction = nullptr;
    flights.leave(key, this);
  }
  net::Loop& loop;
  Transaction* transaction;
  cache::Flights& flights;
  store::Key key;
};

}  // namespace loligo::client
