#include "client/header_rules.h"

#include <map>

#include "base/text.h"

namespace loligo::client {

HeaderRules HeaderRules::compile(const std::vector<config::Statement>& lines, const std::vector<HeaderReplacement>& replacements,
                                 const std::vector<HeaderAddition>& additions, const access::AclSet& acls, config::Problems& problems) {
  HeaderRules rules;
  std::map<std::string, std::vector<config::Statement>> grouped;
  for (auto& s : lines)
    if (!s.words.empty()) grouped[base::to_lower(s.words[0].text)].push_back(s);
  for (auto& [name, statements] : grouped) {
    access::Rules compiled = access::Rules::compile(statements, acls, problems, 1);
    if (name == "all") rules.all_ = std::move(compiled), rules.has_all_ = true;
    else if (name == "other") rules.other_ = std::move(compiled), rules.has_other_ = true;
    else rules.by_name_.emplace(name, std::move(compiled));
  }
  for (auto& r : replacements) rules.replacements_[base::to_lower(r.name)] = r.value;
  for (auto& a : additions) {
    Addition made{a.name + ": " + a.value + "\r\n", {}, access::Rules::compile_conditions(a.statement, a.first_acl, acls, problems)};
    if (a.value.find('%') != a.value.npos) {
      std::vector<log::FormatNote> notes;
      made.format = log::Format::compile(a.value, notes);
      for (auto& note : notes) problems.add(note.error ? config::Severity::error : config::Severity::warning, a.statement.at(1), note.message, note.fix);
      if (made.format) made.line = a.name + ": ";
    }
    rules.additions_.push_back(std::move(made));
  }
  return rules;
}

// The named line rules; else, for a name that HTTP does not know, "Other"; else "All".
bool HeaderRules::passes(http::FieldId id, std::string_view name, const access::Facts& facts, const std::string** replacement) const {
  *replacement = nullptr;
  if (by_name_.empty() && !has_all_ && !has_other_) return true;
  std::string lower = base::to_lower(name);
  const access::Rules* rules = nullptr;
  if (auto it = by_name_.find(lower); it != by_name_.end()) rules = &it->second;
  else if (id == http::FieldId::other && has_other_) rules = &other_;
  else if (has_all_) rules = &all_;
  if (!rules || rules->check_fast(facts, true).allowed) return true;
  if (auto it = replacements_.find(lower); it != replacements_.end()) *replacement = &it->second;
  return false;
}

void HeaderRules::append_additions(const access::Facts& facts, std::string& out, const Describe& describe) const {
  for (auto& a : additions_) {
    if (!a.condition.check_fast(facts, true).allowed) continue;
    out.append(a.line);
    if (!a.format) continue;
    log::Record record;
    if (describe) describe(record);
    log::Format format = *a.format;   // rendering needs one of its own: rules are shared by the workers
    log::Buffer value;
    log::RenderOptions whole;
    whole.strip_query_terms = false;
    format.render(record, whole, value);
    for (char c : value.view()) out.push_back(c == '\r' || c == '\n' ? ' ' : c);   // never a field of its own
    out.append("\r\n");
  }
}

}  // namespace loligo::client
