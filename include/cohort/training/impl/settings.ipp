// SPDX-License-Identifier: Apache-2.0
#include <cohort/error/detail/text.hpp>
#include <cohort/training/settings.hpp>

namespace cohort::detail {

std::string describe(optimizer_rule const& one) {
  std::string text(one.name());
  auto const add = [&](named_numbers const& fields) {
    for (named_number const& field : fields) text += text_of({" ", field.name, " ", field.value});
  };
  auto const add_schedule = [&](char const* of, rate_schedule const& schedule) {
    text += text_of({", ", of, " ", schedule.name()});
    add(schedule.fields());
  };
  add_schedule("rate", one.learning_rate());
  if (one.has_momentum() && !one.momentum().is_fixed()) add_schedule("momentum", one.momentum());
  add(one.fields());
  return text;
}

std::string describe(char const* of, parameter_constraint const& how) {
  return text_of({of, " ", how.name(), how.has_parameter() ? text_of({" ", how.at}) : ""});
}

std::string describe(layer_override const& row) {
  std::string text = "; layer " + row.layer;
  auto const add = [&](char const* field, std::optional<double> const& value) {
    if (value) text += text_of({", ", field, " ", *value});
  };
  if (row.rule) text += ", " + describe(*row.rule);
  if (row.bias_rule) text += ", biases " + describe(*row.bias_rule);
  add("l1", row.l1);
  add("l2", row.l2);
  add("bias l1", row.bias_l1);
  add("bias l2", row.bias_l2);
  if (row.constraint) text += ", " + describe("constraint", *row.constraint);
  if (row.bias_constraint) text += ", " + describe("bias constraint", *row.bias_constraint);
  if (row.frozen) text += *row.frozen ? ", frozen" : ", not frozen";
  if (row.decays) text += *row.decays ? ", decays" : ", does not decay";
  return text;
}

std::string describe(training_settings const& s) {
  optimizer_settings const& o = s.optimizer;
  std::string text = text_of({describe(o.rule),
                              "; biases ",
                              o.bias_rule ? describe(*o.bias_rule) : "the same",
                              "; l1 ",
                              o.l1,
                              ", l2 ",
                              o.l2,
                              ", biases ",
                              o.bias_l1,
                              ", ",
                              o.bias_l2,
                              "; gradient normalisation ",
                              o.normalisation.name(),
                              " ",
                              o.normalisation.at,
                              "; initial weights ",
                              s.weights.name(),
                              " ",
                              s.weights.parameter,
                              ", biases ",
                              s.bias.name(),
                              " ",
                              s.bias.parameter,
                              s.not_finite == when_not_finite::skip ? "; non-finite steps skipped" : ""});
  if (o.constraint != parameter_constraint()) text += "; " + describe("constraint", o.constraint);
  if (o.bias_constraint != parameter_constraint())
    text += "; " + describe("bias constraint", o.bias_constraint);
  if (o.decay_from_rank > 0) text += text_of({"; decay from rank ", o.decay_from_rank});
  for (layer_override const& row : o.layers) text += describe(row);
  if (s.plateau)
    text += text_of({"; reduce on plateau: patience ", s.plateau->patience, ", threshold ",
                     s.plateau->threshold, ", factor ", s.plateau->factor, ", least rate ", s.plateau->least,
                     ", cooldown ", s.plateau->cooldown});
  return text;
}

}  // namespace cohort::detail
