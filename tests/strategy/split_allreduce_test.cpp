// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/communicator/launch.hpp>
#include <cohort/strategy/detail/split_allreduce.hpp>
#include <cstddef>
#include <span>
#include <vector>

namespace split_allreduce_test {

using namespace cohort;

/// Small integers, so that every sum is exact in any order.
void sums_all(communicator& world, std::size_t count) {
  detail::split_allreduce sum;
  std::vector<float> x(count);
  for (int again = 0; again < 2; ++again) {
    for (std::size_t i = 0; i < count; ++i)
      x[i] = static_cast<float>(i % 1000 + static_cast<std::size_t>(world.rank()));
    sum.start(world, std::span(x));
    sum.wait();
    auto const ranks = static_cast<std::size_t>(world.size());
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_EQ(x[i], static_cast<float>(ranks * (i % 1000) + ranks * (ranks - 1) / 2))
          << i << " of " << count;
  }
}

TEST(split_allreduce, sums_arrays_below_and_above_the_split_size) {
  constexpr std::size_t bound = detail::split_allreduce::max_unsplit_bytes / sizeof(float);
  for (int ranks : {1, 2, 3, 4})
    launch<threads>(ranks, [&](communicator& world) {
      for (std::size_t const count : {std::size_t{0}, std::size_t{1}, bound, bound + 1, 2 * bound + 3})
        sums_all(world, count);
    });
}

}  // namespace split_allreduce_test
