// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/layers.hpp>

/// The compiled library contains the kernels of the built-in layers: see impl/host_kernels.ipp.
namespace cohort::detail {

extern template struct host_kernels<add>;
extern template struct host_kernels<softmax_cross_entropy>;
extern template struct host_kernels<kullback_leibler>;
extern template struct host_kernels<binary_cross_entropy>;
extern template struct host_kernels<mean_squared_error>;
extern template struct host_kernels<mean_absolute_error>;
extern template struct host_kernels<huber>;
extern template struct host_kernels<hinge>;
extern template struct host_kernels<relu6>;
extern template struct host_kernels<prelu>;
extern template struct host_kernels<elu>;
extern template struct host_kernels<selu>;
extern template struct host_kernels<sigmoid>;
extern template struct host_kernels<hard_sigmoid>;
extern template struct host_kernels<tanh_activation>;
extern template struct host_kernels<hard_tanh>;
extern template struct host_kernels<softplus>;
extern template struct host_kernels<softsign>;
extern template struct host_kernels<swish>;
extern template struct host_kernels<gelu>;
extern template struct host_kernels<gelu_tanh>;
extern template struct host_kernels<mish>;
extern template struct host_kernels<identity_activation>;
extern template struct host_kernels<softmax>;
extern template struct host_kernels<multiply>;
extern template struct host_kernels<average>;
extern template struct host_kernels<maximum>;
extern template struct host_kernels<subset>;
extern template struct host_kernels<scale>;
extern template struct host_kernels<zero_padding>;
extern template struct host_kernels<cropping>;
extern template struct host_kernels<upsampling>;
extern template struct host_kernels<reshape>;
extern template struct host_kernels<flatten>;
extern template struct host_kernels<embedding>;
extern template struct host_kernels<dropout>;
extern template struct host_kernels<spatial_dropout>;
extern template struct host_kernels<gaussian_noise>;
extern template struct host_kernels<conv1d>;
extern template struct host_kernels<conv2d_transposed>;
extern template struct host_kernels<avg_pool>;
extern template struct host_kernels<global_avg_pool>;
extern template struct host_kernels<global_max_pool>;
extern template struct host_kernels<lrn>;
extern template struct host_kernels<batch_norm>;
extern template struct host_kernels<layer_norm>;
extern template struct host_kernels<synchronised_batch_norm>;
extern template struct host_kernels<matmul>;
extern template struct host_kernels<zero_masked>;

}  // namespace cohort::detail
