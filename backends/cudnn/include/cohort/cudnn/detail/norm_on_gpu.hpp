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
inline constexpr bool sums_across_parts = std::same_as<Layer, synchronised_batch_norm>;

/// Returns the kernel arguments of a norm over channels.
inline kernels::norm_of_groups norm_of_channels(double epsilon, float const* means, float const* variances,
                                                float const* scale, float const* shift) {
  return {means, variances, scale, shift, static_cast<float>(epsilon)};
}

/// Returns the operation of a norm without its kernels. With a fused sum, the output may overwrite the
/// summand, which backward does not read.
inline gpu_operation begin_norm(gpu_request const& request, fused_epilogue const& epilogue) {
  gpu_operation made;
  made.output = request.inputs[0];
  made.parameters.assign(4, shape{request.output_shape[0]});
  made.overwrites = epilogue.sums;
  made.overwritten = epilogue.sums ? 1 : 0;
  return made;
}

/// Prepares a norm that uses its running statistics, which are constants in both passes.
template <class Layer>
gpu_operation prepare_frozen_norm(shared_stream const& on, gpu_request const& request, Layer const& layer) {
  using enum operand_role;
  gpu_layout const layout = request.inputs[0];
  shape const each{request.output_shape[0]};
  channel_sums_on_gpu const channels(on, layout);
  std::size_t const n = layout.elements();
  fused_epilogue const epilogue(request);
  gpu_operation made = begin_norm(request, epilogue);
  gpu_operands operands{{input, 0, layout},   {output, 0, layout},  {parameter, 0, each},
                        {parameter, 1, each}, {parameter, 2, each}, {parameter, 3, each}};
  if (epilogue.sums) operands.push_back({input, 1, layout});
  made.forward.push_back(
      {[=, epsilon = layer.epsilon](std::span<void* const> a) {
         channels.run([&]<int width>() {
           return kernels::normalise_groups<width>{
               channels.walked(),
               norm_of_channels(epsilon, tensor_at(a, 4), tensor_at(a, 5), tensor_at(a, 2), tensor_at(a, 3)),
               values_at(a, 0, layout),
               epilogue.sums ? values_at(a, 6, layout) : nullptr,
               values_at(a, 1, layout),
               epilogue.slope};
         });
       },
       std::move(operands), "nvrtc", layer.flops(request.input_shapes.first(1)) * request.batch});
  if (!request.training) return made;
  add_epilogue_backward(made, on, request, epilogue);
  if (request.wants_diff_input[0])
    made.backward.push_back(
        {[=, epsilon = layer.epsilon](std::span<void* const> a) {
           channels.run([&]<int width>() {
             return kernels::normalise_groups_gradient<width>{
                 channels.walked(),
                 norm_of_channels(epsilon, nullptr, tensor_at(a, 1), tensor_at(a, 0), nullptr),
                 nullptr,
                 {values_at(a, 2, layout)},
                 nullptr,
                 nullptr,
                 values_at(a, 3, layout),
                 1};
           });
         },
         {{parameter, 0, each}, {parameter, 3, each}, {diff_output, 0, layout}, {diff_input, 0, layout}},
         "nvrtc",
         static_cast<double>(n)});
  return made;
}

