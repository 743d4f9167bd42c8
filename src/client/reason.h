// Reason phrases of the statuses the proxy makes itself (RFC 9110 section 15).
#pragma once
#include <string_view>

namespace loligo::client {

struct ReasonRow { int status; std::string_view phrase; };
inline constexpr ReasonRow kReasons[] = {
    {200, "OK"}, {206, "Partial Content"}, {301, "Moved Permanently"}, {302, "Found"}, {303, "See Other"}, {304, "Not Modified"},
    {307, "Temporary Redirect"}, {308, "Permanent Redirect"}, {400, "Bad Request"}, {401, "Unauthorized"}, {403, "Forbidden"},
    {404, "Not Found"}, {405, "Method Not Allowed"}, {407, "Proxy Authentication Required"}, {408, "Request Timeout"}, {409, "Conflict"},
    {411, "Length Required"}, {412, "Precondition Failed"}, {413, "Content Too Large"}, {414, "URI Too Long"},
    {416, "Range Not Satisfiable"}, {417, "Expectation Failed"}, {421, "Misdirected Request"}, {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"}, {500, "Internal Server Error"}, {501, "Not Implemented"}, {502, "Bad Gateway"},
    {503, "Service Unavailable"}, {504, "Gateway Timeout"}, {505, "HTTP Version Not Supported"}, {508, "Loop Detected"},
};
constexpr std::string_view reason_phrase(int status) {
  for (auto& row : kReasons) if (row.status == status) return row.phrase;
  return "Unknown";
}

}  // namespace loligo::client
