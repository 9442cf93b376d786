// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/execution/isa.hpp>
#include <cohort/plan/roofline.hpp>
#include <cstdint>

namespace cohort {

namespace detail {

double multiply_and_add([[maybe_unused]] isa which, float* out, std::int64_t rounds);

}  // namespace detail

/// Measures what so many threads reach together, in a quarter of a second: multiply-adds in registers, and r += g on arrays that
/// no cache holds.
///
/// Moves     256 MB of memory while it runs.
/// Exact     the best of some rounds: what others take from the processors meanwhile is missing.
machine_peaks measure_peaks(int threads);

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/plan/impl/machine_peaks.ipp>
#endif
