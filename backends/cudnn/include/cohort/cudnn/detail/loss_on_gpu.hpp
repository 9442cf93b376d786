// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/cudnn/gpu_operation.hpp>
#include <cstddef>

namespace cohort::detail {

/// Arguments of a loss's kernels. Forward does not use diff_input and scale; backward does not use input and
/// sums.
///
/// Shapes    targets: one class index per example if `labels`, otherwise one f32 per element of the output.
///           weights: one per example; null means 1. sums: as many as prepare_loss receives.
struct loss_pass {
  float const* input = nullptr;
  float* output = nullptr;
  float* diff_input = nullptr;
  float const* targets = nullptr;
  bool labels = false;
  float const* weights = nullptr;
  double* sums = nullptr;
  kernels::mean_factor scale{};
};

/// Prepares a loss: `factor` times the sum of `chunks` sums. sum(pass) writes the output and enqueues the
/// sums; infer(pass) writes only the output; differentiate(pass) writes the gradient.
///
/// Order     the loss is available after waiting for the stream.
template <class Infer, class Sum, class Differentiate>
gpu_operation prepare_loss(shared_stream const& on, gpu_request const& request, double flops,
                           std::size_t chunks, double factor, Infer infer, Sum sum,
                           Differentiate differentiate) {
  using enum operand_role;
  shape const layout = batched_output(request);
  gpu_operation made;
  made.output = layout;
  if (!request.training) {
    made.forward.push_back({[=](std::span<void* const> a) {
                              infer(loss_pass{.input = tensor_at(a, 0), .output = tensor_at(a, 1)});
                            },
                            {{input, 0, layout}, {output, 0, layout}},
                            "nvrtc",
                            flops});
    return made;
  }
  auto const given = [=](void const* scalars_at, void const* target_at) {
    auto const& now = *static_cast<step_scalars const*>(scalars_at);
    auto const& wanted = *static_cast<tensor_view const*>(target_at);
    return loss_pass{.targets = reinterpret_cast<float const*>(wanted.data),
                     .labels = wanted.type == element_type::i32,
                     .weights = now.weights,
                     .scale = {constants_of(now), factor}};
  };
  made.forward.push_back(
      {[=](std::span<void* const> a) {
         loss_pass pass = given(a[2], a[3]);
         pass.input = tensor_at(a, 0), pass.output = tensor_at(a, 1);
         pass.sums = static_cast<double*>(a[5]);
         sum(pass);
         on->launch(kernels::add_chunks{pass.sums, chunks, factor}, std::min<std::size_t>(chunks, sum_chunk));
         on->download_async(static_cast<std::byte const*>(a[5]), &static_cast<loss_sum*>(a[4])->sum,
                            sizeof(double));
       },
       {{input, 0, layout},
        {output, 0, layout},
        {scalars},
        {target},
        {loss},
        {scratch, 0, shape_for_bytes(chunks * sizeof(double))}},
       "nvrtc",
       flops});
  if (request.wants_diff_input[0])
    made.backward.push_back({[=](std::span<void* const> a) {
                               loss_pass pass = given(a[2], a[3]);
                               pass.output = tensor_at(a, 0), pass.diff_input = tensor_at(a, 1);
                               differentiate(pass);
                             },
                             {{output, 0, layout}, {diff_input, 0, layout}, {scalars}, {target}},
                             "nvrtc",
                             flops});
  return made;
}

}  // namespace cohort::detail
