// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/channel_sums_on_gpu.hpp>
#include <cohort/layer/batch_norm.hpp>
#include <cohort/layer/scale.hpp>

namespace cohort::detail {

/// Forward leaves the batch's means and variances in the workspace; a frozen layer takes the running ones for constants in both
/// passes. Running statistics follow by gradients of their own: plan/running_statistics.hpp.
inline gpu_operation prepare(gpu_target const& where, gpu_request const& request, batch_norm const& layer) {
  using enum operand_role;
  shared_stream const on = where.stream;
  shape const lies = batched_output(request);
  channel_sums_on_gpu const sums(on, lies);
  kernels::channel_terms const terms = sums.terms();
  std::size_t const n = elements_of(lies);
  auto const count = static_cast<double>(terms.count);
  double const flops = layer.flops(request.input_shapes) * request.batch;
  auto const norm = [terms, epsilon = static_cast<float>(layer.epsilon)](
                        float const* means, float const* variances, float const* scale) {
    return kernels::channel_norm{means, variances, scale, epsilon, terms.channels, terms.area};
  };
  shape const each{request.output_shape[0]}, statistics{2 * request.output_shape[0]};
  gpu_operation made;
  made.output = lies;
  made.parameters.assign(4, each);

  if (!request.training || request.frozen) {
    made.forward.push_back(
        {[=](std::span<void* const> a) {
           on->launch(kernels::normalise_channels{norm(tensor_at(a, 4), tensor_at(a, 5), tensor_at(a, 2)),
                                                  tensor_at(a, 3), tensor_at(a, 0), tensor_at(a, 1)},
                      n);
         },
         {{input, 0, lies},
          {output, 0, lies},
          {parameter, 0, each},
          {parameter, 1, each},
          {parameter, 2, each},
          {parameter, 3, each}},
         "nvrtc",
         flops});
    if (request.training && request.wants_diff_input[0])
      made.backward.push_back(
          {[=](std::span<void* const> a) {
             on->launch(kernels::normalise_channels_gradient{norm(nullptr, tensor_at(a, 1), tensor_at(a, 0)),
                                                             nullptr, tensor_at(a, 2), nullptr, nullptr,
                                                             tensor_at(a, 3), 1},
                        n);
           },
           {{parameter, 0, each}, {parameter, 3, each}, {diff_output, 0, lies}, {diff_input, 0, lies}},
           "nvrtc",
           static_cast<double>(n)});
    return made;
  }

  shape const room = room_for(sums.scratch_bytes());
  made.forward.push_back(
      {[=](std::span<void* const> a) {
         float *const x = tensor_at(a, 0), *const means = tensor_at(a, 4),
                      *const variances = means + terms.channels;
         auto* const partial = static_cast<double*>(a[5]);
         sums.run(kernels::channel_sums{terms, x, partial}, means, count);
         sums.run(kernels::channel_square_sums{terms, x, means, partial}, variances, count);
         on->launch(kernels::normalise_channels{norm(means, variances, tensor_at(a, 2)), tensor_at(a, 3), x,
                                                tensor_at(a, 1)},
                    n);
       },
       {{input, 0, lies},
        {output, 0, lies},
        {parameter, 0, each},
        {parameter, 1, each},
        {workspace, 0, statistics},
        {scratch, 0, room}},
       "nvrtc",
       flops});

  gpu_operands operands{{input, 0, lies},
                        {parameter, 0, each},
                        {parameter, 2, each},
                        {workspace, 0, statistics},
                        {scalars},
                        {diff_output, 0, lies},
                        {diff_parameter, 0, each},
                        {diff_parameter, 1, each},
                        {diff_parameter, 2, each},
                        {diff_parameter, 3, each},
                        {scratch, 0, room}};
  if (request.wants_diff_input[0]) operands.push_back({diff_input, 0, lies});
  made.backward.push_back(
      {[=, batch = request.batch](std::span<void* const> a) {
         float *const x = tensor_at(a, 0), *const means = tensor_at(a, 3),
                      *const variances = means + terms.channels;
         float *const dy = tensor_at(a, 5), *const diff_scale = tensor_at(a, 6),
                      *const diff_shift = tensor_at(a, 7);
         auto const& now = *static_cast<step_scalars const*>(a[4]);
         auto* const partial = static_cast<double*>(a[10]);
         kernels::channel_norm const by = norm(means, variances, tensor_at(a, 1));
         sums.run(kernels::channel_sums{terms, dy, partial}, diff_shift);
         sums.run(kernels::norm_scale_sums{terms, by, x, dy, partial}, diff_scale);
         double weight = 0;
         for (int example = 0; example < batch; ++example) weight += now.weight(example);
         on->launch(
             kernels::shift_statistics{means, variances, tensor_at(a, 2), tensor_at(a, 8), tensor_at(a, 9),
                                       static_cast<float>(now.gradient_scale * weight)},
             terms.channels);
         if (a.size() > 11)
           on->launch(kernels::normalise_channels_gradient{by, x, dy, diff_scale, diff_shift,
                                                           tensor_at(a, 11), static_cast<float>(count)},
                      n);
       },
       std::move(operands), "nvrtc", 2 * flops});
  return made;
}

/// By one factor, or by a learned one a channel.
inline gpu_operation prepare(gpu_target const& where, gpu_request const& request, scale const& layer) {
  using enum operand_role;
  shared_stream const on = where.stream;
  shape const lies = batched_output(request);
  channel_sums_on_gpu const sums(on, lies);
  kernels::channel_terms const terms = sums.terms();
  std::size_t const n = elements_of(lies);
  auto const flops = static_cast<double>(n);
  gpu_operation made;
  made.output = lies;
  host_function const by_one = [=, factor = static_cast<float>(layer.factor)](std::span<void* const> a) {
    on->launch(kernels::scaled{tensor_at(a, 0), tensor_at(a, 1), factor}, n);
  };
  host_function const by_channels = [=](std::span<void* const> a) {
    on->launch(kernels::scale_channels{tensor_at(a, 0), tensor_at(a, 2), tensor_at(a, 1), terms.channels,
                                       terms.area},
               n);
  };
  shape const each{request.output_shape[0]};
  gpu_operands forward{{input, 0, lies}, {output, 0, lies}},
      data{{diff_output, 0, lies}, {diff_input, 0, lies}};
  if (layer.learned) {
    made.parameters.push_back(each);
    forward.push_back({parameter, 0, each});
    data.push_back({parameter, 0, each});
  }
  host_function const& run = layer.learned ? by_channels : by_one;
  made.forward.push_back({run, std::move(forward), "nvrtc", flops});
  if (!request.training) return made;
  if (layer.learned && !request.frozen)
    made.backward.push_back({[=](std::span<void* const> a) {
                               sums.run(kernels::channel_product_sums{terms, tensor_at(a, 0), tensor_at(a, 1),
                                                                      static_cast<double*>(a[3])},
                                        tensor_at(a, 2));
                             },
                             {{input, 0, lies},
                              {diff_output, 0, lies},
                              {diff_parameter, 0, each},
                              {scratch, 0, room_for(sums.scratch_bytes())}},
                             "nvrtc",
                             2 * flops});
  if (request.wants_diff_input[0]) made.backward.push_back({run, std::move(data), "nvrtc", flops});
  return made;
}

}  // namespace cohort::detail
