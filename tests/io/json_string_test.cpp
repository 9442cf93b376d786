// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/detail/json_string.hpp>
#include <cstdint>
#include <string>

namespace json_string_test {

namespace detail = cohort::detail;

/// Decodes without range checks on bytes, as an oracle: 0 bytes unless lead, continuation bytes, shortest
/// form and range are all valid.
std::size_t length_by_decoding(std::string const& text) {
  auto byte = [&](std::size_t i) -> std::uint32_t { return static_cast<unsigned char>(text[i]); };
  std::size_t length = 0;
  std::uint32_t code = 0;
  if (byte(0) >> 7 == 0) length = 1, code = byte(0);
  if (byte(0) >> 5 == 6) length = 2, code = byte(0) & 0x1f;
  if (byte(0) >> 4 == 14) length = 3, code = byte(0) & 0x0f;
  if (byte(0) >> 3 == 30) length = 4, code = byte(0) & 0x07;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (byte(i) >> 6 != 2) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  std::uint32_t const lowest[] = {0, 0, 0x80, 0x800, 0x10000};
  bool const surrogate = code >= 0xd800 && code <= 0xdfff;
  return code < lowest[length] || code > 0x10ffff || surrogate ? 0 : length;
}

TEST(json_string, validates_utf8_like_plain_decoding_for_any_first_three_bytes) {
  std::size_t disagreements = 0;
  for (std::uint32_t bits = 0; bits < 1u << 24; ++bits) {
    char const text[] = {static_cast<char>(bits >> 16), static_cast<char>(bits >> 8), static_cast<char>(bits),
                         '\x80'};
    std::string const whole(text, 4);
    // The third byte matters only if the first byte begins a character of three or four bytes.
    if ((bits >> 16) < 0xe0 && (bits & 0xff) != 0x80) continue;
    disagreements += detail::utf8_length(whole) != length_by_decoding(whole);
  }
  EXPECT_EQ(disagreements, 0u);
}

TEST(json_string, encodes_every_character_as_valid_utf8) {
  for (std::uint32_t code = 0; code <= 0x10ffff; ++code) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    std::string text;
    detail::append_utf8(text, code);
    ASSERT_EQ(length_by_decoding(text), text.size()) << code;
    ASSERT_EQ(detail::utf8_length(text), text.size()) << code;
  }
}

TEST(json_string, refuses_a_truncated_character) {
  std::string const whole = "\xf0\x9f\x98\x80";
  for (std::size_t length = 0; length < 4; ++length)
    EXPECT_EQ(detail::utf8_length(whole.substr(0, length)), 0u);
  EXPECT_EQ(detail::utf8_length(whole), 4u);
  EXPECT_EQ(detail::invalid_utf8_at("ab\xc3\xa4\xc3"), 4u);
}

TEST(json_string, escapes_only_required_characters) {
  std::string text;
  detail::append_quoted(text, std::string_view("\"\\/\b\f\n\r\t\0\x1f\x7f\xc3\xa4", 13));
  EXPECT_EQ(text, "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\x7f\xc3\xa4\"");
}

TEST(json_string, prints_hostile_text_shortened_and_as_utf8) {
  EXPECT_EQ(detail::quote_for_error("a\xff\n"), "\"a?\\n\"");
  std::string const shown = detail::quote_for_error(std::string(1000, 'x'));
  EXPECT_EQ(shown, '"' + std::string(60, 'x') + "…\"");
  EXPECT_EQ(detail::quote_for_error("a\x7f\xc2\x80\xc2\x9f\xc2\xa0\xc3\x80"), "\"a???\xc2\xa0\xc3\x80\"")
      << "DEL and the control characters of C1";
}

TEST(json_string, replaces_control_characters_and_shortens_long_messages) {
  EXPECT_EQ(detail::make_printable("\"a\"\nb\x1b\xff\x7f\xc2\x9b."), "\"a\" b ???.");
  EXPECT_EQ(detail::make_printable(std::string(2000, 'x')), std::string(2000, 'x'));
  EXPECT_EQ(detail::make_printable(std::string(5000, 'x')), std::string(2000, 'x') + "…");
}

}  // namespace json_string_test
