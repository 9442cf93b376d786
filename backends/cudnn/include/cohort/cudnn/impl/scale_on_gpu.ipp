// SPDX-License-Identifier: Apache-2.0
#include <cohort/cudnn/detail/channel_sums_on_gpu.hpp>
#include <cohort/cudnn/detail/scale_on_gpu.hpp>

namespace cohort::detail {

gpu_operation prepare(gpu_target const& where, gpu_request const& request, scale const& layer) {
  using enum operand_role;
  shared_stream const on = where.stream;
  shape const layout = batched_output(request);
  channel_sums_on_gpu const sums(on, layout, 1);
  kernels::divisor const channels = sums.channels(), area = sums.walked().area;
  std::size_t const n = elements_of(layout);
  auto const flops = static_cast<double>(n);
  gpu_operation made;
  made.output = layout;
  host_function const by_one = [=, factor = static_cast<float>(layer.factor)](std::span<void* const> a) {
    on->launch(kernels::scaled{tensor_at(a, 0), tensor_at(a, 1), factor}, n);
  };
  host_function const by_channels = [=](std::span<void* const> a) {
    on->launch(kernels::scale_channels{tensor_at(a, 0), tensor_at(a, 2), tensor_at(a, 1), channels, area}, n);
  };
  shape const each{request.output_shape[0]};
  gpu_operands forward{{input, 0, layout}, {output, 0, layout}},
      data{{diff_output, 0, layout}, {diff_input, 0, layout}};
  if (layer.learned) {
    made.parameters.push_back(each);
    forward.push_back({parameter, 0, each});
    data.push_back({parameter, 0, each});
  }
  host_function const& run = layer.learned ? by_channels : by_one;
  made.forward.push_back({run, std::move(forward), "nvrtc", flops});
  if (!request.training) return made;
  if (layer.learned && !request.frozen)
    made.backward.push_back(channel_factor_gradient(sums, layout, each, false));
  if (request.wants_diff_input[0]) made.backward.push_back({run, std::move(data), "nvrtc", flops});
  return made;
}

}  // namespace cohort::detail
