// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/strategy/detail/weighted_sum.hpp>
#include <optional>
#include <span>

namespace cohort::detail {

/// The ranks' arrays themselves, where messages would say less: in the first steps.
///
/// Order     run, collective, in as many steps; then end, which gives the memory back.
class dense_exchange {
 public:
  /// After     `mine` is the sum of all ranks', the same bits on each of them; zeros where a rank's numbers are not finite or
  ///           out of range.
  /// Moves     an allreduce.
  void run(communicator& world, step_info const& now, std::span<float> mine, agreement& agreed);
  void end() { sum_.reset(); }

 private:
  std::optional<weighted_sum> sum_;
};

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/strategy/impl/dense_exchange.ipp>
#endif
