// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/evaluation/detail/optional_mean.hpp>

namespace cohort::detail {

COHORT_CORE_INLINE void optional_mean::add(std::optional<double> number) {
  if (!number) return;
  sum_ += *number;
  ++count_;
}

COHORT_CORE_INLINE std::optional<double> optional_mean::value() const {
  return count_ > 0 ? std::optional(sum_ / static_cast<double>(count_)) : std::nullopt;
}

}  // namespace cohort::detail
