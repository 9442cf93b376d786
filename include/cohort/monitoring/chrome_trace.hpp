// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/monitoring/detail/implementation.hpp>
#include <cohort/plan/plan.hpp>
#include <cohort/plan/roofline.hpp>
#include <span>
#include <string>

namespace cohort {

/// Converts a profile's rows to a trace for chrome://tracing or Perfetto.
///
/// The trace shows one step: the kernels' mean times, in the order of the rows. Forward and backward have one
/// track each.
///
/// Units     `ts` and `dur` are in microseconds. A row without calls has the duration 0. If `peaks` is given,
///           each kernel has "roofline" (the achieved fraction of its roofline bound) and "bound" (arithmetic
///           or memory).
/// Errors    those of json_writer.
/// Source    Trace Event Format, complete events ("X").
std::string chrome_trace(std::span<plan_row const> rows, machine_peaks const& peaks = {});

}  // namespace cohort
