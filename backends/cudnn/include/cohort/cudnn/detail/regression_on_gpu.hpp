// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/detail/loss_on_gpu.hpp>
#include <cohort/layer/binary_cross_entropy.hpp>
#include <cohort/layer/hinge.hpp>
#include <cohort/layer/huber.hpp>
#include <cohort/layer/mean_absolute_error.hpp>
#include <cohort/layer/mean_squared_error.hpp>
#include <limits>
#include <type_traits>

namespace cohort::detail {

/// Kernel implementations of elementwise losses (kernels/losses.inc). distance_loss is a function of the
/// difference d of output and target: ½·d², d², |d|, or a function that is quadratic near 0 and linear
/// elsewhere (huber).
inline constexpr float everywhere = std::numeric_limits<float>::infinity();
inline constexpr kernels::distance_loss half_square{everywhere, 0.5F, 0, 0};

inline kernels::distance_loss loss_of(mean_squared_error const&) { return {everywhere, 1, 0, 0}; }
inline kernels::distance_loss loss_of(mean_absolute_error const&) { return {0, 0, 1, 0}; }
kernels::distance_loss loss_of(huber const& layer);
inline kernels::margin_loss loss_of(hinge const&) { return {}; }
inline kernels::logit_loss loss_of(binary_cross_entropy const&) { return {}; }

template <class Layer>
concept is_loss_of_numbers = requires(Layer const& layer) {
  loss_of(layer);
};

/// Prepares an elementwise loss. The loss of an example, or of a step, is the mean over its outputs. The
/// output equals the input; for losses of logits, it is the probabilities. The gradient with respect to a
/// logit is probability − target, which loss_gradient computes as the derivative of ½·d².
template <is_loss_of_numbers Layer>
gpu_operation prepare(gpu_target const& where, gpu_request const& request, Layer const& layer) {
  shared_stream const on = where.stream;
  std::size_t const width = loss_steps(request.output_shape).width,
                    n = static_cast<std::size_t>(request.batch) * elements_of(request.output_shape);
  auto const loss = loss_of(layer);
  constexpr bool of_logits = std::is_same_v<decltype(loss), kernels::logit_loss const>;
  auto const infer = [=](loss_pass const& pass) {
    if constexpr (of_logits)
      on->launch(kernels::activate<kernels::sigmoid_curve>{{}, pass.input, pass.output}, n);
    else
      on->copy(reinterpret_cast<std::byte const*>(pass.input), reinterpret_cast<std::byte*>(pass.output),
               n * sizeof(float));
  };
  auto const sum = [=](loss_pass const& pass) {
    infer(pass);
    on->launch(kernels::loss_sums<std::remove_const_t<decltype(loss)>>{loss, pass.input, pass.targets,
                                                                       pass.weights, pass.sums, width},
               n);
  };
  auto const differentiate = [=](loss_pass const& pass) {
    auto slope = [&] {
      if constexpr (of_logits)
        return half_square;
      else
        return loss;
    }();
    on->launch(kernels::loss_gradient<decltype(slope)>{slope, pass.output, pass.targets, pass.weights,
                                                       pass.diff_input, width, pass.scale},
               n);
  };
  return prepare_loss(on, request, layer.flops(request.input_shapes) * request.batch,
                      (n + sum_chunk - 1) / sum_chunk,
                      layer.weight * row_factor(request, layer.sum_steps) / static_cast<double>(width), infer,
                      sum, differentiate);
}

}  // namespace cohort::detail
