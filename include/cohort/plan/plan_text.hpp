// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/plan/plan.hpp>
#include <cohort/plan/roofline.hpp>
#include <span>
#include <string>

namespace cohort {

namespace detail {

/// Formats bytes in powers of ten: "1.2 MB".
std::string in_bytes(double bytes);

}  // namespace detail

/// Formats kernels as lines. With a profile, adds times, FLOP/s and shares of the total time. With the peaks
/// of the workers, also adds the fraction of the roofline: "83 % flops", "71 % bytes", or "cache" if the
/// kernel was faster than the memory bandwidth allows.
std::string text_of(std::span<plan_row const> rows, machine_peaks const& peaks = {});

/// Formats the cost: "51 kernels run again, 0.9 GFLOP and 1.7 GB moved (9.1 % of the step's bytes), to save
/// 655.1 MB". "" if nothing is recomputed.
std::string text_of(recomputation_cost const& cost);

/// Formats a plan: its kernels, its memory by kind, and the cost of recomputation.
std::string text_of(plan const& p);

}  // namespace cohort
