#define BOOST_TEST_DYN_LINK
#include "icp/selection.h"

#include <boost/test/unit_test.hpp>
#include <map>
#include <sstream>

#include "access/test_support.h"

using namespace loligo;
using namespace loligo::icp;

namespace {

// A table of parents; options by word: "default", "round-robin", "weight=N", "max-conn=N", "originserver", "sibling".
struct Table {
  PeerTable peers;
  explicit Table(std::initializer_list<const char*> lines) {
    for (const char* text : lines) {
      std::istringstream in{std::string(text)};
      PeerEntry e;
      in >> e.config.name;
      for (std::string word; in >> word;) {
        if (word == "default") e.config.default_ = true;
        else if (word == "round-robin") e.config.round_robin = true;
        else if (word == "originserver") e.config.originserver = true;
        else if (word == "sibling") e.config.type = Peer::Type::sibling;
        else if (word.starts_with("weight=")) e.config.weight = std::stoi(word.substr(7));
        else if (word.starts_with("max-conn=")) e.config.max_conn = std::stoi(word.substr(9));
      }
      e.state = std::make_shared<PeerState>();
      peers.entries.push_back(std::move(e));
    }
  }
  PeerState& state(std::string_view name) { return *peers.find(name)->state; }
};

std::string names(const std::vector<Destination>& list) {
  std::string out;
  for (auto& d : list) out += (out.empty() ? "" : " ") + (d.peer ? d.peer->config.name : std::string("DIRECT"));
  return out;
}

SelectionQuestion question(Direct direct = Direct::maybe, bool hierarchical = true) {
  SelectionQuestion q;
  q.direct = direct;
  q.hierarchical = hierarchical;
  return q;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(selection)

BOOST_AUTO_TEST_CASE(the_order_of_destinations) {
  Table t{"a", "b", "c default", "s sibling"};
  struct Row { const char* what; SelectionQuestion q; const char* list; };
  SelectionQuestion prefers = question(), stubborn = question(Direct::maybe, false), few = question();
  prefers.prefer_direct = true;
  stubborn.nonhierarchical_direct = false;
  few.max_tries = 2;
  const Row rows[] = {
      {"a parent, then direct, then the others", question(), "a DIRECT b c"},
      {"never_direct", question(Direct::no), "a b c"},
      {"always_direct", question(Direct::always), "DIRECT"},
      {"prefer_direct", prefers, "DIRECT a b c"},
      {"what no parent can cache", question(Direct::maybe, false), "DIRECT a b c"},
      {"nonhierarchical_direct off", stubborn, "a DIRECT b c"},
      {"forward_max_tries", few, "a DIRECT"},
  };
  for (const Row& row : rows) BOOST_TEST(names(select(t.peers, row.q)) == row.list, row.what);
  BOOST_TEST(names(select(Table{"c default", "d"}.peers, question(Direct::no))) == "d c");
  BOOST_TEST(names(select(Table{}.peers, question())) == "DIRECT");
  BOOST_TEST(select(Table{}.peers, question(Direct::no)).empty());
  BOOST_TEST(select(Table{"s sibling"}.peers, question(Direct::no)).empty());
}

BOOST_AUTO_TEST_CASE(codes_say_why) {
  using log::HierarchyCode;
  Table t{"a", "b", "c default"};
  auto list = select(t.peers, question());
  BOOST_REQUIRE(list.size() == 4u);
  BOOST_TEST((list[0].code == HierarchyCode::firstup_parent));
  BOOST_TEST((list[1].code == HierarchyCode::direct));
  BOOST_TEST((list[2].code == HierarchyCode::any_old_parent));
  BOOST_TEST((list[3].code == HierarchyCode::default_parent));
  BOOST_TEST((select(Table{"c default"}.peers, question())[0].code == HierarchyCode::default_parent));
  BOOST_TEST((select(Table{"r round-robin"}.peers, question())[0].code == HierarchyCode::roundrobin_parent));
}

BOOST_AUTO_TEST_CASE(the_dead_and_the_full_are_left_out) {
  Table t{"a", "b max-conn=2", "c"};
  t.state("a").alive = false;
  BOOST_TEST(names(select(t.peers, question(Direct::no))) == "b c");
  t.state("b").open_connections = 2;
  BOOST_TEST(names(select(t.peers, question(Direct::no))) == "c");
  t.state("b").open_connections = 1;
  t.state("a").alive = true;
  BOOST_TEST(names(select(t.peers, question(Direct::no))) == "a b c");
}

BOOST_AUTO_TEST_CASE(round_robin_goes_by_weight) {
  Table t{"a round-robin", "b round-robin weight=3", "c"};
  std::map<std::string, int> first;
  for (int i = 0; i < 400; ++i) ++first[select(t.peers, question())[0].peer->config.name];
  BOOST_TEST(first["a"] == 100);
  BOOST_TEST(first["b"] == 300);
  t.state("b").alive = false;
  BOOST_TEST(names(select(t.peers, question(Direct::no))) == "a c");
}

BOOST_AUTO_TEST_CASE(an_origin_takes_no_tunnel) {
  Table t{"o originserver", "p"};
  SelectionQuestion q = question(Direct::no);
  q.connect = true;
  BOOST_TEST(names(select(t.peers, q)) == "p");
  q.connect = false;
  BOOST_TEST(names(select(t.peers, q)) == "o p");
}

BOOST_AUTO_TEST_CASE(cache_peer_access_decides_by_peer) {
  access::test::Configuration acls("acl here dstdomain .here.example\n");
  Settings settings;
  for (const char* name : {"a", "b"}) {
    Peer p;
    p.name = p.host = name;
    p.http_port = 3128;
    settings.peers.push_back(p);
  }
  settings.cache_peer_access = {access::test::statement("cache_peer_access a allow here", 1),
                                access::test::statement("cache_peer_access b deny here", 2)};
  PeerRegistry registry;
  PeerTable table = PeerTable::compile(settings, acls.acls, registry, acls.problems);
  BOOST_TEST(acls.clean());
  SelectionQuestion q = question(Direct::no);
  q.facts.host = "www.here.example";
  BOOST_TEST(names(select(table, q)) == "a");
  q.facts.host = "elsewhere.example";
  BOOST_TEST(names(select(table, q)) == "b");
}

BOOST_AUTO_TEST_CASE(what_is_known_of_a_peer_outlives_a_reload) {
  access::test::Configuration acls("");
  Settings settings;
  Peer p;
  p.name = p.host = "a";
  p.http_port = 3128;
  settings.peers.push_back(p);
  PeerRegistry registry;
  PeerTable before = PeerTable::compile(settings, acls.acls, registry, acls.problems);
  before.entries[0].state->alive = false;
  PeerTable after = PeerTable::compile(settings, acls.acls, registry, acls.problems);
  BOOST_TEST((after.entries[0].state == before.entries[0].state));
  settings.peers[0].http_port = 3129;   // another place, another peer
  PeerTable moved = PeerTable::compile(settings, acls.acls, registry, acls.problems);
  BOOST_TEST(moved.entries[0].state->alive);
}

BOOST_AUTO_TEST_CASE(dead_after_failures_in_a_row) {
  PeerState state;
  BOOST_TEST(!state.connect_failed(3));
  BOOST_TEST(!state.connect_failed(3));
  BOOST_TEST(!state.connected());   // it was alive: nothing to tell
  BOOST_TEST(!state.connect_failed(3));
  BOOST_TEST(!state.connect_failed(3));
  BOOST_TEST(state.connect_failed(3));
  BOOST_TEST(!state.alive);
  BOOST_TEST(!state.connect_failed(3));   // told once
  BOOST_TEST(state.connected());
  BOOST_TEST(state.alive);
}

BOOST_AUTO_TEST_SUITE_END()
