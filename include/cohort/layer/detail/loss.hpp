// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/kind.hpp>
#include <cstddef>

namespace cohort::detail {

inline constexpr char const* loss_weight_sentence = "the weight of a loss must be a finite number above 0";
constexpr bool is_loss_weight(double weight) { return weight > 0 && weight < 1e300; }

/// Shape inference of a loss with numeric targets: any input shape; the output has the same.
constexpr inference infer_loss(std::span<shape const> inputs, double weight) {
  if (!is_loss_weight(weight)) return loss_weight_sentence;
  return inputs[0];
}

/// Forward of a loss with numeric targets: loss = factor · Σ over examples of weight · Σ term(input, target).
/// Does nothing at inference.
template <class T, class Term>
void sum_loss(host_arguments<T> const& a, double factor, Term term) {
  if (!a.loss) return;
  auto const width = static_cast<std::size_t>(a.output_shape.elements());
  T const* x = a.inputs[0];
  T const* target = a.target->template as<T>().data();
  double sum = 0;
  for (int n = 0; n < a.batch; ++n, x += width, target += width) {
    double of_example = 0;
    for (std::size_t i = 0; i < width; ++i) of_example += static_cast<double>(term(x[i], target[i]));
    sum += a.scalars->weight(n) * of_example;
  }
  a.loss->sum = factor * sum;
}

/// Backward of a loss with numeric targets: diff_input = factor · (weight of the example in the mean) ·
/// slope(output, target).
template <class T, class Slope>
void differentiate_loss(host_arguments<T> const& a, double factor, Slope slope) {
  T* diff = a.diff_inputs[0];
  if (!diff) return;
  auto const width = static_cast<std::size_t>(a.output_shape.elements());
  T const* x = a.output;
  T const* target = a.target->template as<T>().data();
  for (int n = 0; n < a.batch; ++n, diff += width, x += width, target += width) {
    T const scale = static_cast<T>(factor * a.scalars->gradient_scale * a.scalars->weight(n));
    for (std::size_t i = 0; i < width; ++i) diff[i] = scale * slope(x[i], target[i]);
  }
}

/// output ← input, for a loss without an activation.
template <class T>
void copy_input_to_output(host_arguments<T> const& a) {
  T const* const from = a.inputs[0];
  for (std::size_t i = 0, count = a.elements_of_output(); i < count; ++i) a.output[i] = from[i];
}

/// 1 / outputs: the factor of the mean over the outputs of an example.
template <class T>
double inverse_outputs(host_arguments<T> const& a) {
  return 1.0 / static_cast<double>(a.output_shape.elements());
}

}  // namespace cohort::detail
