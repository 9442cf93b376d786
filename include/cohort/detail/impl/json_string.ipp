// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/detail/byte_words.hpp>
#include <cohort/detail/json_string.hpp>

namespace cohort::detail {

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned const lead = byte(0);
  if (lead < 0x80) return 1;
  std::size_t const length = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (length == 0 || text.size() < length) return 0;
  // The second byte's range excludes overlong forms, surrogates and values above U+10FFFF (Unicode, table
  // 3-7).
  unsigned const low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  unsigned const high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  return length;
}

std::size_t invalid_utf8_at(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    if (text.size() - at >= 8 && (load_word(text.data() + at) & marks_of_all) == 0) {  // ASCII
      at += 8;
      continue;
    }
    std::size_t const length = utf8_length(text.substr(at));
    if (length == 0) break;
    at += length;
  }
  return at;
}

void append_utf8(std::string& out, std::uint32_t code) {
  auto put = [&](std::uint32_t byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
  auto tail = [&](int shift) { put(0x80 | ((code >> shift) & 0x3f)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | (code >> 6)), tail(0);
  } else if (code < 0x10000) {
    put(0xe0 | (code >> 12)), tail(6), tail(0);
  } else {
    put(0xf0 | (code >> 18)), tail(12), tail(6), tail(0);
  }
}

void append_quoted(std::string& out, std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  out += '"';
  for (char c : text) {
    unsigned const byte = static_cast<unsigned char>(c);
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (byte < 0x20) {
          out += "\\u00";
          out += digits[byte >> 4];
          out += digits[byte & 15];
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

/// Returns the text with '?' in place of invalid bytes and of U+007F to U+009F, cut after `most` characters.
std::string valid_characters(std::string_view text, int most) {
  std::string made;
  for (int count = 0; !text.empty(); ++count) {
    if (count == most) return made + "…";
    std::size_t const length = utf8_length(text);
    std::string_view const one = text.substr(0, length);
    bool const is_control = one == "\x7f" || (one >= "\xc2\x80" && one <= "\xc2\x9f");
    made += length == 0 || is_control ? std::string_view("?") : one;
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return made;
}

std::string quote_for_error(std::string_view text) {
  std::string quoted;
  append_quoted(quoted, valid_characters(text, 60));
  return quoted;
}

std::string make_printable(std::string_view text) {
  std::string made = valid_characters(text, 2000);
  std::ranges::replace_if(
      made, [](unsigned char byte) { return byte < 0x20; }, ' ');
  return made;
}

}  // namespace cohort::detail
