// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/gpu_operation.hpp>
#include <cohort/layer/max_pool.hpp>
#include <cohort/layer/window.hpp>

namespace cohort::detail {

/// Forward leaves in the workspace where each largest element was.
inline gpu_operation prepare(gpu_target const& where, gpu_request const& request, max_pool const& layer) {
  using enum operand_role;
  shared_stream const on = where.stream;
  shape const in = request.input_shapes[0], out = request.output_shape;
  window const moving = layer.moving();
  kernels::moving_window const w{moving.size.height,
                                 moving.size.width,
                                 moving.stride.height,
                                 moving.stride.width,
                                 vertical_border(moving, in[1]).before,
                                 horizontal_border(moving, in[2]).before,
                                 in[1],
                                 in[2],
                                 out[1],
                                 out[2]};
  shape const from = batched_input(request), to = batched_output(request);
  std::size_t const inputs = elements_of(from), outputs = elements_of(to);
  double const flops = layer.flops(request.input_shapes) * request.batch;
  gpu_operation made;
  made.output = to;
  gpu_operands operands{{input, 0, from}, {output, 0, to}};
  shape const places = room_for(outputs * sizeof(int));
  if (request.training) operands.push_back({workspace, 0, places});
  made.forward.push_back({[=](std::span<void* const> a) {
                            on->launch(kernels::max_pool{tensor_at(a, 0), tensor_at(a, 1),
                                                         a.size() > 2 ? static_cast<int*>(a[2]) : nullptr, w},
                                       outputs);
                          },
                          std::move(operands), "nvrtc", flops});
  if (request.training && request.wants_diff_input[0])
    made.backward.push_back(
        {[=](std::span<void* const> a) {
           on->launch(
               kernels::max_pool_gradient{tensor_at(a, 0), static_cast<int const*>(a[1]), tensor_at(a, 2), w},
               inputs);
         },
         {{diff_output, 0, to}, {workspace, 0, places}, {diff_input, 0, from}},
         "nvrtc",
         flops});
  return made;
}

}  // namespace cohort::detail
