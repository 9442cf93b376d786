// SPDX-License-Identifier: Apache-2.0
// label: slow
#include <gtest/gtest.h>
#include <cohort/trainer/trainer.hpp>
#include <string>

#include "conformance.hpp"
#include "cudnn_cases.hpp"
#include "pretended_cudnn.hpp"

namespace cudnn_bf16_test {

using namespace cohort;
using cohort_test::bright_thirds;

fake_machine machine;
bool const ready = (pretended_gpu::machine = &machine) != nullptr;
bool const registered =
    cudnn_ladder::register_rungs<pretended_cudnn_bf16>("cudnn_bf16", cudnn_ladder::in_bf16);

TEST(ladder, has_its_rungs) { EXPECT_TRUE(ready && registered); }

TEST(cudnn_bf16, keeps_images_narrow_and_what_is_learned_wide) {
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
  EXPECT_EQ(narrow.store->type(), element_type::f32);
  EXPECT_GT(narrow.store->copy_bytes(), 0U) << "working copies of the weights";
}

TEST(cudnn_bf16, learns) { cudnn_cases::learns<pretended_cudnn_bf16>(); }

/// Steps that bf16 parameters would round away add up in those of f32.
TEST(cudnn_bf16, loses_no_small_step) {
  bright_thirds const examples(64);
  training made = trainer<pretended_cudnn_bf16>(cudnn_cases::normed, {.updater = sgd{.rate = 1e-5}});
  std::vector<float> const before = cohort_test::parameters_of<float>(made);
  made.fit(examples.data(), {.batch = 16, .epochs = 5});
  std::vector<float> const after = cohort_test::parameters_of<float>(made);
  std::size_t by_little = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    double const step = std::abs(double{after[i]} - double{before[i]});
    by_little += step > 0 && step < 0x1p-9 * std::abs(double{before[i]});
  }
  EXPECT_GT(by_little, before.size() / 4);
}

TEST(cudnn_bf16, goes_by_f32_where_cudnn_has_nothing_narrow) {
  fake_dnn::settings const with;
  fake_dnn::now.takes_narrow = false;
  trial<pretended_cudnn_bf16> got(graph(cudnn_cases::normed), {.batch = 4});
  trial<reference<double>> wanted(graph(cudnn_cases::normed), {.batch = 4});
  EXPECT_NEAR(got.step(), wanted.step(), 0.05);
}

TEST(cudnn_bf16, is_passed_over_where_there_is_none) {
  machine.major = 7;
  machine.minor = 5;
  EXPECT_EQ(pretended_cudnn_bf16::probe().reason,
            "the GPU has no tensor cores for bf16 (Pretended GPU): expected compute capability 8.0, got 7.5");
  machine.major = 9;
  machine.minor = 0;
  EXPECT_EQ(pretended_cudnn_bf16::probe().reason, "");
}

}  // namespace cudnn_bf16_test
