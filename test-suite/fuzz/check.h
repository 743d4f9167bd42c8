// For fuzz targets: an invariant that stays on in every build and says which one broke.
#pragma once
#include <cstdio>
#include <cstdlib>

#define FUZZ_CHECK(condition)                                                          \
  do {                                                                                 \
    if (!(condition)) {                                                                \
      std::fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition);     \
      std::abort();                                                                    \
    }                                                                                  \
  } while (0)
