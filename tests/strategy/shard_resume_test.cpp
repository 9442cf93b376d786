// SPDX-License-Identifier: Apache-2.0
// label: slow long
// Checkpoints of sharded runs of 1 to 8 ranks, each continued by 1 to 8 ranks.
#include "shard_cases.hpp"

namespace shard_resume_test {

TEST(shard_resume, continues_with_any_number_of_ranks) {
  cohort_test::shards::resumes_with_other_ranks({1, 2, 3, 4, 5, 6, 7, 8});
}

}  // namespace shard_resume_test
