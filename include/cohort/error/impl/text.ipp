// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/error/detail/text.hpp>
#include <cstdio>
#include <cstdlib>

namespace cohort::detail {

/// Returns the number with 6, 15 or 17 digits, the fewest that read back as the same double: "0.02", "1e-08".
[[gnu::cold, gnu::noinline]] COHORT_CORE_INLINE std::string text_of_real(double number) {
  char text[32];
  for (int digits : {6, 15, 17}) {
    std::snprintf(text, sizeof text, "%.*g", digits, number);
    if (std::strtod(text, nullptr) == number) break;
  }
  return text;
}

[[gnu::cold, gnu::noinline]] COHORT_CORE_INLINE std::string text_of(
    std::initializer_list<text_piece> pieces) {
  std::string text;
  for (text_piece const& piece : pieces) switch (piece.type) {
      case text_piece::piece_type::text:
        text += piece.text;
        break;
      case text_piece::piece_type::character:
        text += static_cast<char>(piece.signed_integer);
        break;
      case text_piece::piece_type::signed_integer:
        text += std::to_string(piece.signed_integer);
        break;
      case text_piece::piece_type::unsigned_integer:
        text += std::to_string(piece.unsigned_integer);
        break;
      case text_piece::piece_type::real:
        text += text_of_real(piece.real);
        break;
    }
  return text;
}

}  // namespace cohort::detail
