// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/execution/isa.hpp>
#include <cstddef>

namespace cohort {

/// Returns whether all n elements are finite. Tests bit patterns, so it also works with -ffast-math.
///
/// Before    `which` is at most machine_isa(); T is float or double. For T = double, `which` is ignored.
template <class T>
bool all_finite(isa which, T const* x, std::size_t n);

/// Sums arrays element by element: dst = parts[0] + parts[1] + …, added in this order.
///
/// Before    count ≥ 1; dst is one of the parts or overlaps none; `which` is at most machine_isa().
/// Exact     the same bits on every instruction set and for every partition of the range.
/// Cost      memory traffic of (count + 1)·n elements.
template <class T>
void sum_parts(isa which, T* dst, T const* const* parts, int count, std::size_t n);

}  // namespace cohort
