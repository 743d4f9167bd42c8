#include "access/settings.h"

#include "config/bind.h"

namespace loligo::access {
namespace {

using namespace config;

constexpr Directive kDirectives[] = {
    statements<&Settings::acl>("acl", WordStyle::acl, "name type [options] value ...", "none",
                               "Defines an access control list. Values on one line, and lines with the same name, are alternatives. "
                               "The names all, manager, localhost, to_localhost, to_linklocal and CONNECT are predefined. "
                               "A value in quotes is the path of a file with one value a line."),
    // What restricts is an acl of type proxy_auth or external; it is reported there.
    accepted("auth_param", "none", "user authentication is not implemented, and ACLs that ask for a user are refused."),
    accepted("auth_schemes", "none", "user authentication is not implemented, and ACLs that ask for a user are refused."),
    accepted("authenticate_cache_garbage_interval", "1 hour", "there is no cache of users yet."),
    accepted("authenticate_ttl", "1 hour", "there is no cache of users yet."),
    accepted("authenticate_ip_ttl", "1 second", "it belongs to ACLs of type max_user_ip, which are refused."),
    accepted("external_acl_type", "none", "ACLs of type external are refused where they are defined."),
    obsolete("external_refresh_check", "helpers never decided about freshness here."),
};

}  // namespace

std::span<const config::Directive> directives() { return kDirectives; }

}  // namespace loligo::access
