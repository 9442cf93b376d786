// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <oneapi/dnnl/dnnl.h>
#include <cohort/layer/activation.hpp>
#include <cohort/layer/bounded_activations.hpp>
#include <cohort/layer/rectifying_activations.hpp>
#include <string_view>

namespace cohort::detail {

/// oneDNN's algorithms for an activation. If `backward` differs from `forward`, backward reads the output
/// instead of the input. The input is then not kept, and the activation can be fused into another kernel.
struct dnnl_activation {
  std::string_view kind;
  dnnl_alg_kind_t forward = dnnl_alg_kind_undef;
  dnnl_alg_kind_t backward = dnnl_alg_kind_undef;
  float alpha = 0;
  float beta = 0;

  constexpr bool reads_output() const { return backward != forward; }
};

/// Activations that oneDNN computes accurately and by Cohort's formulas, including at the kinks.
/// activation_simd.hpp contains the others. If a kind has a field, that field is alpha.
inline constexpr dnnl_activation dnnl_activations[]{
    {relu::kind_name, dnnl_eltwise_relu, dnnl_eltwise_relu_use_dst_for_bwd},
    {leaky_relu::kind_name, dnnl_eltwise_relu, dnnl_eltwise_relu_use_dst_for_bwd},
    {elu::kind_name, dnnl_eltwise_elu, dnnl_eltwise_elu_use_dst_for_bwd},
    {sigmoid::kind_name, dnnl_eltwise_logistic, dnnl_eltwise_logistic_use_dst_for_bwd},
    {tanh_activation::kind_name, dnnl_eltwise_tanh, dnnl_eltwise_tanh_use_dst_for_bwd},
    {relu6::kind_name, dnnl_eltwise_clip_v2, dnnl_eltwise_clip_v2_use_dst_for_bwd, 0, 6},
    {hard_tanh::kind_name, dnnl_eltwise_clip_v2, dnnl_eltwise_clip_v2_use_dst_for_bwd, -1, 1},
    {hard_sigmoid::kind_name, dnnl_eltwise_hardsigmoid, dnnl_eltwise_hardsigmoid, 0.2F, 0.5F},
    {swish::kind_name, dnnl_eltwise_swish, dnnl_eltwise_swish, 1},
};

/// Returns the entry of the kind in dnnl_activations, or null. Compares names, because a reference to a kind
/// would compile its kernels into every program.
constexpr dnnl_activation const* find_activation(kind const& k) {
  for (dnnl_activation const& one : dnnl_activations)
    if (one.kind == k.name) return &one;
  return nullptr;
}

/// Returns the entry of the kind in dnnl_activations, with alpha set from the layer's field.
///
/// Before    find_activation(k) is not null.
dnnl_activation activation_of(kind const& k, double const* fields);

}  // namespace cohort::detail
