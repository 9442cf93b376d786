// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cohort/data/detail/decimal.hpp>
#include <cohort/transform/detail/time_text.hpp>

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

/// Reads the parts of a time.
struct time_parser {
  std::string_view rest;

  bool accept(char c) {
    if (rest.empty() || rest.front() != c) return false;
    rest.remove_prefix(1);
    return true;
  }
  /// Reads exactly `digits` digits; returns −1 if there are fewer, or the number is above `most`.
  int number(std::size_t digits, int most) {
    if (rest.size() < digits) return -1;
    int made = 0;
    for (char const c : rest.substr(0, digits)) {
      if (c < '0' || c > '9') return -1;
      made = made * 10 + (c - '0');
    }
    rest.remove_prefix(digits);
    return made <= most ? made : -1;
  }
};

std::optional<double> parse_time(std::string_view text) {
  time_parser in{text};
  int const year = in.number(4, 9999);
  if (year < 0 || !in.accept('-')) return {};
  int const month = in.number(2, 12);
  if (month < 1 || !in.accept('-')) return {};
  int const day = in.number(2, 31);
  bool const leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  constexpr int days[]{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (day < 1 || day > days[month - 1] + (month == 2 && leap ? 1 : 0)) return {};
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
