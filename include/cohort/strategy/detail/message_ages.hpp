// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/strategy/strategy.hpp>
#include <cstdint>
#include <string_view>
#include <vector>

namespace cohort::detail {

/// How many steps old messages were when they were taken: how many there were of each age.
///
/// Units     steps of the rank that takes it behind those of its sender; 0 also where the sender is ahead.
class message_ages {
 public:
  void add(std::int64_t age);
  std::int64_t largest() const { return largest_; }
  std::int64_t messages() const;
  void tell(std::vector<measurement>& to) const;

 private:
  static constexpr std::array<std::string_view, 7> names{
      "staleness_0",      "staleness_1",       "staleness_2",      "staleness_3_to_4",
      "staleness_5_to_8", "staleness_9_to_16", "staleness_from_17"};
  std::array<std::int64_t, names.size()> counts_{};
  std::int64_t largest_ = 0;
};

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/strategy/impl/message_ages.ipp>
#endif
