// ${NAME} in configuration text: Squid's macros ${service_name},
// ${process_name} and ${process_number}, and the environment for every other
// name. Plain text substitution everywhere, case-sensitive, once. An unknown
// name stays as it is, with a warning.
#pragma once
#include <string>

#include "config/lines.h"
#include "config/problem.h"

namespace loligo::config {

// What getenv() says.
const char* process_environment(const char* name);

struct Macros {
  std::string service_name = "squid", process_name = "squid", process_number = "0";
  // A test puts its own here; null = no environment.
  const char* (*environment)(const char* name) = process_environment;
};

// Replaces in place; columns of the text behind a macro stay right.
void replace_macros(LogicalLine& line, const Macros&, const std::string& file, Problems&);

}  // namespace loligo::config
