// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/optimizer/optimizer.hpp>
#include <cohort/plan/bucket.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace cohort {

/// Settings worked out for each parameter of a table; parameters that are treated alike share a rule.
///
/// Errors    setting_error, with the names of the layers, for a row that names none with parameters, and where every layer is
///           frozen.
class parameter_rules {
 public:
  parameter_rules(std::span<parameter const> table, optimizer_settings const& settings) {
    for (parameter const& p : table) {
      parameter_rule const rule = settings.rule_of(p.layer(), p.spec.role);
      rule_of_.push_back(static_cast<std::size_t>(std::ranges::find(rules_, rule) - rules_.begin()));
      if (rule_of_.back() == rules_.size()) rules_.push_back(rule);
      if (is_trained(p.spec.role)) state_arrays_ = std::max(state_arrays_, rule.updater.state_arrays());
    }
    for (std::size_t r = 0; r < settings.layers.size(); ++r)
      if (layer_override const& row = settings.layers[r];
          std::ranges::none_of(table, [&](parameter const& p) { return row.names(p.layer()); }))
        throw setting_error({.what = "there is no such layer with parameters",
                             .where = {"layers[", r, "]"},
                             .expected = names_in(table),
                             .got = row.layer.empty() ? "no name" : row.layer});
    if (!table.empty() && std::ranges::all_of(rules_, &parameter_rule::frozen))
      throw setting_error({.what = "every layer is frozen: nothing is left to train", .where = "layers"});
  }

  parameter_rule const& operator[](std::size_t p) const { return rules_[rule_of_[p]]; }
  std::size_t size() const { return rule_of_.size(); }
  /// The most that any updater keeps for an element. Frozen parameters keep theirs: a later run may thaw them.
  int state_arrays() const { return state_arrays_; }

 private:
  /// "one of conv2d_1, dense_1"
  static std::string names_in(std::span<parameter const> table) {
    std::string names;
    for (std::size_t p = 0; p < table.size(); ++p)
      if (p == 0 || table[p].node != table[p - 1].node)
        names += detail::text_of({p == 0 ? "one of " : ", ", table[p].layer()});
    return names;
  }

  std::vector<parameter_rule> rules_;
  std::vector<std::size_t> rule_of_;
  int state_arrays_ = 0;
};

}  // namespace cohort
