// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cohort/strategy/strategy.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace cohort::detail {

/// How many steps old messages were when they were taken: how many there were of each age.
///
/// Units     steps of the rank that takes it behind those of its sender; 0 also where the sender is ahead.
class message_ages {
 public:
  void add(std::int64_t age) {
    largest_ = std::max(largest_, age);
    // 0, 1, 2, 3–4, 5–8, 9–16, more
    auto const bucket =
        age == 0 ? 0U : 1U + static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(age - 1)));
    ++counts_[std::min<std::size_t>(bucket, names.size() - 1)];
  }
  std::int64_t largest() const { return largest_; }
  std::int64_t messages() const {
    std::int64_t sum = 0;
    for (std::int64_t const one : counts_) sum += one;
    return sum;
  }
  void tell(std::vector<measurement>& to) const {
    for (std::size_t k = 0; k < names.size(); ++k)
      to.push_back({names[k], static_cast<double>(counts_[k]), true});
    to.push_back({"largest_staleness", static_cast<double>(largest_)});
  }

 private:
  static constexpr std::array<std::string_view, 7> names{
      "staleness_0",      "staleness_1",       "staleness_2",      "staleness_3_to_4",
      "staleness_5_to_8", "staleness_9_to_16", "staleness_from_17"};
  std::array<std::int64_t, names.size()> counts_{};
  std::int64_t largest_ = 0;
};

}  // namespace cohort::detail
