// How the process's allocator (jemalloc, where it is linked) gives memory back.
#pragma once

namespace loligo::base {

// Once, in the process that serves, before its threads start. Without jemalloc nothing happens.
void start_allocator_thread();

}  // namespace loligo::base
