// SPDX-License-Identifier: Apache-2.0
#include <cohort/cudnn/detail/lrn_on_gpu.hpp>

namespace cohort::detail {

gpu_operation prepare(gpu_target const& where, gpu_request const& request, lrn const& layer) {
  using enum operand_role;
  shared_stream const on = where.stream;
  shape const layout = batched_output(request);
  std::size_t const n = elements_of(layout);
  auto const channels = static_cast<kernels::size>(request.output_shape[0]);
  kernels::near_channels const beside{channels, elements_of(request.output_shape) / channels,
                                      static_cast<kernels::size>(layer.n / 2)};
  auto const k = static_cast<float>(layer.k), alpha = static_cast<float>(layer.alpha),
             beta = static_cast<float>(layer.beta),
             factor = static_cast<float>(-2 * layer.alpha * layer.beta);
  double const flops = layer.flops(request.input_shapes) * request.batch;
  gpu_operation made;
  made.output = layout;
  gpu_operands operands{{input, 0, layout}, {output, 0, layout}};
  if (request.training) operands.push_back({workspace, 0, layout});
  made.forward.push_back({[=](std::span<void* const> a) {
                            on->launch(kernels::normalise_response{tensor_at(a, 0), tensor_at(a, 1),
                                                                   a.size() > 2 ? tensor_at(a, 2) : nullptr,
                                                                   beside, k, alpha, beta},
                                       n);
                          },
                          std::move(operands), "nvrtc", flops});
  if (request.training && request.wants_diff_input[0])
    made.backward.push_back(
        {[=](std::span<void* const> a) {
           on->launch(
               kernels::normalise_response_gradient{tensor_at(a, 0), tensor_at(a, 1), tensor_at(a, 2),
                                                    tensor_at(a, 3), tensor_at(a, 4), beside, factor, beta},
               n);
         },
         {{input, 0, layout},
          {output, 0, layout},
          {workspace, 0, layout},
          {diff_output, 0, layout},
          {diff_input, 0, layout}},
         "nvrtc",
         2 * flops});
  return made;
}

}  // namespace cohort::detail
