// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/gpu_operation.hpp>
#include <cohort/layer/avg_pool.hpp>
#include <cohort/layer/global_pool.hpp>
#include <cohort/layer/max_pool.hpp>
#include <cohort/layer/window.hpp>

namespace cohort::detail {

inline kernels::moving_window window_of(window const& moving, shape const& in, shape const& out) {
  return {moving.size.height,
          moving.size.width,
          moving.stride.height,
          moving.stride.width,
          vertical_border(moving, in[1]).before,
          horizontal_border(moving, in[2]).before,
          in[1],
          in[2],
          out[1],
          out[2]};
}

/// Forward leaves in the workspace where each largest element was.
inline gpu_operation prepare(gpu_target const& where, gpu_request const& request, max_pool const& layer) {
  using enum operand_role;
  shared_stream const on = where.stream;
  kernels::moving_window const w = window_of(layer.moving(), request.input_shapes[0], request.output_shape);
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

inline gpu_operation prepare(gpu_target const& where, gpu_request const& request, avg_pool const& layer) {
  using enum operand_role;
  shared_stream const on = where.stream;
  kernels::moving_window const w = window_of(layer.moving(), request.input_shapes[0], request.output_shape);
  shape const from = batched_input(request), to = batched_output(request);
  std::size_t const inputs = elements_of(from), outputs = elements_of(to);
  double const flops = layer.flops(request.input_shapes) * request.batch;
  gpu_operation made;
  made.output = to;
  made.forward.push_back({[=](std::span<void* const> a) {
                            on->launch(kernels::average_pool{tensor_at(a, 0), tensor_at(a, 1), w}, outputs);
                          },
                          {{input, 0, from}, {output, 0, to}},
                          "nvrtc",
                          flops});
  if (request.training && request.wants_diff_input[0])
    made.backward.push_back(
        {[=](std::span<void* const> a) {
           on->launch(kernels::average_pool_gradient{tensor_at(a, 0), tensor_at(a, 1), w}, inputs);
         },
         {{diff_output, 0, to}, {diff_input, 0, from}},
         "nvrtc",
         flops});
  return made;
}

inline gpu_operation prepare(gpu_target const& where, gpu_request const& request,
                             global_avg_pool const& layer) {
  using enum operand_role;
  shared_stream const on = where.stream;
  shape const from = batched_input(request), to = batched_output(request);
  std::size_t const inputs = elements_of(from), outputs = elements_of(to);
  kernels::size const area = inputs / outputs;
  double const flops = layer.flops(request.input_shapes) * request.batch;
  gpu_operation made;
  made.output = to;
  made.forward.push_back(
      {[=](std::span<void* const> a) {
         on->launch(kernels::average_plane{tensor_at(a, 0), tensor_at(a, 1), area}, outputs);
       },
       {{input, 0, from}, {output, 0, to}},
       "nvrtc",
       flops});
  if (request.training && request.wants_diff_input[0])
    made.backward.push_back(
        {[=](std::span<void* const> a) {
           on->launch(kernels::average_plane_gradient{tensor_at(a, 0), tensor_at(a, 1), area}, inputs);
         },
         {{diff_output, 0, to}, {diff_input, 0, from}},
         "nvrtc",
         flops});
  return made;
}

/// Forward leaves in the workspace where each largest element was.
inline gpu_operation prepare(gpu_target const& where, gpu_request const& request,
                             global_max_pool const& layer) {
  using enum operand_role;
  shared_stream const on = where.stream;
  shape const from = batched_input(request), to = batched_output(request);
  std::size_t const inputs = elements_of(from), outputs = elements_of(to);
  kernels::size const area = inputs / outputs;
  double const flops = layer.flops(request.input_shapes) * request.batch;
  shape const places = room_for(outputs * sizeof(int));
  gpu_operation made;
  made.output = to;
  gpu_operands operands{{input, 0, from}, {output, 0, to}};
  if (request.training) operands.push_back({workspace, 0, places});
  made.forward.push_back(
      {[=](std::span<void* const> a) {
         on->launch(kernels::largest_of_plane{tensor_at(a, 0), tensor_at(a, 1),
                                              a.size() > 2 ? static_cast<int*>(a[2]) : nullptr, area},
                    outputs);
       },
       std::move(operands), "nvrtc", flops});
  if (request.training && request.wants_diff_input[0])
    made.backward.push_back({[=](std::span<void* const> a) {
                               on->launch(
                                   kernels::largest_of_plane_gradient{
                                       tensor_at(a, 0), static_cast<int const*>(a[1]), tensor_at(a, 2), area},
                                   inputs);
                             },
                             {{diff_output, 0, to}, {workspace, 0, places}, {diff_input, 0, from}},
                             "nvrtc",
                             flops});
  return made;
}

}  // namespace cohort::detail
