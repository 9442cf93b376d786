// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>

namespace cohort::detail {

/// An argument of text_of: text, a character or a number.
struct text_piece {
  enum class piece_type : unsigned char { text, character, signed_integer, unsigned_integer, real, f32 };

  text_piece(char const* t) : text(t), type(piece_type::text) {}
  text_piece(std::string_view t) : text(t), type(piece_type::text) {}
  text_piece(std::string const& t) : text(t), type(piece_type::text) {}
  text_piece(char c) : signed_integer(c), type(piece_type::character) {}
  text_piece(std::signed_integral auto number) : signed_integer(number), type(piece_type::signed_integer) {}
  text_piece(std::unsigned_integral auto number)
      : unsigned_integer(number), type(piece_type::unsigned_integer) {}
  text_piece(double number) : real(number), type(piece_type::real) {}
  text_piece(float number) : real(number), type(piece_type::f32) {}

  union {
    std::string_view text;
    long long signed_integer;
    unsigned long long unsigned_integer;
    double real;
  };
  piece_type type;
};

/// Concatenates the pieces. Out of line, because chains of `+` would generate code at each call.
std::string text_of(std::initializer_list<text_piece> pieces);

}  // namespace cohort::detail
