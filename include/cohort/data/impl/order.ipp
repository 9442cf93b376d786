// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/detail/shuffle.hpp>
#include <cohort/data/order.hpp>
#include <cohort/detail/config.hpp>
#include <cohort/random/stream.hpp>
#include <numeric>

namespace cohort {

COHORT_CORE_INLINE void epoch_order(std::vector<std::int64_t>& order, std::uint64_t seed, std::int64_t epoch,
                                    std::int64_t size, bool shuffle, int rank) {
  order.resize(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  if (!shuffle) return;
  random_stream const stream(seed, "order", static_cast<std::uint64_t>(epoch),
                             static_cast<std::uint64_t>(rank));
  detail::shuffle(order, stream);
}

COHORT_CORE_INLINE std::vector<std::int64_t> epoch_order(std::uint64_t seed, std::int64_t epoch,
                                                         std::int64_t size, bool shuffle) {
  std::vector<std::int64_t> order;
  epoch_order(order, seed, epoch, size, shuffle);
  return order;
}

}  // namespace cohort
