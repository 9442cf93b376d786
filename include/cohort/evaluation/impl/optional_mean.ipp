// SPDX-License-Identifier: Apache-2.0
#include <cohort/evaluation/detail/optional_mean.hpp>

namespace cohort::detail {

void optional_mean::add(std::optional<double> number) {
  if (!number) return;
  sum_ += *number;
  ++count_;
}

std::optional<double> optional_mean::value() const {
  return count_ > 0 ? std::optional(sum_ / static_cast<double>(count_)) : std::nullopt;
}

}  // namespace cohort::detail
