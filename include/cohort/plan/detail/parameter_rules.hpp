// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/optimizer/optimizer.hpp>
#include <cohort/plan/bucket.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace cohort::detail {

/// Optimizer settings of each parameter of a table. Parameters with equal settings share a rule.
///
/// Errors    setting_error listing the layers if a layer_override matches no layer with parameters;
///           setting_error if every layer is frozen.
class parameter_rules {
 public:
  parameter_rules(std::span<parameter const> table, optimizer_settings const& settings);

  /// Rule of parameter p.
  parameter_rule const& operator[](std::size_t p) const { return rules_[rule_of_[p]]; }
  std::size_t size() const { return rule_of_.size(); }
  /// Largest number of state arrays of any optimizer. The optimizers of frozen parameters count too, because
  /// a later run may unfreeze these parameters.
  int state_arrays() const { return state_arrays_; }
  /// Throws setting_error for an optimizer of the program without formula, or if the parameters are in the
  /// memory of a device.
  void require_formulas(std::span<parameter const> table, bool on_device) const;

 private:
  static void require_named(std::span<parameter const> table, layer_override const& row,
                            std::ptrdiff_t place);

  /// Text such as "one of conv2d_1, dense_1".
  static std::string names_in(std::span<parameter const> table);

  std::vector<parameter_rule> rules_;
  std::vector<std::size_t> rule_of_;
  int state_arrays_ = 0;
};

}  // namespace cohort::detail
