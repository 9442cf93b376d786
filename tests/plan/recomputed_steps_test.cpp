// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/plan/detail/recomputed_steps.hpp>

#include <vector>

namespace recomputed_steps_test {

using namespace cohort;
using detail::choose_recomputed;
using detail::recomputed_steps;
using detail::step_traffic;

std::vector<char> const none{0, 0, 0}, last{0, 0, 1}, both{0, 1, 1};

/// A convolution, then two cheap steps. Value 0 is the batch; backward reads the values in `read`.
std::vector<step_traffic> chain(std::vector<int> read, double cost = 1, std::size_t middle = 100) {
  return {{.reads = {0}, .value = 1, .output_bytes = 100},
          {.reads = {1}, .value = 2, .output_bytes = middle, .cost = cost},
          {.reads = {2}, .backward_reads = std::move(read), .value = 3, .output_bytes = 100, .cost = cost}};
}

TEST(recomputed_steps, read_inputs_that_are_stored_anyway) {
  EXPECT_EQ(choose_recomputed(chain({1, 2, 3}), 4).recomputed, both);
  EXPECT_EQ(choose_recomputed(chain({1, 2, 3}), 4).bytes_saved, 200U);
  EXPECT_EQ(choose_recomputed(chain({1, 3}), 4).recomputed, both) << "the second by way of the first";
  EXPECT_EQ(choose_recomputed(chain({1, 3}), 4).bytes_saved, 100U);
}

TEST(recomputed_steps, are_none_if_no_memory_is_saved) {
  EXPECT_EQ(choose_recomputed(chain({3}), 4).recomputed, none) << "one tensor is kept in any case";
  EXPECT_EQ(choose_recomputed(chain({}), 4).recomputed, none);
  EXPECT_EQ(choose_recomputed(chain({1, 2, 3}, 101), 4).recomputed, none) << "each costs more than it saves";
  EXPECT_EQ(choose_recomputed(chain({1, 3}, 51), 4).recomputed, none) << "the two together do";
  EXPECT_EQ(choose_recomputed(chain({1, 2, 3}, -1), 4).recomputed, none) << "none may run again";
}

TEST(recomputed_steps, start_after_the_smallest_value) {
  EXPECT_EQ(choose_recomputed(chain({3}, 1, 10), 4).recomputed, last);
  EXPECT_EQ(choose_recomputed(chain({3}, 1, 10), 4).bytes_saved, 90U);
}

TEST(recomputed_steps, may_read_the_batch_in_external_memory) {
  auto steps = chain({3});
  steps[0].cost = 0;
  EXPECT_EQ(choose_recomputed(steps, 4).recomputed, (std::vector<char>{1, 1, 1}));
}

TEST(recomputed_steps, also_save_the_memory_of_their_workspaces) {
  auto steps = chain({1});
  steps[2].workspace_bytes = 1000;
  EXPECT_EQ(choose_recomputed(steps, 4).recomputed, both);
  EXPECT_EQ(choose_recomputed(steps, 4).bytes_saved, 1000U);
  steps[2].cost = -1;
  EXPECT_EQ(choose_recomputed(steps, 4).recomputed, none);
}

TEST(recomputed_steps, are_false_at_every_index_if_no_step_is_recomputed) {
  EXPECT_FALSE(recomputed_steps{}[7]);
  EXPECT_TRUE((recomputed_steps{.recomputed = {0, 1}}[1]));
}

}  // namespace recomputed_steps_test
