#define BOOST_TEST_DYN_LINK
#include <boost/test/unit_test.hpp>

#include "config/apply.h"
#include "config/bind.h"
#include "config/manual.h"
#include "config/reader.h"

using namespace loligo::config;
using loligo::base::Milliseconds;

namespace {

enum class Colour { red, green };
constexpr Choice<Colour> kColours[] = {{"red", Colour::red}, {"green", Colour::green}};

struct Settings {
  Milliseconds wait{1}, gap{1};
  int64_t size = 1, body = 1;
  int count = 1, share = 1;
  bool switched = false;
  std::string name, phrase, source;
  std::vector<std::string> list;
  std::vector<Statement> rules, named;
  Colour colour = Colour::red;
};

constexpr Directive kTable[] = {
    duration<&Settings::wait>("wait old_wait older_wait", "1 minute", "Waits."),
    milliseconds<&Settings::gap, -1>("gap", "-1", "A gap."),
    bytes<&Settings::size, 1024>("size", "16 KB", "A size."),
    bytes<&Settings::body, 1024, true>("body", "0 KB", "A body."),
    integer<&Settings::count, 1, 9>("count", "3", "A count."),
    percent<&Settings::share>("share", "95", "A share."),
    flag<&Settings::switched>("switched", "on", "A switch."),
    text<&Settings::name>("name", "word", "squid", "A name."),
    line<&Settings::phrase>("phrase", "text", "none", "A phrase."),
    address<&Settings::source>("source", "any_addr", "An address."),
    words<&Settings::list>("list", "word ...", "a b", "A list."),
    rules<&Settings::rules>("rules", "deny all", "Rules."),
    named_rules<&Settings::named>("named", "none", "Named rules."),
    choice<&Settings::colour, kColours>("colour", "red|green", "green", "A colour."),
    accepted("ignored", "none", "it does nothing. And more."),
    restricting("strict", "none", "it would be open.", says_allow_all),
    obsolete("gone", "it is gone."),
};

struct Loaded {
  Settings settings;
  Problems problems;
  std::vector<RoomTable> tables{{"client", kTable, &settings}};
  explicit Loaded(std::string_view text) {
    DirectiveIndex index(tables);
    ReadOptions options;
    options.directives = &index;
    ReadResult result = read_text(text, "t.conf", options, problems);
    apply_defaults(tables, problems);
    apply(result.statements, index, problems);
    apply_missing(result.statements, tables, problems);
  }
};

bool contains(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

}  // namespace

BOOST_AUTO_TEST_SUITE(bind)

BOOST_AUTO_TEST_CASE(defaults_come_from_the_rows) {
  Loaded l("");
  const Settings& s = l.settings;
  BOOST_CHECK_EQUAL(s.wait.count(), 60'000);
  BOOST_CHECK_EQUAL(s.gap.count(), -1);
  BOOST_CHECK_EQUAL(s.size, 16384);
  BOOST_CHECK_EQUAL(s.body, -1);
  BOOST_CHECK_EQUAL(s.count, 3);
  BOOST_CHECK_EQUAL(s.share, 95);
  BOOST_CHECK(s.switched);
  BOOST_CHECK_EQUAL(s.name, "squid");
  BOOST_CHECK_EQUAL(s.list.size(), 2u);
  BOOST_REQUIRE_EQUAL(s.rules.size(), 1u);
  BOOST_CHECK_EQUAL(s.rules[0].words[0].text, "deny");
  BOOST_CHECK_EQUAL(s.rules[0].place.file, "default");
  BOOST_CHECK(s.colour == Colour::green);
  BOOST_CHECK(l.problems.list().empty());
}

BOOST_AUTO_TEST_CASE(values_reach_the_fields_and_the_dump) {
  const struct { std::string_view line, dumped; } kLines[] = {
      {"wait 2 hours", "wait 2 hours\n"},        {"older_wait 5 seconds", "wait 5 seconds\n"}, {"gap 7", "gap 7\n"},
      {"size 3 MB", "size 3 MB\n"},              {"body 5 KB", "body 5 KB\n"},                 {"body 0", "body none\n"},
      {"count 9", "count 9\n"},                  {"share 50%", "share 50\n"},                  {"switched off", "switched off\n"},
      {"name x", "name x\n"},                    {"name none", "name none\n"},                 {"phrase a # b", "phrase a # b\n"},
      {"source 10.0.0.1", "source 10.0.0.1\n"},  {"list c \"d e\"", "list c d e\n"},           {"rules allow x # c", "rules allow x\n"},
      {"named Via deny all", "named Via deny all\n"}, {"colour red", "colour red\n"},
  };
  for (auto& row : kLines) {
    Loaded l(row.line);
    std::string text = dump(l.tables);
    BOOST_CHECK_MESSAGE(contains("\n" + text, "\n" + std::string(row.dumped)) && l.problems.list().empty(), row.line << "\n" << text << format_problems(l.problems));
  }
}

BOOST_AUTO_TEST_CASE(the_dump_reads_back) {
  Loaded first("wait 90 seconds\nsize 100 bytes\nlist x y\nrules allow a !b\nrules deny all\ncolour red\n");
  std::string text = dump(first.tables);
  Loaded second(text);
  BOOST_CHECK_EQUAL(dump(second.tables), text);
}

BOOST_AUTO_TEST_CASE(scalars_replace_and_lists_append) {
  Loaded l("wait 1 hour\nwait 2 hours\nlist x\nlist y\nrules allow a\nrules deny b\n");
  BOOST_CHECK_EQUAL(l.settings.wait.count(), 7'200'000);
  BOOST_CHECK_EQUAL(l.settings.list.size(), 2u);
  BOOST_CHECK_EQUAL(l.settings.rules.size(), 2u);
}

BOOST_AUTO_TEST_CASE(what_is_said_about_statements) {
  const struct { std::string_view line, message; Severity severity; } kLines[] = {
      {"WAIT 1 second", "did you mean wait?", Severity::error},
      {"wiat 1 second", "did you mean wait?", Severity::error},
      {"cont 10", "did you mean count?", Severity::error},
      {"qqqqqqqq", "unknown directive", Severity::error},
      {"wait", "wants a time", Severity::error},
      {"count 10", "out of range", Severity::error},
      {"colour blue", "one of: red, green", Severity::error},
      {"switched on garbage", "'garbage' behind the value", Severity::warning},
      {"ignored x", "it does nothing", Severity::warning},
      {"gone x", "obsolete", Severity::warning},
      {"strict deny x", "more open", Severity::restricts},
      {"name", "wants a value", Severity::error},
      {"rules", "wants a value", Severity::error},
  };
  for (auto& row : kLines) {
    Loaded l(row.line);
    BOOST_REQUIRE_MESSAGE(l.problems.list().size() == 1, row.line);
    BOOST_CHECK(l.problems.list()[0].severity == row.severity);
    std::string text = format_problems(l.problems);
    BOOST_CHECK_MESSAGE(contains(text, row.message) && text.starts_with("t.conf:1:"), text);
  }
}

BOOST_AUTO_TEST_CASE(harmless_values_are_silent) {
  for (auto line : {"strict allow all", "ignored off", "ignored none", "ignored deny all"}) BOOST_CHECK_MESSAGE(Loaded(line).problems.list().empty(), line);
  BOOST_CHECK_EQUAL(Loaded("ignored a\nignored b\n").problems.list().size(), 1u);
}

BOOST_AUTO_TEST_CASE(control_characters_never_reach_a_terminal) {
  Problems problems;
  problems.error({"f", 1, 2}, "bad \x1b[2J");
  BOOST_CHECK_EQUAL(format_problems(problems), "f:1:2: error: bad ?[2J\n");
}

BOOST_AUTO_TEST_CASE(the_manual_has_every_row) {
  Loaded l("");
  std::string page = manual(l.tables);
  for (const Directive& d : kTable) BOOST_CHECK_MESSAGE(contains(page, ".B " + std::string(d.name)), d.name);
  BOOST_CHECK(contains(page, "Also written: old_wait older_wait."));
  BOOST_CHECK(contains(page, "Default: 1 minute."));
}

BOOST_AUTO_TEST_SUITE_END()
