// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/transform/detail/time_text.hpp>
#include <ctime>
#include <string>

namespace time_text_test {

using cohort::detail::calendar_of;
using cohort::detail::parse_time;

TEST(time_text, reads_iso_8601) {
  EXPECT_EQ(parse_time("1970-01-01"), 0);
  EXPECT_EQ(parse_time("1970-01-02T00:00"), 86400);
  EXPECT_EQ(parse_time("1970-01-01 00:00:07.25"), 7.25);
  EXPECT_EQ(parse_time("1970-01-01T01:00:00Z"), 3600);
  EXPECT_EQ(parse_time("1970-01-01T01:00:00+01:00"), 0);
  EXPECT_EQ(parse_time("1969-12-31T22:30-01:30"), 0);
  EXPECT_EQ(parse_time("2026-11-25T22:30:00Z"), 1795645800);
  EXPECT_EQ(parse_time("2024-02-29"), 1709164800);
  EXPECT_EQ(parse_time("2000-02-29"), 951782400);
  EXPECT_EQ(parse_time("1900-02-28"), -2203977600.0);
  EXPECT_EQ(parse_time("2016-12-31T23:59:60Z"), 1483228800);  // a leap second
}

TEST(time_text, refuses_texts_that_are_not_times) {
  for (char const* text : {"",
                           "1970",
                           "1970-1-1",
                           "1970-13-01",
                           "1970-00-01",
                           "1970-01-32",
                           "1970-02-29",
                           "1900-02-29",
                           "1970-04-31",
                           "1970-01-00",
                           "1970-01-01T",
                           "1970-01-01T24:00",
                           "1970-01-01T01",
                           "1970-01-01T01:60",
                           "1970-01-01T01:00:61",
                           "1970-01-01T01:00:00.",
                           "1970-01-01T01:00:00+1",
                           "1970-01-01T01:00:00+24:00",
                           "1970-01-01T01:00:00Zx",
                           "1970-01-01x",
                           "x970-01-01",
                           "01/02/1970",
                           "1970-01-01T01:00:00.5.5"})
    EXPECT_FALSE(parse_time(text)) << text;
}

TEST(time_text, agrees_with_the_system_calendar) {
  for (std::int64_t seconds = -7'000'000'000; seconds < 7'000'000'000; seconds += 86'413 * 17) {
    auto const at = static_cast<std::time_t>(seconds);
    std::tm expected{};
    gmtime_r(&at, &expected);
    auto const made = calendar_of(static_cast<double>(seconds));
    ASSERT_EQ(made.year, expected.tm_year + 1900) << seconds;
    ASSERT_EQ(made.month, expected.tm_mon + 1) << seconds;
    ASSERT_EQ(made.day, expected.tm_mday) << seconds;
    ASSERT_EQ(made.hour, expected.tm_hour) << seconds;
    ASSERT_EQ(made.minute, expected.tm_min) << seconds;
    ASSERT_EQ(made.weekday, (expected.tm_wday + 6) % 7) << seconds;
    char text[40];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &expected);
    ASSERT_EQ(parse_time(text), static_cast<double>(seconds)) << text;
  }
}

}  // namespace time_text_test
