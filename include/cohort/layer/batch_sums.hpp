// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

namespace cohort {

/// Sums values over all parts of one batch during a step: over the workers of this rank and over all ranks.
///
/// Order     collective: all parts make the same number of calls, with the same number of values, in the same
///           order.
/// After     `values` contains the sums over the parts, with the same bits on all parts.
class batch_sums {
 public:
  /// Blocks until all parts have called sum().
  virtual void sum(std::span<double> values) = 0;

 protected:
  ~batch_sums() = default;
};

/// Number of values that a layer sums over the parts of a batch in training, per pass; 0 by default.
/// `second_forward`: for a second sum in forward, whose terms may depend on the first sum.
struct batch_sum_sizes {
  int forward = 0;
  int backward = 0;
  int second_forward = 0;
  constexpr bool operator==(batch_sum_sizes const&) const = default;
};

}  // namespace cohort
