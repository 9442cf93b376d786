// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/codec/residual_simd.hpp>
#include <cohort/detail/config.hpp>
#include <cohort/strategy/detail/dense_exchange.hpp>
#include <cstring>

namespace cohort::detail {

COHORT_CORE_INLINE void dense_exchange::run(communicator& world, step_info const& now, std::span<float> mine,
                                            agreement& agreed) {
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

}  // namespace cohort::detail
