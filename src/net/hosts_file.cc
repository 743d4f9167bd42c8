#include "net/hosts_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/text.h"

namespace loligo::net {

namespace {

// Lists of blocked sites come as hosts files of a few megabytes; more than this is a mistake.
constexpr size_t kMaxFileBytes = 64 << 20;
constexpr size_t kMaxAddressesPerName = 64, kMaxNamesPerAddress = 64, kMaxNameBytes = 253;

std::string_view next_word(std::string_view& line) {
  constexpr std::string_view kBlank = " \t\r\v\f";
  size_t begin = line.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return line = {};
  size_t end = std::min(line.find_first_of(kBlank, begin), line.size());
  std::string_view word = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return word;
}

// While parsing nobody else holds the answers, so they are still ours to change.
template <class Value>
Value& open(StringMap<std::shared_ptr<const Value>>& map, std::string key) {
  auto& slot = map[std::move(key)];
  if (!slot) {
    auto fresh = std::make_shared<Value>();
    fresh->expires_ms = kNeverExpires;
    slot = fresh;
  }
  return const_cast<Value&>(*slot);
}

}  // namespace

std::shared_ptr<const HostsFile> HostsFile::load(const std::string& path, std::string& error) {
  std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "re"), std::fclose);
  if (!file) {
    error = path + ": " + std::strerror(errno);
    return nullptr;
  }
  std::string text;
  char buffer[65536];
  while (size_t n = std::fread(buffer, 1, sizeof buffer, file.get())) {
    text.append(buffer, n);
    if (text.size() <= kMaxFileBytes) continue;
    error = path + ": larger than 64 MB";
    return nullptr;
  }
  if (std::ferror(file.get())) {
    error = path + ": " + std::strerror(errno);
    return nullptr;
  }
  return parse(text);
}

std::shared_ptr<const HostsFile> HostsFile::parse(std::string_view text) {
  auto hosts = std::make_shared<HostsFile>();
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    hosts->add_line(text.substr(0, std::min(text.find('#'), end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return hosts;
}

void HostsFile::add_line(std::string_view line) {
  std::string_view first = next_word(line);
  if (first.empty()) return;
  auto address = Address::parse(first);
  if (!address) {
    ++bad_lines_;   // also scoped addresses such as fe80::1%lo0
    return;
  }
  for (std::string_view word; !(word = next_word(line)).empty();) {
    if (word.back() == '.') word.remove_suffix(1);
    if (word.empty() || word.size() > kMaxNameBytes) continue;
    std::string name = base::to_lower(word);
    auto& addresses = open(by_name_, name);
    bool known = std::any_of(addresses.list.begin(), addresses.list.end(),
                             [&](const Address& a) { return a.same_host(*address); });
    if (!known && addresses.list.size() < kMaxAddressesPerName) {
      addresses.list.push_back(*address);
      addresses.good = addresses.list.size();
    }
    auto& names = open(by_address_, address->host());
    if (std::find(names.list.begin(), names.list.end(), name) == names.list.end() &&
        names.list.size() < kMaxNamesPerAddress)
      names.list.push_back(std::move(name));
  }
}

const Answer* HostsFile::find(std::string_view name) const {
  auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &found->second;
}

const NamesAnswer* HostsFile::find(const Address& address) const {
  char text[46];
  auto found = by_address_.find(std::string_view(text, address.write_host(text)));
  return found == by_address_.end() ? nullptr : &found->second;
}

}  // namespace loligo::net
