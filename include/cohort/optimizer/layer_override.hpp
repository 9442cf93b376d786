// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/optimizer/constraint.hpp>
#include <cohort/optimizer/updater.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace cohort {

namespace detail {

/// Whether `wanted` is that name, or the beginning of it with a star behind: "features_*".
constexpr bool is_named(std::string_view name, std::string_view wanted) {
  if (wanted.empty() || wanted.back() != '*') return name == wanted;
  return name.substr(0, wanted.size() - 1) == wanted.substr(0, wanted.size() - 1);
}

}  // namespace detail

/// What the layers of one name, or of all names that begin alike ("features_*"), are trained with where it is not what the
/// network has. A field that is not set says nothing.
///
/// Order     of the rows that name a layer the last that sets a field has it; other fields stay.
/// After     `frozen`: the layer keeps every bit of its parameters and of its updater's state, and runs as at inference:
///           batch normalisation goes by its running statistics, which stay.
struct layer_override {
  std::string layer;
  std::optional<cohort::updater> updater{};
  std::optional<cohort::updater> bias_updater{};
  std::optional<double> l1{};
  std::optional<double> l2{};
  std::optional<double> bias_l1{};
  std::optional<double> bias_l2{};
  std::optional<parameter_constraint> constraint{};
  std::optional<parameter_constraint> bias_constraint{};
  std::optional<bool> frozen{};

  constexpr bool operator==(layer_override const&) const = default;

  constexpr bool names(std::string_view name) const { return detail::is_named(name, layer); }
};

}  // namespace cohort
