// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cohort/communicator/communicator.hpp>
#include <cstddef>

namespace cohort::detail {

/// An allreduce that goes in two halves where it is large: while the messages of one turn round, links carry the other. Whole where
/// it lies on a device.
///
/// Order     start, wait; again and again.
/// Source    measured, 1.77 MB over four hosts at 100 Mbit/s: whole 260 ms, in halves 223, in quarters 232; the link's bound is 214.
class split_allreduce {
 public:
  static constexpr std::size_t max_unsplit_bytes = std::size_t{1} << 20;  // bytes

  void start(communicator& world, elements all);
  /// Returns when both were complete.
  std::chrono::steady_clock::time_point wait();

 private:
  request halves_[2];
};

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/strategy/impl/split_allreduce.ipp>
#endif
