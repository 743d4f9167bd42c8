// Users' configuration files: every file that Squid accepts parses here without an error.
// The corpus is not part of the tree: LOLIGO_SQUID_CONF_DIR names a directory with files/manifest.tsv
// (file, kinds, syntax, verdict, first fatal message) and the files beside it.
#define BOOST_TEST_DYN_LINK
#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>

#include "settings.h"

using namespace loligo;

namespace {

std::string corpus_directory() {
  if (const char* named = std::getenv("LOLIGO_SQUID_CONF_DIR")) return named;
  return TOP_SRCDIR "/../shared/squid-conf";
}

struct Entry { std::string file, verdict; };

std::vector<Entry> read_manifest(const std::string& directory) {
  std::vector<Entry> entries;
  std::ifstream manifest(directory + "/files/manifest.tsv");
  std::string line;
  std::getline(manifest, line);  // the heading
  while (std::getline(manifest, line)) {
    std::istringstream columns(line);
    Entry entry;
    std::string kinds, syntax;
    std::getline(columns, entry.file, '\t');
    std::getline(columns, kinds, '\t');
    std::getline(columns, syntax, '\t');
    std::getline(columns, entry.verdict, '\t');
    entries.push_back(entry);
  }
  return entries;
}

config::Problems parse(const std::string& path) {
  config::Problems problems;
  Settings settings = load_settings(path, {}, problems);
  check_rules(settings, problems);
  check_outside(settings, problems);
  return problems;
}

}  // namespace

BOOST_AUTO_TEST_CASE(files_that_squid_accepts_have_no_errors) {
  const std::string directory = corpus_directory();
  const std::set<std::string> accepted = {"accepted", "accepted-with-stubs", "env-fail", "dns-needed"};
  std::vector<Entry> manifest = read_manifest(directory);
  if (manifest.empty()) {
    std::cout << "skipped: no corpus\n";
    BOOST_CHECK(true);
    return;
  }
  int without_error = 0;
  for (const Entry& entry : manifest) {
    config::Problems problems = parse(directory + "/files/" + entry.file);
    bool errors = problems.has(config::Severity::error);
    without_error += !errors;
    if (std::getenv("LOLIGO_SHOW_PROBLEMS") != nullptr) std::cout << "== " << entry.file << " " << entry.verdict << "\n" << config::format_problems(problems);
    if (!accepted.contains(entry.verdict)) continue;
    std::string text;
    for (auto& p : problems.list())
      if (p.severity == config::Severity::error) text += config::format_problem(p) + "\n";
    BOOST_CHECK_MESSAGE(!errors, entry.file << " (" << entry.verdict << "):\n" << text);
  }
  std::cout << without_error << " of " << manifest.size() << " files parse without an error\n";
}
