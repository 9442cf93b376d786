// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>

namespace cohort::detail {

/// The mean of the numbers that exist.
class optional_mean {
 public:
  void add(std::optional<double> number) {
    if (!number) return;
    sum_ += *number;
    ++count_;
  }
  std::optional<double> value() const {
    return count_ > 0 ? std::optional(sum_ / static_cast<double>(count_)) : std::nullopt;
  }

 private:
  double sum_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace cohort::detail
