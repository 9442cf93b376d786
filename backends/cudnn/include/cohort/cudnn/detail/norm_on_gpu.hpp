// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/detail/channel_sums_on_gpu.hpp>
#include <cohort/cudnn/detail/cross_worker_statistics.hpp>
#include <cohort/cudnn/detail/fused_on_gpu.hpp>
#include <cohort/layer/batch_norm.hpp>
#include <cohort/layer/synchronised_batch_norm.hpp>
#include <concepts>

namespace cohort::detail {

template <class Layer>
inline constexpr bool sums_over_parts = std::same_as<Layer, synchronised_batch_norm>;

/// A norm of channels, as a kernel has it.
inline kernels::norm_of_groups norm_of_channels(kernels::channel_terms const& terms, double epsilon,
                                                float const* means, float const* variances,
                                                float const* scale, float const* shift) {
  return {means, variances, scale, shift, static_cast<float>(epsilon), terms.channels, terms.area, false};
}

/// A norm's step, but for its kernels. A sum behind it may lie where the summand lies, which backward does not read.
inline gpu_operation begin_norm(gpu_request const& request, fused_behind const& behind) {
  gpu_operation made;
  made.output = request.inputs[0];
  made.parameters.assign(4, shape{request.output_shape[0]});
  made.overwrites = behind.sums;
  made.overwritten = behind.sums ? 1 : 0;
  return made;
}

/// By running statistics, which are constants in both passes.
template <class Layer>
gpu_operation prepare_frozen_norm(shared_stream const& on, gpu_request const& request, Layer const& layer) {
  using enum operand_role;
  gpu_layout const lies = request.inputs[0];
  shape const each{request.output_shape[0]};
  kernels::channel_terms const terms = channel_sums_on_gpu(on, lies).terms();
  std::size_t const n = lies.elements();
  fused_behind const behind(request);
  gpu_operation made = begin_norm(request, behind);
  gpu_operands operands{{input, 0, lies},     {output, 0, lies},    {parameter, 0, each},
                        {parameter, 1, each}, {parameter, 2, each}, {parameter, 3, each}};
  if (behind.sums) operands.push_back({input, 1, lies});
  made.forward.push_back(
      {[=, epsilon = layer.epsilon](std::span<void* const> a) {
         on->launch(
             kernels::normalise_groups{norm_of_channels(terms, epsilon, tensor_at(a, 4), tensor_at(a, 5),
                                                        tensor_at(a, 2), tensor_at(a, 3)),
                                       values_at(a, 0, lies), behind.sums ? values_at(a, 6, lies) : nullptr,
                                       values_at(a, 1, lies), behind.slope},
             n);
       },
       std::move(operands), "nvrtc", layer.flops(request.input_shapes.first(1)) * request.batch});
  if (!request.training) return made;
  add_backward_of(made, on, request, behind);
  if (request.wants_diff_input[0])
    made.backward.push_back(
        {[=, epsilon = layer.epsilon](std::span<void* const> a) {
           on->launch(
               kernels::normalise_groups_gradient{
                   norm_of_channels(terms, epsilon, nullptr, tensor_at(a, 1), tensor_at(a, 0), nullptr),
                   nullptr,
                   {values_at(a, 2, lies)},
                   nullptr,
                   nullptr,
                   values_at(a, 3, lies),
                   1},
               n);
         },
         {{parameter, 0, each}, {parameter, 3, each}, {diff_output, 0, lies}, {diff_input, 0, lies}},
         "nvrtc",
         static_cast<double>(n)});
  return made;
}

/// By the statistics of the batch: of this part of it, or of all parts where their sums are given. Forward leaves means and
/// variances in the workspace. What a rectifier behind it lets through of the gradient is found anew from the input; behind a sum it is
/// done first. Running statistics follow by gradients of their own: plan/detail/running_statistics.hpp.
///
/// Order     where sums over parts are given, each pass waits for this part's, and for the other parts.
/// Moves     where sums are given 5·C floats between GPU and processor in forward, 4·C in backward, with two waits each.
template <class Layer>
gpu_operation prepare_norm(shared_stream const& on, gpu_request const& request, Layer const& layer) {
  using enum operand_role;
  if (!request.training || request.frozen) return prepare_frozen_norm(on, request, layer);
  gpu_layout const lies = request.inputs[0];
  shape const each{request.output_shape[0]}, statistics{2 * request.output_shape[0]};
  channel_sums_on_gpu const sums(on, lies);
  kernels::channel_terms const terms = sums.terms();
  cross_worker_statistics const parts(on, terms);
  std::size_t const n = lies.elements();
  auto const count = static_cast<double>(terms.count);
  double const flops = layer.flops(request.input_shapes.first(1)) * request.batch;
  shape const room = room_for(sums.scratch_bytes());
  auto const shared = [](step_scalars const& now) { return sums_over_parts<Layer> ? now.sums : nullptr; };
  fused_behind const behind(request);
  gpu_operation made = begin_norm(request, behind);
  gpu_operands forward{{input, 0, lies},
                       {output, 0, lies},
                       {parameter, 0, each},
                       {parameter, 1, each},
                       {parameter, 2, each},
                       {workspace, 0, statistics},
                       {scalars},
                       {scratch, 0, room}};
  if (behind.sums) forward.push_back({input, 1, lies});
  made.forward.push_back(
      {[=, epsilon = layer.epsilon](std::span<void* const> a) {
         kernels::values const x = values_at(a, 0, lies);
         float *const means = tensor_at(a, 5), *const variances = means + terms.channels;
         auto* const partial = static_cast<double*>(a[7]);
         sums.run(kernels::channel_sums{terms, x, partial}, means, count);
         sums.run(kernels::channel_square_sums{terms, x, means, partial}, variances, count);
         if (auto* const over = shared(*static_cast<step_scalars const*>(a[6])))
           parts.join_statistics(*over, means, tensor_at(a, 4));
         on->launch(
             kernels::normalise_groups{
                 norm_of_channels(terms, epsilon, means, variances, tensor_at(a, 2), tensor_at(a, 3)), x,
                 behind.sums ? values_at(a, 8, lies) : nullptr, values_at(a, 1, lies), behind.slope},
             n);
       },
       std::move(forward), "nvrtc", flops});

  bool const apart = behind.sums;  // what is behind has a backward of its own
  if (apart) add_backward_of(made, on, request, behind);
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
                        {scratch, 0, room},
                        {scratch, 1, statistics},
                        {parameter, 1, each}};
  if (request.wants_diff_input[0]) operands.push_back({diff_input, 0, lies});
  made.backward.push_back(
      {[=, epsilon = layer.epsilon](std::span<void* const> a) {
         kernels::values const x = values_at(a, 0, lies);
         kernels::gradient_of_norm const dy{values_at(a, 5, lies), apart ? 1 : behind.slope};
         float *const means = tensor_at(a, 3), *const variances = means + terms.channels,
                      *const diff_scale = tensor_at(a, 6), *const diff_shift = tensor_at(a, 7);
         auto const& now = *static_cast<step_scalars const*>(a[4]);
         auto* const partial = static_cast<double*>(a[10]);
         kernels::norm_of_groups const norm =
             norm_of_channels(terms, epsilon, means, variances, tensor_at(a, 1), tensor_at(a, 12));
         sums.run(kernels::norm_gradient_sums{terms, norm, x, dy, partial, false, false}, diff_shift);
         sums.run(kernels::norm_gradient_sums{terms, norm, x, dy, partial, false, true}, diff_scale);
         on->launch(kernels::shift_statistics{means, variances, tensor_at(a, 2), tensor_at(a, 8),
                                              tensor_at(a, 9), constants_of(now)},
                    terms.channels);
         float const *along = diff_scale, *sum = diff_shift;
         double over_elements = count;
         if (auto* const over = shared(now)) {
           float* const joined = tensor_at(a, 11);
           over_elements = parts.join_gradients(*over, now.gradient_scale, diff_shift, diff_scale, joined);
           sum = joined, along = joined + terms.channels;
         }
         if (a.size() > 13)
           on->launch(kernels::normalise_groups_gradient{norm, x, dy, along, sum, values_at(a, 13, lies),
                                                         static_cast<float>(over_elements)},
                      n);
       },
       std::move(operands), "nvrtc", 2 * flops});
  return made;
}

inline gpu_operation prepare(gpu_target const& where, gpu_request const& request, batch_norm const& layer) {
  return prepare_norm(where.stream, request, layer);
}
inline gpu_operation prepare(gpu_target const& where, gpu_request const& request,
                             synchronised_batch_norm const& layer) {
  return prepare_norm(where.stream, request, layer);
}

}  // namespace cohort::detail
