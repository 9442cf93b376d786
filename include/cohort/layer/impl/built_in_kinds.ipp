// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/detail/config.hpp>
#include <cohort/layer/built_in_kinds.hpp>
#include <cohort/layer/layers.hpp>

namespace cohort {

COHORT_CORE_INLINE std::span<kind const* const> built_in_kinds() {
  // clang-format off
  static constexpr std::array kinds{
      &kind_of<input>, &kind_of<conv2d>, &kind_of<max_pool>, &kind_of<dense>,
      &kind_of<relu>, &kind_of<leaky_relu>, &kind_of<add>, &kind_of<concatenate>,
      &kind_of<softmax_cross_entropy>, &kind_of<kullback_leibler>, &kind_of<binary_cross_entropy>, &kind_of<mean_squared_error>,
      &kind_of<mean_absolute_error>, &kind_of<huber>, &kind_of<hinge>, &kind_of<relu6>,
      &kind_of<prelu>, &kind_of<elu>, &kind_of<selu>, &kind_of<sigmoid>,
      &kind_of<hard_sigmoid>, &kind_of<tanh_activation>, &kind_of<hard_tanh>, &kind_of<softplus>,
      &kind_of<softsign>, &kind_of<swish>, &kind_of<gelu>, &kind_of<mish>,
      &kind_of<identity_activation>, &kind_of<softmax>, &kind_of<multiply>, &kind_of<average>,
      &kind_of<maximum>, &kind_of<subset>, &kind_of<scale>, &kind_of<zero_padding>,
      &kind_of<cropping>, &kind_of<upsampling>, &kind_of<reshape>, &kind_of<flatten>,
      &kind_of<embedding>, &kind_of<dropout>, &kind_of<spatial_dropout>, &kind_of<gaussian_noise>,
      &kind_of<conv1d>, &kind_of<conv2d_transposed>, &kind_of<avg_pool>, &kind_of<global_avg_pool>,
      &kind_of<global_max_pool>, &kind_of<lrn>, &kind_of<batch_norm>, &kind_of<layer_norm>,
      &kind_of<synchronised_batch_norm>, &kind_of<matmul>};
  // clang-format on
  return kinds;
}

}  // namespace cohort
