// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cohort/data/detail/decimal.hpp>
#include <cohort/detail/json_string.hpp>
#include <cohort/detail/text.hpp>
#include <cohort/transform/detail/time_text.hpp>
#include <span>

namespace cohort::detail {

/// Returns the days from 1970-01-01 to a date of the Gregorian calendar.
///
/// Source    Howard Hinnant, chrono-compatible low-level date algorithms, days_from_civil.
constexpr std::int64_t days_to(std::int64_t year, int month, int day) {
  year -= month <= 2 ? 1 : 0;
  std::int64_t const era = (year >= 0 ? year : year - 399) / 400, year_of_era = year - era * 400;
  std::int64_t const day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

/// Returns the number of days of a month; `month` counts from 1.
constexpr int days_of_month(int year, int month) {
  constexpr int days[]{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  bool const leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return days[month - 1] + (month == 2 && leap ? 1 : 0);
}

inline bool is_blank(char c) { return c == ' ' || c == '\t'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

/// Reads the parts of a time.
struct time_parser {
  std::string_view rest;

  bool accept(char c) {
    if (rest.empty() || rest.front() != c) return false;
    rest.remove_prefix(1);
    return true;
  }
  /// Reads exactly `digits` digits; returns −1 if there are fewer, or the number is above `most`.
  int number(std::size_t digits, int most) { return number(digits, digits, most); }
  /// Reads as many digits as there are, at most `digits`; returns −1 if there are fewer than `fewest`, or the
  /// number is above `most`.
  int number(std::size_t fewest, std::size_t digits, int most) {
    std::size_t count = 0;
    int value = 0;
    for (; count < digits && count < rest.size() && rest[count] >= '0' && rest[count] <= '9'; ++count)
      value = value * 10 + (rest[count] - '0');
    if (count < fewest) return -1;
    rest.remove_prefix(count);
    return value <= most ? value : -1;
  }
  /// Reads one of `names` in upper or lower case, or its first three letters; returns its index, −1 for any
  /// other text.
  int name(std::span<std::string_view const> names) {
    auto const begins_with = [&](std::string_view word) {
      return rest.size() >= word.size()
             && std::ranges::equal(rest.substr(0, word.size()), word,
                                   [](char a, char b) { return (a | 0x20) == (b | 0x20); });
    };
    for (std::size_t letters : {std::string_view::npos, std::size_t{3}})
      for (std::size_t i = 0; i < names.size(); ++i)
        if (std::string_view const word = names[i].substr(0, letters); begins_with(word)) {
          rest.remove_prefix(word.size());
          return static_cast<int>(i);
        }
    return -1;
  }
};

std::optional<double> parse_time(std::string_view text) {
  time_parser in{text};
  int const year = in.number(4, 9999);
  if (year < 0 || !in.accept('-')) return {};
  int const month = in.number(2, 12);
  if (month < 1 || !in.accept('-')) return {};
  int const day = in.number(2, 31);
  if (day < 1 || day > days_of_month(year, month)) return {};
  std::int64_t seconds = days_to(year, month, day) * 86400;
  double fraction = 0;
  if (!in.rest.empty()) {
    if (!in.accept('T') && !in.accept(' ')) return {};
    int const hour = in.number(2, 23);
    if (hour < 0 || !in.accept(':')) return {};
    int const minute = in.number(2, 59);
    if (minute < 0) return {};
    seconds += hour * 3600 + minute * 60;
    if (in.accept(':')) {
      int const second = in.number(2, 60);
      if (second < 0) return {};
      seconds += second;
      if (!in.rest.empty() && in.rest.front() == '.') {
        std::size_t digits = 1;
        while (digits < in.rest.size() && in.rest[digits] >= '0' && in.rest[digits] <= '9') ++digits;
        if (digits == 1 || !parse_decimal(in.rest.data(), in.rest.data() + digits, fraction)) return {};
        in.rest.remove_prefix(digits);
      }
    }
    if (!in.accept('Z') && !in.rest.empty()) {
      bool const east = in.accept('+');
      if (!east && !in.accept('-')) return {};
      int const hours = in.number(2, 23);
      if (hours < 0 || !in.accept(':')) return {};
      int const minutes = in.number(2, 59);
      if (minutes < 0) return {};
      seconds += (east ? -1 : 1) * (hours * 3600 + minutes * 60);
    }
    if (!in.rest.empty()) return {};
  }
  return static_cast<double>(seconds) + fraction;
}

// ---- formats --------------------------------------------------------------------------------------------

inline constexpr std::array<std::string_view, 12> month_names{
    "january", "february", "march",     "april",   "may",      "june",
    "july",    "august",   "september", "october", "november", "december"};
inline constexpr std::array<std::string_view, 7> weekday_names{"monday", "tuesday",  "wednesday", "thursday",
                                                               "friday", "saturday", "sunday"};

/// Parts of a time, to which the directives of a format belong.
enum class time_part : std::uint8_t {
  sign,
  year,
  month,
  day,
  weekday,
  hour,
  half,
  minute,
  second,
  fraction,
  zone
};

struct time_directive {
  char letter;
  time_part part;
  std::size_t digits;  // most digits of a number; 0: not a number
};

inline constexpr std::array<time_directive, 18> time_directives{{{'%', time_part::sign, 0},
                                                                 {'Y', time_part::year, 4},
                                                                 {'y', time_part::year, 2},
                                                                 {'m', time_part::month, 2},
                                                                 {'b', time_part::month, 0},
                                                                 {'B', time_part::month, 0},
                                                                 {'d', time_part::day, 2},
                                                                 {'j', time_part::day, 3},
                                                                 {'a', time_part::weekday, 0},
                                                                 {'A', time_part::weekday, 0},
                                                                 {'H', time_part::hour, 2},
                                                                 {'I', time_part::hour, 2},
                                                                 {'p', time_part::half, 0},
                                                                 {'M', time_part::minute, 2},
                                                                 {'S', time_part::second, 2},
                                                                 {'f', time_part::fraction, 9},
                                                                 {'z', time_part::zone, 0},
                                                                 {'Z', time_part::zone, 0}}};

/// Returns the directive at the beginning of a format, "%Y"; null if there is none, or it is unknown.
inline time_directive const* directive_at(std::string_view format) {
  if (format.size() < 2 || format.front() != '%') return nullptr;
  auto const found = std::ranges::find(time_directives, format[1], &time_directive::letter);
  return found == time_directives.end() ? nullptr : &*found;
}

/// Reads a time in a format.
class format_parser {
 public:
  /// Reads the text at the beginning of `text` that has the format, and removes it. Returns whether there is
  /// one.
  bool read(std::string_view& text, std::string_view format) {
    in_.rest = text;
    for (bool follows_number = false; !format.empty();) {
      if (is_blank(format.front())) {
        if (in_.rest.empty() || !is_blank(in_.rest.front())) return false;
        while (!in_.rest.empty() && is_blank(in_.rest.front())) in_.rest.remove_prefix(1);
        while (!format.empty() && is_blank(format.front())) format.remove_prefix(1);
        follows_number = false;
        continue;
      }
      time_directive const* const directive = directive_at(format);
      if (!directive || directive->part == time_part::sign) {
        if (!in_.accept(format.front())) return false;
        format.remove_prefix(directive ? 2 : 1);
        follows_number = false;
        continue;
      }
      format.remove_prefix(2);
      // Only the number of digits separates numbers without a sign between them.
      time_directive const* const next = directive_at(format);
      bool const is_fixed =
          follows_number || (next && next->digits > 0) || directive->part == time_part::year;
      if (!read_part(*directive, is_fixed ? directive->digits : 1)) return false;
      follows_number = directive->digits > 0;
    }
    text = in_.rest;
    return true;
  }

  /// Returns the time that was read; nullopt if there is no such day.
  std::optional<double> time() const {
    if (!day_of_year_ && day_ > days_of_month(year_, month_)) return {};
    if (day_of_year_ && day_ > 337 + days_of_month(year_, 2)) return {};
    std::int64_t const days = day_of_year_ ? days_to(year_, 1, 1) + day_ - 1 : days_to(year_, month_, day_);
    int const hour = has_half_ ? hour_ % 12 + (is_afternoon_ ? 12 : 0) : hour_;
    std::int64_t const seconds = days * 86400 + hour * 3600 + minute_ * 60 + second_ - offset_;
    return static_cast<double>(seconds) + fraction_;
  }

 private:
  bool read_part(time_directive const& directive, std::size_t fewest) {
    auto const number = [&](int& to, int least, int most) {
      to = in_.number(fewest, directive.digits, most);
      return to >= least;
    };
    switch (directive.letter) {
      case 'Y':
        return number(year_, 0, 9999);
      case 'y':
        if (!number(year_, 0, 99)) return false;
        year_ += year_ < 69 ? 2000 : 1900;  // as strptime of POSIX
        return true;
      case 'm':
        return number(month_, 1, 12);
      case 'd':
        return number(day_, 1, 31);
      case 'j':
        day_of_year_ = true;
        return number(day_, 1, 366);
      case 'H':
        return number(hour_, 0, 23);
      case 'I':
        return number(hour_, 1, 12);
      case 'M':
        return number(minute_, 0, 59);
      case 'S':
        return number(second_, 0, 60);
      case 'f':
        return read_fraction(fewest);
      case 'p':
        return read_half();
      case 'z':
        return in_.accept('Z') || read_offset();
      case 'Z':
        return read_zone();
      case 'a':
      case 'A':
        return in_.name(weekday_names) >= 0;
      default:  // b, B
        return (month_ = in_.name(month_names) + 1) > 0;
    }
  }

  /// Reads up to nine digits, at least `fewest`.
  bool read_fraction(std::size_t fewest) {
    std::size_t const before = in_.rest.size();
    int const digits = in_.number(fewest, 9, 999'999'999);
    if (digits < 0) return false;
    fraction_ = digits / exact_powers<double>[before - in_.rest.size()];
    return true;
  }

  bool read_half() {
    constexpr std::array<std::string_view, 2> halves{"am", "pm"};
    int const half = in_.name(halves);
    has_half_ = true;
    is_afternoon_ = half == 1;
    return half >= 0;
  }

  /// Reads ±hh, ±hhmm or ±hh:mm.
  bool read_offset() {
    bool const east = in_.accept('+');
    if (!east && !in_.accept('-')) return false;
    int const hours = in_.number(2, 23);
    if (hours < 0) return false;
    int minutes = 0;
    bool const has_colon = in_.accept(':');
    if (has_colon || (!in_.rest.empty() && in_.rest.front() >= '0' && in_.rest.front() <= '9')) {
      minutes = in_.number(2, 59);
      if (minutes < 0) return false;
    }
    offset_ = (east ? 1 : -1) * (hours * 3600 + minutes * 60);
    return true;
  }

  /// Reads a name of UTC: names of other zones have several meanings, or an offset that depends on the date.
  bool read_zone() {
    constexpr std::array<std::string_view, 3> names{"utc", "gmt", "z"};
    return in_.name(names) >= 0;
  }

  time_parser in_{};
  int year_ = 1970, month_ = 1, day_ = 1, hour_ = 0, minute_ = 0, second_ = 0, offset_ = 0;
  double fraction_ = 0;
  bool day_of_year_ = false, has_half_ = false, is_afternoon_ = false;
};

std::optional<double> parse_time(std::string_view text, std::string_view format) {
  format_parser parser;
  if (!parser.read(text, format) || !text.empty()) return {};
  return parser.time();
}

std::string mistake_in_time_format(std::string_view format) {
  std::array<char, 11> letters{};  // of the directive of each part; 0: none
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') continue;
    time_directive const* const directive = directive_at(format.substr(i));
    if (!directive)
      return text_of(
          {"the unknown directive ", quote_for_error(format.substr(i, 2)), " at character ", i + 1});
    ++i;
    char& letter = letters[static_cast<std::size_t>(directive->part)];
    if (letter != 0 && directive->part != time_part::sign)
      return text_of({"%", std::string_view(&letter, 1), " and %", std::string_view(&directive->letter, 1)});
    letter = directive->letter;
  }
  auto const has = [&](time_part part) { return letters[static_cast<std::size_t>(part)] != 0; };
  auto const is = [&](time_part part, char letter) {
    return letters[static_cast<std::size_t>(part)] == letter;
  };
  using enum time_part;
  if (!has(year)) return "no year (%Y or %y)";
  if (is(day, 'j') && has(month)) return "a month and %j, the day of the year";
  if (is(day, 'd') && !has(month)) return "a day (%d) without a month (%m or %b)";
  if (is(hour, 'I') && !has(half)) return "%I without %p (AM or PM)";
  if (has(half) && !is(hour, 'I')) return "%p without %I";
  if (has(minute) && !has(hour)) return "%M, minutes, without an hour (%H or %I); the month is %m";
  if (has(second) && !has(minute)) return "%S, seconds, without %M, minutes";
  if (has(fraction) && !has(second)) return "%f without %S";
  return {};
}

std::vector<std::string> time_formats_of(std::string_view text) {
  constexpr std::string_view dates[]{"%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y",  "%d-%m-%Y", "%m-%d-%Y",
                                     "%Y/%m/%d", "%Y.%m.%d", "%Y-%m-%d",  "%Y%m%d",   "%d/%m/%y",
                                     "%m/%d/%y", "%d.%m.%y", "%b %d, %Y", "%d %b %Y", "%d-%b-%Y",
                                     "%d-%b-%y", "%b %d %Y", "%Y-%m",     "%m/%Y",    "%b %Y"};
  constexpr std::string_view days[]{"", "%a, ", "%a "};
  constexpr std::string_view between[]{" ", "T", ", "};
  constexpr std::string_view clocks[]{"%H:%M:%S.%f", "%H:%M:%S", "%H:%M",   "%I:%M:%S %p",
                                      "%I:%M:%S%p",  "%I:%M %p", "%I:%M%p", "%H%M%S"};
  constexpr std::string_view zones[]{"", " %z", "%z", " %Z"};
  std::vector<std::string> formats;
  auto const add = [&](std::string format) {
    if (formats.empty() || formats.back() != format)
      if (parse_time(text, format)) formats.push_back(std::move(format));
  };
  for (std::string_view const day : days)
    for (std::string_view const date : dates) {
      std::string const front = text_of({day, date});
      std::string_view rest = text;
      if (!format_parser().read(rest, front)) continue;
      if (rest.empty()) add(front);
      for (std::string_view const sign : between)
        for (std::string_view const clock : clocks)
          for (std::string_view const zone : zones)
            if (!rest.empty() && rest.front() == sign.front()) add(text_of({front, sign, clock, zone}));
    }
  return formats;
}

bool is_date_of_digits(double number) {
  if (!(number >= 19000101 && number < 21000000) || number != std::floor(number)) return false;
  auto const digits = static_cast<int>(number);
  int const year = digits / 10000, month = digits / 100 % 100, day = digits % 100;
  return month >= 1 && month <= 12 && day >= 1 && day <= days_of_month(year, month);
}

calendar_time calendar_of(double seconds) {
  auto const whole = static_cast<std::int64_t>(std::floor(seconds));
  std::int64_t const day = (whole >= 0 ? whole : whole - 86399) / 86400;
  auto const second = static_cast<int>(whole - day * 86400);
  // Source: Howard Hinnant, civil_from_days.
  std::int64_t const shifted = day + 719468, era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
  std::int64_t const day_of_era = shifted - era * 146097;
  std::int64_t const year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  std::int64_t const day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  auto const shifted_month = static_cast<int>((5 * day_of_year + 2) / 153);
  int const month = shifted_month + (shifted_month < 10 ? 3 : -9);
  return {.year = year_of_era + era * 400 + (month <= 2 ? 1 : 0),
          .month = month,
          .day = static_cast<int>(day_of_year) - (153 * shifted_month + 2) / 5 + 1,
          .hour = second / 3600,
          .minute = second / 60 % 60,
          .weekday = static_cast<int>(((day + 3) % 7 + 7) % 7)};
}

}  // namespace cohort::detail
