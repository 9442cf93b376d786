// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/detail/decimal.hpp>
#include <cohort/detail/build_check.hpp>
#include <string>
#include <string_view>

namespace cohort::detail {

/// Signs in the numbers of a table (table_settings).
struct number_format {
  char decimal = '.';
  char thousands = 0;  // 0: none

  bool is_plain() const { return decimal == '.' && thousands == 0; }

  /// Returns whether a text is a number in this format, and sets `number`. Signs of thousands stand before
  /// groups of three digits, and only before the decimal sign.
  template <class T>
  bool parse(std::string_view text, T& number) const {
    std::string plain;
    if (!is_plain()) {
      if (!make_plain(text, plain)) return false;
      text = plain;
    }
    char const* const end = text.data() + text.size();
    return !text.empty() && parse_decimal(text.data(), end, number) == end;
  }

 private:
  /// Writes a text without signs of thousands, with a decimal point. Returns false if these signs are
  /// misplaced.
  bool make_plain(std::string_view text, std::string& plain) const;
};

}  // namespace cohort::detail
