// The makers of all ACL types, for the table in types.cc. One file for each kind:
// matchers_address.cc (networks), matchers_host.cc (domains), matchers_regex.cc,
// matchers_value.cc (numbers, words, time, chance), matchers_group.cc.
// Start-up only.
#pragma once
#include <memory>

#include "access/acl.h"

namespace loligo::access {

using Maker = std::unique_ptr<Matcher> (*)();

std::unique_ptr<Matcher> make_src();
std::unique_ptr<Matcher> make_dst();
std::unique_ptr<Matcher> make_localip();

std::unique_ptr<Matcher> make_dstdomain();
std::unique_ptr<Matcher> make_dstdom_regex();

std::unique_ptr<Matcher> make_url_regex();
std::unique_ptr<Matcher> make_urlpath_regex();
std::unique_ptr<Matcher> make_browser();
std::unique_ptr<Matcher> make_referer_regex();
std::unique_ptr<Matcher> make_req_header();
std::unique_ptr<Matcher> make_rep_header();
std::unique_ptr<Matcher> make_req_mime_type();
std::unique_ptr<Matcher> make_rep_mime_type();
std::unique_ptr<Matcher> make_peername_regex();

std::unique_ptr<Matcher> make_port();
std::unique_ptr<Matcher> make_localport();
std::unique_ptr<Matcher> make_http_status();
std::unique_ptr<Matcher> make_myportname();
std::unique_ptr<Matcher> make_peername();
std::unique_ptr<Matcher> make_hier_code();
std::unique_ptr<Matcher> make_proto();
std::unique_ptr<Matcher> make_method();
std::unique_ptr<Matcher> make_has();
std::unique_ptr<Matcher> make_time();
std::unique_ptr<Matcher> make_maxconn();
std::unique_ptr<Matcher> make_random();

std::unique_ptr<Matcher> make_any_of();
std::unique_ptr<Matcher> make_all_of();

std::unique_ptr<Matcher> make_not_implemented();
std::unique_ptr<Matcher> make_obsolete();

// Regular expressions from the words of an ACL line: -i and +i switch for what follows.
class PatternSet;
void add_patterns(PatternSet& set, const Arguments&, config::Problems&);

// A method ACL holds PURGE.
bool names_purge(const Matcher& method_acl);

}  // namespace loligo::access
