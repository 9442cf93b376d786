// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

namespace cohort {

/// Sums over all parts of one batch in the middle of a step: those of a rank's workers and of all ranks.
///
/// Order     every part calls sum as often, with as many values, in the same order.
/// After     values are the sums over the parts, the same bits for all.
class batch_sums {
 public:
  virtual void sum(std::span<double> values) = 0;

 protected:
  ~batch_sums() = default;
};

/// How many values a layer sums over the parts of a batch, in training: none but where it asks for them.
struct batch_sum_sizes {
  int forward = 0;
  int backward = 0;
  constexpr bool operator==(batch_sum_sizes const&) const = default;
};

}  // namespace cohort
