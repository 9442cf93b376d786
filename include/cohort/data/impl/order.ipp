// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/data/detail/shuffle.hpp>
#include <cohort/data/order.hpp>
#include <cohort/random/stream.hpp>
#include <numeric>

namespace cohort {

void epoch_order(std::vector<std::int64_t>& order, std::uint64_t seed, std::int64_t epoch, std::int64_t size,
                 bool shuffle, int rank) {
  order.resize(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  if (!shuffle) return;
  random_stream const stream(seed, "order", static_cast<std::uint64_t>(epoch),
                             static_cast<std::uint64_t>(rank));
  detail::shuffle(order, stream);
}

void sort_in_buckets(std::vector<std::int64_t>& order, std::span<int const> lengths, std::int64_t bucket,
                     std::uint64_t seed, std::int64_t epoch, int rank) {
  random_stream const stream(seed, "buckets", static_cast<std::uint64_t>(epoch),
                             static_cast<std::uint64_t>(rank));
  auto const size = std::ssize(order);
  std::uint64_t drawn = 0;
  for (std::int64_t begin = 0; begin < size; begin += bucket) {
    auto const first = order.begin() + begin, last = order.begin() + std::min(begin + bucket, size);
    bool const falls = stream.below(drawn++, 2) == 1;
    std::stable_sort(first, last, [&](std::int64_t a, std::int64_t b) {
      int const one = lengths[static_cast<std::size_t>(a)], other = lengths[static_cast<std::size_t>(b)];
      return falls ? one > other : one < other;
    });
    auto const start = stream.below(drawn++, static_cast<std::uint64_t>(last - first));
    std::rotate(first, first + static_cast<std::ptrdiff_t>(start), last);
  }
}

std::vector<std::int64_t> epoch_order(std::uint64_t seed, std::int64_t epoch, std::int64_t size,
                                      bool shuffle) {
  std::vector<std::int64_t> order;
  epoch_order(order, seed, epoch, size, shuffle);
  return order;
}

}  // namespace cohort
