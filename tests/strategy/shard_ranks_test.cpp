// SPDX-License-Identifier: Apache-2.0
// label: slow long
// Sharded runs of 1 to 8 ranks: each optimizer, and checkpoints that each number of ranks continues.
#include "shard_cases.hpp"

namespace shard_ranks_test {

TEST(shard_ranks, continue_with_any_number_of_ranks) {
  cohort_test::shards::resumes_with_other_ranks({1, 2, 3, 4, 5, 6, 7, 8});
}

TEST(shard_ranks, update_like_whole_state_with_each_optimizer) {
  for (int const ranks : {1, 2, 3, 4, 5, 6, 7, 8})
    for (int const variant : {0, 7, 14, 21})
      cohort_test::shards::each_optimizer_is_bitwise_equal(ranks, variant + ranks);
}

}  // namespace shard_ranks_test
