// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <cohort/checkpoint/detail/process_identity.hpp>
#include <string>

namespace process_identity_test {

using namespace cohort::detail;

TEST(process_identity, recognises_this_process_only) {
  std::string const mine = process_identity();
  EXPECT_EQ(mine, process_identity());
  EXPECT_NE(mine.find(", process " + std::to_string(::getpid()) + ", started "), std::string::npos) << mine;
  EXPECT_TRUE(is_running_here(mine));
  EXPECT_FALSE(is_running_here(mine + "0"));       // the number was given to another process since
  EXPECT_FALSE(is_running_here("other-" + mine));  // on another host
  for (char const* text :
       {"", ", process ", ", process , started ", "x, process 1", ", started 1, process 1"})
    EXPECT_FALSE(is_running_here(text)) << text;
}

}  // namespace process_identity_test
