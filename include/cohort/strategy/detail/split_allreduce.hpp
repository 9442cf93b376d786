// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/detail/chrono.hpp>
#include <cstddef>

namespace cohort::detail {

/// An allreduce in two halves if the array is large: the links transfer one half during the latency of the
/// other. An array on a device is not split.
///
/// Order     start, wait; repeatedly.
/// Source    measured, 1.77 MB over four hosts at 100 Mbit/s: unsplit 260 ms, halves 223 ms, quarters 232 ms;
///           the bound of the link is 214 ms.
class split_allreduce {
 public:
  static constexpr std::size_t max_unsplit_bytes = std::size_t{1} << 20;

  void start(communicator& world, elements all);
  /// Waits for both halves. Returns the time of their completion.
  std::chrono::steady_clock::time_point wait();

 private:
  pending_operation halves_[2];
};

}  // namespace cohort::detail
