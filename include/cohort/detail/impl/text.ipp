// SPDX-License-Identifier: Apache-2.0
#include <cohort/detail/text.hpp>
#include <cstdio>
#include <cstdlib>

namespace cohort::detail {

/// Formats a number with the first digit count in `lengths` that round-trips to the same number: "0.02",
/// "1e-08".
template <class T>
[[gnu::cold, gnu::noinline]] std::string text_of_real(double number, std::initializer_list<int> lengths) {
  char text[32];
  for (int digits : lengths) {
    std::snprintf(text, sizeof text, "%.*g", digits, number);
    if (static_cast<T>(std::strtod(text, nullptr)) == static_cast<T>(number)) break;
  }
  return text;
}

[[gnu::cold, gnu::noinline]] std::string text_of(std::initializer_list<text_piece> pieces) {
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
        text += text_of_real<double>(piece.real, {6, 15, 17});
        break;
      case text_piece::piece_type::f32:
        text += text_of_real<float>(piece.real, {6, 7, 8, 9});
        break;
    }
  return text;
}

}  // namespace cohort::detail
