// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/text/detail/unicode.hpp>
#include <iterator>

namespace cohort::detail {

struct code_range {
  char32_t first;
  char32_t last;
};

#include <cohort/text/detail/unicode_ranges.inc>

utf8_character utf8_at(std::string_view text, std::size_t at) {
  auto const byte = [&](std::size_t k) { return static_cast<unsigned char>(text[at + k]); };
  unsigned const first = byte(0);
  if (first < 0x80) return {first, 1};
  std::size_t const bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() - at < bytes) return {};
  char32_t code = first & (0x7fU >> bytes);
  for (std::size_t k = 1; k < bytes; ++k) {
    if ((byte(k) & 0xc0U) != 0x80) return {};
    code = code << 6 | (byte(k) & 0x3fU);
  }
  char32_t const least = bytes == 2 ? 0x80 : bytes == 3 ? 0x800 : 0x10000;
  if (code < least || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {};
  return {code, bytes};
}

std::string utf8_of(char32_t code) {
  if (code < 0x80) return {static_cast<char>(code)};
  std::string made;
  int const following = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  unsigned const marks[] = {0xc0, 0xe0, 0xf0};
  made += static_cast<char>(marks[following - 1] | static_cast<unsigned>(code >> (6 * following)));
  for (int k = following - 1; k >= 0; --k)
    made += static_cast<char>(0x80U | (static_cast<unsigned>(code >> (6 * k)) & 0x3fU));
  return made;
}

character_class class_of(char32_t code) {
  auto const within = [code](auto const& ranges) {
    auto const after = std::upper_bound(std::begin(ranges), std::end(ranges), code,
                                        [](char32_t c, code_range const& r) { return c < r.first; });
    return after != std::begin(ranges) && code <= std::prev(after)->last;
  };
  static constexpr code_range spaces[] = {
      {0x9, 0xd},       {0x20, 0x20},     {0x85, 0x85},     {0xa0, 0xa0},     {0x1680, 0x1680},
      {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}};
  if (within(letter_ranges)) return character_class::letter;
  if (within(number_ranges)) return character_class::number;
  return within(spaces) ? character_class::space : character_class::other;
}

std::size_t first_word(std::string_view text) {
  if (text[0] == '\'')
    for (std::string_view const ending : {"s", "t", "re", "ve", "m", "ll", "d"})
      if (text.substr(1).starts_with(ending)) return 1 + ending.size();

  struct classified {
    character_class what;
    std::size_t bytes;
  };
  auto const at = [&](std::size_t place) -> classified {
    utf8_character const one = utf8_at(text, place);
    return one.bytes == 0 ? classified{character_class::other, 1} : classified{class_of(one.code), one.bytes};
  };
  std::size_t const begin = text[0] == ' ' && text.size() > 1 ? 1 : 0;
  classified const leading = at(begin);
  if (leading.what != character_class::space) {
    std::size_t end = begin + leading.bytes;
    while (end < text.size()) {
      classified const next = at(end);
      if (next.what != leading.what) break;
      end += next.bytes;
    }
    return end;
  }
  // White space. If several white-space characters precede another character, the last one is excluded,
  // because it may be the space that begins the next word.
  std::size_t end = 0, last = 0;
  while (end < text.size()) {
    classified const next = at(end);
    if (next.what != character_class::space) return last > 0 ? last : end;
    last = end;
    end += next.bytes;
  }
  return end;
}

}  // namespace cohort::detail
