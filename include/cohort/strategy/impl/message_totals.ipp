// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/strategy/detail/message_totals.hpp>

namespace cohort::detail {

COHORT_CORE_INLINE void message_totals::add(message_report const& last) {
  threshold_ = last.largest_threshold;
  density_ = last.density();
  sent_ += static_cast<double>(last.sent);
  bytes_ += static_cast<double>(last.bytes);
  dense_bytes_ += static_cast<double>(sizeof(float) * last.elements);
  entropy_bytes_ += last.entropy_bytes();
  clipped_mass_ += last.clipped_mass;
}

COHORT_CORE_INLINE void message_totals::add_dense(std::size_t elements) {
  auto const bytes = static_cast<double>(sizeof(float) * elements);
  density_ = 1;
  sent_ += static_cast<double>(elements);
  bytes_ += bytes;
  dense_bytes_ += bytes;
  entropy_bytes_ += bytes;
}

COHORT_CORE_INLINE std::vector<measurement> message_totals::report() const {
  return {{"threshold", threshold_},
          {"density", density_},
          {"sent_elements", sent_, true},
          {"message_bytes", bytes_, true},
          {"dense_bytes", dense_bytes_, true},
          {"entropy_bytes", entropy_bytes_, true},
          {"clipped_mass", clipped_mass_, true}};
}

}  // namespace cohort::detail
