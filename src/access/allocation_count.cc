// Counts the allocations of the test program, thread by thread. A file of its
// own, so that the compiler does not look through the pair of operators.
#include <cstdlib>
#include <new>

namespace {
thread_local unsigned long count = 0;
}

namespace loligo::access::test {
unsigned long allocations();
unsigned long allocations() { return count; }
}  // namespace loligo::access::test

void* operator new(size_t size) {
  ++count;
  if (void* memory = malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { free(memory); }
void operator delete(void* memory, size_t) noexcept { free(memory); }
