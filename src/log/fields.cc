#include "log/fields.h"

#include "base/text.h"

namespace loligo::log {
namespace {

// Collects the values of equal fields: the first as it stands, more of them joined in `scratch`.
class Join {
 public:
  explicit Join(Buffer& scratch) : scratch_(scratch) {}
  void add(std::string_view value) {
    if (count_++ == 0) {
      value_ = value;
      return;
    }
    if (count_ == 2) scratch_.append(value_);
    scratch_.append(", ");
    scratch_.append(value);
    value_ = scratch_.view();
  }
  std::string_view value() const { return value_; }

 private:
  Buffer& scratch_;
  std::string_view value_;
  unsigned count_ = 0;
};

// The next line of `text` without its end; `text` moves behind it.
std::string_view next_line(std::string_view& text) {
  size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == text.npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string_view trimmed(std::string_view text) { return base::trim_ows(text); }

}  // namespace

std::string_view request_field(const Record& record, std::string_view name, Buffer& scratch) {
  Join join(scratch);
  if (!record.request || !record.request_bytes) return {};
  for (unsigned i = 0; i < record.request->field_count(); ++i) {
    const http::Field& field = record.request->field(i);
    if (base::iequals(field.name.in(record.request_bytes), name)) join.add(field.value.in(record.request_bytes));
  }
  return join.value();
}

std::string_view reply_field(const Record& record, std::string_view name, Buffer& scratch) {
  Join join(scratch);
  std::string_view rest = reply_field_block(record);
  while (!rest.empty()) {
    std::string_view line = next_line(rest);
    size_t colon = line.find(':');
    if (colon != line.npos && base::iequals(line.substr(0, colon), name)) join.add(trimmed(line.substr(colon + 1)));
  }
  return join.value();
}

std::string_view list_member(std::string_view list, char separator, std::string_view element) {
  while (!list.empty()) {
    size_t end = std::min(list.find(separator), list.size());
    std::string_view member = trimmed(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
    if (!base::istarts_with(member, element)) continue;
    if (member.size() == element.size()) return member;
    if (member[element.size()] == '=') return member.substr(element.size() + 1);
  }
  return {};
}

std::string_view request_field_block(const Record& record) {
  const http::Head* head = record.request;
  if (!head || !record.request_bytes || head->field_count() == 0) return {};
  uint32_t first = head->field(0).name.offset, end = head->size() >= 2 ? head->size() - 2 : 0;
  return first < end ? std::string_view(record.request_bytes + first, end - first) : std::string_view();
}

std::string_view reply_field_block(const Record& record) {
  std::string_view block = reply_block(record);
  next_line(block);
  return block;
}

std::string_view reply_block(const Record& record) {
  std::string_view block = record.reply_head;
  if (block.ends_with("\r\n\r\n")) block.remove_suffix(2);
  return block;
}

}  // namespace loligo::log
