#include "config/manual.h"

#include <algorithm>
#include <map>
#include <vector>

namespace loligo::config {
namespace {

constexpr std::string_view kHead = R"(.\" Generated from the directive tables by loligo \-\-print\-manual; do not edit.
.TH LOLIGO.CONF 5 "" "Loligo" "File formats"
.SH NAME
loligo.conf \- configuration of the Loligo caching proxy
.SH DESCRIPTION
.B loligo
reads the configuration language of squid.conf. One directive stands on a line: its name, then its values.
The command
.B loligo \-k parse
lists all problems of a file with line and column and ends with status 0 when nothing but warnings remain.
.SS Lines
A line that begins with # and an empty line are dropped. A word that begins with # ends its line; a # inside a word belongs to it.
A backslash as the very last character continues the line; leading blanks of the next line are removed and no blank is put in.
CR LF line ends and a byte order mark are accepted.
.SS Values
Times are a number and a unit in two words: second, minute, hour, day, week, fortnight, month, year, decade, and milliseconds where that makes sense.
Sizes are a number and one of bytes, KB, MB, GB, again in two words; none or \-1 means unlimited.
Whole numbers may be decimal, hexadecimal (0x1f) or octal (022). Switches are on or off.
.SS Lists in files
In an acl, and among the ACL names of a rule, a word in quotes is the path of a file that holds one item a line.
.SS Macros
${service_name}, ${process_name} and ${process_number} are replaced everywhere, and so is every other ${NAME} that the environment knows.
.SS Conditions
if, else and endif stand on lines of their own. A condition is true, false or NUMBER = NUMBER.
.SS Including files
include takes paths and patterns like /etc/loligo/conf.d/*.conf, up to 16 deep. Relative paths are relative to the current directory.
.SS Quoted values
After configuration_includes_quoted_values on, a word in quotes is one value with backslash escapes, lists are written parameters("/path"),
and regular expressions are refused.
.SS Access rules
Lines of a rule list are tried in order; the ACLs of a line must all match; the first line that matches decides.
When no line matches, the answer is the opposite of the last line.
.SH DIFFERENCES FROM SQUID
These traps of the tradition behave differently here.
.TP
A list file that is missing
In Squid the ACL stays empty and its rules silently never match. Here the file is reported and the proxy does not start.
.TP
An include file that is missing
Is reported by \-k parse with everything else, and the proxy does not start.
.TP
Nested if
In Squid only the innermost if counts. Here all of them must hold, with a warning where that makes a difference.
.TP
Lines longer than 8192 bytes
Squid cuts them and reads the rest as a new directive. Here a line has no limit.
.TP
A backslash at the end of the last line
Squid drops the whole line silently. Here it is an error.
.TP
A backslash followed by blanks
Does not continue the line, as in Squid, and there is a warning.
.TP
A rule that is neither allow nor deny
Squid ignores the line. Here it is an error.
.TP
A time without a unit
Counts seconds, with a warning.
.TP
A directive that restricts access and is not implemented
Is reported by \-k parse, and the proxy does not start: it never runs more open than its file says.
)";

constexpr std::pair<std::string_view, std::string_view> kRoomTitles[] = {
    {"client", "Clients"}, {"access", "Access control"}, {"cache", "Caching"}, {"store", "Memory and disk"}, {"icp", "Peers"},
    {"server", "Servers"}, {"net", "Network and names"}, {"log", "Logs"}, {"mgr", "Cache manager"}, {"process", "Process"}};

// Text of a table as roff: backslashes doubled, hyphens kept as typed, no line that begins like a request.
std::string roff(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '\\') out += "\\e";
    else if (c == '-') out += "\\-";
    else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out.append("\\&") += c;
    else out += c;
  }
  return out;
}

void write_directive(const Directive& d, std::string& out) {
  out += ".TP\n.B " + roff(d.name);
  if (!d.syntax.empty() && d.syntax != "...") out += " \\fI" + roff(d.syntax) + "\\fR";
  out += "\n" + roff(d.text) + "\n";
  if (!d.aliases.empty()) out += ".br\nAlso written: " + roff(d.aliases) + ".\n";
  out += ".br\nDefault: " + roff(d.default_value.empty() ? "none" : d.default_value) + (d.repeats ? ". May be repeated.\n" : ".\n");
}

using Sorted = std::map<std::string_view, const Directive*>;

// Reasons are written to stand inside a message; here they begin a paragraph. A directive's name stays as it is.
std::string paragraph(std::string_view text) {
  std::string out(text);
  if (!out.empty() && out.substr(0, out.find(' ')).find('_') == out.npos && out[0] >= 'a' && out[0] <= 'z') out[0] = char(out[0] - 32);
  if (!out.empty() && out.back() != '.') out += '.';
  return out;
}

void write_short_list(std::string_view title, std::string_view text, const Sorted& rows, std::string& out) {
  if (rows.empty()) return;
  out.append(".SH ").append(title).append("\n").append(text).append("\n");
  for (auto& [name, d] : rows) {
    out += ".TP\n.B " + roff(name) + "\n" + roff(paragraph(d->text)) + "\n";
    if (!d->aliases.empty()) out += ".br\nAlso written: " + roff(d->aliases) + ".\n";
  }
}

}  // namespace

std::string manual(std::span<const RoomTable> tables) {
  std::string out(kHead);
  Sorted by_status[4];
  for (const RoomTable& table : tables)
    for (const Directive& d : table.directives) by_status[size_t(d.status)].emplace(d.name, &d);
  out += ".SH DIRECTIVES\n";
  for (auto& [room, title] : kRoomTitles) {
    Sorted rows;
    for (const RoomTable& table : tables)
      if (table.room == room)
        for (const Directive& d : table.directives)
          if (d.status == Status::implemented) rows.emplace(d.name, &d);
    if (rows.empty()) continue;
    out.append(".SS ").append(title).append("\n");
    for (auto& [name, d] : rows) write_directive(*d, out);
  }
  write_short_list("RESTRICTING DIRECTIVES NOT IMPLEMENTED YET", "The proxy refuses to start while one of these asks for something.",
                   by_status[size_t(Status::restricting)], out);
  write_short_list("DIRECTIVES WITHOUT EFFECT YET", "These are read with a warning.", by_status[size_t(Status::accepted)], out);
  write_short_list("OBSOLETE DIRECTIVES", "These are read with a warning and ignored, or translated into their successors.",
                   by_status[size_t(Status::obsolete)], out);
  out += ".SH SEE ALSO\n.BR loligo (8),\n.BR loligoclient (1)\n";
  return out;
}

}  // namespace loligo::config
