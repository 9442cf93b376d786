// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cohort::detail {

/// rice_parameter(count, length): the Rice parameter of a block of `length` elements of which `count` are
/// sent. The writer and the reader both compute this parameter, so messages do not contain it. For
/// independent elements of density d the best k is the first with (1 − d)^(2^k) < 0.618 (the inverse golden
/// ratio); ln(1/(1 − d)) is approximated by d + d²/2. k is at least 1: where k = 0 would be best, the bitmap
/// format is not larger.
///
/// Before    1 ≤ count ≤ length.
/// Source    Rice, JPL 79-22 (1979); Kiely, IPN Progress Report 42-159 (2004).
///
/// cut_multiple(pattern): truncates a double, given as its bit pattern, to 16 significant bits.
///
/// place_of_run(key, k, stride, run): index of the first element of a sample's k-th run of consecutive
/// elements, in [k·stride, (k + 1)·stride − run].
#define COHORT_FORMULA(...) __VA_ARGS__
#include <cohort/codec/detail/coding_formulas.inc>
#undef COHORT_FORMULA

}  // namespace cohort::detail
