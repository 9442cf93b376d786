// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <bit>
#include <cohort/detail/config.hpp>
#include <cohort/strategy/detail/message_ages.hpp>
#include <cstddef>

namespace cohort::detail {

COHORT_CORE_INLINE void message_ages::add(std::int64_t age) {
  largest_ = std::max(largest_, age);
  // 0, 1, 2, 3–4, 5–8, 9–16, more
  auto const bucket =
      age == 0 ? 0U : 1U + static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(age - 1)));
  ++counts_[std::min<std::size_t>(bucket, names.size() - 1)];
}

COHORT_CORE_INLINE std::int64_t message_ages::messages() const {
  std::int64_t sum = 0;
  for (std::int64_t const one : counts_) sum += one;
  return sum;
}

COHORT_CORE_INLINE void message_ages::tell(std::vector<measurement>& to) const {
  for (std::size_t k = 0; k < names.size(); ++k)
    to.push_back({names[k], static_cast<double>(counts_[k]), true});
  to.push_back({"largest_staleness", static_cast<double>(largest_)});
}

}  // namespace cohort::detail
