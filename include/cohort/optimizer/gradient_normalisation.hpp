// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

namespace cohort {

/// What is done to the mean gradient g before penalties and updater. ‖g‖ is over a layer's parameters, one or all.
namespace normalise {

struct none {};
/// g / ‖g‖
struct renormalize_l2_per_layer {};
struct renormalize_l2_per_parameter {};
/// Each element to within ±at.
struct clip_elementwise {
  double at = 1;
};
/// g · at / ‖g‖ where ‖g‖ > at.
struct clip_l2_per_layer {
  double at = 1;
};
struct clip_l2_per_parameter {
  double at = 1;
};
struct clip_global_norm {
  double at = 1;
};

}  // namespace normalise

/// Any of normalise::…, as one value.
///
/// Errors    check: setting_error for a threshold that is not above 0.   from: setting_error for an unknown name.
/// Exact     a norm of zero (or below the smallest normal float) leaves g as it is.
struct gradient_normalisation {
  enum class kind : std::uint8_t {
    none,
    renormalize_l2_per_layer,
    renormalize_l2_per_parameter,
    clip_elementwise,
    clip_l2_per_layer,
    clip_l2_per_parameter,
    clip_global_norm
  };
  /// What has one norm.
  enum class scope : std::uint8_t { nothing, parameter, layer, network };

  struct row {
    std::string_view name;
    scope norm;
    bool clips;
  };
  static constexpr std::array<row, 7> rows{{{"none", scope::nothing, false},
                                            {"renormalize_l2_per_layer", scope::layer, false},
                                            {"renormalize_l2_per_parameter", scope::parameter, false},
                                            {"clip_elementwise", scope::nothing, true},
                                            {"clip_l2_per_layer", scope::layer, true},
                                            {"clip_l2_per_parameter", scope::parameter, true},
                                            {"clip_global_norm", scope::network, true}}};

  kind which = kind::none;
  double at = 0;  // the threshold of those that clip

  constexpr gradient_normalisation() = default;
  constexpr gradient_normalisation(normalise::none) {}
  constexpr gradient_normalisation(normalise::renormalize_l2_per_layer)
      : which(kind::renormalize_l2_per_layer) {}
  constexpr gradient_normalisation(normalise::renormalize_l2_per_parameter)
      : which(kind::renormalize_l2_per_parameter) {}
  constexpr gradient_normalisation(normalise::clip_elementwise c) : which(kind::clip_elementwise), at(c.at) {}
  constexpr gradient_normalisation(normalise::clip_l2_per_layer c)
      : which(kind::clip_l2_per_layer), at(c.at) {}
  constexpr gradient_normalisation(normalise::clip_l2_per_parameter c)
      : which(kind::clip_l2_per_parameter), at(c.at) {}
  constexpr gradient_normalisation(normalise::clip_global_norm c) : which(kind::clip_global_norm), at(c.at) {}

  constexpr bool operator==(gradient_normalisation const&) const = default;

  constexpr std::string_view name() const { return of().name; }
  constexpr scope norm() const { return of().norm; }
  constexpr bool has_threshold() const { return of().clips; }
  /// The bound of each element; 0: none.
  constexpr double element_bound() const { return which == kind::clip_elementwise ? at : 0; }

  /// The factor on a gradient of this norm, over norm().
  constexpr double factor(double l2_norm) const {
    if (norm() == scope::nothing || l2_norm < std::numeric_limits<float>::min()) return 1;
    if (!has_threshold()) return 1 / l2_norm;
    return l2_norm > at ? at / l2_norm : 1;
  }

  /// The inverse of name and threshold, which the others ignore.
  static gradient_normalisation from(std::string_view name, double at = 0);

  void check() const;

 private:
  constexpr row const& of() const { return rows[static_cast<std::size_t>(which)]; }
};

/// The gradient of one parameter tensor, and which layer it is of.
template <class T>
struct layer_gradient {
  std::span<T> values;
  int layer = 0;
};

/// Normalises gradients where they are: the definition, element by element in double, for loops of one's own.
///
/// Order     a layer's tensors stand one after another.
template <class T>
void apply_normalisation(gradient_normalisation const& how, std::span<layer_gradient<T> const> gradients) {
  using scope = gradient_normalisation::scope;
  auto const together = [&](std::size_t a, std::size_t b) {
    return how.norm() == scope::network
           || (how.norm() == scope::layer && gradients[a].layer == gradients[b].layer);
  };
  double const bound = how.element_bound();
  for (std::size_t first = 0, last = 0; first < gradients.size(); first = last) {
    double squares = 0;
    for (last = first; last == first || (last < gradients.size() && together(first, last)); ++last)
      for (T const g : gradients[last].values) squares += static_cast<double>(g) * static_cast<double>(g);
    double const factor = how.factor(std::sqrt(squares));
    for (std::size_t k = first; k < last; ++k)
      for (T& g : gradients[k].values) {
        double const scaled = factor * static_cast<double>(g);
        g = static_cast<T>(bound > 0 && scaled > bound    ? bound
                           : bound > 0 && scaled < -bound ? -bound
                                                          : scaled);
      }
  }
}

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/optimizer/impl/gradient_normalisation.ipp>
#endif
