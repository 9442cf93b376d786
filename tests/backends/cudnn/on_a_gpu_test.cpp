// SPDX-License-Identifier: Apache-2.0
// label: gpu slow
// Runs the cases of the simulated GPU on a real GPU. Without a GPU they are skipped; only tests with this
// label may be skipped.
#include <cohort/cudnn.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cohort/training/own_backend.hpp>
#include <cohort/training/tune.hpp>
#include <functional>
#include <memory>
#include <string>

#include "../../training/golden_curves.hpp"
#include "conformance.hpp"
#include "cudnn_cases.hpp"
#include "gpu_here.hpp"
#include "threshold_cases.hpp"

namespace {

struct machine_under_test {
  std::string missing = gpu_here::missing();
  std::shared_ptr<cohort::detail::gpu> found =
      missing.empty() ? std::make_shared<cohort::detail::gpu>() : nullptr;

  std::shared_ptr<cohort::detail::compute_stream> stream() const {
    return std::make_shared<cohort::detail::compute_stream>(found);
  }
};

}  // namespace

#include "passes_cases.hpp"

namespace {

template <class B>
struct rung_on_a_gpu : ladder::rung<cudnn_ladder::shared<B>> {
  using ladder::rung<cudnn_ladder::shared<B>>::rung;
  void SetUp() override {
    if (std::string const why = gpu_here::missing(); !why.empty()) GTEST_SKIP() << why;
  }
};
bool const registered = cudnn_ladder::register_rungs<cudnn, rung_on_a_gpu<cudnn>>("cudnn")
                        && cudnn_ladder::register_rungs<cudnn_tf32, rung_on_a_gpu<cudnn_tf32>>(
                            "cudnn_tf32", cudnn_ladder::in_tf32)
                        && cudnn_ladder::register_rungs<cudnn_bf16, rung_on_a_gpu<cudnn_bf16>>(
                            "cudnn_bf16", cudnn_ladder::in_bf16);
class on_a_gpu : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string const why = gpu_here::missing(); !why.empty()) GTEST_SKIP() << why;
  }
};

TEST_F(on_a_gpu, all_conformance_tests_are_registered) { EXPECT_TRUE(registered); }

TEST_F(on_a_gpu, a_network_agrees_with_the_reference) { cudnn_cases::agrees_with_the_reference<cudnn>(); }
TEST_F(on_a_gpu, a_network_trains_like_the_reference) { cudnn_cases::trains_like_the_reference<cudnn>(); }
TEST_F(on_a_gpu, a_network_with_frozen_layers_trains_like_the_reference) {
  cudnn_cases::freezes_like_the_reference<cudnn>();
}
TEST_F(on_a_gpu, examples_are_weighted_and_masks_drawn_like_in_the_reference) {
  cudnn_cases::weighs_examples_and_draws_masks_like_the_reference<cudnn>();
}
TEST_F(on_a_gpu, steps_with_different_settings_agree_with_the_reference) {
  cudnn_cases::steps_with_different_settings_agree_with_the_reference<cudnn>();
}
TEST_F(on_a_gpu, work_is_recorded_and_replayed) {
  auto const on = machine_under_test().stream();
  buffer const x(sizeof(float), on);
  detail::passes_on_gpu passes(on);
  passes.fill(x.data(), 0, 1, 1);
  std::function<void()> const again = passes.record([&] { passes.scale(x.data(), 1, 3); });
  ASSERT_TRUE(again) << "the driver did not record";
  again(), again();
  float got = 0;
  on->download(x.data(), &got, sizeof got);
  EXPECT_EQ(got, 9);
}
/// Work that cuDNN and cuBLASLt enqueue is also recorded.
TEST_F(on_a_gpu, steps_of_a_network_are_recorded) {
  static std::shared_ptr<detail::compute_stream> on;
  on = machine_under_test().stream();
  struct here : cudnn {
    here() : cudnn(on) {}
  };
  trial<here> made(graph(cudnn_cases::lenet), {.batch = 4});
  for (int step = 0; step < 3; ++step) made.step();
  EXPECT_EQ(on->recorded(), 2);
  on.reset();
}
TEST_F(on_a_gpu, an_index_out_of_range_is_refused_like_by_the_reference) {
  cudnn_cases::refuses_an_index_like_the_reference<cudnn>();
}
TEST_F(on_a_gpu, a_network_with_autotuning_learns) {
  training made = trainer<cudnn>(cudnn_cases::normed, {.tune = tune<cudnn>({.batch = 16, .folder = ""})});
  cudnn_cases::bright_thirds const examples(300);
  made.fit(examples.data(), {.batch = 16, .epochs = 5});
  EXPECT_GT(made.evaluate(examples.data()).accuracy().value(), 0.95);
}
TEST_F(on_a_gpu, probes_accept_the_gpu) {
  EXPECT_EQ(cudnn::probe().reason, "");
  if (machine_under_test().found->capability() < 80) return;
  EXPECT_EQ(cudnn_tf32::probe().reason, "");
  EXPECT_EQ(cudnn_bf16::probe().reason, "");
}
TEST_F(on_a_gpu, layers_of_images_agree_with_the_reference) {
  cudnn_cases::layers_of_images_agree_with_the_reference<cudnn>();
}
TEST_F(on_a_gpu, losses_match_pytorch_in_the_first_5_steps) { golden_curves::expect_all<cudnn>(5, 1e-3); }
TEST_F(on_a_gpu, bf16_accumulates_updates_below_its_precision) {
  cudnn_cases::accumulates_small_steps<cudnn_bf16>();
}
TEST_F(on_a_gpu, a_network_learns) { cudnn_cases::learns<cudnn>(); }
TEST_F(on_a_gpu, a_network_learns_in_tf32) { cudnn_cases::learns<cudnn_tf32>(); }
TEST_F(on_a_gpu, a_network_learns_in_bf16) { cudnn_cases::learns<cudnn_bf16>(); }

TEST_F(on_a_gpu, threshold_messages_equal_the_messages_of_the_host) {
  auto const on = machine_under_test().stream();
  threshold_cases::writes_the_same_bytes_as_the_host(on);
  threshold_cases::writes_an_empty_table(on);
  threshold_cases::writes_adjacent_elements(on);
  threshold_cases::follows_every_policy(on);
  threshold_cases::sends_multiples_for_elements_far_beyond_the_threshold(on);
  threshold_cases::refuses_a_residual_that_is_not_finite(on);
  threshold_cases::reads_messages_of_the_gpu_and_of_the_host(on);
  threshold_cases::refuses_incomplete_codes(on);
  threshold_cases::refuses_the_same_messages_as_the_host(on);
  threshold_cases::counts_the_entries_sent_per_threshold(on);
  threshold_cases::merges_like_the_host(on);
  threshold_cases::processes_whole_arrays(on);
  threshold_cases::transforms_arrays_like_the_host(on);
}

}  // namespace
