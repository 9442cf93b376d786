// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cohort::detail {

/// Parses a time as ISO 8601: a date, optionally followed by T or a space and hh:mm, hh:mm:ss or
/// hh:mm:ss.fraction, and Z or an offset ±hh:mm. Returns seconds since 1970-01-01T00:00:00 UTC; nullopt for
/// any other text. Years are 0000 to 9999 in the Gregorian calendar; a leap second counts as the next second.
std::optional<double> parse_time(std::string_view text);

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
