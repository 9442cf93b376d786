// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/tensor/shape.hpp>
#include <cstddef>

namespace cohort::detail {

/// Calls visit(c, first, area) for each channel c of each example, or of each step of a sequence T×C. The
/// channel's `area` elements begin at `first`.
///
/// Before    the shape has at least one extent.
template <class Visit>
void each_channel(int batch, shape const& s, Visit visit) {
  int const channels = channels_of(s);
  std::int64_t const rows = std::int64_t{batch} * (s.rank == 2 ? s[0] : 1);
  std::size_t const area = s.rank == 2 ? 1 : static_cast<std::size_t>(s.elements() / channels);
  std::size_t first = 0;
  for (std::int64_t row = 0; row < rows; ++row)
    for (int c = 0; c < channels; ++c, first += area) visit(c, first, area);
}

}  // namespace cohort::detail
