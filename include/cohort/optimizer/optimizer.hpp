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
    using row = layer_override;
    auto const own = [&](auto field, auto const& otherwise) {
      for (std::size_t r = layers.size(); r-- > 0;)
        if (layers[r].names(layer) && layers[r].*field) return *(layers[r].*field);
      return otherwise;
    };
    cohort::updater const main = own(&row::updater, updater);
    bool const frozen = own(&row::frozen, false);
    if (role != parameter_role::biases)
      return {main, {own(&row::l1, l1), own(&row::l2, l2)}, own(&row::constraint, constraint), frozen};
    return {own(&row::bias_updater, bias_updater.value_or(main)),
            {own(&row::bias_l1, bias_l1), own(&row::bias_l2, bias_l2)},
            own(&row::bias_constraint, bias_constraint),
            frozen};
  }

  void check() const {
    updater.check();
    if (bias_updater) bias_updater->check();
    penalties{l1, l2}.check("weights");
    penalties{bias_l1, bias_l2}.check("biases");
    normalisation.check();
    constraint.check();
    bias_constraint.check();
    for (std::size_t r = 0; r < layers.size(); ++r) check(r);
  }

 private:
  void check(std::size_t r) const {
    layer_override const& row = layers[r];
    try {
      if (row.updater) row.updater->check();
      if (row.bias_updater) row.bias_updater->check();
      penalties{row.l1.value_or(0), row.l2.value_or(0)}.check("weights");
      penalties{row.bias_l1.value_or(0), row.bias_l2.value_or(0)}.check("biases");
      if (row.constraint) row.constraint->check();
      if (row.bias_constraint) row.bias_constraint->check();
    } catch (setting_error const& refused) {
      refusal const& why = refused.why();
      throw setting_error({.what = why.what,
                           .where = {"layers[", r, "] ", row.layer, ": ", why.where},
                           .expected = why.expected,
                           .got = why.got});
    }
  }
};

}  // namespace cohort
