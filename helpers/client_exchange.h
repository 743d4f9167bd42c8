// One request and its reply, from connecting to the last byte.
// One thread; blocks, within the timeouts of the options.
#pragma once
#include <cstdint>
#include <cstdio>
#include <string>

#include "helpers/client_options.h"

namespace loligo::helpers {

struct Exchange {
  int status = 0;            // of the final reply; 0 = none
  uint64_t reply_bytes = 0;  // head and body
  std::string error;         // empty = a whole reply (or one without a status line, to a bare request line)
};

// `output` gets the reply as it comes, null = nobody does. Traces go to standard error as the verbosity says.
Exchange exchange(const ClientOptions&, std::FILE* output);

// 0 = 2xx, 3xx or a reply from before HTTP/1.0; 1 = error; 2 = 4xx; 3 = 5xx; 1 for any other status.
int exit_code(const Exchange&);

}  // namespace loligo::helpers
