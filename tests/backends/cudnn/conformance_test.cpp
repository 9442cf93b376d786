// SPDX-License-Identifier: Apache-2.0
// label: slow
#include "conformance.hpp"
#include "pretended_cudnn.hpp"

namespace {

using namespace cohort;

fake_machine machine;
bool const ready = (pretended_cudnn::machine = &machine) != nullptr;
bool const registered = cudnn_ladder::register_rungs<pretended_cudnn>("cudnn");

TEST(ladder, has_its_rungs) { EXPECT_TRUE(ready && registered); }

TEST(ladder, leaves_out_what_has_no_kernels_alone) {
  EXPECT_EQ(cudnn_ladder::rows_without_kernels<pretended_cudnn>(),
            (std::vector<std::string>{"rung_31_a_layer_of_a_user",
                                      "prelu_with_a_slope_a_channel",
                                      "prelu_with_one_slope",
                                      "upsampling",
                                      "embedding_of_a_sentence",
                                      "embedding_of_an_image_of_indices",
                                      "spatial_dropout",
                                      "gaussian_noise",
                                      "loss_02_kullback_leibler",
                                      "loss_03_binary_cross_entropy",
                                      "loss_04_mean_squared_error",
                                      "loss_05_mean_absolute_error",
                                      "loss_06_huber",
                                      "loss_07_huber_with_a_small_delta",
                                      "loss_08_hinge",
                                      "loss_09_behind_a_layer_without_weights",
                                      "loss_10_one_value_read_by_several",
                                      "normalisation_06_layer_norm",
                                      "normalisation_07_layer_norm_of_all_axes",
                                      "normalisation_08_layer_norm_of_rows",
                                      "normalisation_09_lrn",
                                      "normalisation_10_lrn_of_whole_blocks",
                                      "normalisation_11_lrn_of_other_windows",
                                      "normalisation_12_batch_norm_of_a_whole_batch"}));
}

}  // namespace
