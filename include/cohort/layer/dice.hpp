// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <cohort/layer/detail/loss.hpp>
#include <cohort/layer/detail/softmax_row.hpp>
#include <cohort/layer/kind.hpp>
#include <cstdint>
#include <vector>

namespace cohort {

/// Dice loss of classes of pixels, for classes that cover few pixels. The output is the probabilities p: the
/// softmax of each pixel's logits, or their sigmoids if `multi_label`, or if there is one class.
///
/// Shapes    input: one logit per pixel and class, pixels×C (an image C×H×W: permute{.order = {1, 2, 0},
///           .extents = {H * W, C}}); target: a class index per pixel (i32), or C numbers per pixel; output:
///           probabilities.
/// Units     targets: indices, or numbers in [0, 1]; with `multi_label` or one class, numbers. `smooth`:
///           added to numerator and denominator, so that a class with neither target nor probability has the
///           coefficient 1. `weight`: factor of this loss in the sum of all losses. `ignore_index`: a class
///           index, inside or outside 0 … C − 1; pixels with this index are left out.
/// After     loss = mean over examples of 1 − mean over classes of (2·Σ p·target + smooth) / (Σ p + Σ target
///           + smooth), with sums over the pixels of an example. Masked pixels are left out.
/// Source    Milletari, Navab and Ahmadi, V-Net, 3DV 2016, without squares in the denominator; MONAI DiceLoss
///           with smooth_nr = smooth_dr = smooth and softmax or sigmoid.
struct dice {
  static constexpr std::string_view kind_name = "dice";
  static constexpr layer_role role = layer_role::loss;
  static constexpr std::array<std::string_view, 2> applies{"softmax", "sigmoid"};
  static constexpr mask_use masks = mask_use::ends;
  static constexpr bool reads_mask = true;

  bool multi_label = false;
  double smooth = 1e-5;
  double weight = 1;
  int ignore_index = target_spec::no_index;
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() {
    return field_list{field{"multi_label", &dice::multi_label}, field{"smooth", &dice::smooth},
                      field{"weight", &dice::weight}, field{"ignore_index", &dice::ignore_index}};
  }
  constexpr inference infer(std::span<shape const> inputs) const {
    if (inputs[0].rank != 2)
      return {"a dice loss needs pixels x classes: put a permute layer before it", {"input", inputs[0]}};
    if (!(smooth > 0 && smooth < 1e300)) return {"smooth of a dice loss must be a finite number above 0"};
    if (!detail::is_loss_weight(weight)) return {detail::loss_weight_sentence};
    if (ignore_index != target_spec::no_index && is_sigmoid(inputs[0]))
      return {"a dice loss ignores class indices, but its targets are numbers", {"input", inputs[0]}};
    return inputs[0];
  }
  constexpr target_spec target(std::span<shape const> inputs) const {
    target_spec spec = detail::numbers_like(inputs[0], true, 0, 1);
    if (!is_sigmoid(inputs[0])) spec.classes = channels_of(inputs[0]);
    spec.ignored = ignore_index;
    return spec;
  }
  constexpr double flops(std::span<shape const> inputs) const {
    return 8.0 * static_cast<double>(inputs[0].elements());
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    auto const classes = static_cast<std::size_t>(channels_of(a.output_shape));
    if (is_sigmoid(a.output_shape)) {
      detail::write_sigmoids(a);
    } else {
      detail::softmax_of_row<T> const softmax(classes);
      for (std::size_t i = 0, count = a.elements_of_output(); i < count; i += classes)
        softmax(a.inputs[0] + i, a.output + i);
    }
    if (!a.loss) return;
    std::vector<sums> all(classes);
    a.loss->sum = 0;
    for (int n = 0; n < a.batch; ++n) {
      measure(a, n, all);
      double mean = 0;
      for (sums const& of_class : all) mean += (2 * of_class.both + smooth) / (of_class.either + smooth);
      a.loss->sum += weight * a.scalars->weight(n) * (1 - mean / static_cast<double>(classes));
    }
  }

  template <class T>
  void backward(host_arguments<T> const& a) const {
    if (!a.diff_inputs[0]) return;
    auto const classes = static_cast<std::size_t>(channels_of(a.output_shape));
    std::vector<sums> all(classes);
    std::vector<double> slopes(classes);
    for (int n = 0; n < a.batch; ++n) {
      measure(a, n, all);
      double const scale =
          weight * a.scalars->gradient_scale * a.scalars->weight(n) / static_cast<double>(classes);
      each_pixel(a, n, [&](std::size_t first, bool counts) {
        T const* const p = a.output + first;
        T* const diff = a.diff_inputs[0] + first;
        if (!counts) return (void)std::fill_n(diff, classes, T(0));
        double mean = 0;  // Σ slope·p, for the softmax
        for (std::size_t c = 0; c < classes; ++c) {
          double const size = all[c].either + smooth;
          slopes[c] =
              scale * ((2 * all[c].both + smooth) / (size * size) - 2 * target_of(a, first, c) / size);
          mean += slopes[c] * static_cast<double>(p[c]);
        }
        bool const sigmoid = is_sigmoid(a.output_shape);
        for (std::size_t c = 0; c < classes; ++c) {
          double const of_class = static_cast<double>(p[c]);
          diff[c] =
              static_cast<T>(sigmoid ? slopes[c] * of_class * (1 - of_class) : (slopes[c] - mean) * of_class);
        }
      });
    }
  }

 private:
  /// Sums over the pixels of an example: p·target, and p + target.
  struct sums {
    double both = 0, either = 0;
  };

  constexpr bool is_sigmoid(shape const& input) const { return multi_label || channels_of(input) == 1; }

  template <class T>
  static double target_of(host_arguments<T> const& a, std::size_t first, std::size_t c) {
    auto const classes = static_cast<std::size_t>(channels_of(a.output_shape));
    if (a.target->type != element_type::i32)
      return static_cast<double>(a.target->template as<T>()[first + c]);
    return a.target->template as<std::int32_t>()[first / classes] == static_cast<std::int32_t>(c) ? 1 : 0;
  }

  /// Calls visit(index of the pixel's first class, whether the pixel counts) for the pixels of example n.
  template <class T, class Visit>
  void each_pixel(host_arguments<T> const& a, int n, Visit visit) const {
    detail::loss_steps const pixels(a.output_shape);
    bool const ignores = ignore_index != target_spec::no_index && a.target->type == element_type::i32;
    for (int t = 0; t < pixels.count; ++t) {
      auto const pixel =
          static_cast<std::size_t>(n) * static_cast<std::size_t>(pixels.count) + static_cast<std::size_t>(t);
      bool const ignored = ignores && a.target->template as<std::int32_t>()[pixel] == ignore_index;
      visit(pixel * pixels.width, detail::has_step(a, n, t) && !ignored);
    }
  }

  template <class T>
  void measure(host_arguments<T> const& a, int n, std::vector<sums>& all) const {
    std::ranges::fill(all, sums{});
    each_pixel(a, n, [&](std::size_t first, bool counts) {
      for (std::size_t c = 0; counts && c < all.size(); ++c) {
        double const p = static_cast<double>(a.output[first + c]), target = target_of(a, first, c);
        all[c].both += p * target;
        all[c].either += p + target;
      }
    });
  }
};

extern template struct detail::host_kernels<dice>;

}  // namespace cohort
