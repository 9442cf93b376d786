// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <concepts>
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

/// The pieces one after another. One function for all texts: chains of `+` would be compiled anew at each place.
[[gnu::cold, gnu::noinline]] std::string text_of(std::initializer_list<text_piece> pieces);

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/error/impl/text.ipp>
#endif
