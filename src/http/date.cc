// The three forms (RFC 9110 section 5.6.7), compared without case, otherwise to the letter:
//
//   Sun, 06 Nov 1994 08:49:37 GMT    IMF-fixdate
//   Sunday, 06-Nov-94 08:49:37 GMT   RFC 850
//   Sun Nov  6 08:49:37 1994         asctime
//
// The weekday must be a weekday's name; whether it is that date's is not checked, as the date is plain without it.
#include "http/date.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace loligo::http {
namespace {

constexpr std::string_view kWeekdays[] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
constexpr char kMonths[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
constexpr int64_t kDaySeconds = 86400;

// Days since 1970-01-01 of a date in the proleptic Gregorian calendar, counted in 400-year eras that start on 1 March.
constexpr int64_t days_from_date(int64_t year, int month, int day) {
  if (month <= 2) --year;
  int64_t era = (year >= 0 ? year : year - 399) / 400;
  int64_t year_of_era = year - era * 400;
  int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

struct CivilDate { int64_t year; int month, day; };
constexpr CivilDate date_from_days(int64_t days) {
  days += 719468;
  int64_t era = (days >= 0 ? days : days - 146096) / 146097;
  int64_t day_of_era = days - era * 146097;
  int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  int month = int((5 * day_of_year + 2) / 153);
  int day = int(day_of_year - (153 * month + 2) / 5 + 1);
  month = month < 10 ? month + 3 : month - 9;
  return {year_of_era + era * 400 + (month <= 2), month, day};
}
static_assert(days_from_date(1970, 1, 1) == 0 && days_from_date(2000, 3, 1) == 11017);

constexpr bool is_leap(int64_t year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }
constexpr int days_in_month(int64_t year, int month) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && is_leap(year) ? 29 : kDays[month - 1];
}

// Takes the text apart from the left; the first mismatch makes everything after it fail.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}
  bool good() const { return good_ && rest_.empty(); }

  void literal(std::string_view text) {
    good_ = good_ && base::istarts_with(rest_, text);
    if (good_) rest_.remove_prefix(text.size());
  }
  int digits(size_t count) {
    int value = 0;
    good_ = good_ && rest_.size() >= count;
    for (size_t i = 0; good_ && i < count; ++i) {
      good_ = base::is_digit(rest_[i]);
      value = value * 10 + (rest_[i] - '0');
    }
    if (good_) rest_.remove_prefix(count);
    return good_ ? value : 0;
  }
  int padded_day() {  // asctime: "16" or " 6"
    if (good_ && !rest_.empty() && rest_.front() == ' ') {
      rest_.remove_prefix(1);
      return digits(1);
    }
    return digits(2);
  }
  int month() {
    for (int i = 0; good_ && i < 12; ++i) {
      if (!base::istarts_with(rest_, {kMonths + 3 * i, 3})) continue;
      rest_.remove_prefix(3);
      return i + 1;
    }
    good_ = false;
    return 1;
  }

 private:
  std::string_view rest_;
  bool good_ = true;
};

struct Fields {
  int64_t year = 0;
  int month = 1, day = 0, hour = 0, minute = 0, second = 0;
};

void read_time(Reader& in, Fields& f) {
  f.hour = in.digits(2);
  in.literal(":");
  f.minute = in.digits(2);
  in.literal(":");
  f.second = in.digits(2);
}

bool read_fixdate(std::string_view text, Fields& f) {
  Reader in(text);
  in.literal(", ");
  f.day = in.digits(2);
  in.literal(" ");
  f.month = in.month();
  in.literal(" ");
  f.year = in.digits(4);
  in.literal(" ");
  read_time(in, f);
  in.literal(" GMT");
  return in.good();
}

bool read_rfc850(std::string_view text, Fields& f) {
  Reader in(text);
  in.literal(", ");
  f.day = in.digits(2);
  in.literal("-");
  f.month = in.month();
  in.literal("-");
  f.year = in.digits(2);
  in.literal(" ");
  read_time(in, f);
  in.literal(" GMT");
  return in.good();
}

bool read_asctime(std::string_view text, Fields& f) {
  Reader in(text);
  in.literal(" ");
  f.month = in.month();
  in.literal(" ");
  f.day = in.padded_day();
  in.literal(" ");
  read_time(in, f);
  in.literal(" ");
  f.year = in.digits(4);
  return in.good();
}

// Second 60 is a leap second and counts as the next minute's first.
std::optional<base::WallSeconds> seconds_of(const Fields& f) {
  if (f.day < 1 || f.day > days_in_month(f.year, f.month) || f.hour > 23 || f.minute > 59 || f.second > 60) return std::nullopt;
  return days_from_date(f.year, f.month, f.day) * kDaySeconds + f.hour * 3600 + f.minute * 60 + f.second;
}

// The latest year with these two digits that is not more than 50 years ahead.
std::optional<base::WallSeconds> seconds_of_two_digit_year(Fields f, base::WallSeconds now) {
  CivilDate today = date_from_days(now / kDaySeconds);
  f.year += today.year - today.year % 100 + 100;
  Fields limit{today.year + 50, today.month, std::min(today.day, 28), 23, 59, 59};
  for (int i = 0; i < 3; ++i, f.year -= 100) {
    std::optional<base::WallSeconds> when = seconds_of(f);
    if (f.year < limit.year || (when && f.year == limit.year && *when <= *seconds_of(limit))) return when;
  }
  return std::nullopt;
}

void write_digits(char* out, int64_t value, int count) {
  for (int i = count - 1; i >= 0; --i, value /= 10) out[i] = char('0' + value % 10);
}

}  // namespace

std::optional<base::WallSeconds> parse_date(std::string_view text, base::WallSeconds now) {
  text = base::trim_ows(text);
  for (std::string_view weekday : kWeekdays) {
    if (!base::istarts_with(text, weekday.substr(0, 3))) continue;
    Fields f;
    std::string_view after_short = text.substr(3);
    if (read_fixdate(after_short, f) || read_asctime(after_short, f)) return seconds_of(f);
    if (base::istarts_with(text, weekday) && read_rfc850(text.substr(weekday.size()), f)) return seconds_of_two_digit_year(f, now);
    return std::nullopt;
  }
  return std::nullopt;
}

void format_date(base::WallSeconds when, char* out) {
  constexpr base::WallSeconds kFirst = days_from_date(0, 1, 1) * kDaySeconds;
  constexpr base::WallSeconds kLast = days_from_date(10000, 1, 1) * kDaySeconds - 1;
  when = std::clamp(when, kFirst, kLast);
  int64_t days = when / kDaySeconds, second = when % kDaySeconds;
  if (second < 0) {
    --days;
    second += kDaySeconds;
  }
  CivilDate date = date_from_days(days);
  std::memcpy(out, "Sun, 06 Nov 1994 08:49:37 GMT", kDateLength);
  std::memcpy(out, kWeekdays[((days + 4) % 7 + 7) % 7].data(), 3);
  write_digits(out + 5, date.day, 2);
  std::memcpy(out + 8, kMonths + 3 * (date.month - 1), 3);
  write_digits(out + 12, date.year, 4);
  write_digits(out + 17, second / 3600, 2);
  write_digits(out + 20, second / 60 % 60, 2);
  write_digits(out + 23, second % 60, 2);
}

}  // namespace loligo::http
