// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/strategy/strategy.hpp>
#include <cstdint>
#include <span>
#include <string>

namespace cohort {

/// Formats the difference of two reports of a strategy, `steps` steps apart, as one line: "1.2 MB of 271.1 MB
/// dense (0.44 %), entropy bound 1.1 MB; threshold 0.0012, density 0.1 %; residual norm 0.81; encode 0.300
/// ms, transfer 2.10 ms, apply 0.200 ms a step, 80 % hidden behind compute". The text is empty if there are
/// no measurements.
///
/// Units     bytes: sent by this rank in the interval. Density: mean of the interval if the strategy counts
///           the sent elements, else the current value. Threshold and residual norm: current values. With an
///           empty `before`, the interval begins with the run.
/// After     a measurement with an unknown name is printed with its name.
std::string exchange_text(std::span<measurement const> now, std::span<measurement const> before,
                          std::int64_t steps);

/// Costs of some steps of a rank.
///
/// Units     seconds, bytes and messages are sums over all `steps`; `exchange_seconds`: as in step_report.
///           `selects`: whether the strategy already sends only a selection of the elements.
struct interval_cost {
  double steps = 0;
  double compute_seconds = 0;
  double exchange_seconds = 0;
  double bytes = 0;
  double messages = 0;
  bool selects = false;
};

/// Returns a warning if the exchange takes longer than compute, with the cause and the gain of exchanging
/// less: "the exchange takes longer than compute: 12.3 ms a step …". Otherwise empty.
///
/// Units     the cause is latency if the messages' mean size is below latency_equivalent_bytes, otherwise
///           bandwidth. route::by_size uses the same constant.
std::string exchange_warning(interval_cost const& of);

}  // namespace cohort
