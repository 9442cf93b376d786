// SPDX-License-Identifier: Apache-2.0
#include <cohort/cudnn/detail/channel_sums_on_gpu.hpp>
#include <cohort/cudnn/detail/prelu_on_gpu.hpp>

namespace cohort::detail {

gpu_operation prepare(gpu_target const& where, gpu_request const& request, prelu const& layer) {
  using enum operand_role;
  shared_stream const on = where.stream;
  shape const layout = batched_output(request), each{layer.per_channel ? request.output_shape[0] : 1};
  std::size_t const n = elements_of(layout);
  channel_sums_on_gpu const sums(
      on, shape{request.batch, each[0], static_cast<int>(request.output_shape.elements()) / each[0]}, 1);
  auto const slopes = [channels = kernels::divisor(sums.channels()),
                       area = kernels::divisor(sums.walked().area)](float const* learned) {
    return kernels::rectifier_slopes{0, learned, channels, area};
  };
  gpu_operation made;
  made.output = layout;
  made.parameters.push_back(each);
  made.forward.push_back(
      {[=](std::span<void* const> a) {
         on->launch(kernels::rectify{tensor_at(a, 0), tensor_at(a, 1), slopes(tensor_at(a, 2))}, n);
       },
       {{input, 0, layout}, {output, 0, layout}, {parameter, 0, each}},
       "nvrtc",
       static_cast<double>(n)});
  if (!request.training) return made;
  made.backward.push_back(channel_factor_gradient(sums, layout, each, true));
  if (request.wants_diff_input[0])
    made.backward.push_back(
        {[=](std::span<void* const> a) {
           on->launch(kernels::rectify_gradient{tensor_at(a, 0), tensor_at(a, 1), tensor_at(a, 2),
                                                slopes(tensor_at(a, 3))},
                      n);
         },
         {{input, 0, layout}, {diff_output, 0, layout}, {diff_input, 0, layout}, {parameter, 0, each}},
         "nvrtc",
         static_cast<double>(n)});
  return made;
}

}  // namespace cohort::detail
