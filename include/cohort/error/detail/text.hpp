// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <concepts>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>

namespace cohort::detail {

/// A piece of a text that is put together: words or a number.
struct text_piece {
  enum class form : unsigned char { words, character, whole, natural, real };

  text_piece(char const* text) : words(text), is(form::words) {}
  text_piece(std::string_view text) : words(text), is(form::words) {}
  text_piece(std::string const& text) : words(text), is(form::words) {}
  text_piece(char one) : whole(one), is(form::character) {}
  text_piece(std::signed_integral auto number) : whole(number), is(form::whole) {}
  text_piece(std::unsigned_integral auto number) : natural(number), is(form::natural) {}
  text_piece(double number) : real(number), is(form::real) {}

  union {
    std::string_view words;
    long long whole;
    unsigned long long natural;
    double real;
  };
  form is;
};

/// As few digits as tell the number from every other: "0.02", "1e-08".
[[gnu::cold, gnu::noinline]] inline std::string text_of_real(double number) {
  char text[32];
  for (int digits : {6, 15, 17}) {
    std::snprintf(text, sizeof text, "%.*g", digits, number);
    if (std::strtod(text, nullptr) == number) break;
  }
  return text;
}

/// The pieces one after another. One function for all texts: chains of `+` would be compiled anew at each place.
[[gnu::cold, gnu::noinline]] inline std::string text_of(std::initializer_list<text_piece> pieces) {
  std::string text;
  for (text_piece const& piece : pieces) switch (piece.is) {
      case text_piece::form::words:
        text += piece.words;
        break;
      case text_piece::form::character:
        text += static_cast<char>(piece.whole);
        break;
      case text_piece::form::whole:
        text += std::to_string(piece.whole);
        break;
      case text_piece::form::natural:
        text += std::to_string(piece.natural);
        break;
      case text_piece::form::real:
        text += text_of_real(piece.real);
        break;
    }
  return text;
}

}  // namespace cohort::detail
