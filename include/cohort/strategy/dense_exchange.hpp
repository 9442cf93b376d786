// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/codec/residual_pass.hpp>
#include <cohort/strategy/weighted_sum.hpp>
#include <cstring>
#include <span>

namespace cohort::detail {

/// The ranks' arrays themselves, where messages would say less.
///
/// Order     collective.
/// After     `mine` is the sum of all ranks', the same bits on each of them; zeros where a rank's numbers are not finite or
///           out of range.
/// Moves     an allreduce.
inline void sum_densely(communicator& world, step_info const& now, std::span<float> mine, agreement& agreed) {
  votes own = now.mine;
  own.not_finite |= !within_range(best_isa(), mine);
  weighted_sum sum(element_type::f32, mine.size(), true);
  if (!own.not_finite) std::memcpy(sum.data(), mine.data(), sum.bytes());
  sum.start(world, {now.examples, 1}, 1, own);
  sum.wait();
  agreed = sum.voted(agreed.meetings + 1);
  if (agreed.all.not_finite)
    std::fill(mine.begin(), mine.end(), 0.0F);
  else
    std::memcpy(mine.data(), sum.data(), sum.bytes());
}

}  // namespace cohort::detail
