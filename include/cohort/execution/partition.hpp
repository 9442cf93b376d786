// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>

namespace cohort {

/// The indices first, first + 1, …, first + count − 1.
struct index_slice {
  std::int64_t first = 0;
  std::int64_t count = 0;
  bool operator==(index_slice const&) const = default;
};

/// Part `which` of `parts` contiguous parts of a slice, as equal as possible.
///
/// Exact     the first (count mod parts) parts have one index more.
constexpr index_slice part_of(index_slice whole, int which, int parts) {
  std::int64_t const share = whole.count / parts;
  std::int64_t const longer = whole.count % parts;
  return {whole.first + which * share + std::min<std::int64_t>(which, longer),
          share + (which < longer ? 1 : 0)};
}

}  // namespace cohort
