// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/optimizer/constraint.hpp>
#include <cohort/optimizer/optimizer_rule.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace cohort {

namespace detail {

/// Returns whether `pattern` equals `name`, or is a prefix of `name` followed by a star: "features_*".
constexpr bool is_named(std::string_view name, std::string_view pattern) {
  if (pattern.empty() || pattern.back() != '*') return name == pattern;
  return name.substr(0, pattern.size() - 1) == pattern.substr(0, pattern.size() - 1);
}

}  // namespace detail

/// Optimizer settings for some layers. They replace the network's settings. A field that is not set has no
/// effect.
///
/// Order     if several rows match a layer, the last row that sets a field determines the value.
/// After     `frozen`: the layer keeps every bit of its parameters and of its optimizer's state. It runs as
///           in inference: batch normalisation uses its running statistics and does not change them.
///           `decays`: false sets the optimizer's `decay` to 0 for the layer, for example an embedding; true
///           keeps the decay for every decay_from_rank.
struct layer_override {
  std::string layer;  ///< a layer's name, or a common prefix of names with a star: "features_*"
  std::optional<optimizer_rule> rule{};
  std::optional<optimizer_rule> bias_rule{};
  std::optional<double> l1{};
  std::optional<double> l2{};
  std::optional<double> bias_l1{};
  std::optional<double> bias_l2{};
  std::optional<parameter_constraint> constraint{};
  std::optional<parameter_constraint> bias_constraint{};
  std::optional<bool> frozen{};
  std::optional<bool> decays{};

  constexpr bool operator==(layer_override const&) const = default;

  /// Returns whether this row matches a layer of this name.
  constexpr bool names(std::string_view name) const { return detail::is_named(name, layer); }
};

}  // namespace cohort
