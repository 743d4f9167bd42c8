#include "client/error_page.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>

#include "base/text.h"

namespace loligo::client {
namespace {

constexpr size_t kMaxTotal = 32 * 1024 * 1024;   // of all templates together

constexpr std::string_view kStylesheet =
    "body { margin: 0; font: 15px/1.5 sans-serif; color: #222; background: #f4f4f2 }\n"
    "#titles { padding: 1.2em 8%; border-bottom: 1px solid #ccc }\n"
    "#titles h1 { margin: 0; font-size: 1.3em }\n"
    "#titles h2 { margin: 0; font-size: 1em; font-weight: normal }\n"
    "#content { padding: 1em 8%; background: #fff }\n"
    "#error { margin: 1em 0; font-weight: bold }\n"
    "#data pre { overflow: auto; white-space: pre-wrap; word-break: break-all }\n"
    "#footer { padding: 0.5em 8%; font-size: 0.8em; color: #666 }\n"
    ":lang(ar), :lang(fa), :lang(he) { direction: rtl }\n";

// The frame around the built-in texts: {0} headline, {1} paragraphs.
constexpr fmt::string_view kFrame =
    "<!DOCTYPE html>\n<html lang=\"en\"><head>\n<meta charset=\"utf-8\">\n"
    "<title>Error: {0}</title>\n<style>\n%l</style>\n</head><body id=\"%c\">\n"
    "<div id=\"titles\">\n<h1>Error</h1>\n<h2>The page could not be delivered</h2>\n</div>\n"
    "<div id=\"content\">\n<p>Address: <a href=\"%U\">%U</a></p>\n"
    "<p id=\"error\">{0}</p>\n{1}\n"
    "<p>The administrator of this proxy is <a href=\"mailto:%w%W\">%w</a>.</p>\n%L</div>\n"
    "<div id=\"footer\">\n<p>%T, %h (%s), %c</p>\n</div>\n</body></html>\n";

std::optional<std::string> read_file(const std::string& path, size_t limit) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  std::string text(limit, '\0');
  size_t size = 0;
  ssize_t got = 0;
  while (size < limit && (got = ::read(fd, text.data() + size, limit - size)) > 0) size += size_t(got);
  ::close(fd);
  if (got < 0) return std::nullopt;
  text.resize(size);
  return text;
}

// Reads templates; a file reached by many names (language packs link de-at to de) is read and compiled once.
class TemplateReader {
 public:
  std::shared_ptr<const PageTemplate> read(const std::string& path) {
    struct stat status;
    if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return nullptr;
    auto& known = by_inode_[{status.st_dev, status.st_ino}];
    if (known || total_ > kMaxTotal) return known;
    auto text = read_file(path, std::min(kMaxTemplate, size_t(status.st_size)));
    if (!text) return nullptr;
    total_ += text->size();
    return known = std::make_shared<PageTemplate>(*text);
  }
  bool full() const { return total_ > kMaxTotal; }

 private:
  std::map<std::pair<dev_t, ino_t>, std::shared_ptr<const PageTemplate>> by_inode_;
  size_t total_ = 0;
};

bool is_language_tag(const std::string& name) {
  return preferred_languages(name).size() == 1 && name != "*" && name.find_first_of(",; \t") == name.npos;
}

// A page name becomes part of a path: a plain file name only.
bool is_page_name(std::string_view name) {
  return !name.empty() && name.size() < 128 && name.front() != '.' && name.find('/') == name.npos && name.find('\0') == name.npos;
}

}  // namespace

ErrorPages::ErrorPages(const ErrorPageSettings& settings, std::vector<std::string>& problems)
    : constants_(settings.constants),
      default_language_(settings.error_default_language.empty() ? "en" : base::to_lower(settings.error_default_language)) {
  constants_.stylesheet = kStylesheet;
  if (!settings.err_page_stylesheet.empty()) {
    if (auto text = read_file(settings.err_page_stylesheet, kMaxTemplate)) constants_.stylesheet = std::move(*text);
    else problems.push_back(fmt::format("{}: {}", settings.err_page_stylesheet, std::strerror(errno)));
  }
  for (const ErrorRow& row : kErrorRows) {
    const ErrorText& words = error_text(row.id);
    pages_.push_back({std::string(row.name), PageTemplate(fmt::format(kFrame, words.headline, words.text))});
  }
  const PageTemplate denied = pages_[unsigned(ErrorId::access_denied)].built_in;
  for (const std::string& name : settings.own_pages)
    if (find(name) == ErrorId::none && is_page_name(name)) pages_.push_back({name, denied});

  const std::string& directory = settings.error_directory.empty() ? settings.installed_directory : settings.error_directory;
  if (!directory.empty()) read_languages(directory, problems);
  if (!settings.error_directory.empty()) {
    TemplateReader reader;
    for (Page& page : pages_) page.own = reader.read(directory + '/' + page.name);
  }
  for (size_t i = std::size(kErrorRows); i < pages_.size(); ++i)
    if (!pages_[i].own && pages_[i].by_language.empty())
      problems.push_back(fmt::format("no file {} in {}: the page of ERR_ACCESS_DENIED stands in", pages_[i].name,
                                     directory.empty() ? "an error_directory" : directory.c_str()));
}

