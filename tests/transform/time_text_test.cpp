// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/transform/detail/time_text.hpp>
#include <ctime>
#include <initializer_list>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

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

// 2026-11-25T22:30:07Z, a Wednesday, in the formats of several countries and programs.
TEST(time_text, reads_formats) {
  constexpr double day = 1795564800, second = 1795645807;
  for (auto const& [text, format, time] : std::initializer_list<std::tuple<char const*, char const*, double>>{
           {"25/11/2026", "%d/%m/%Y", day},
           {"11/25/2026", "%m/%d/%Y", day},
           {"25.11.2026", "%d.%m.%Y", day},
           {"2026/11/25", "%Y/%m/%d", day},
           {"20261125", "%Y%m%d", day},
           {"25112026", "%d%m%Y", day},
           {"25.11.26", "%d.%m.%y", day},
           {"Nov 25, 2026", "%b %d, %Y", day},
           {"November 25, 2026", "%b %d, %Y", day},
           {"25-NOV-2026", "%d-%B-%Y", day},
           {"Wed, 25 Nov 2026", "%a, %d %b %Y", day},
           {"wednesday 25 november 2026", "%A %d %B %Y", day},
           {"2026-329", "%Y-%j", day},
           {"2026年11月25日", "%Y年%m月%d日", day},
           {"100 % on 2026-11-25", "100 %% on %Y-%m-%d", day},
           {"25/11/2026 22:30:07", "%d/%m/%Y %H:%M:%S", second},
           {"25/11/2026 \t22:30:07", "%d/%m/%Y  %H:%M:%S", second},
           {"11/25/2026 10:30:07 PM", "%m/%d/%Y %I:%M:%S %p", second},
           {"11/25/2026 10:30:07pm", "%m/%d/%Y %I:%M:%S%p", second},
           {"20261125T223007Z", "%Y%m%dT%H%M%S%z", second},
           {"2026-11-25 22:30:07.25", "%Y-%m-%d %H:%M:%S.%f", second + 0.25},
           {"2026-11-25 22:30:07,500", "%Y-%m-%d %H:%M:%S,%f", second + 0.5},
           {"26.11.2026 00:30:07 +0200", "%d.%m.%Y %H:%M:%S %z", second},
           {"25.11.2026 17:00:07-05:30", "%d.%m.%Y %H:%M:%S%z", second},
           {"25.11.2026 17:30:07-05", "%d.%m.%Y %H:%M:%S%z", second},
           {"Wed Nov 25 22:30:07 UTC 2026", "%a %b %d %H:%M:%S %Z %Y", second},
           {"25.11.2026 22:30:07 GMT", "%d.%m.%Y %H:%M:%S %Z", second}}) {
    EXPECT_EQ(cohort::detail::mistake_in_time_format(format), "") << format;
    EXPECT_EQ(parse_time(text, format), time) << text << ", " << format;
  }
}

TEST(time_text, reads_parts_of_dates_and_limits) {
  EXPECT_EQ(parse_time("1/2/1970", "%d/%m/%Y"), 31 * 86400);
  EXPECT_EQ(parse_time("1/2/1970", "%m/%d/%Y"), 86400);
  EXPECT_EQ(parse_time("Feb 1970", "%b %Y"), 31 * 86400);
  EXPECT_EQ(parse_time("1971", "%Y"), 365 * 86400);
  EXPECT_EQ(parse_time("01.01.68", "%d.%m.%y"), parse_time("2068-01-01"));
  EXPECT_EQ(parse_time("01.01.69", "%d.%m.%y"), -365 * 86400);
  EXPECT_EQ(parse_time("366 2024", "%j %Y"), parse_time("2024-12-31"));
  EXPECT_EQ(parse_time("1.1.1970 12 AM", "%d.%m.%Y %I %p"), 0);
  EXPECT_EQ(parse_time("1.1.1970 12 pm", "%d.%m.%Y %I %p"), 12 * 3600);
  EXPECT_EQ(parse_time("1.1.1970 1 AM", "%d.%m.%Y %I %p"), 3600);
  EXPECT_EQ(parse_time("2016-12-31 23:59:60", "%Y-%m-%d %H:%M:%S"), 1483228800);
}

