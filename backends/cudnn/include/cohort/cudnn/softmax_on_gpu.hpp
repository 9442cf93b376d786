// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/gpu_operation.hpp>
#include <cohort/layer/softmax.hpp>
#include <cohort/layer/softmax_cross_entropy.hpp>

namespace cohort::detail {

inline gpu_operation prepare(gpu_target const& where, gpu_request const& request, softmax const& layer) {
  using enum operand_role;
  shared_stream const on = where.stream;
  shape const lies = batched_output(request);
  auto const channels = static_cast<kernels::size>(request.output_shape[0]);
  kernels::size const area = elements_of(request.output_shape) / channels;
  std::size_t const places = static_cast<std::size_t>(request.batch) * area;
  double const flops = layer.flops(request.input_shapes) * request.batch;
  gpu_operation made;
  made.output = lies;
  made.forward.push_back(
      {[=](std::span<void* const> a) {
         on->launch(kernels::softmax_places{tensor_at(a, 0), tensor_at(a, 1), channels, area}, places);
       },
       {{input, 0, lies}, {output, 0, lies}},
       "nvrtc",
       flops});
  if (request.training && request.wants_diff_input[0])
    made.backward.push_back({[=](std::span<void* const> a) {
                               on->launch(kernels::softmax_places_gradient{tensor_at(a, 0), tensor_at(a, 1),
                                                                           tensor_at(a, 2), channels, area},
                                          places);
                             },
                             {{output, 0, lies}, {diff_output, 0, lies}, {diff_input, 0, lies}},
                             "nvrtc",
                             flops});
  return made;
}

/// Targets and weights are brought to the workspace in forward and stay there for backward; the loss is fetched, so that forward
/// ends with a wait.
inline gpu_operation prepare(gpu_target const& where, gpu_request const& request,
                             softmax_cross_entropy const& layer) {
  using enum operand_role;
  shared_stream const on = where.stream;
  shape const lies = batched_output(request);
  auto const rows = static_cast<std::size_t>(request.batch);
  std::size_t const classes = elements_of(request.output_shape), chunks = (rows + sum_chunk - 1) / sum_chunk;
  gpu_operation made;
  made.output = lies;
  if (!request.training) {
    made.forward.push_back({[=](std::span<void* const> a) {
                              on->launch(kernels::softmax{tensor_at(a, 0), tensor_at(a, 1), classes}, rows);
                            },
                            {{input, 0, lies}, {output, 0, lies}},
                            "nvrtc",
                            4.0 * static_cast<double>(lies.elements())});
    return made;
  }
  auto const targets_at = [=, smoothing = layer.label_smoothing](tensor_view const& given, float* room) {
    bool const labels = given.type == element_type::i32;
    return kernels::class_targets{labels ? reinterpret_cast<int const*>(room) : nullptr,
                                  labels ? nullptr : room, classes, smoothing};
  };
  shape const room{static_cast<int>(rows * (classes + 1))};  // targets, then weights
  made.forward.push_back({[=, weight = layer.weight](std::span<void* const> a) {
                            float* const targets = tensor_at(a, 2);
                            float* const weights = targets + rows * classes;
                            auto const& now = *static_cast<step_scalars const*>(a[3]);
                            auto const& given = *static_cast<tensor_view const*>(a[4]);
                            auto* const sums = static_cast<double*>(a[6]);
                            on->bring(given.data, reinterpret_cast<std::byte*>(targets),
                                      elements_of(given.dims) * bytes_of(given.type));
                            if (now.weights)
                              on->bring(now.weights, reinterpret_cast<std::byte*>(weights),
                                        rows * sizeof(float));
                            on->launch(kernels::softmax_loss{{tensor_at(a, 0), tensor_at(a, 1), classes},
                                                             targets_at(given, targets),
                                                             now.weights ? weights : nullptr,
                                                             sums},
                                       rows);
                            on->launch(kernels::add_chunks{sums, chunks}, 1);
                            double all = 0;
                            on->fetch(static_cast<std::byte const*>(a[6]), &all, sizeof all);
                            static_cast<loss_sum*>(a[5])->sum = weight * all;
                          },
                          {{input, 0, lies},
                           {output, 0, lies},
                           {workspace, 0, room},
                           {scalars},
                           {target},
                           {loss},
                           {scratch, 0, room_for(chunks * sizeof(double))}},
                          "nvrtc",
                          4.0 * static_cast<double>(lies.elements())});
  if (request.wants_diff_input[0])
    made.backward.push_back(
        {[=, weight = layer.weight](std::span<void* const> a) {
           float* const targets = tensor_at(a, 2);
           auto const& now = *static_cast<step_scalars const*>(a[3]);
           on->launch(kernels::softmax_gradient{tensor_at(a, 0), tensor_at(a, 1),
                                                targets_at(*static_cast<tensor_view const*>(a[4]), targets),
                                                now.weights ? targets + rows * classes : nullptr,
                                                now.gradient_scale * weight},
                      rows);
         },
         {{output, 0, lies}, {diff_input, 0, lies}, {workspace, 0, room}, {scalars}, {target}},
         "nvrtc",
         4.0 * static_cast<double>(lies.elements())});
  return made;
}

}  // namespace cohort::detail
