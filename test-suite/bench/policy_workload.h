// Requests for the replacement policies: read from a file, or made up.
//
// A file has a line "key size" for each request; keys are any words, sizes bytes. What is made up depends on the
// kind and the seed alone, on any machine: no distribution of the standard library is used, whose results may differ.
#pragma once
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace loligo::bench {

struct Request {
  uint32_t object;   // numbered from 0 in the order of first appearance or creation
  uint64_t size;     // bytes
};

struct Workload {
  std::string name;
  std::vector<Request> requests;
  uint32_t objects = 0;      // different ones
  uint64_t footprint = 0;    // bytes of all of them, each at its last size
};

struct WorkloadOptions {
  std::string kind = "skewed";
  uint64_t seed = 1;
  uint32_t requests = 1'000'000, objects = 100'000;
  double zipf = 0.9;                 // exponent of popularity over rank
  double median = 11'584, sigma = 1.318;   // sizes: the lognormal body of web objects that SURGE found (Barford and Crovella, 1998)
};

struct WorkloadKind {
  const char *name, *what;
};
extern const std::vector<WorkloadKind> kWorkloadKinds;

// An empty workload for an unknown kind.
Workload make_workload(const WorkloadOptions&);
// False, and `problem` says which line, when a line is no request.
bool read_workload(std::istream&, Workload&, std::string& problem);

}  // namespace loligo::bench