TEST(time_text, refuses_texts_in_another_format) {
  for (auto const& [text, format] : std::initializer_list<std::pair<char const*, char const*>>{
           {"31/12/2024", "%m/%d/%Y"},
           {"31/12/2024", "%d.%m.%Y"},
           {"31/12/24", "%d/%m/%Y"},
           {"31/12/2024", "%d/%m/%y"},
           {"31/12/4", "%d/%m/%y"},
           {"31/12/2024 ", "%d/%m/%Y"},
           {"31/12/2024 10:00", "%d/%m/%Y"},
           {"31/12/2024", "%d/%m/%Y %H:%M"},
           {"29.02.2023", "%d.%m.%Y"},
           {"31.04.2024", "%d.%m.%Y"},
           {"00.04.2024", "%d.%m.%Y"},
           {"01.00.2024", "%d.%m.%Y"},
           {"366 2023", "%j %Y"},
           {"0 2023", "%j %Y"},
           {"2024123", "%Y%m%d"},
           {"2024 12 31", "%Y%m%d"},
           {"3112024", "%d%m%Y"},
           {"Dez 31, 2024", "%b %d, %Y"},
           {"31.12.2024 0:30 PM", "%d.%m.%Y %I:%M %p"},
           {"31.12.2024 13:30 PM", "%d.%m.%Y %I:%M %p"},
           {"31.12.2024 24:00", "%d.%m.%Y %H:%M"},
           {"31.12.2024 10:60", "%d.%m.%Y %H:%M"},
           {"31.12.2024 10:30:61", "%d.%m.%Y %H:%M:%S"},
           {"31.12.2024 10:30:10.", "%d.%m.%Y %H:%M:%S.%f"},
           {"31.12.2024 10:30:10.1234567890", "%d.%m.%Y %H:%M:%S.%f"},
           {"31.12.2024 10:30 +1", "%d.%m.%Y %H:%M %z"},
           {"31.12.2024 10:30 +01:60", "%d.%m.%Y %H:%M %z"},
           {"31.12.2024 10:30 +01:", "%d.%m.%Y %H:%M %z"},
           {"31.12.2024 10:30 0100", "%d.%m.%Y %H:%M %z"},
           {"31.12.2024 10:30 CET", "%d.%m.%Y %H:%M %Z"},
           {"31.12.2024 10:30", "%d.%m.%Y  %H:%M %Z"},
           {"-1.12.2024", "%d.%m.%Y"},
           {"", "%Y"},
           {"31.12.202", "%d.%m.%Y"}})
    EXPECT_EQ(parse_time(text, format), std::nullopt) << text << ", " << format;
}

TEST(time_text, describes_the_mistake_in_a_format) {
  using cohort::detail::mistake_in_time_format;
  for (auto const& [format, mistake] : std::initializer_list<std::pair<char const*, char const*>>{
           {"%d/%m", "no year (%Y or %y)"},
           {"2024", "no year (%Y or %y)"},
           {"%d/%m/%Q", "the unknown directive \"%Q\" at character 7"},
           {"%Y-%", "the unknown directive \"%\" at character 4"},
           {"%d/%m/%Y %m", "%m and %m"},
           {"%d/%m/%Y %y", "%Y and %y"},
           {"%j/%m/%Y", "a month and %j, the day of the year"},
           {"%d %Y", "a day (%d) without a month (%m or %b)"},
           {"%Y-%m-%d %I:%M", "%I without %p (AM or PM)"},
           {"%Y-%m-%d %H:%M %p", "%p without %I"},
           {"%Y-%M-%d", "a day (%d) without a month (%m or %b)"},
           {"%Y-%M", "%M, minutes, without an hour (%H or %I); the month is %m"},
           {"%Y %H %S", "%S, seconds, without %M, minutes"},
           {"%Y %H:%M.%f", "%f without %S"},
           {"%Y%%%%", ""}})
    EXPECT_EQ(mistake_in_time_format(format), mistake) << format;
}

TEST(time_text, finds_formats_of_a_text) {
  using cohort::detail::time_formats_of;
  using formats = std::vector<std::string>;
  EXPECT_EQ(time_formats_of("03/04/2024"), (formats{"%d/%m/%Y", "%m/%d/%Y"}));
  EXPECT_EQ(time_formats_of("31/12/2024"), formats{"%d/%m/%Y"});
  EXPECT_EQ(time_formats_of("12/31/2024 10:30 PM"), formats{"%m/%d/%Y %I:%M %p"});
  EXPECT_EQ(time_formats_of("31.12.2024 10:30:00.5 +0100"), formats{"%d.%m.%Y %H:%M:%S.%f %z"});
  EXPECT_EQ(time_formats_of("Dec 31, 2024"), formats{"%b %d, %Y"});
  EXPECT_EQ(time_formats_of("Tue, 31 Dec 2024 10:30:00 GMT"), formats{"%a, %d %b %Y %H:%M:%S %Z"});
  EXPECT_EQ(time_formats_of("2024-12-31 10:30 PM"), formats{"%Y-%m-%d %I:%M %p"});
  EXPECT_EQ(time_formats_of("01/02/03"), (formats{"%d/%m/%y", "%m/%d/%y"}));
  EXPECT_TRUE(time_formats_of("32/12/2024").empty());
  EXPECT_TRUE(time_formats_of("soon").empty());
}

}  // namespace time_text_test
