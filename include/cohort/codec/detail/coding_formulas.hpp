// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cohort::detail {

/// rice_parameter(count, length): the Rice parameter of a block of `length` elements of which `count` are sent, known to both
/// sides without being said.  Before: 1 ≤ count ≤ length.
///
/// For independent elements of density d the best is the first k with (1 − d)^(2^k) below 0.618, the golden section, where a
/// code of parameter k + 1 gets longer; ln(1/(1 − d)) is taken for d + d²/2. From 1 on: with 0 a bitmap is as small.
/// Source    Rice, JPL 79-22 (1979); Kiely, IPN Progress Report 42-159 (2004).
///
/// cut_multiple(pattern): of a double, cut to 16 significant bits.
///
/// place_of_run(key, k, stride, run): where the k-th of a sample's runs of neighbours begins, in [k·stride, (k+1)·stride − run].
#define COHORT_FORMULA(...) __VA_ARGS__
#include <cohort/codec/detail/coding_formulas.inc>
#undef COHORT_FORMULA

}  // namespace cohort::detail
