// Header fields for log lines: one field's value, joined where it stands on
// several lines, one member of a list, or the whole block. Any thread; views
// lead into the record or into `scratch`. Private to the log room.
#pragma once
#include <string_view>

#include "log/buffer.h"
#include "log/record.h"

namespace loligo::log {

// `name` in lower case; empty when there is no such field.
std::string_view request_field(const Record&, std::string_view name, Buffer& scratch);
std::string_view reply_field(const Record&, std::string_view name, Buffer& scratch);
// The member `element` of a list: what follows "element=", or the bare word itself.
std::string_view list_member(std::string_view list, char separator, std::string_view element);
// All field lines, each with its CRLF; the reply's with its status line, as Squid logs them.
std::string_view request_field_block(const Record&);
std::string_view reply_field_block(const Record&);
std::string_view reply_block(const Record&);

}  // namespace loligo::log
