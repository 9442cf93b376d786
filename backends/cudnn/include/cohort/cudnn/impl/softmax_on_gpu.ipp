// SPDX-License-Identifier: Apache-2.0
#include <cohort/cudnn/detail/loss_on_gpu.hpp>
#include <cohort/cudnn/detail/softmax_on_gpu.hpp>

namespace cohort::detail {

gpu_operation prepare(gpu_target const& where, gpu_request const& request, softmax const& layer) {
  using enum operand_role;
  shared_stream const on = where.stream;
  shape const layout = batched_output(request);
  auto const channels = static_cast<kernels::size>(request.output_shape[0]);
  kernels::size const area = elements_of(request.output_shape) / channels;
  std::size_t const places = static_cast<std::size_t>(request.batch) * area;
  double const flops = layer.flops(request.input_shapes) * request.batch;
  gpu_operation made;
  made.output = layout;
  made.forward.push_back(
      {[=](std::span<void* const> a) {
         on->launch(kernels::softmax{tensor_at(a, 0), tensor_at(a, 1), channels, area}, places);
       },
       {{input, 0, layout}, {output, 0, layout}},
       "nvrtc",
       flops});
  if (request.training && request.wants_diff_input[0])
    made.backward.push_back({[=](std::span<void* const> a) {
                               on->launch(kernels::softmax_gradient{tensor_at(a, 0), tensor_at(a, 1),
                                                                    tensor_at(a, 2), channels, area},
                                          places);
                             },
                             {{output, 0, layout}, {diff_output, 0, layout}, {diff_input, 0, layout}},
                             "nvrtc",
                             flops});
  return made;
}

/// Prepares a softmax cross-entropy. With `without_entropy`, subtracts the entropy of the targets.
template <class Layer>
gpu_operation prepare_softmax_loss(shared_stream const& on, gpu_request const& request, Layer const& layer,
                                   double smoothing, int ignored, bool without_entropy) {
  std::size_t const classes = loss_steps(request.output_shape).width,
                    rows =
                        static_cast<std::size_t>(request.batch) * elements_of(request.output_shape) / classes;
  double const of_row = ignored != target_spec::no_index ? 1 : row_factor(request, layer.sum_steps);
  auto const softmax_of = [=](loss_pass const& pass) {
    return kernels::softmax_rows{pass.input, pass.output, classes};
  };
  auto const wanted = [=](loss_pass const& pass) {
    return kernels::class_targets{pass.labels ? reinterpret_cast<int const*>(pass.targets) : nullptr,
                                  pass.targets, classes, smoothing, ignored};
  };
  return prepare_loss(
      on, request, layer.flops(request.input_shapes) * request.batch, rows, layer.weight * of_row,
      [=](loss_pass const& pass) { on->launch(softmax_of(pass), rows); },
      [=](loss_pass const& pass) {
        on->launch(
            kernels::softmax_loss{softmax_of(pass), wanted(pass), pass.weights, pass.sums, without_entropy},
            rows);
      },
      [=](loss_pass const& pass) {
        on->launch(kernels::softmax_loss_gradient{pass.output, pass.diff_input, wanted(pass), pass.weights,
                                                  pass.scale},
                   rows);
      });
}

gpu_operation prepare(gpu_target const& where, gpu_request const& request,
                      softmax_cross_entropy const& layer) {
  return prepare_softmax_loss(where.stream, request, layer, layer.label_smoothing, layer.ignore_index, false);
}

gpu_operation prepare(gpu_target const& where, gpu_request const& request, kullback_leibler const& layer) {
  return prepare_softmax_loss(where.stream, request, layer, 0, target_spec::no_index, true);
}

}  // namespace cohort::detail
