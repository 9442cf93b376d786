// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/plan/plan.hpp>
#include <cohort/plan/roofline.hpp>
#include <span>
#include <string>

namespace cohort {

/// A profile's rows as a trace for chrome://tracing or Perfetto: one step, put together from the mean times
/// of its kernels, one after another in the rows' order; forward and backward on a track each.
///
/// Units     `ts` and `dur` in microseconds. A row without calls has the duration 0. With the peaks of who ran them kernels have
///           "roofline", the share of what bounds them, and "bound": arithmetic or memory.
/// Errors    as json_writer.
/// Source    Trace Event Format, complete events ("X").
std::string chrome_trace(std::span<plan_row const> rows, machine_peaks const& peaks = {});

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/trainer/impl/chrome_trace.ipp>
#endif
