#include "base/allocator.h"

#include <cstddef>

// jemalloc reads this before main(). What is freed goes back to the system within seconds, also from threads that have
// fallen silent: a store that has been filled keeps what it needs, not what passed through.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "dirty_decay_ms:3000,muzzy_decay_ms:0";
int mallctl(const char*, void*, size_t*, void*, size_t) __attribute__((weak));
}

namespace loligo::base {

// Not in malloc_conf: a process that forks loses the thread.
void start_allocator_thread() {
  bool on = true;
  if (mallctl) mallctl("background_thread", nullptr, nullptr, &on, sizeof on);
}

}  // namespace loligo::base
