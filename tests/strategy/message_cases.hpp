// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <cohort/codec/threshold_compressor.hpp>
#include <cohort/codec/top_k_compressor.hpp>
#include <cohort/random/stream.hpp>
#include <cohort/strategy/detail/message_exchange.hpp>
#include <limits>
#include <vector>

/// Requirements on exchanges of messages, over any communicator.
namespace message_cases {

using namespace cohort;
using detail::combination;

constexpr int n = 70'000;  // two blocks
inline tensor_table const tensors{{"weights", n - 7}, {"bias", 7}};

inline bool same_bits(communicator& world, std::span<float const> values) {
  gathered const all = world.allgatherv(std::as_bytes(values));
  for (int r = 1; r < world.size(); ++r)
    if (!std::ranges::equal(all.of(0), all.of(r))) return false;
  return true;
}

inline step_info step_of(communicator& world, int step, int examples) {
  return {.step = step,
          .examples = examples,
          .weight = static_cast<double>(examples),
          .expected = 4 * world.size()};
}

template <class Exchange>
void exchange(Exchange& made, step_info const& now, agreement& agreed) {
  made.start(now);
  made.finish(agreed);
}

/// The given values equal the received values plus the residuals, with a rounding error of 2⁻²⁴ per step and
/// rank, also if a rank has no examples or non-finite numbers.
template <class Codec>
void nothing_is_lost(detail::process_group group, route way, Codec codec) {
  constexpr int steps = 12, spoiled = 5;
  communicator& world = group.world();
  bool const alone = !group.is_grouped();
  detail::message_exchange<Codec> made(std::move(group), std::move(codec), way, combination::sum, 1);
  std::vector<double> balance(n);  // sum over all ranks of given − received − residual
  double largest = 0;
  agreement agreed;
  for (int step = 0; step < steps; ++step) {
    random_stream const noise(3, "gradients", static_cast<std::uint64_t>(step * 16 + world.rank()));
    int const examples = (step + world.rank()) % 4;
    bool const bad = step == spoiled && world.rank() == world.size() - 1;
    for (int i = 0; i < n; ++i) {
      float const u = noise.uniform01(static_cast<std::uint64_t>(i)) - 0.5F;
      float const x = examples == 0 ? 0 : u * u * u * (i % 1000 == 0 ? 1e4F : 1.0F);
      made.mine().span()[static_cast<std::size_t>(i)] = x;
      if (!bad) balance[static_cast<std::size_t>(i)] += double{x};
    }
    if (bad) made.mine().span()[99] = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> const before(made.residual().begin(), made.residual().end());
    exchange(made, step_of(world, step, bad ? 2 : examples), agreed);
    EXPECT_EQ(agreed.all.not_finite, step == spoiled);
    EXPECT_EQ(agreed.meetings, step + 1);
    if (bad && alone && (world.rank() & 1) == 1) {  // merges no message
      EXPECT_TRUE(std::ranges::equal(made.residual(), before));
    }
    if (step != spoiled) {
      EXPECT_TRUE(same_bits(world, made.all().span()));
      for (std::size_t i = 0; world.rank() == 0 && i < n; ++i) balance[i] -= double{made.all().span()[i]};
    }
    for (float const left : made.residual()) largest = std::max(largest, std::abs(double{left}));
    for (float const brought : made.all().span()) largest = std::max(largest, std::abs(double{brought}));
  }
  for (std::size_t i = 0; i < made.residual().size(); ++i) balance[i] -= double{made.residual()[i]};
  world.allreduce(std::span(balance));
  world.allreduce(std::span(&largest, 1), reduction::maximum);
  double const bound = steps * world.size() * 0x1p-24 * largest;
  double worst = 0;
  for (double const lost : balance) worst = std::max(worst, std::abs(lost));
  EXPECT_LE(worst, bound);
  if (!made.residual().empty()) {
    EXPECT_GT(made.report()[1].value, 1e-4);
  }
}

inline void messages_lose_nothing(communicator& world) {
  for (route const way : {route::to_all, route::merged}) {
    nothing_is_lost(detail::process_group(world), way, threshold_compressor(tensors));
    nothing_is_lost(detail::process_group(world), way, top_k_compressor(tensors, {.density = 0.01}));
  }
}

}  // namespace message_cases
