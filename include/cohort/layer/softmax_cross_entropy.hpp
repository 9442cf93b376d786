// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cohort/layer/detail/loss.hpp>
#include <cohort/layer/detail/softmax_row.hpp>
#include <cohort/layer/kind.hpp>
#include <cstdint>

namespace cohort {

/// Cross-entropy loss of the softmax p of the logits. The output is p.
///
/// Shapes    input: one logit per class, C or T×C; target: a class index (i32) or C numbers, such as a
///           distribution over the classes, per example or per step; output: probabilities.
/// Units     `label_smoothing` s: the target becomes (1 − s)·target + s/classes. `weight`: factor of this
///           loss in the sum of all losses. `sum_steps`: sum over the steps of a sequence instead of their
///           mean. `ignore_index`: a class index, inside or outside 0 … C − 1; the loss ignores targets with
///           this index.
/// After     loss = mean over examples (or steps) of −Σ target·log p; gradient of the logits (p·Σ target −
///           target)/count. Numbers of a target may have any sign and sum: an advantage at the index of an
///           action, and 0 elsewhere, gives the policy gradient. With a mask: mean over the unmasked steps of
///           the whole batch. With an `ignore_index`: mean over the targets that are not ignored, in the
///           whole batch of all workers and ranks. With `sum_steps`, the loss is a mean over the examples in
///           both cases. The loss and the gradient of an ignored target are 0.
/// Exact     the largest logit of an example is subtracted first, so the exponentials do not overflow. A
///           logit of −∞ is valid for a class with target 0.
/// Source    label smoothing: Szegedy et al., CVPR 2016.
struct softmax_cross_entropy {
  static constexpr std::string_view kind_name = "softmax_cross_entropy";
  static constexpr layer_role role = layer_role::loss;
  static constexpr std::string_view applies = "softmax";
  static constexpr mask_use masks = mask_use::ends;
  static constexpr bool reads_mask = true;

  double label_smoothing = 0;
  double weight = 1;
  bool sum_steps = false;
  int ignore_index = target_spec::no_index;
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() {
    return field_list{field{"label_smoothing", &softmax_cross_entropy::label_smoothing},
                      field{"weight", &softmax_cross_entropy::weight},
                      field{"sum_steps", &softmax_cross_entropy::sum_steps},
                      field{"ignore_index", &softmax_cross_entropy::ignore_index}};
  }
  constexpr inference infer(std::span<shape const> inputs) const {
    if (inputs[0].rank < 1 || inputs[0].rank > 2)
      return {"softmax needs one logit per class: put a dense layer before it", {"input", inputs[0]}};
    if (channels_of(inputs[0]) < 2) return {"softmax needs at least two classes", {"input", inputs[0]}};
    if (sum_steps && inputs[0].rank != 2) return {detail::sum_steps_sentence, {"input", inputs[0]}};
    if (!(label_smoothing >= 0 && label_smoothing < 1)) return {"label smoothing must be in [0, 1)"};
    if (!detail::is_loss_weight(weight)) return {detail::loss_weight_sentence};
    return inputs[0];
  }
  constexpr target_spec target(std::span<shape const> inputs) const {
    target_spec spec = detail::numbers_like(inputs[0], sum_steps);
    spec.classes = channels_of(inputs[0]);
    spec.ignored = ignore_index;
    return spec;
  }
  constexpr double flops(std::span<shape const> inputs) const {
    return 4.0 * static_cast<double>(inputs[0].elements());
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    int const classes = channels_of(a.output_shape);
    detail::softmax_of_row<T> const softmax(static_cast<std::size_t>(classes));
    double sum = 0;
    each_row(a, [&](int n, std::size_t row, bool counts) {
      T const* const logits = a.inputs[0] + row * std::size_t(classes);
      auto const of_row = softmax(logits, a.output + row * std::size_t(classes));
      if (a.target && counts) {
        double const log_total = static_cast<double>(std::log(of_row.total));
        double loss = 0;
        each_target(a, row, [&](int c, double target) {
          if (target != 0) loss += target * (log_total - static_cast<double>(logits[c] - of_row.largest));
        });
        sum += a.scalars->weight(n) * loss;
      }
    });
    if (a.loss) a.loss->sum = weight * step_factor(a) * sum;
  }

  template <class T>
  void backward(host_arguments<T> const& a) const {
    int const classes = channels_of(a.output_shape);
    if (!a.diff_inputs[0]) return;
    double const of_step = step_factor(a);
    each_row(a, [&](int n, std::size_t row, bool counts) {
      T const* const p = a.output + row * std::size_t(classes);
      T* const diff = a.diff_inputs[0] + row * std::size_t(classes);
      if (!counts) {
        for (int c = 0; c < classes; ++c) diff[c] = 0;
        return;
      }
      double const scale = a.scalars->gradient_scale * a.scalars->weight(n) * weight * of_step;
      double total = 0;
      each_target(a, row, [&](int, double target) { total += target; });
      T const factor = static_cast<T>(scale * total);
      for (int c = 0; c < classes; ++c) diff[c] = p[c] * factor;
      each_target(a, row, [&](int c, double target) { diff[c] -= static_cast<T>(scale * target); });
    });
  }

 private:
  bool ignores() const { return ignore_index != target_spec::no_index; }

  /// Like detail::step_factor, but 1 for a loss that ignores targets: its divisor is a number of targets.
  template <class T>
  double step_factor(host_arguments<T> const& a) const {
    return ignores() ? 1 : detail::step_factor(a, sum_steps);
  }

  /// Calls visit(example, row, whether the row's target is not ignored) for each row of logits.
  template <class T, class Visit>
  void each_row(host_arguments<T> const& a, Visit visit) const {
    int const steps = detail::loss_steps(a.output_shape).count;
    bool const labels = ignores() && a.target && a.target->type == element_type::i32;
    std::int32_t const* const label = labels ? a.target->template as<std::int32_t>().data() : nullptr;
    for (int n = 0, row = 0; n < a.batch; ++n)
      for (int t = 0; t < steps; ++t, ++row)
        visit(n, static_cast<std::size_t>(row),
              detail::has_step(a, n, t) && !(label && label[row] == ignore_index));
  }

  /// Calls visit(class, target) at least for every class whose target is not 0.
  template <class T, class Visit>
  void each_target(host_arguments<T> const& a, std::size_t row, Visit visit) const {
    int const classes = channels_of(a.output_shape);
    double const peak = 1 - label_smoothing, uniform = label_smoothing / classes;
    if (a.target->type != element_type::i32) {
      T const* const target = a.target->template as<T>().data() + row * std::size_t(classes);
      for (int c = 0; c < classes; ++c) visit(c, peak * static_cast<double>(target[c]) + uniform);
      return;
    }
    int const label = a.target->template as<std::int32_t>()[row];
    if (label_smoothing == 0) return visit(label, 1.0);
    for (int c = 0; c < classes; ++c) visit(c, (c == label ? peak : 0.0) + uniform);
  }
};

extern template struct detail::host_kernels<softmax_cross_entropy>;

}  // namespace cohort
