// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/cudnn/gpu_operation.hpp>
#include <cohort/layer/detail/loss.hpp>
#include <cstddef>

namespace cohort::detail {

/// Arguments of a loss's kernels. Forward does not use diff_input and scale; backward does not use input and
/// sums.
///
/// Shapes    targets: one class index per row if `labels`, otherwise one f32 per element of the output. A row
///           is an example or a step of a sequence. sums: one per chunk, see prepare_loss.
struct loss_pass {
  float const* input = nullptr;
  float* output = nullptr;
  float* diff_input = nullptr;
  float const* targets = nullptr;
  bool labels = false;
  kernels::row_weights weights{};
  double* sums = nullptr;
  kernels::mean_factor scale{};
};

/// Returns the weight of a row's loss in the loss of its example, like detail::step_factor.
inline double row_factor(gpu_request const& request, bool sum_steps) {
  return request.masked || sum_steps ? 1 : 1.0 / loss_steps(request.output_shape).count;
}

/// Prepares a loss, which is `factor` times the sum of `chunks` chunk sums. Each function enqueues kernels:
/// sum(pass) for output and chunk sums, infer(pass) for the output only, differentiate(pass) for the
/// gradient.
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
  kernels::divisor const steps(static_cast<kernels::size>(loss_steps(request.output_shape).count));
  // arguments: scalars, targets and, if the input has a mask, the mask
  auto const given = [=](std::span<void* const> a) {
    auto const& now = *static_cast<step_scalars const*>(a[0]);
    auto const& wanted = *static_cast<tensor_view const*>(a[1]);
    return loss_pass{.targets = reinterpret_cast<float const*>(wanted.data),
                     .labels = wanted.type == element_type::i32,
                     .weights = {now.weights, mask_at(a, 2), steps},
                     .scale = {constants_of(now), factor}};
  };
  auto const with_mask = [&](gpu_operands operands) {
    if (request.masked) operands.push_back({mask});
    return operands;
  };
  made.forward.push_back(
      {[=](std::span<void* const> a) {
         loss_pass pass = given(a.subspan(4));
         pass.input = tensor_at(a, 0), pass.output = tensor_at(a, 1);
         pass.sums = static_cast<double*>(a[3]);
         sum(pass);
         on->launch(kernels::add_chunks{pass.sums, chunks, factor}, std::min<std::size_t>(chunks, sum_chunk));
         on->download_async(static_cast<std::byte const*>(a[3]), &static_cast<loss_sum*>(a[2])->sum,
                            sizeof(double));
       },
       with_mask({{input, 0, layout},
                  {output, 0, layout},
                  {loss},
                  {scratch, 0, shape_for_bytes(chunks * sizeof(double))},
                  {scalars},
                  {target}}),
       "nvrtc", flops});
  if (request.wants_diff_input[0])
    made.backward.push_back({[=](std::span<void* const> a) {
                               loss_pass pass = given(a.subspan(2));
                               pass.output = tensor_at(a, 0), pass.diff_input = tensor_at(a, 1);
                               differentiate(pass);
                             },
                             with_mask({{output, 0, layout}, {diff_input, 0, layout}, {scalars}, {target}}),
                             "nvrtc", flops});
  return made;
}

}  // namespace cohort::detail
