// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cohort/layer/detail/loss.hpp>
#include <cohort/layer/kind.hpp>
#include <cstdint>

namespace cohort {

/// Cross-entropy loss of the softmax p of the logits. The output is p.
///
/// Shapes    input: one logit per class; target: a class index (i32) or a distribution over the classes;
///           output: probabilities.
/// Units     `label_smoothing` s: the target becomes (1 − s)·target + s/classes. `weight`: factor of this
///           loss in the sum of all losses.
/// After     loss = mean over examples of −Σ target·log p; gradient of the logits (p·Σ target −
///           target)/count.
/// Exact     the largest logit of an example is subtracted first: no overflow. A logit of −∞ is valid for a
///           class with target 0.
/// Source    label smoothing: Szegedy et al., CVPR 2016.
struct softmax_cross_entropy {
  static constexpr std::string_view kind_name = "softmax_cross_entropy";
  static constexpr layer_role role = layer_role::loss;
  static constexpr std::string_view applies = "softmax";

  double label_smoothing = 0;
  double weight = 1;
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() {
    return std::tuple{field{"label_smoothing", &softmax_cross_entropy::label_smoothing},
                      field{"weight", &softmax_cross_entropy::weight}};
  }
  constexpr inference infer(std::span<shape const> inputs) const {
    if (inputs[0].rank != 1)
      return {"softmax needs one logit per class: put a dense layer before it", {"input", inputs[0]}};
    if (inputs[0][0] < 2) return {"softmax needs at least two classes", {"input", inputs[0]}};
    if (!(label_smoothing >= 0 && label_smoothing < 1)) return {"label smoothing must be in [0, 1)"};
    if (!detail::is_loss_weight(weight)) return {detail::loss_weight_sentence};
    return inputs[0];
  }
  constexpr target_spec target(std::span<shape const> inputs) const {
    return {.classes = inputs[0][0], .numbers = true, .values = inputs[0]};
  }
  constexpr double flops(std::span<shape const> inputs) const {
    return 4.0 * static_cast<double>(inputs[0].elements());
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    int const classes = a.output_shape[0];
    double sum = 0;
    for (int n = 0; n < a.batch; ++n) {
      T const* const logits = a.inputs[0] + std::size_t(n) * std::size_t(classes);
      T* const p = a.output + std::size_t(n) * std::size_t(classes);
      T largest = logits[0];
      for (int c = 1; c < classes; ++c) largest = logits[c] > largest ? logits[c] : largest;
      T total = 0;
      for (int c = 0; c < classes; ++c) total += p[c] = std::exp(logits[c] - largest);
      if (a.target) {
        double const log_total = static_cast<double>(std::log(total));
        double row = 0;
        each_target(a, n, [&](int c, double target) {
          if (target != 0) row += target * (log_total - static_cast<double>(logits[c] - largest));
        });
        sum += a.scalars->weight(n) * row;
      }
      T const factor = 1 / total;
      for (int c = 0; c < classes; ++c) p[c] *= factor;
    }
    if (a.loss) a.loss->sum = weight * sum;
  }

  template <class T>
  void backward(host_arguments<T> const& a) const {
    int const classes = a.output_shape[0];
    if (!a.diff_inputs[0]) return;
    for (int n = 0; n < a.batch; ++n) {
      T const* const p = a.output + std::size_t(n) * std::size_t(classes);
      T* const diff = a.diff_inputs[0] + std::size_t(n) * std::size_t(classes);
      double const scale = a.scalars->gradient_scale * a.scalars->weight(n) * weight;
      double total = 0;
      each_target(a, n, [&](int, double target) { total += target; });
      T const factor = static_cast<T>(scale * total);
      for (int c = 0; c < classes; ++c) diff[c] = p[c] * factor;
      each_target(a, n, [&](int c, double target) { diff[c] -= static_cast<T>(scale * target); });
    }
  }

 private:
  /// Calls visit(class, target probability) at least for every class with a target above 0.
  template <class T, class Visit>
  void each_target(host_arguments<T> const& a, int n, Visit visit) const {
    int const classes = a.output_shape[0];
    double const peak = 1 - label_smoothing, uniform = label_smoothing / classes;
    if (a.target->type != element_type::i32) {
      T const* const target = a.target->template as<T>().data() + std::size_t(n) * std::size_t(classes);
      for (int c = 0; c < classes; ++c) visit(c, peak * static_cast<double>(target[c]) + uniform);
      return;
    }
    int const label = a.target->template as<std::int32_t>()[static_cast<std::size_t>(n)];
    if (label_smoothing == 0) return visit(label, 1.0);
    for (int c = 0; c < classes; ++c) visit(c, (c == label ? peak : 0.0) + uniform);
  }
};

}  // namespace cohort
