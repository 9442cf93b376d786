// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/plan/detail/parameter_rules.hpp>

namespace cohort::detail {

parameter_rules::parameter_rules(std::span<parameter const> table, optimizer_settings const& settings) {
  bool frozen = !table.empty();
  for (parameter const& p : table) {
    parameter_rule const rule = settings.rule_of(p.layer(), p.spec.role, p.spec.dims.rank);
    std::size_t r = 0;
    while (r < rules_.size() && !(rules_[r] == rule)) ++r;
    if (r == rules_.size()) rules_.push_back(rule);
    rule_of_.push_back(r);
    if (is_trained(p.spec.role)) state_arrays_ = std::max(state_arrays_, rule.rule.state_arrays());
    frozen = frozen && rule.frozen;
  }
  for (layer_override const& row : settings.layers) require_named(table, row, &row - settings.layers.data());
  if (frozen)
    throw setting_error({.what = "every layer with parameters is frozen",
                         .where = "layers",
                         .expected = "at least 1 layer to train",
                         .got = "none"});
}

void parameter_rules::require_formulas(std::span<parameter const> table, bool on_device) const {
  for (std::size_t p = 0; p < size(); ++p) {
    own_update const* const own = (*this)[p].rule.own();
    if (!own || (own->run_f32 && !on_device)) continue;
    throw setting_error({.what = own->run_f32 ? "an optimizer of the program cannot run on a device"
                                              : "the program does not have the type of an optimizer",
                         .where = table[p].name,
                         .expected = own->run_f32
                                         ? "a built-in optimizer, or a backend on the processor"
                                         : "an optimizer whose type the program passes to the trainer",
                         .got = {own->row.name}});
  }
}

void parameter_rules::require_named(std::span<parameter const> table, layer_override const& row,
                                    std::ptrdiff_t place) {
  for (parameter const& p : table)
    if (row.names(p.layer())) return;
  throw setting_error({.what = "no layer with parameters has this name",
                       .where = {"layers[", place, "]"},
                       .expected = names_in(table),
                       .got = row.layer.empty() ? "no name" : row.layer});
}

std::string parameter_rules::names_in(std::span<parameter const> table) {
  std::string names;
  for (std::size_t p = 0; p < table.size(); ++p)
    if (p == 0 || table[p].node != table[p - 1].node)
      names += detail::text_of({p == 0 ? "one of " : ", ", table[p].layer()});
  return names;
}

}  // namespace cohort::detail
