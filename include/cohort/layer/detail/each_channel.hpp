// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/tensor/shape.hpp>
#include <cstddef>

namespace cohort::detail {

/// Calls visit(n, c, first, area) for each channel c of each example n. Its `area` elements begin at `first`.
///
/// Before    the shape has at least one extent; the first is the number of channels.
template <class Visit>
void each_channel(int batch, shape const& s, Visit visit) {
  int const channels = s[0];
  std::size_t const area = static_cast<std::size_t>(s.elements() / channels);
  std::size_t first = 0;
  for (int n = 0; n < batch; ++n)
    for (int c = 0; c < channels; ++c, first += area) visit(n, c, first, area);
}

}  // namespace cohort::detail
