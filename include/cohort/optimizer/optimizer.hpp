// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/optimizer/gradient_normalisation.hpp>
#include <cohort/optimizer/regularisation.hpp>
#include <cohort/optimizer/updater.hpp>
#include <cstdint>
#include <optional>

namespace cohort {

/// What a parameter is for: biases and the parameters of norms take penalties only on request. Running statistics are not
/// trained, but followed: see `running_statistics`.
enum class parameter_role : std::uint8_t { weights, biases, running_mean, running_variance };

constexpr bool is_trained(parameter_role role) {
  return role == parameter_role::weights || role == parameter_role::biases;
}

/// How a network's parameters are updated, where a layer says nothing else.
///
/// Errors    check: setting_error naming the field.
struct optimizer_settings {
  cohort::updater updater{};
  std::optional<cohort::updater> bias_updater{};  // nothing: the same as `updater`
  double l1 = 0;
  double l2 = 0;
  double bias_l1 = 0;
  double bias_l2 = 0;
  gradient_normalisation normalisation{};

  constexpr bool operator==(optimizer_settings const&) const = default;

  constexpr cohort::updater updater_of(parameter_role role) const {
    return role == parameter_role::biases ? bias_updater.value_or(updater) : updater;
  }
  constexpr penalties penalties_of(parameter_role role) const {
    return role == parameter_role::biases ? penalties{bias_l1, bias_l2} : penalties{l1, l2};
  }

  void check() const {
    updater.check();
    if (bias_updater) bias_updater->check();
    penalties{l1, l2}.check("weights");
    penalties{bias_l1, bias_l2}.check("biases");
    normalisation.check();
  }
};

}  // namespace cohort
