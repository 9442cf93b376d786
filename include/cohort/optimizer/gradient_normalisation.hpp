// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cmath>
#include <cohort/detail/build_check.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

namespace cohort {

/// Normalisation or clipping of the mean gradient g, applied before the penalties and the optimizer. ‖g‖ is
/// the norm over one parameter tensor, all parameters of a layer, or all parameters of the network.
namespace normalise {

/// g, unchanged
struct none {};
/// g / ‖g‖, norm over a layer
struct renormalize_l2_per_layer {};
/// g / ‖g‖, norm over a parameter tensor
struct renormalize_l2_per_parameter {};
/// Each element of g clipped to [−at, at].
struct clip_elementwise {
  double at = 1;
};
/// g · at / ‖g‖ if ‖g‖ > at, norm over a layer
struct clip_l2_per_layer {
  double at = 1;
};
/// g · at / ‖g‖ if ‖g‖ > at, norm over a parameter tensor
struct clip_l2_per_parameter {
  double at = 1;
};
/// g · at / ‖g‖ if ‖g‖ > at, norm over the network without the parameters whose rate is fixed at 0
struct clip_global_norm {
  double at = 1;
};

}  // namespace normalise

/// Value type that holds any normalisation of namespace normalise.
///
/// Errors    check: setting_error unless the threshold is finite and above 0.   from: setting_error for an
///           unknown name.
/// Exact     g does not change if its norm is below the smallest normal float.
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
  /// The elements over which a norm is taken; nothing: no norm is needed.
  enum class scope : std::uint8_t { nothing, parameter, layer, network };

  /// Properties of one kind.
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
  double at = 0;  ///< the threshold; clipping kinds only

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

  /// The name in files: "clip_global_norm".
  constexpr std::string_view name() const { return properties().name; }
  /// The elements over which factor() needs the norm.
  constexpr scope norm() const { return properties().norm; }
  /// Returns whether the normalisation uses `at`.
  constexpr bool has_threshold() const { return properties().clips; }
  /// Returns the bound on the absolute value of each element; 0: no bound.
  constexpr double element_bound() const { return which == kind::clip_elementwise ? at : 0; }

  /// Returns the factor that multiplies a gradient. `l2_norm`: the gradient's norm over the elements that
  /// norm() selects.
  constexpr double factor(double l2_norm) const {
    if (norm() == scope::nothing || l2_norm < std::numeric_limits<float>::min()) return 1;
    if (!has_threshold()) return 1 / l2_norm;
    return l2_norm > at ? at / l2_norm : 1;
  }

  /// Returns the normalisation with this name; only clipping kinds use `at`.
  static gradient_normalisation from(std::string_view name, double at = 0);

  /// Throws if a setting is out of range.
  void check() const;

 private:
  constexpr row const& properties() const { return rows[static_cast<std::size_t>(which)]; }
};

/// Gradient of one parameter tensor, with the index of its layer.
template <class T>
struct layer_gradient {
  std::span<T> values;
  int layer = 0;
};

/// Normalises gradients in place. Reference implementation, for user-written training loops.
///
/// Order     the tensors of a layer are adjacent.
/// Exact     norms and products are computed in double, element by element.
template <class T>
void apply_normalisation(gradient_normalisation const& how, std::span<layer_gradient<T> const> gradients) {
  using scope = gradient_normalisation::scope;
  auto const share_norm = [&](std::size_t a, std::size_t b) {
    return how.norm() == scope::network
           || (how.norm() == scope::layer && gradients[a].layer == gradients[b].layer);
  };
  double const bound = how.element_bound();
  for (std::size_t first = 0, last = 0; first < gradients.size(); first = last) {
    double squares = 0;
    for (last = first; last == first || (last < gradients.size() && share_norm(first, last)); ++last)
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
