// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/execution/isa.hpp>
#include <cohort/plan/roofline.hpp>
#include <cstdint>

namespace cohort {

namespace detail {

/// Runs multiply-adds in registers with the widest vectors of `which`; returns the number of operations.
double multiply_and_add([[maybe_unused]] isa which, float* out, std::int64_t rounds);

}  // namespace detail

/// Measures the peak rates of `threads` threads together, in about a quarter of a second: multiply-adds in
/// registers, and r += g on arrays larger than any cache.
///
/// Exact     the result is the best of several rounds. Load by other processes reduces it.
/// Cost      256 MB of memory during the measurement.
machine_peaks measure_peaks(int threads);

}  // namespace cohort
