// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/execution/sink.hpp>

namespace sink_test {

TEST(sink, writes_whole_lines_to_the_standard_error_stream) {
  testing::internal::CaptureStderr();
  cohort::sink const out = cohort::stderr_sink();
  out("first");
  out("");
  out("third");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "first\n\nthird\n");
}

TEST(sink, discards_lines_if_silent) {
  testing::internal::CaptureStderr();
  cohort::silent_sink()("nothing");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace sink_test
