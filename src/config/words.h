// From a logical line to words (squid.conf grammar, "tokens and quoting").
//
//   word    = characters other than SP HT CR LF; one that begins with '#' ends the line
//   string  = '"' chars '"' | "'" chars "'"    \r \n \t, backslash + no letter or digit = that character
//   list    = '"' path '"' at the start of a word of an acl or rule: one item per line of that file
//
// With configuration_includes_quoted_values every quoted word is a string, lists
// are parameters("/path") with items at blanks, other words keep to a small
// alphabet, and regular expressions are refused.
// Owner: the reader. One thread; reads list files through Source.
#pragma once
#include <string>

#include "config/directive.h"
#include "config/lines.h"
#include "config/source.h"

namespace loligo::config {

struct SplitContext {
  Source& source;
  Problems& problems;
  bool quoted_values = false;  // configuration_includes_quoted_values on
  bool* list_missing = nullptr;
};

// Fills statement.words and rest from line.text, starting at `start` (behind the name). statement.place must be set.
void split_words(const LogicalLine& line, size_t start, WordStyle style, SplitContext& context, Statement& statement);

// ACL types whose values are regular expressions.
bool is_regex_acl_type(std::string_view type);

}  // namespace loligo::config
