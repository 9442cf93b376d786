// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/detail/kernel_text.hpp>
#include <cohort/detail/build_check.hpp>
#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

namespace cohort::detail {

/// A kernel that sums the terms of each chunk of sum_chunk elements, with one sum per lane. The member
/// `terms` defines the layout of the terms; without it, the terms form one row.
///
/// Exact     thread t of the block adds terms t, t + block_threads, … of the chunk in this order. A binary
///           tree then adds halves until one sum per lane remains.
template <class Kernel>
concept summing_kernel = requires(Kernel const& k) {
  { k.term(0ULL) } -> std::same_as<double>;
};

/// A kernel whose marks(i) returns two bits of element i. Its finish receives the bits of 32 elements as two
/// words; in the last word, missing elements have zero bits.
template <class Kernel>
concept marking_kernel = requires(Kernel const& k) {
  { k.marks(0ULL) } -> std::same_as<unsigned>;
};

/// A kernel that walks over the channels of a tensor, see kernels/channels.inc. It is launched with one call
/// per block.
template <class Kernel>
concept walking_kernel = requires(Kernel const& k) {
  k.walked.lanes();
};

/// A walking kernel with sum_count sums per thread. Their type is Kernel::partial if present; otherwise
/// split_sum on GPUs with few f64 units, and wide_sum on other GPUs (kernels/sums.inc).
///
/// Exact     threads of a block that process the same channels add their sums in a binary tree, halves first.
template <class Kernel>
concept walking_sums = walking_kernel<Kernel> && requires {
  Kernel::sum_count;
};

/// A kernel with a warp per row.
template <class Kernel>
concept row_kernel = requires(Kernel const& k) {
  k.row(0ULL, kernels::one_lane());
};

/// Number of calls that one block processes.
template <class Kernel>
inline constexpr unsigned long long calls_per_block = walking_kernel<Kernel>   ? 1
                                                      : summing_kernel<Kernel> ? sum_chunk
                                                      : row_kernel<Kernel>     ? block_threads / 32
                                                                               : block_threads;

namespace kernels {

/// Calls visit.operator()<Kernel>(type) for each kernel; `type` is the kernel's type name in the source.
template <class Visit>
constexpr void each_kernel(Visit&& visit) {
  visit.template operator()<convert>("convert");
  visit.template operator()<reorder<0>>("reorder<0>");
  visit.template operator()<reorder<1>>("reorder<1>");
  visit.template operator()<reorder<2>>("reorder<2>");
  visit.template operator()<reorder<3>>("reorder<3>");
  visit.template operator()<fill>("fill");
  visit.template operator()<add_to>("add_to");
  visit.template operator()<sum_of_two>("sum_of_two");
  visit.template operator()<multiply_by>("multiply_by");
  visit.template operator()<scale>("scale");
  visit.template operator()<scaled>("scaled");
  visit.template operator()<find_not_finite>("find_not_finite");
  visit.template operator()<find_not_finite_bf16>("find_not_finite_bf16");
  visit.template operator()<dropout>("dropout");
  visit.template operator()<add_noise>("add_noise");
  visit.template operator()<rectify>("rectify");
  visit.template operator()<rectify_gradient>("rectify_gradient");
  visit.template operator()<add_and_rectify>("add_and_rectify");
  visit.template operator()<scale_channels>("scale_channels");
  visit.template operator()<channel_product_sums>("channel_product_sums");
  visit.template operator()<finish_channels<1>>("finish_channels<1>");
  visit.template operator()<finish_channels<2>>("finish_channels<2>");
  visit.template operator()<finish_statistics>("finish_statistics");
  visit.template operator()<place_gradient_sums>("place_gradient_sums");
  visit.template operator()<channel_sums<1>>("channel_sums<1>");
  visit.template operator()<channel_sums<8>>("channel_sums<8>");
  visit.template operator()<channel_statistics<1>>("channel_statistics<1>");
  visit.template operator()<channel_statistics<8>>("channel_statistics<8>");
  visit.template operator()<normalise_groups<0>>("normalise_groups<0>");
  visit.template operator()<normalise_groups<1>>("normalise_groups<1>");
  visit.template operator()<normalise_groups<8>>("normalise_groups<8>");
  visit.template operator()<norm_gradient_sums<0>>("norm_gradient_sums<0>");
  visit.template operator()<norm_gradient_sums<1>>("norm_gradient_sums<1>");
  visit.template operator()<norm_gradient_sums<8>>("norm_gradient_sums<8>");
  visit.template operator()<normalise_groups_gradient<0>>("normalise_groups_gradient<0>");
  visit.template operator()<normalise_groups_gradient<1>>("normalise_groups_gradient<1>");
  visit.template operator()<normalise_groups_gradient<8>>("normalise_groups_gradient<8>");
  visit.template operator()<copy_statistics>("copy_statistics");
  visit.template operator()<normalise_response>("normalise_response");
  visit.template operator()<normalise_response_gradient>("normalise_response_gradient");
  visit.template operator()<copy_rows>("copy_rows");
  visit.template operator()<frame_image>("frame_image");
  visit.template operator()<unframe_image>("unframe_image");
  visit.template operator()<swap_filters>("swap_filters");
  visit.template operator()<look_up>("look_up");
  visit.template operator()<link_equals>("link_equals");
  visit.template operator()<add_vectors>("add_vectors");
  visit.template operator()<take_larger>("take_larger");
  visit.template operator()<larger_gradient>("larger_gradient");
  visit.template operator()<max_pool<1>>("max_pool<1>");
  visit.template operator()<max_pool<8>>("max_pool<8>");
  visit.template operator()<max_pool_gradient<1>>("max_pool_gradient<1>");
  visit.template operator()<max_pool_gradient<8>>("max_pool_gradient<8>");
  visit.template operator()<average_pool<1>>("average_pool<1>");
  visit.template operator()<average_pool<8>>("average_pool<8>");
  visit.template operator()<average_pool_gradient<1>>("average_pool_gradient<1>");
  visit.template operator()<average_pool_gradient<8>>("average_pool_gradient<8>");
  visit.template operator()<softmax>("softmax");
  visit.template operator()<softmax_rows>("softmax_rows");
  visit.template operator()<softmax_gradient>("softmax_gradient");
  visit.template operator()<softmax_loss>("softmax_loss");
  visit.template operator()<softmax_loss_gradient>("softmax_loss_gradient");
  visit.template operator()<loss_sums<distance_loss>>("loss_sums<distance_loss>");
  visit.template operator()<loss_gradient<distance_loss>>("loss_gradient<distance_loss>");
  visit.template operator()<loss_sums<margin_loss>>("loss_sums<margin_loss>");
  visit.template operator()<loss_gradient<margin_loss>>("loss_gradient<margin_loss>");
  visit.template operator()<loss_sums<logit_loss>>("loss_sums<logit_loss>");
  visit.template operator()<pack_sequence>("pack_sequence");
  visit.template operator()<kept_factors>("kept_factors");
  visit.template operator()<drop_state>("drop_state");
  visit.template operator()<begin_states>("begin_states");
  visit.template operator()<end_states>("end_states");
  visit.template operator()<simple_cell>("simple_cell");
  visit.template operator()<lstm_cell>("lstm_cell");
  visit.template operator()<gru_cell>("gru_cell");
  visit.template operator()<gru_gates>("gru_gates");
  visit.template operator()<gru_candidate>("gru_candidate");
  visit.template operator()<simple_cell_gradient>("simple_cell_gradient");
  visit.template operator()<lstm_cell_gradient>("lstm_cell_gradient");
  visit.template operator()<gru_cell_gradient>("gru_cell_gradient");
  visit.template operator()<gru_candidate_gradient>("gru_candidate_gradient");
  visit.template operator()<gru_gates_gradient>("gru_gates_gradient");
  visit.template operator()<begin_state_gradients>("begin_state_gradients");
  visit.template operator()<end_state_gradients>("end_state_gradients");
  visit.template operator()<peephole_terms>("peephole_terms");
  visit.template operator()<attention_softmax>("attention_softmax");
  visit.template operator()<attention_probabilities>("attention_probabilities");
  visit.template operator()<attention_score_gradient>("attention_score_gradient");
  visit.template operator()<rotate_heads>("rotate_heads");
  visit.template operator()<zero_masked_steps>("zero_masked_steps");
  visit.template operator()<add_to_each>("add_to_each");
  visit.template operator()<rms_norm_rows>("rms_norm_rows");
  visit.template operator()<rms_norm_rows_gradient>("rms_norm_rows_gradient");
  visit.template operator()<pool_steps>("pool_steps");
  visit.template operator()<pool_steps_gradient>("pool_steps_gradient");
  visit.template operator()<add_chunks>("add_chunks");
  visit.template operator()<square_sums>("square_sums");
  visit.template operator()<clip_residual>("clip_residual");
  visit.template operator()<take_threshold>("take_threshold");
  visit.template operator()<count_marks>("count_marks");
  visit.template operator()<join_marks>("join_marks");
  visit.template operator()<measure_gaps>("measure_gaps");
  visit.template operator()<join_gaps>("join_gaps");
  visit.template operator()<place_blocks>("place_blocks");
  visit.template operator()<write_codes>("write_codes");
  visit.template operator()<count_taken>("count_taken");
  visit.template operator()<take_multiples>("take_multiples");
  visit.template operator()<find_beyond>("find_beyond");
  visit.template operator()<take_levels>("take_levels");
  visit.template operator()<read_codes>("read_codes");
  visit.template operator()<add_message>("add_message");
  visit.template operator()<add_values>("add_values");
  visit.template operator()<merge_messages>("merge_messages");
  visit.template operator()<merge_statistics>("merge_statistics");
  visit.template operator()<merge_moments>("merge_moments");
  visit.template operator()<follow_statistics>("follow_statistics");
  visit.template operator()<step_square_sums>("step_square_sums");
  visit.template operator()<activate<sigmoid_curve>>("activate<sigmoid_curve>");
  visit.template operator()<activate_gradient<sigmoid_curve>>("activate_gradient<sigmoid_curve>");
  visit.template operator()<activate<hard_sigmoid_curve>>("activate<hard_sigmoid_curve>");
  visit.template operator()<activate_gradient<hard_sigmoid_curve>>("activate_gradient<hard_sigmoid_curve>");
  visit.template operator()<activate<tanh_curve>>("activate<tanh_curve>");
  visit.template operator()<activate_gradient<tanh_curve>>("activate_gradient<tanh_curve>");
  visit.template operator()<activate<hard_tanh_curve>>("activate<hard_tanh_curve>");
  visit.template operator()<activate_gradient<hard_tanh_curve>>("activate_gradient<hard_tanh_curve>");
  visit.template operator()<activate<softsign_curve>>("activate<softsign_curve>");
  visit.template operator()<activate_gradient<softsign_curve>>("activate_gradient<softsign_curve>");
  visit.template operator()<activate<relu6_curve>>("activate<relu6_curve>");
  visit.template operator()<activate_gradient<relu6_curve>>("activate_gradient<relu6_curve>");
  visit.template operator()<activate<elu_curve>>("activate<elu_curve>");
  visit.template operator()<activate_gradient<elu_curve>>("activate_gradient<elu_curve>");
  visit.template operator()<activate<selu_curve>>("activate<selu_curve>");
  visit.template operator()<activate_gradient<selu_curve>>("activate_gradient<selu_curve>");
  visit.template operator()<activate<softplus_curve>>("activate<softplus_curve>");
  visit.template operator()<activate_gradient<softplus_curve>>("activate_gradient<softplus_curve>");
  visit.template operator()<activate<swish_curve>>("activate<swish_curve>");
  visit.template operator()<activate_gradient<swish_curve>>("activate_gradient<swish_curve>");
  visit.template operator()<activate<gelu_curve>>("activate<gelu_curve>");
  visit.template operator()<activate_gradient<gelu_curve>>("activate_gradient<gelu_curve>");
  visit.template operator()<activate<gelu_tanh_curve>>("activate<gelu_tanh_curve>");
  visit.template operator()<activate_gradient<gelu_tanh_curve>>("activate_gradient<gelu_tanh_curve>");
  visit.template operator()<activate<mish_curve>>("activate<mish_curve>");
  visit.template operator()<activate_gradient<mish_curve>>("activate_gradient<mish_curve>");
  visit.template operator()<update_parts<sgd>>("update_parts<sgd>");
  visit.template operator()<update_parts<momentum>>("update_parts<momentum>");
  visit.template operator()<update_parts<nesterov>>("update_parts<nesterov>");
  visit.template operator()<update_parts<adam>>("update_parts<adam>");
  visit.template operator()<update_parts<adamw>>("update_parts<adamw>");
  visit.template operator()<update_parts<amsgrad>>("update_parts<amsgrad>");
  visit.template operator()<update_parts<adamax>>("update_parts<adamax>");
  visit.template operator()<update_parts<nadam>>("update_parts<nadam>");
  visit.template operator()<update_parts<adabelief>>("update_parts<adabelief>");
  visit.template operator()<update_parts<adagrad>>("update_parts<adagrad>");
  visit.template operator()<update_parts<adadelta>>("update_parts<adadelta>");
  visit.template operator()<update_parts<rmsprop>>("update_parts<rmsprop>");
  visit.template operator()<update_parts<lion>>("update_parts<lion>");
}

}  // namespace kernels
using kernels::each_kernel;

inline constexpr int kernel_count = [] {
  int count = 0;
  each_kernel([&]<class>(char const*) { ++count; });
  return count;
}();

/// Index of a kernel in each_kernel's order.
template <class Kernel>
inline constexpr int kernel_index = [] {
  static_assert(std::is_trivially_copyable_v<Kernel> && sizeof(Kernel) + sizeof(kernels::size) <= 4096);
  int at = 0, found = -1;
  each_kernel([&]<class One>(char const*) {
    if (std::is_same_v<One, Kernel>) found = at;
    ++at;
  });
  if (found < 0) throw "cohort: each_kernel does not list this kernel";
  return found;
}();

/// Returns the name of the module's function for a kernel type.
std::string kernel_symbol(std::string_view type);

/// Returns the program for NVRTC: the kernels' source and one __global__ function per kernel.
std::string kernel_program();

}  // namespace cohort::detail
