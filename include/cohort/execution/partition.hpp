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

namespace detail {

/// Like part_of, but the bounds of the parts are multiples of `grain` after the first index, except the end
/// of the slice.
constexpr index_slice aligned_part_of(index_slice whole, int which, int parts, std::int64_t grain) {
  index_slice const grains = part_of({0, (whole.count + grain - 1) / grain}, which, parts);
  std::int64_t const first = std::min(grains.first * grain, whole.count);
  return {whole.first + first, std::min((grains.first + grains.count) * grain, whole.count) - first};
}

}  // namespace detail

}  // namespace cohort