/// Prepares a norm that uses the statistics of the batch: of this part or, if step_scalars::sums is set for a
/// synchronised norm, of all parts. Forward stores means and variances in the workspace. Backward recomputes
/// the mask of a fused rectifier from the input. If a residual sum is fused too, a separate kernel computes
/// the rectifier's backward before the norm's. Backward also copies the statistics to the gradients of the
/// running statistics: plan/batch_statistics.hpp.
///
/// Order     if step_scalars::sums is set, forward waits twice (means, variances) and backward once, each
///           time first for the GPU, then for the other parts.
/// Moves     if step_scalars::sums is set: 4·C floats between GPU and processor in forward and in backward.
template <class Layer>
gpu_operation prepare_norm(shared_stream const& on, gpu_request const& request, Layer const& layer) {
  using enum operand_role;
  if (!request.training || request.frozen) return prepare_frozen_norm(on, request, layer);
  gpu_layout const layout = request.inputs[0];
  shape const each{request.output_shape[0]}, statistics{2 * request.output_shape[0]};
  channel_sums_on_gpu const sums(on, layout);
  cross_worker_statistics const parts(on, sums);
  auto const count = static_cast<double>(sums.elements_per_channel());
  double const flops = layer.flops(request.input_shapes.first(1)) * request.batch;
  shape const room = shape_for_bytes(sums.scratch_bytes(2));
  auto const shared = [](step_scalars const& now) { return sums_across_parts<Layer> ? now.sums : nullptr; };
  fused_epilogue const epilogue(request);
  gpu_operation made = begin_norm(request, epilogue);
  gpu_operands forward{{input, 0, layout},   {output, 0, layout},        {parameter, 0, each},
                       {parameter, 1, each}, {workspace, 0, statistics}, {scalars},
                       {scratch, 0, room}};
  if (epilogue.sums) forward.push_back({input, 1, layout});
  made.forward.push_back(
      {[=, epsilon = layer.epsilon](std::span<void* const> a) {
         kernels::values const x = values_at(a, 0, layout);
         float *const means = tensor_at(a, 4), *const variances = means + sums.channels();
         sums.find_statistics(x, a[6], means, variances);
         if (auto* const over = shared(*static_cast<step_scalars const*>(a[5])))
           parts.join_statistics(*over, means);
         sums.run([&]<int width>() {
           return kernels::normalise_groups<width>{
               sums.walked(),
               norm_of_channels(epsilon, means, variances, tensor_at(a, 2), tensor_at(a, 3)),
               x,
               epilogue.sums ? values_at(a, 7, layout) : nullptr,
               values_at(a, 1, layout),
               epilogue.slope};
         });
       },
       std::move(forward), "nvrtc", flops});

  bool const separate_backward = epilogue.sums;  // the epilogue has its own backward kernels
  if (separate_backward) add_epilogue_backward(made, on, request, epilogue);
  gpu_operands operands{{input, 0, layout},
                        {parameter, 0, each},
                        {parameter, 1, each},
                        {workspace, 0, statistics},
                        {scalars},
                        {diff_output, 0, layout},
                        {diff_parameter, 0, each},
                        {diff_parameter, 1, each},
                        {diff_parameter, 2, each},
                        {diff_parameter, 3, each},
                        {scratch, 0, room},
                        {scratch, 1, statistics}};
  if (request.wants_diff_input[0]) operands.push_back({diff_input, 0, layout});
  made.backward.push_back(
      {[=, epsilon = layer.epsilon](std::span<void* const> a) {
         kernels::values const x = values_at(a, 0, layout);
         kernels::gradient_of_norm const dy{values_at(a, 5, layout), separate_backward ? 1 : epilogue.slope};
         float *const means = tensor_at(a, 3), *const variances = means + sums.channels(),
                      *const diff_scale = tensor_at(a, 6), *const diff_shift = tensor_at(a, 7);
         auto const& now = *static_cast<step_scalars const*>(a[4]);
         kernels::norm_of_groups const norm =
             norm_of_channels(epsilon, means, variances, tensor_at(a, 1), tensor_at(a, 2));
         sums.run([&]<int width>() {
           return kernels::norm_gradient_sums<width>{
               sums.walked(), norm, x, dy, {static_cast<double*>(a[10])}};
         });
         sums.finish(a[10], 1, diff_shift, diff_scale);
         on->launch(kernels::copy_statistics{means, variances, tensor_at(a, 8), tensor_at(a, 9)},
                    sums.channels());
         float const *along = diff_scale, *sum = diff_shift;
         double over_elements = count;
         if (auto* const over = shared(now)) {
           float* const joined = tensor_at(a, 11);
           over_elements = parts.join_gradients(*over, now.gradient_scale, diff_shift, diff_scale, joined);
           sum = joined, along = joined + sums.channels();
         }
         if (a.size() > 12)
           sums.run([&]<int width>() {
             return kernels::normalise_groups_gradient<width>{sums.walked(),
                                                              norm,
                                                              x,
                                                              dy,
                                                              along,
                                                              sum,
                                                              values_at(a, 12, layout),
                                                              static_cast<float>(over_elements)};
           });
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
