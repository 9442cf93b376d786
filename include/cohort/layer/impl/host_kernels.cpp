// SPDX-License-Identifier: Apache-2.0
// Kernels of the built-in layers.
#include <cohort/layer/attention.hpp>
#include <cohort/layer/layers.hpp>
#include <cohort/layer/positions.hpp>
#include <cohort/layer/recurrent.hpp>
#include <cohort/layer/recurrent_output.hpp>
#include <cohort/layer/rms_norm.hpp>

namespace cohort::detail {

template struct host_kernels<add>;
template struct host_kernels<softmax_cross_entropy>;
template struct host_kernels<kullback_leibler>;
template struct host_kernels<dice>;
template struct host_kernels<binary_cross_entropy>;
template struct host_kernels<mean_squared_error>;
template struct host_kernels<mean_absolute_error>;
template struct host_kernels<huber>;
template struct host_kernels<hinge>;
template struct host_kernels<relu6>;
template struct host_kernels<prelu>;
template struct host_kernels<elu>;
template struct host_kernels<selu>;
template struct host_kernels<sigmoid>;
template struct host_kernels<hard_sigmoid>;
template struct host_kernels<tanh_activation>;
template struct host_kernels<hard_tanh>;
template struct host_kernels<softplus>;
template struct host_kernels<softsign>;
template struct host_kernels<swish>;
template struct host_kernels<gelu>;
template struct host_kernels<gelu_tanh>;
template struct host_kernels<mish>;
template struct host_kernels<identity_activation>;
template struct host_kernels<softmax>;
template struct host_kernels<log_softmax>;
template struct host_kernels<multiply>;
template struct host_kernels<average>;
template struct host_kernels<maximum>;
template struct host_kernels<subset>;
template struct host_kernels<scale>;
template struct host_kernels<zero_padding>;
template struct host_kernels<cropping>;
template struct host_kernels<upsampling>;
template struct host_kernels<bilinear_upsampling>;
template struct host_kernels<reshape>;
template struct host_kernels<permute>;
template struct host_kernels<flatten>;
template struct host_kernels<embedding>;
template struct host_kernels<dropout>;
template struct host_kernels<spatial_dropout>;
template struct host_kernels<gaussian_noise>;
template struct host_kernels<conv1d>;
template struct host_kernels<conv2d_transposed>;
template struct host_kernels<avg_pool>;
template struct host_kernels<global_avg_pool>;
template struct host_kernels<global_max_pool>;
template struct host_kernels<lrn>;
template struct host_kernels<batch_norm>;
template struct host_kernels<layer_norm>;
template struct host_kernels<group_norm>;
template struct host_kernels<synchronised_batch_norm>;
template struct host_kernels<matmul>;
template struct host_kernels<simple_rnn>;
template struct host_kernels<lstm>;
template struct host_kernels<gru>;
template struct host_kernels<recurrent_output>;
template struct host_kernels<attention>;
template struct host_kernels<rms_norm>;
template struct host_kernels<learned_positions>;
template struct host_kernels<sinusoidal_positions>;
template struct host_kernels<zero_masked>;

}  // namespace cohort::detail
