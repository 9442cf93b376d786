// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/operation.hpp>
#include <cohort/cudnn/detail/gpu_layout.hpp>
#include <cohort/cudnn/gpu_operation.hpp>
#include <cohort/layer/bounded_activations.hpp>
#include <cohort/layer/rectifying_activations.hpp>
#include <type_traits>

namespace cohort::detail {

/// Returns the kernels' implementation of an activation, see kernels/activations.inc.
inline kernels::sigmoid_curve curve_of(sigmoid const&) { return {}; }
inline kernels::hard_sigmoid_curve curve_of(hard_sigmoid const&) { return {}; }
inline kernels::tanh_curve curve_of(tanh_activation const&) { return {}; }
inline kernels::hard_tanh_curve curve_of(hard_tanh const&) { return {}; }
inline kernels::softsign_curve curve_of(softsign const&) { return {}; }
inline kernels::relu6_curve curve_of(relu6 const&) { return {}; }
inline kernels::elu_curve curve_of(elu const& layer) { return {static_cast<float>(layer.alpha)}; }
kernels::selu_curve curve_of(selu const&);
inline kernels::softplus_curve curve_of(softplus const&) { return {}; }
inline kernels::swish_curve curve_of(swish const&) { return {}; }
inline kernels::gelu_curve curve_of(gelu const&) { return {}; }
inline kernels::gelu_tanh_curve curve_of(gelu_tanh const&) { return {}; }
inline kernels::mish_curve curve_of(mish const&) { return {}; }

template <class Layer>
concept has_curve = requires(Layer const& layer) {
  curve_of(layer);
};

/// Prepares an elementwise activation. Backward reads the input only if the layer does not work in place.
template <has_curve Layer>
gpu_operation prepare(gpu_target const& where, gpu_request const& request, Layer const& layer) {
  using enum operand_role;
  shared_stream const on = where.stream;
  gpu_layout const layout = request.inputs[0];
  std::size_t const n = layout.elements();
  auto const curve = curve_of(layer);
  using curve_type = std::remove_const_t<decltype(curve)>;
  gpu_operation made;
  made.output = layout;
  made.overwrites = Layer::in_place;
  made.forward.push_back(
      {[=](std::span<void* const> a) {
         on->launch(kernels::activate<curve_type>{curve, values_at(a, 0, layout), values_at(a, 1, layout)},
                    n);
       },
       {{input, 0, layout}, {output, 0, layout}},
       "nvrtc",
       static_cast<double>(n)});
  if (!request.training || !request.wants_diff_input[0]) return made;
  gpu_operands operands{{output, 0, layout}, {diff_output, 0, layout}, {diff_input, 0, layout}};
  if (!Layer::in_place) operands.push_back({input, 0, layout});
  made.backward.push_back(
      {[=](std::span<void* const> a) {
         on->launch(
             kernels::activate_gradient<curve_type>{curve, a.size() > 3 ? values_at(a, 3, layout) : nullptr,
                                                    values_at(a, 0, layout), values_at(a, 1, layout),
                                                    values_at(a, 2, layout)},
             n);
       },
       std::move(operands), "nvrtc", static_cast<double>(n)});
  return made;
}

gpu_operation prepare(gpu_target const& where, gpu_request const& request, identity_activation const&);

}  // namespace cohort::detail
