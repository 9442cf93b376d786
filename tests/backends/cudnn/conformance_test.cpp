// SPDX-License-Identifier: Apache-2.0
// suites: cudnn cudnn_channels_last
// label: slow long
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "conformance.hpp"

#include "../../backend/activation_errors.hpp"
#include "../../training/golden_curves.hpp"
#include "pretended_cudnn.hpp"

namespace conformance_test {

using namespace cohort;

bool const ready = pretended_gpu::stands();
/// Simulates a cuDNN that supports channels last only, so that f32 images are also channels last.
struct rung_channels_last : ladder::rung<cudnn_ladder::shared<pretended_cudnn>> {
  using ladder::rung<cudnn_ladder::shared<pretended_cudnn>>::rung;
  void SetUp() override { fake_dnn::now.takes_channels_first = false; }
  void TearDown() override { fake_dnn::now.takes_channels_first = true; }
};

bool const registered =
    cudnn_ladder::register_rungs<pretended_cudnn>("cudnn")
    && cudnn_ladder::register_rungs<pretended_cudnn, rung_channels_last>("cudnn_channels_last");

TEST(conformance_tests, are_all_registered) { EXPECT_TRUE(ready && registered); }

TEST(conformance_tests, skip_only_operations_without_kernels) {
  std::vector<std::string> expected{
      "rung_31_a_layer_of_a_user", "multiply_an_image_by_a_number_per_channel",
      "multiply_tensors_that_repeat_along_different_axes", "add_a_number_per_channel_and_one_per_place",
      "add_a_number_per_channel_to_a_convolution", "add_a_row_and_a_column", "squeeze_and_excite",
      "matmul_of_one_matrix_per_example", "matmul_of_transposed_matrices", "matmul_that_repeats_matrices",
      "attention_with_two_heads", "log_softmax_of_a_vector", "log_softmax_at_each_place_of_an_image",
      "bilinear_upsampling", "permute_an_image", "channel_shuffle_and_pixel_shuffle",
      "normalisation_17_group_norm", "normalisation_18_group_norm_of_units",
      "normalisation_19_group_norm_of_a_sequence", "loss_12_dice", "loss_13_dice_of_several_labels",
      // convolutions and batch norms of sequences
      "window_11_conv1d", "window_12_conv1d_same_with_a_stride", "window_13_conv1d_dilated_in_groups",
      "window_24_global_pools_of_odd_channels_and_of_a_sequence", "normalisation_05_batch_norm_of_a_sequence",
      "sequence_02_all_layers_with_channels", "sequence_03_batch_norm_with_a_rectifier_and_a_sum",
      "sequence_04_embedding_convolution_and_pools", "sequence_11_convolutions_with_a_mask",
      "sequence_12_batch_norms_with_a_mask", "sequence_16_ignored_targets_with_a_mask"};
  std::vector<std::string> skipped = cudnn_ladder::rows_without_kernels<pretended_cudnn>();
  std::ranges::sort(expected);
  std::ranges::sort(skipped);
  EXPECT_EQ(skipped, expected);
}

/// The simulated GPU computes the formulas with the processor's functions.
TEST(activation_errors, of_cudnn_are_within_their_bounds) {
  using activation_errors::bounds;
  bounds const usual{.value = {1e-6, 0}, .derivative = {1e-6, 3e-7}};
  bounds const far{.value = {3e-5, 1e-37}, .derivative = {3e-5, 3e-7}};
  activation_errors::expect_activation_errors<cudnn_ladder::shared<pretended_cudnn>>(
      usual, {{"hard_sigmoid", {.value = {1e-6, 1e-7}, .derivative = usual.derivative}},
              {"gelu", far},
              {"gelu_tanh", far}});
}

TEST(loss_curves, on_a_gpu_match_pytorch_in_the_first_5_steps) {
  golden_curves::expect_all<pretended_cudnn>(5, 1e-3);
}

}  // namespace conformance_test
