// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/codec/residual_simd.hpp>
#include <cohort/strategy/detail/weighted_sum.hpp>
#include <cstring>
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
  void run(communicator& world, step_info const& now, std::span<float> mine, agreement& agreed) {
    votes own = now.mine;
    own.not_finite |= !within_range(best_isa(), mine);
    if (!sum_) sum_.emplace(element_type::f32, mine.size(), true);
    if (!own.not_finite) std::memcpy(sum_->data(), mine.data(), sum_->bytes());
    sum_->start(world, {now.examples, 1}, 1, own);
    sum_->wait();
    agreed = sum_->voted(agreed.meetings + 1);
    if (agreed.all.not_finite)
      std::fill(mine.begin(), mine.end(), 0.0F);
    else
      std::memcpy(mine.data(), sum_->data(), sum_->bytes());
  }
  void end() { sum_.reset(); }

 private:
  std::optional<weighted_sum> sum_;
};

}  // namespace cohort::detail
