// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>

namespace cohort {

/// A range of indices: first, first + 1, …, first + count − 1.
struct index_slice {
  std::int64_t first = 0;
  std::int64_t count = 0;
  bool operator==(index_slice const&) const = default;
};

/// Splits a slice into `parts` contiguous parts of nearly equal size and returns part `which`.
///
/// Exact     the first (count mod parts) parts have one index more than the others.
constexpr index_slice part_of(index_slice whole, int which, int parts) {
  std::int64_t const size = whole.count / parts;
  std::int64_t const longer = whole.count % parts;
  return {whole.first + which * size + std::min<std::int64_t>(which, longer),
          size + (which < longer ? 1 : 0)};
}

}  // namespace cohort
