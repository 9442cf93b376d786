// SPDX-License-Identifier: Apache-2.0
#include <cohort/data/detail/number_format.hpp>

namespace cohort::detail {

bool number_format::make_plain(std::string_view text, std::string& plain) const {
  std::size_t digits = 0;  // since the last sign of thousands
  bool has_groups = false, is_fraction = false;
  auto const ends_group = [&] { return !has_groups || is_fraction || digits == 3; };
  for (char const sign : text) {
    bool const is_digit = sign >= '0' && sign <= '9';
    if (sign == thousands && sign != 0) {
      if (is_fraction || digits == 0 || (has_groups ? digits != 3 : digits > 3)) return false;
      has_groups = true;
      digits = 0;
      continue;
    }
    if (!is_digit && !ends_group()) return false;
    if (sign == '.' && decimal != '.') return false;
    is_fraction |= !is_digit && sign != '-' && sign != '+';
    digits += is_digit ? 1 : 0;
    plain += sign == decimal ? '.' : sign;
  }
  return ends_group();
}

}  // namespace cohort::detail
