// SPDX-License-Identifier: Apache-2.0
// suites: cudnn_bf16
// label: slow long
#include <gtest/gtest.h>
#include <cohort/training/trainer.hpp>
#include <set>
#include <string>

#include "conformance.hpp"
#include "cudnn_cases.hpp"
#include "pretended_cudnn.hpp"

namespace cudnn_bf16_test {

using namespace cohort;

bool const ready = pretended_gpu::stands();
bool const registered =
    cudnn_ladder::register_rungs<pretended_cudnn_bf16>("cudnn_bf16", cudnn_ladder::in_bf16);

TEST(conformance_tests, are_all_registered_for_bf16) { EXPECT_TRUE(ready && registered); }

TEST(cudnn_bf16, keeps_images_in_bf16_and_parameters_in_f32) {
  trial<pretended_cudnn_bf16> narrow(graph(cudnn_cases::normed), {.batch = 8});
  int checked = 0;
  for (plan_row const& row : narrow.plan->rows()) {
    bool const of_images = row.step.find("softmax") == std::string::npos && row.implementation != "reorder"
                           && row.implementation.find("statistics") == std::string::npos;
    if (!of_images) continue;
    EXPECT_NE(row.layout.find("bf16"), std::string::npos) << row.step << ' ' << row.layout;
    ++checked;
  }
  EXPECT_GT(checked, 20);
  for (int p = 0; p < narrow.parameters(); ++p)
    EXPECT_EQ(narrow.store->fixed_layout(p)->type, element_type::f32) << narrow.parameter(p).name;
  EXPECT_GT(narrow.store->copy_bytes(), 0U) << "working copies of the weights";
}

TEST(cudnn_bf16, learns) { cudnn_cases::learns<pretended_cudnn_bf16>(); }

TEST(cudnn_bf16, accumulates_updates_below_bf16_precision) {
  cudnn_cases::accumulates_small_steps<pretended_cudnn_bf16>();
}

/// Layouts of a plan's convolutions.
template <class B>
std::set<std::string> layouts_of_convolutions() {
  std::set<std::string> found;
  for (plan_row const& row : trial<B>(graph(cudnn_cases::normed), {.batch = 4}).plan->rows())
    if (row.step.starts_with("conv2d_2") && row.implementation != "reorder") found.insert(row.layout);
  return found;
}

TEST(cudnn_bf16, uses_bf16_layouts_if_cudnn_supports_bf16) {
  using layouts = std::set<std::string>;
  fake_dnn::settings const with;
  EXPECT_EQ(layouts_of_convolutions<pretended_cudnn_tf32>(), layouts{"channels last"});
  EXPECT_EQ(layouts_of_convolutions<pretended_cudnn_bf16>(), layouts{"channels last bf16"});
  fake_dnn::now.takes_channels_last = false;
  EXPECT_EQ(layouts_of_convolutions<pretended_cudnn_tf32>(), layouts{"channels first"});
  EXPECT_EQ(layouts_of_convolutions<pretended_cudnn_bf16>(), layouts{"channels first bf16"});
  fake_dnn::now.takes_channels_last = true;
  fake_dnn::now.takes_narrow = false;
  EXPECT_EQ(layouts_of_convolutions<pretended_cudnn_bf16>(), layouts{"channels last"});
  EXPECT_EQ(pretended_cudnn_bf16::probe().reason,
            "cuDNN has no engine for this convolution (a 3x3 kernel on 4x4 elements): expected a "
            "deterministic engine in bf16 or f32, got 0 engines, 0 of them rejected");
}

TEST(cudnn_bf16, is_not_usable_if_the_gpu_has_no_tensor_cores_for_bf16) {
  fake_machine& machine = *pretended_gpu::machine;
  machine.major = 7;
  machine.minor = 5;
  EXPECT_EQ(pretended_cudnn_bf16::probe().reason,
            "the GPU has no tensor cores for bf16 (Pretended GPU): expected compute capability 8.0, got 7.5");
  machine.major = 9;
  machine.minor = 0;
  EXPECT_EQ(pretended_cudnn_bf16::probe().reason, "");
}

}  // namespace cudnn_bf16_test
