// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/io/detail/underflow.hpp>
#include <cstdint>

namespace cohort::detail {

bool underflows(std::string_view number) {
  std::size_t const e = std::min(number.find_first_of("eE"), number.size());
  std::string_view const mantissa = number.substr(0, e);
  std::size_t const point = std::min(mantissa.find('.'), mantissa.size());
  std::size_t const first = mantissa.find_first_of("123456789");
  if (first == std::string_view::npos) return true;
  auto const leading = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first);
  bool const down = e + 1 < number.size() && number[e + 1] == '-';
  std::int64_t power = 0;
  for (char const c : number.substr(e))
    if (c >= '0' && c <= '9') power = std::min<std::int64_t>(power * 10 + (c - '0'), std::int64_t{1} << 40);
  return leading + (down ? -power : power) < 0;
}

}  // namespace cohort::detail
