// SPDX-License-Identifier: Apache-2.0
#include <cohort/error/exceptions.hpp>
#include <cohort/optimizer/optimizer.hpp>

namespace cohort {

void optimizer_settings::check() const {
  rule.check();
  if (bias_rule) bias_rule->check();
  penalties{l1, l2}.check("weights");
  penalties{bias_l1, bias_l2}.check("biases");
  normalisation.check();
  constraint.check();
  bias_constraint.check();
  if (decay_from_rank < 0 || decay_from_rank > largest_decay_rank)
    throw setting_error(
        {.what = "the setting is out of range",
         .where = "decay_from_rank",
         .expected = {"0 to ", largest_decay_rank, "; 2 excludes biases and normalisation layers"},
         .got = {decay_from_rank}});
  for (std::size_t r = 0; r < layers.size(); ++r) check(r);
}

void optimizer_settings::check(std::size_t r) const {
  layer_override const& row = layers[r];
  try {
    if (row.rule) row.rule->check();
    if (row.bias_rule) row.bias_rule->check();
    penalties{row.l1.value_or(0), row.l2.value_or(0)}.check("weights");
    penalties{row.bias_l1.value_or(0), row.bias_l2.value_or(0)}.check("biases");
    if (row.constraint) row.constraint->check();
    if (row.bias_constraint) row.bias_constraint->check();
  } catch (setting_error const& error) {
    refusal const& why = error.why();
    throw setting_error({.what = why.what,
                         .where = {"layers[", r, "] ", row.layer, ": ", why.where},
                         .expected = why.expected,
                         .got = why.got});
  }
}

}  // namespace cohort
