// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/optimizer/constraint.hpp>
#include <cohort/optimizer/gradient_normalisation.hpp>
#include <cohort/optimizer/layer_override.hpp>
#include <cohort/optimizer/optimizer_rule.hpp>
#include <cohort/optimizer/regularisation.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace cohort {

/// Role of a parameter tensor. `biases` includes the parameters of normalisation layers, and has separate
/// penalties, 0 by default. Running statistics are not trained, but updated from batch statistics: see
/// plan/batch_statistics.hpp.
enum class parameter_role : std::uint8_t { weights, biases, running_mean, running_variance };

/// Returns whether an optimizer changes parameters of this role.
constexpr bool is_trained(parameter_role role) {
  return role == parameter_role::weights || role == parameter_role::biases;
}

/// Update rule of one parameter tensor.
struct parameter_rule {
  optimizer_rule rule{};
  penalties penalty{};
  parameter_constraint constraint{};
  bool frozen = false;

  constexpr bool operator==(parameter_rule const&) const = default;
};

/// Optimizer settings of a network, with overrides for single layers.
///
/// Units     `decay_from_rank`: the optimizer's `decay` applies only to tensors with at least this many
///           dimensions. 2 excludes biases and the parameters of normalisation layers.
/// Order     a step updates the parameters, then enforces the constraints. If the parameters of all ranks
///           satisfy a constraint other than unit_norm, their mean satisfies it, too.
/// Errors    check: setting_error that names the field; for an override also its index in `layers` and its
///           layer name.
struct optimizer_settings {
  static constexpr int largest_decay_rank = 8;

  optimizer_rule rule{};
  std::optional<optimizer_rule> bias_rule{};  ///< unset: `rule`
  double l1 = 0;
  double l2 = 0;
  double bias_l1 = 0;
  double bias_l2 = 0;
  gradient_normalisation normalisation{};
  parameter_constraint constraint{};  ///< constraint of weights
  parameter_constraint bias_constraint{};
  int decay_from_rank = 0;
  std::vector<layer_override> layers{};

  constexpr bool operator==(optimizer_settings const&) const = default;

  /// Returns the update rule of a parameter with this layer, role and tensor rank (number of dimensions).
  ///
  /// Order     of biases: the layer's bias_rule, else the network's bias_rule, else the layer's rule, else
  ///           the network's rule.
  constexpr parameter_rule rule_of(std::string_view layer, parameter_role role, int rank = 2) const {
    bool const biases = role == parameter_role::biases;
    parameter_rule chosen{rule, biases ? penalties{bias_l1, bias_l2} : penalties{l1, l2},
                          biases ? bias_constraint : constraint};
    bool decays = rank >= decay_from_rank;
    optimizer_rule const* for_biases = biases && bias_rule ? &*bias_rule : nullptr;
    for (layer_override const& row : layers) {
      if (!row.names(layer)) continue;
      if (row.rule) chosen.rule = *row.rule;
      if (biases && row.bias_rule) for_biases = &*row.bias_rule;
      if (auto const& l1 = biases ? row.bias_l1 : row.l1) chosen.penalty.l1 = *l1;
      if (auto const& l2 = biases ? row.bias_l2 : row.l2) chosen.penalty.l2 = *l2;
      if (auto const& limit = biases ? row.bias_constraint : row.constraint) chosen.constraint = *limit;
      if (row.frozen) chosen.frozen = *row.frozen;
      if (row.decays) decays = *row.decays;
    }
    if (for_biases) chosen.rule = *for_biases;
    if (!decays) chosen.rule = chosen.rule.without_decay();
    return chosen;
  }

  /// Throws if a setting is out of range.
  void check() const;

 private:
  void check(std::size_t r) const;
};

}  // namespace cohort
