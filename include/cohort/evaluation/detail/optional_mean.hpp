// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cstdint>
#include <optional>

namespace cohort::detail {

/// Mean of the numbers that are not nullopt.
class optional_mean {
 public:
  void add(std::optional<double> number);
  std::optional<double> value() const;

 private:
  double sum_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace cohort::detail
