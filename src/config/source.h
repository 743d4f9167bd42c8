// Where configuration text comes from: files, globs, and (where allowed) a
// command's output. Tests and fuzzing put text in memory in its place.
// Owner: the caller of the reader. One thread.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace loligo::config {

class Source {
 public:
  virtual ~Source() = default;
  // The whole of a file. False with a reason ("No such file or directory") when it cannot be read.
  virtual bool read(const std::string& path, std::string& bytes, std::string& why) = 0;
  // The paths that match a glob(3) pattern, sorted; empty when none does.
  virtual std::vector<std::string> glob(const std::string& pattern) = 0;
  // What a command prints. False when it cannot be run or ends with another status than 0.
  virtual bool run(const std::string& command, std::string& bytes, std::string& why) = 0;
};

class FileSystem : public Source {
 public:
  bool read(const std::string& path, std::string& bytes, std::string& why) override;
  std::vector<std::string> glob(const std::string& pattern) override;
  bool run(const std::string& command, std::string& bytes, std::string& why) override;
};

// Files by name, in memory. glob() knows '*' at the end and exact names; commands fail.
class MemoryFiles : public Source {
 public:
  std::map<std::string, std::string> files;
  bool read(const std::string& path, std::string& bytes, std::string& why) override;
  std::vector<std::string> glob(const std::string& pattern) override;
  bool run(const std::string& command, std::string& bytes, std::string& why) override;
};

}  // namespace loligo::config
