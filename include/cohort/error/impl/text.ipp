// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/error/detail/text.hpp>
#include <cstdio>
#include <cstdlib>

namespace cohort::detail {

/// As few digits as tell the number from every other: "0.02", "1e-08".
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
