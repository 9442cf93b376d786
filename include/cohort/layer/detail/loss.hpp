// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cohort/layer/kind.hpp>
#include <cstddef>

namespace cohort::detail {

inline constexpr char const* loss_weight_sentence = "the weight of a loss must be a finite number above 0";
constexpr bool is_loss_weight(double weight) { return weight > 0 && weight < 1e300; }

inline constexpr char const* sum_steps_sentence =
    "sum_steps needs the steps of a sequence: an input TxC, with T steps";

/// Shape inference of a loss with numeric targets: any input shape; the output has the same shape.
constexpr inference infer_loss(std::span<shape const> inputs, double weight, bool sum_steps) {
  if (!is_loss_weight(weight)) return loss_weight_sentence;
  if (sum_steps && inputs[0].rank != 2) return {sum_steps_sentence, {"input", inputs[0]}};
  return inputs[0];
}

/// Numeric targets of the input's shape.
constexpr target_spec numbers_like(shape const& input, bool sum_steps,
                                   double lowest = -target_spec::unbounded,
                                   double highest = target_spec::unbounded) {
  return {.numbers = true,
          .values = input,
          .lowest = lowest,
          .highest = highest,
          .steps = input.rank == 2 ? input[0] : 0,
          .sums_steps = sum_steps};
}

/// Number of steps of an example and of elements of a step: T and C of T×C; an example of another rank is one
/// step.
struct loss_steps {
  int count;
  std::size_t width;

  constexpr explicit loss_steps(shape const& s)
      : count(s.rank == 2 ? s[0] : 1), width(static_cast<std::size_t>(s.elements() / count)) {}
};

/// Factor of a step in the mean over the steps of an example. The factor is 1 if steps are summed, or if the
/// input has a mask, because the divisor of the whole batch then counts steps.
template <class T>
double step_factor(host_arguments<T> const& a, bool sum_steps) {
  return a.mask || sum_steps ? 1 : 1.0 / loss_steps(a.output_shape).count;
}

/// Factor of one output of a step in the mean: step_factor divided by the number of outputs of a step.
template <class T>
double output_factor(host_arguments<T> const& a, bool sum_steps) {
  loss_steps const of(a.output_shape);
  bool const mean = !a.mask && !sum_steps;
  return 1.0 / (static_cast<double>(of.width) * (mean ? of.count : 1));
}

/// Returns whether a step of an example is unmasked.
template <class T>
bool has_step(host_arguments<T> const& a, int n, int step) {
  return !a.mask || a.mask->has(n, step);
}

/// Writes the sigmoids of the logits to the output, without overflow.
template <class T>
void write_sigmoids(host_arguments<T> const& a) {
  for (std::size_t i = 0, count = a.elements_of_output(); i < count; ++i) {
    T const x = a.inputs[0][i], small = std::exp(-std::abs(x));
    a.output[i] = (x > 0 ? 1 : small) / (1 + small);
  }
}

/// Forward of a loss with numeric targets: loss = factor · Σ over examples of weight · Σ term(input, target),
/// over the unmasked steps. Does nothing at inference.
template <class T, class Term>
void sum_loss(host_arguments<T> const& a, double factor, Term term) {
  if (!a.loss) return;
  loss_steps const steps(a.output_shape);
  T const* x = a.inputs[0];
  T const* target = a.target->template as<T>().data();
  double sum = 0;
  for (int n = 0; n < a.batch; ++n) {
    double of_example = 0;
    for (int t = 0; t < steps.count; ++t, x += steps.width, target += steps.width)
      for (std::size_t i = 0; has_step(a, n, t) && i < steps.width; ++i)
        of_example += static_cast<double>(term(x[i], target[i]));
    sum += a.scalars->weight(n) * of_example;
  }
  a.loss->sum = factor * sum;
}

/// Backward of a loss with numeric targets: diff_input = factor · (weight of the example in the mean) ·
/// slope(output, target); 0 at padding.
template <class T, class Slope>
void differentiate_loss(host_arguments<T> const& a, double factor, Slope slope) {
  T* diff = a.diff_inputs[0];
  if (!diff) return;
  loss_steps const steps(a.output_shape);
  T const* x = a.output;
  T const* target = a.target->template as<T>().data();
  for (int n = 0; n < a.batch; ++n) {
    T const scale = static_cast<T>(factor * a.scalars->gradient_scale * a.scalars->weight(n));
    for (int t = 0; t < steps.count; ++t, diff += steps.width, x += steps.width, target += steps.width) {
      bool const exists = has_step(a, n, t);
      for (std::size_t i = 0; i < steps.width; ++i) diff[i] = exists ? scale * slope(x[i], target[i]) : T(0);
    }
  }
}

/// output ← input, for a loss without an activation.
template <class T>
void copy_input_to_output(host_arguments<T> const& a) {
  T const* const from = a.inputs[0];
  for (std::size_t i = 0, count = a.elements_of_output(); i < count; ++i) a.output[i] = from[i];
}

}  // namespace cohort::detail
