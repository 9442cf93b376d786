// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/plan/plan.hpp>
#include <cohort/plan/roofline.hpp>
#include <span>
#include <string>

namespace cohort {

namespace detail {

/// "1.2 MB": powers of ten.
[[gnu::noinline]] std::string in_bytes(double bytes);

}  // namespace detail

/// Kernels as lines; with times, FLOP/s and shares where a profile was taken. With the peaks of who ran them also how near each
/// comes to its roofline: "83 % flops", "71 % bytes", or "cache" where it was faster than memory.
std::string table(std::span<plan_row const> rows, machine_peaks const& peaks = {});

/// "51 kernels run again, 0.9 GFLOP and 1.7 GB moved (9.1 % of a step's), to keep 655.1 MB less", or nothing.
std::string text_of(recomputation_cost const& cost);

/// The plan as text: its kernels, then its memory by kind, and what is recomputed at which price.
std::string table(plan const& p);

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/plan/impl/table.ipp>
#endif
