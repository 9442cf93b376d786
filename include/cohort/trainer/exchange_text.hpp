// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/strategy/strategy.hpp>
#include <cstdint>
#include <span>
#include <string>

namespace cohort {

/// What a strategy has measured between two of its reports, `steps` apart, as one line for the user:
/// "1.2 MB of 271.1 MB dense (0.44 %), entropy bound 1.1 MB; threshold 0.0012, density 0.1 %; residual norm 0.81; encode 0.300 ms,
/// transfer 2.10 ms, apply 0.200 ms a step, 80 % hidden behind compute". Empty where there is nothing to say.
///
/// Units     bytes are those of the interval, as this rank has given them into the exchange; density its mean, where elements are
///           counted, threshold and residual norm as they are now. `before` may be empty: since the beginning.
/// After     a measurement whose name is not known here is said by its name.
[[gnu::cold, gnu::noinline]] std::string exchange_text(std::span<measurement const> now,
                                                       std::span<measurement const> before,
                                                       std::int64_t steps);

/// What some steps of a rank came to.
///
/// Units     seconds, bytes and messages of all `steps`; `exchange_seconds` as in step_report; `selects`: what is sent is a selection
///           of elements already.
struct interval_cost {
  double steps = 0;
  double compute_seconds = 0;
  double exchange_seconds = 0;
  double bytes = 0;
  double messages = 0;
  bool selects = false;
};

/// Why ranks would do better to exchange less, and by what: "the exchange outlasts the step: 12.3 ms of it, …". Empty where they
/// compute longer than they wait for each other.
///
/// Units     latency or bytes is judged by the messages' size alone, latency_equivalent_bytes as in route::by_size.
[[gnu::cold, gnu::noinline]] std::string exchange_warning(interval_cost const& of);

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/trainer/impl/exchange_text.ipp>
#endif