void ErrorPages::read_languages(const std::string& directory, std::vector<std::string>& problems) {
  std::error_code error;
  std::filesystem::directory_iterator entries(directory, error);
  if (error) {
    problems.push_back(fmt::format("{}: {}", directory, error.message()));
    return;
  }
  TemplateReader reader;
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    std::string language = entries->path().filename().string();
    std::error_code ignored;
    if (!is_language_tag(language) || !entries->is_directory(ignored)) continue;
    for (Page& page : pages_)
      if (auto text = reader.read(entries->path().string() + '/' + page.name))
        page.by_language.emplace(base::to_lower(language), std::move(text));
  }
  if (reader.full()) problems.push_back(fmt::format("{}: more than {} MB of templates, the rest is not used", directory, kMaxTotal >> 20));
}

ErrorPages::Choice ErrorPages::choose(const Page& page, std::string_view accept_language) const {
  // The built-in page is English: it answers for "en" where no file does.
  auto look_up = [&page](const std::string& tag) -> const PageTemplate* {
    auto found = page.by_language.find(tag);
    if (found != page.by_language.end()) return found->second.get();
    return tag == "en" ? &page.built_in : nullptr;
  };
  std::vector<std::string> wanted = preferred_languages(accept_language);
  wanted.push_back("*");
  wanted.push_back("en");
  for (const std::string& range : wanted) {
    std::string tag = range == "*" ? default_language_ : range;
    for (;;) {   // RFC 4647 3.4: drop the last subtag until something is found
      if (const PageTemplate* found = look_up(tag)) return {found, tag};
      size_t dash = tag.rfind('-');
      if (dash == tag.npos) break;
      tag.resize(dash);
    }
  }
  return {&page.built_in, "en"};
}

const ErrorPages::Page& ErrorPages::page(ErrorId id) const {
  return pages_[unsigned(id) < pages_.size() ? unsigned(id) : unsigned(ErrorId::access_denied)];
}

ErrorReply ErrorPages::render(ErrorId id, const ErrorFacts& facts, std::string_view accept_language) const {
  const Page& chosen = page(id);
  ErrorReply reply;
  reply.status = facts.status ? facts.status
                 : unsigned(id) < std::size(kErrorRows) ? kErrorRows[unsigned(id)].status : 403;
  reply.content_type = "text/html;charset=utf-8";
  reply.squid_error = fmt::format("{} {}", chosen.name, facts.error_number);
  if (chosen.own) {
    reply.body = chosen.own->fill(facts, constants_, chosen.name);
    return reply;
  }
  Choice choice = choose(chosen, accept_language);
  reply.body = choice.page->fill(facts, constants_, chosen.name);
  reply.language = choice.language;
  reply.negotiated = true;
  return reply;
}

ErrorId ErrorPages::find(std::string_view name) const {
  for (size_t i = 0; i < pages_.size(); ++i)
    if (pages_[i].name == name) return ErrorId(i);
  return ErrorId::none;
}

std::string_view ErrorPages::name(ErrorId id) const { return page(id).name; }

std::string ErrorPages::location(std::string_view pattern, const ErrorFacts& facts, ErrorId id) const {
  return PageTemplate(pattern).fill_location(facts, constants_, name(id));
}

std::string ErrorReply::field_lines() const {
  std::string out = fmt::format("Content-Type: {}\r\nX-Squid-Error: {}\r\n", content_type, squid_error);
  if (negotiated) out += "Vary: Accept-Language\r\n";
  if (!language.empty()) out += fmt::format("Content-Language: {}\r\n", language);
  return out;
}

DenyInfo parse_deny_info(std::string_view word) {
  DenyInfo info;
  if (word.size() > 4 && word[3] == ':')
    if (auto status = base::parse_decimal<int>(word.substr(0, 3)); status && *status >= 200 && *status <= 599) {
      info.status = *status;
      word.remove_prefix(4);
    }
  info.value = word;
  if (word == "TCP_RESET") info.kind = DenyInfo::Kind::reset;
  else if (word.find(':') != word.npos || word.starts_with('/')) info.kind = DenyInfo::Kind::redirect;
  return info;
}

}  // namespace loligo::client
