// SPDX-License-Identifier: Apache-2.0
// label: slow long
#include <gtest/gtest.h>
#include <cohort/training/trainer.hpp>
#include <string>

#include "cudnn_cases.hpp"
#include "pretended_cudnn.hpp"

namespace cudnn_channels_last_test {

using namespace cohort;

/// This cuDNN supports channels last only. Therefore f32 images are also channels last, and must give the
/// reference's results.
class channels_last : public testing::Test {
 protected:
  channels_last() {
    pretended_cudnn::machine = &machine;
    fake_dnn::now.takes_channels_first = false;
  }
  fake_dnn::settings with;
  fake_machine machine;
};

TEST_F(channels_last, agrees_with_the_reference) {
  cudnn_cases::agrees_with_the_reference<pretended_cudnn>();
}
TEST_F(channels_last, trains_like_the_reference) {
  cudnn_cases::trains_like_the_reference<pretended_cudnn>();
}
TEST_F(channels_last, trains_with_frozen_layers_like_the_reference) {
  cudnn_cases::freezes_like_the_reference<pretended_cudnn>();
}

TEST_F(channels_last, layers_of_images_agree_with_the_reference) {
  cudnn_cases::layers_of_images_agree_with_the_reference<pretended_cudnn>();
  int last = 0;
  for (plan_row const& row :
       trial<pretended_cudnn>(graph(cudnn_cases::many_layers), {.batch = 4}).plan->rows()) {
    bool const of_images = row.step.starts_with("conv2d_1") || row.step.starts_with("add")
                           || row.step.starts_with("concatenate_1") || row.step.starts_with("sigmoid")
                           || row.step.starts_with("spatial") || row.step.starts_with("max_pool")
                           || row.step.starts_with("avg_pool") || row.step.starts_with("batch_norm")
                           || row.step.starts_with("upsampling");
    if (!of_images || row.implementation == "reorder") continue;
    EXPECT_NE(row.layout.find("channels last"), std::string::npos) << row.step << ' ' << row.layout;
    ++last;
  }
  EXPECT_GT(last, 20);
}

/// The input has one channel and the output is a vector, so both orders of axes are equal for these tensors.
TEST_F(channels_last, needs_no_reorder_within_an_image_network) {
  int reorders = 0;
  for (plan_row const& row : trial<pretended_cudnn>(graph(cudnn_cases::normed), {.batch = 4}).plan->rows())
    reorders += row.implementation == "reorder";
  EXPECT_EQ(reorders, 0);
}

}  // namespace cudnn_channels_last_test
