// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/optimizer/constraint.hpp>
#include <cohort/optimizer/gradient_normalisation.hpp>
#include <cohort/optimizer/layer_override.hpp>
#include <cohort/optimizer/regularisation.hpp>
#include <cohort/optimizer/updater.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace cohort {

/// What a parameter is for: biases and the parameters of norms take penalties only on request. Running statistics are not
/// trained, but followed: see `running_statistics`.
enum class parameter_role : std::uint8_t { weights, biases, running_mean, running_variance };

constexpr bool is_trained(parameter_role role) {
  return role == parameter_role::weights || role == parameter_role::biases;
}

/// What is done to one parameter tensor in an update.
struct parameter_rule {
  cohort::updater updater{};
  penalties pull{};
  parameter_constraint constraint{};
  bool frozen = false;

  constexpr bool operator==(parameter_rule const&) const = default;
};

/// How a network's parameters are updated, and single layers otherwise.
///
/// Order     a step updates, then holds parameters to constraints. A mean over ranks keeps to them, but for unit norms.
/// Errors    check: setting_error naming the field, and the row of `layers` and its name.
struct optimizer_settings {
  cohort::updater updater{};
  std::optional<cohort::updater> bias_updater{};  // nothing: the same as `updater`
  double l1 = 0;
  double l2 = 0;
  double bias_l1 = 0;
  double bias_l2 = 0;
  gradient_normalisation normalisation{};
  parameter_constraint constraint{};  // of weights
  parameter_constraint bias_constraint{};
  std::vector<layer_override> layers{};

  constexpr bool operator==(optimizer_settings const&) const = default;

  /// Of one layer's parameters of one role. Biases take the network's bias_updater, if there is one, rather than their own
  /// layer's updater.
  constexpr parameter_rule rule_of(std::string_view layer, parameter_role role) const {
    bool const biases = role == parameter_role::biases;
    parameter_rule rule{updater, biases ? penalties{bias_l1, bias_l2} : penalties{l1, l2},
                        biases ? bias_constraint : constraint};
    cohort::updater const* own = biases && bias_updater ? &*bias_updater : nullptr;
    for (layer_override const& row : layers) {
      if (!row.names(layer)) continue;
      if (row.updater) rule.updater = *row.updater;
      if (biases && row.bias_updater) own = &*row.bias_updater;
      if (auto const& l1 = biases ? row.bias_l1 : row.l1) rule.pull.l1 = *l1;
      if (auto const& l2 = biases ? row.bias_l2 : row.l2) rule.pull.l2 = *l2;
      if (auto const& held = biases ? row.bias_constraint : row.constraint) rule.constraint = *held;
      if (row.frozen) rule.frozen = *row.frozen;
    }
    if (own) rule.updater = *own;
    return rule;
  }

  void check() const;

 private:
  void check(std::size_t r) const;
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/optimizer/impl/optimizer.ipp>
#endif
