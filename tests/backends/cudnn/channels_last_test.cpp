// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/trainer/trainer.hpp>
#include <string>

#include "cudnn_cases.hpp"
#include "pretended_cudnn.hpp"

namespace cudnn_channels_last_test {

using namespace cohort;

/// cuDNN takes images channels last alone, so that f32 lies so too and gives the numbers of the reference.
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
TEST_F(channels_last, trains_as_the_reference_does) {
  cudnn_cases::trains_as_the_reference_does<pretended_cudnn>();
}
TEST_F(channels_last, freezes_as_the_reference_does) {
  cudnn_cases::freezes_as_the_reference_does<pretended_cudnn>();
}

/// Concatenations, sums of three, pools of all kinds, dropout of channels and of elements, each reading channels last.
TEST_F(channels_last, layers_agree_with_the_reference) {
  graph const net = graph::build([](builder& b) {
    tensor const x = b.input({3, 9, 8}) | conv2d{.filters = 5, .kernel = 2};
    tensor const y = x | conv2d{.filters = 5, .kernel = 3, .padding = padding::same} | sigmoid{};
    tensor const z = x | spatial_dropout{.rate = 0.3} | swish{};
    concat(x + y + z, x, z | conv2d{.filters = 2, .kernel = 1} | dropout{.rate = 0.3})
        | avg_pool{.window = {3, 2}, .stride = {2, 1}} | conv2d_transposed{.filters = 4, .kernel = 2}
        | batch_norm{} | upsampling{.factor = 2} | conv2d{.filters = 6, .kernel = 3, .stride = 2, .groups = 2}
        | flatten{} | dense{.units = 4} | reshape{.extents = shape{2, 1, 2}} | global_max_pool{}
        | dense{.units = 3} | softmax_cross_entropy{};
  });
  trial<pretended_cudnn> got(net, {.batch = 4});
  trial<reference<double>> wanted(net, {.batch = 4});
  EXPECT_NEAR(got.step(), wanted.step(), 2e-5);
  for (int p = 0; p < wanted.parameters(); ++p)
    ladder::expect_close(got.gradient(p), wanted.gradient(p), {2e-5, 2e-5},
                         "gradient of " + wanted.parameter(p).name);
  int last = 0;
  for (plan_row const& row : got.plan->rows()) last += row.layout.find("channels last") != std::string::npos;
  EXPECT_GT(last, 20);
}

/// The batch is reordered once on its way in, and nothing after it until the classifier.
TEST_F(channels_last, nothing_is_reordered_within_an_image_network) {
  int reorders = 0;
  for (plan_row const& row : trial<pretended_cudnn>(graph(cudnn_cases::normed), {.batch = 4}).plan->rows())
    reorders += row.implementation == "reorder";
  EXPECT_EQ(reorders, 0);  // one channel comes in, and vectors go out
}

}  // namespace cudnn_channels_last_test
