// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cohort/backend/host_call.hpp>
#include <cohort/backend/operation.hpp>
#include <cstdint>

namespace cohort::detail {

/// Probabilities of each row of logits; Σ −log p[target] where targets are given.
///
/// Shapes    logits, probabilities N×C; targets N class indices in [0, C), or null.
/// Exact     the row's largest logit is subtracted first: no overflow.
template <class T>
void softmax_forward(T const* logits, std::int32_t const* targets, T* probabilities, loss_sum* loss, int rows,
                     int classes) {
  double sum = 0;
  for (int row = 0; row < rows; ++row, logits += classes, probabilities += classes) {
    T largest = logits[0];
    for (int c = 1; c < classes; ++c) largest = logits[c] > largest ? logits[c] : largest;
    T total = 0;
    for (int c = 0; c < classes; ++c) total += probabilities[c] = std::exp(logits[c] - largest);
    if (targets)
      sum += static_cast<double>(std::log(total)) - static_cast<double>(logits[targets[row]] - largest);
    T const factor = 1 / total;
    for (int c = 0; c < classes; ++c) probabilities[c] *= factor;
  }
  if (loss) loss->sum = sum;
}

/// The gradient of the mean loss with respect to the logits: (p − onehot(target))·gradient_scale.
template <class T>
void softmax_cross_entropy_backward(T const* probabilities, std::int32_t const* targets,
                                    step_scalars const& scalars, T* diff_logits, int rows, int classes) {
  T const scale = static_cast<T>(scalars.gradient_scale);
  for (int row = 0; row < rows; ++row, probabilities += classes, diff_logits += classes) {
    for (int c = 0; c < classes; ++c) diff_logits[c] = probabilities[c] * scale;
    diff_logits[targets[row]] -= scale;
  }
}

/// The kernels of softmax_cross_entropy for any backend of the processor.  Before: request.inputs[0] is plain.
template <class B>
operation<B> softmax_cross_entropy_on_host(operation_request<B> const& request,
                                           typename B::layout const& plain,
                                           typename B::layout const& labels) {
  using T = typename B::scalar;
  int const rows = request.batch, classes = request.output_shape[0];
  bool const training = request.training;
  operation<B> made;
  made.output = plain;
  invocation<B> forward;
  forward.implementation = "host:softmax";
  forward.operands = {{operand_role::input, 0, plain}, {operand_role::output, 0, plain}};
  if (training) {
    forward.operands.push_back({operand_role::target, 0, labels});
    forward.operands.push_back({operand_role::loss, 0, {}});
  }
  forward.kernel = host_function([=](std::span<void* const> a) {
    softmax_forward(static_cast<T const*>(a[0]), training ? static_cast<std::int32_t const*>(a[2]) : nullptr,
                    static_cast<T*>(a[1]), training ? static_cast<loss_sum*>(a[3]) : nullptr, rows, classes);
  });
  made.forward.push_back(std::move(forward));
  if (!training) return made;
  invocation<B> backward;
  backward.implementation = "host:softmax";
  backward.operands = {{operand_role::output, 0, plain},
                       {operand_role::target, 0, labels},
                       {operand_role::scalars, 0, {}},
                       {operand_role::diff_input, 0, plain}};
  backward.kernel = host_function([=](std::span<void* const> a) {
    softmax_cross_entropy_backward(static_cast<T const*>(a[0]), static_cast<std::int32_t const*>(a[1]),
                                   *static_cast<step_scalars const*>(a[2]), static_cast<T*>(a[3]), rows,
                                   classes);
  });
  made.backward.push_back(std::move(backward));
  return made;
}

}  // namespace cohort::detail
