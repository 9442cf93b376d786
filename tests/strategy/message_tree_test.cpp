// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/codec/threshold_compressor.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/strategy/detail/message_tree.hpp>
#include <vector>
#include "counting_communicator.hpp"

namespace message_tree_test {

using namespace cohort;

static_assert(detail::rounds_of(1) == 0);
static_assert(detail::rounds_of(2) == 1);
static_assert(detail::rounds_of(3) == 2);
static_assert(detail::rounds_of(8) == 3);
static_assert(detail::rounds_of(9) == 4);

// Small networks on many ranks merge. Two ranks never do; neither do large networks, whose bytes cost more
// than their messages.
static_assert(detail::merges_by_size(32, 68'000));
static_assert(detail::merges_by_size(8, 1'000'000));
static_assert(!detail::merges_by_size(1, 68'000));
static_assert(!detail::merges_by_size(2, 68'000));
static_assert(!detail::merges_by_size(8, 100'000'000));
// A merged message of many ranks is no longer than two bits per element.
static_assert(!detail::merges_by_size(256, 25'557'032));
static_assert(detail::merges_by_size(1024, 25'557'032));
static_assert(detail::bytes_of_merging(8, 10, 0).in_sequence(8) == 3 * 80 + 10 + 20 + 40);
static_assert(detail::bytes_of_merging(6, 10, 0).in_sequence(6) == 3 * 60 + 10 + 20 + 20);
static_assert(detail::bytes_of_merging(1024, 1'000, 400).in_sequence(1024) == 10 * 196 + 10 * 196);

/// Rank r sends element r. The merged message contains all elements, and the same bytes on every rank.
TEST(message_tree, merges_the_messages_of_all_ranks_in_logarithmic_rounds) {
  tensor_table const tensors{{"weights", 200}};
  for (int ranks = 1; ranks <= 9; ++ranks)
    launch<threads>(ranks, {.deadline = std::chrono::seconds(60)}, [&](communicator& threads_world) {
      cohort_test::counting_communicator world(threads_world);
      threshold_compressor codec(tensors, {.threshold = threshold::fixed{0.5}});
      detail::message_tree<threshold_compressor> tree;
      for (std::uint64_t step = 0; step < 3; ++step) {
        std::vector<float> residual(200), gradient(200), sum(200);
        gradient[static_cast<std::size_t>(world.rank())] = 0.5F;
        message_stamp const stamp{
            .run = 1, .step = step, .rank = static_cast<std::uint32_t>(world.rank()), .examples = 2};
        expected_messages const from{1, step, step, static_cast<std::uint32_t>(ranks)};
        world.handled = 0;
        auto const merged = tree.merge(world, codec, codec.encode(stamp, residual, gradient), from, residual);
        EXPECT_LE(world.handled, 2 * detail::rounds_of(ranks));
        EXPECT_GE(world.handled, ranks > 1 ? 2 : 0);
        message_header const header = codec.decode_add(merged, from, 1, sum);
        EXPECT_EQ(header.ranks, static_cast<std::uint32_t>(ranks));
        EXPECT_EQ(header.examples, static_cast<std::uint64_t>(2 * ranks));
        for (int i = 0; i < 200; ++i) ASSERT_EQ(sum[static_cast<std::size_t>(i)], i < ranks ? 0.5F : 0.0F);
      }
    });
}

}  // namespace message_tree_test
