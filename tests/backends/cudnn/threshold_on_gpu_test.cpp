// SPDX-License-Identifier: Apache-2.0
// label: slow long
// covers: codec/threshold_device
#include <gtest/gtest.h>
#include <memory>

#include "fake_machine.hpp"
#include "threshold_cases.hpp"

namespace cudnn_threshold_on_gpu_test {

using namespace cohort;

class threshold_on_gpu : public testing::Test {
 protected:
  ~threshold_on_gpu() override {
    on.reset();
    EXPECT_TRUE(machine.memory.empty()) << "memory is left on the GPU";
  }
  fake_machine machine;
  threshold_cases::shared_gpu on =
      std::make_shared<detail::compute_stream>(std::make_shared<detail::gpu>(machine.source()), "");
};

TEST_F(threshold_on_gpu, writes_the_same_bytes_as_the_host) {
  threshold_cases::writes_the_same_bytes_as_the_host(on);
}
TEST_F(threshold_on_gpu, writes_only_a_header_for_an_empty_tensor_table) {
  threshold_cases::writes_an_empty_table(on);
}
TEST_F(threshold_on_gpu, round_trips_runs_of_adjacent_elements) {
  threshold_cases::writes_adjacent_elements(on);
}
TEST_F(threshold_on_gpu, equals_the_host_with_every_policy) { threshold_cases::follows_every_policy(on); }
TEST_F(threshold_on_gpu, sends_multiples_for_elements_far_beyond_the_threshold) {
  threshold_cases::sends_multiples_for_elements_far_beyond_the_threshold(on);
}
TEST_F(threshold_on_gpu, refuses_a_residual_that_is_not_finite) {
  threshold_cases::refuses_a_residual_that_is_not_finite(on);
}
TEST_F(threshold_on_gpu, reads_messages_of_the_gpu_and_of_the_host) {
  threshold_cases::reads_messages_of_the_gpu_and_of_the_host(on);
}
TEST_F(threshold_on_gpu, refuses_incomplete_codes) { threshold_cases::refuses_incomplete_codes(on); }
TEST_F(threshold_on_gpu, refuses_the_same_messages_as_the_host) {
  threshold_cases::refuses_the_same_messages_as_the_host(on);
}
TEST_F(threshold_on_gpu, counts_the_entries_sent_per_threshold) {
  threshold_cases::counts_the_entries_sent_per_threshold(on);
}
TEST_F(threshold_on_gpu, merges_like_the_host) { threshold_cases::merges_like_the_host(on); }
TEST_F(threshold_on_gpu, sums_squares_and_checks_the_range_like_the_host) {
  threshold_cases::processes_whole_arrays(on);
}
TEST_F(threshold_on_gpu, transforms_arrays_like_the_host) {
  threshold_cases::transforms_arrays_like_the_host(on);
}

}  // namespace cudnn_threshold_on_gpu_test
