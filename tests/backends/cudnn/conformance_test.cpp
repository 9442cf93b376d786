// SPDX-License-Identifier: Apache-2.0
// suites: cudnn cudnn_channels_last
// label: slow
#include "conformance.hpp"

#include "../../trainer/golden_curves.hpp"
#include "pretended_cudnn.hpp"

namespace conformance_test {

using namespace cohort;

bool const ready = pretended_gpu::stands();
/// For a cuDNN that supports channels last only, so that f32 images are channels last too.
struct rung_channels_last : ladder::rung<cudnn_ladder::shared<pretended_cudnn>> {
  using ladder::rung<cudnn_ladder::shared<pretended_cudnn>>::rung;
  void SetUp() override { fake_dnn::now.takes_channels_first = false; }
  void TearDown() override { fake_dnn::now.takes_channels_first = true; }
};

bool const registered =
    cudnn_ladder::register_rungs<pretended_cudnn>("cudnn")
    && cudnn_ladder::register_rungs<pretended_cudnn, rung_channels_last>("cudnn_channels_last");

TEST(ladder, has_its_rungs) { EXPECT_TRUE(ready && registered); }

/// Whether a row is of a family that only backends of the processor run: sequences.
bool is_of_sequences(std::string_view name) {
  for (std::string_view const start : {"sequence_", "recurrent_", "attention_0", "embedding_of_", "window_11",
                                       "window_12", "window_13", "window_24", "normalisation_05"})
    if (name.starts_with(start)) return true;
  return false;
}

TEST(ladder, skips_only_operations_without_kernels) {
  std::vector<std::string> skipped = cudnn_ladder::rows_without_kernels<pretended_cudnn>();
  EXPECT_GT(std::erase_if(skipped, is_of_sequences), 30U);
  EXPECT_EQ(
      skipped,
      (std::vector<std::string>{
          "rung_31_a_layer_of_a_user", "multiply_an_image_by_a_number_per_channel",
          "multiply_tensors_that_repeat_along_different_axes", "add_a_number_per_channel_and_one_per_place",
          "add_a_number_per_channel_to_a_convolution", "add_a_row_and_a_column", "squeeze_and_excite",
          "matmul_of_one_matrix_per_example", "matmul_of_transposed_matrices", "matmul_that_repeats_matrices",
          "attention_with_two_heads"}));
}

TEST(curves, on_a_gpu_start_like_those_of_pytorch) { golden_curves::expect_all<pretended_cudnn>(5, 1e-3); }

}  // namespace conformance_test
