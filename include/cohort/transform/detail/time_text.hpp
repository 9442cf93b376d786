// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cohort::detail {

/// Returns a text without the blanks and tabs around it.
std::string_view trimmed(std::string_view text);

/// Parses a time as ISO 8601: a date, optionally followed by T or a space and hh:mm, hh:mm:ss or
/// hh:mm:ss.fraction, and Z or an offset ±hh:mm. Returns seconds since 1970-01-01T00:00:00 UTC; nullopt for
/// any other text. Years are 0000 to 9999 in the Gregorian calendar; a leap second counts as the next second.
std::optional<double> parse_time(std::string_view text);

/// Parses a time in a format (column_schema::format). Returns seconds since 1970-01-01T00:00:00 UTC; nullopt
/// for any other text.
///
/// Before    mistake_in_time_format(format) is empty.
std::optional<double> parse_time(std::string_view text, std::string_view format);

/// Returns what is wrong with a format of times; an empty text for a valid format.
std::string mistake_in_time_format(std::string_view format);

/// Returns common formats in which a text is a time, for messages: "%d/%m/%Y" and "%m/%d/%Y" of 03/04/2026.
std::vector<std::string> time_formats_of(std::string_view text);

/// Returns whether a number is a date written as yyyymmdd, such as 20261125, of the years 1900 to 2099.
bool is_date_of_digits(double number);

/// A time in UTC.
struct calendar_time {
  std::int64_t year;
  int month, day;  // from 1
  int hour, minute;
  int weekday;  // 0: Monday
};

/// Returns the date and time of seconds since 1970-01-01T00:00:00 UTC.
///
/// Before    |seconds| is at most 2^53.
calendar_time calendar_of(double seconds);

}  // namespace cohort::detail
