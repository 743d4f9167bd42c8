#include "client/error_page_table.h"

#include <iterator>

namespace loligo::client {
namespace {

// In the order of LOLIGO_ERRORS; a static_assert below keeps it so.
constexpr ErrorText kTexts[] = {
    {ErrorId::access_denied, "Access to this address is not allowed.",
     "<p>The rules of this proxy do not permit the request. If you think they should, ask the administrator.</p>@Loligo{rule}"},
    {ErrorId::cache_access_denied, "This proxy wants to know who you are.",
     "<p>No user name and password came with the request, or they were not accepted. Enter them when your browser asks.</p>"
     "<p>The authentication service said: %m</p>@Loligo{rule}"},
    {ErrorId::cache_mgr_access_denied, "This page of the cache manager needs a password.",
     "<p>The administrator sets it with <code>cachemgr_passwd</code>. The user name does not matter.</p>"},
    {ErrorId::forwarding_denied, "This cache does not fetch the page for you.",
     "<p>It serves its neighbours only what it already holds, and it does not hold this.</p>@Loligo{rule}"},
    {ErrorId::no_relay, "This proxy does not relay the request.",
     "<p>The request asks for a service that this proxy does not pass on.</p>"},
    {ErrorId::cannot_forward, "No way to the origin server is open at present.",
     "<p>The configuration forbids going direct, and no parent cache is usable. All of them may be down.</p>"},
    {ErrorId::connect_fail, "The server at %I does not accept a connection.",
     "<p>The system says: <i>%E</i></p><p>The server or the network before it may be down. Try again later.</p>"},
    {ErrorId::secure_connect_fail, "No secure connection to %I could be made.",
     "<p>The system says: <i>%E</i> (TLS: %x)</p><p>%D</p>"
     "<p>The server does not speak TLS, or its certificate could not be verified.</p>"},
    {ErrorId::secure_accept_fail, "The secure connection from your side could not be made.",
     "<p>TLS: %x</p>"},
    {ErrorId::dns_fail, "No address is known for the name <q>%H</q>.",
     "<p>The name service says: <i>%z</i></p><p>Check the spelling of the address.</p>"},
    {ErrorId::gateway_failure, "The server behind this site failed.",
     "<p>It could not be reached, or it did not finish its answer.</p>"},
    {ErrorId::read_timeout, "The server did not answer in time.",
     "<p>The connection to %I was silent for too long. The server may be overloaded. Try again later.</p>"},
    {ErrorId::lifetime_exp, "The request took too long.",
     "<p>This proxy ends connections that outlive a set time.</p>"},
    {ErrorId::request_start_timeout, "No request came in time.",
     "<p>A connection was opened, and nothing was sent on it.</p>"},
    {ErrorId::request_parse_timeout, "The request did not arrive completely in time.",
     "<p>The head of a request must arrive within a set time.</p>"},
    {ErrorId::read_error, "The answer of the server could not be read.",
     "<p>The system says: <i>%E</i></p><p>The connection to %I broke. Try again.</p>"},
    {ErrorId::write_error, "The request could not be sent to the server.",
     "<p>The system says: <i>%E</i></p><p>The connection to %I broke. Try again.</p>"},
    {ErrorId::zero_size_object, "The server closed the connection without an answer.",
     "<p>Not one byte came from %I for this request.</p>"},
    {ErrorId::invalid_resp, "The answer of the server is not valid HTTP.",
     "<p>It is not passed on, because two programs could read it in two ways.</p>"},
    {ErrorId::invalid_req, "The request is not valid HTTP.",
     "<p>This is how it began:</p><blockquote id=\"data\"><pre>%R</pre></blockquote>"
     "<p>Among the reasons may be a malformed line, a length given twice, a missing or wrong Host, or a head that is too large.</p>"},
    {ErrorId::invalid_url, "The address is not valid.",
     "<p>It needs a known scheme such as <code>http://</code>, a host name without blanks, and a path of valid characters.</p>"},
    {ErrorId::conflict_host, "The address and the Host field of the request name different servers.",
     "<p>The request is refused, because it could reach another server than the one it names.</p>"},
    {ErrorId::unsup_req, "The method %M is not supported here.",
     "<p>This proxy cannot do what the request asks with this kind of address.</p>"},
    {ErrorId::unsup_httpversion, "This version of HTTP is not supported.",
     "<p>The proxy speaks HTTP/1.0 and HTTP/1.1.</p>"},
    {ErrorId::protocol_unknown, "The protocol is not known.",
     "<p>The bytes on this connection are not HTTP.</p>"},
    {ErrorId::too_big, "The request or the answer is too large.",
     "<p>It exceeds a limit that the administrator set.</p>@Loligo{rule}"},
    {ErrorId::only_if_cached_miss, "The page is not in the cache.",
     "<p>The request asked for a stored answer only (<code>only-if-cached</code>), and none is stored that may be used.</p>"},
    {ErrorId::precondition_failed, "A condition of the request does not hold.",
     "<p>The request carried a condition, such as <code>If-Match</code>, and the page does not meet it.</p>"},
    {ErrorId::urn_resolve, "The URN could not be resolved.",
     "<p>No location is known for it.</p>"},
    {ErrorId::socket_failure, "The system has no connection to spare.",
     "<p>The system says: <i>%E</i></p><p>The proxy is under heavy load. Try again later.</p>"},
    {ErrorId::icap_failure, "The content service did not do its work.",
     "<p>The system says: <i>%E</i></p><p>Requests go through a content service here, and it failed.</p>"},
    {ErrorId::esi, "The page could not be put together.",
     "<p>The parts of the page could not be processed: %Z</p>"},
    {ErrorId::shutting_down, "The proxy is shutting down.",
     "<p>It takes no new requests. Try again in a moment.</p>"},
    {ErrorId::client_gone, "The client left before the answer was ready.",
     "<p>Nobody should ever read this page.</p>"},
    {ErrorId::ftp_disabled, "FTP is not available.",
     "<p>This proxy does not fetch over FTP.</p>"},
    {ErrorId::ftp_failure, "The FTP server failed.",
     "<p>The FTP server's conversation ended with an error.</p>"},
    {ErrorId::ftp_forbidden, "The FTP server refused the login.",
     "<p>The FTP server wants another user name or password.</p>"},
    {ErrorId::ftp_not_found, "The FTP server has no such file.",
     "<p>Check the spelling of the path.</p>"},
    {ErrorId::ftp_unavailable, "The FTP server is busy.",
     "<p>The FTP server takes no more users at present. Try again later.</p>"},
    {ErrorId::acl_time_quota_exceeded, "Your time is used up.",
     "<p>This proxy allows access for a set time only, and it is over.</p>@Loligo{rule}"},
    {ErrorId::agent_configure, "Your browser must be set up to use this network.",
     "<p>Enter <b>%h</b>, port <b>%b</b>, as HTTP proxy in the network settings of your browser.</p>"},
    {ErrorId::agent_wpad, "Your browser must be set up to use this network.",
     "<p>Switch on automatic detection of the proxy in the network settings of your browser, "
     "or enter <b>%h</b>, port <b>%b</b>, as HTTP proxy.</p>"},
};

constexpr bool in_order() {
  for (unsigned i = 0; i < std::size(kTexts); ++i)
    if (unsigned(kTexts[i].id) != i) return false;
  return std::size(kTexts) == unsigned(ErrorId::count_);
}
static_assert(in_order());

}  // namespace

const ErrorText& error_text(ErrorId id) {
  return kTexts[unsigned(id) < unsigned(ErrorId::count_) ? unsigned(id) : 0];
}

}  // namespace loligo::client
