// SPDX-License-Identifier: Apache-2.0
#include <cohort/error/detail/text.hpp>
#include <cohort/training/settings.hpp>

namespace cohort {

optimizer_settings training_settings::optimizer() const {
  return {.updater = updater,
          .bias_updater = bias_updater,
          .l1 = l1,
          .l2 = l2,
          .bias_l1 = bias_l1,
          .bias_l2 = bias_l2,
          .normalisation = normalisation,
          .constraint = constraint,
          .bias_constraint = bias_constraint,
          .decay_from_rank = decay_from_rank,
          .layers = layers};
}

}  // namespace cohort

namespace cohort::detail {

std::string describe(updater const& one) {
  std::string text(one.name());
  auto const add = [&](named_numbers const& fields) {
    for (named_number const& field : fields) text += text_of({" ", field.name, " ", field.value});
  };
  auto const add_schedule = [&](char const* of, rate_schedule const& schedule) {
    text += text_of({", ", of, " ", schedule.name()});
    add(schedule.fields());
  };
  add_schedule("rate", one.rate());
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
  if (row.updater) text += ", " + describe(*row.updater);
  if (row.bias_updater) text += ", biases " + describe(*row.bias_updater);
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
  std::string text = text_of({describe(s.updater),
                              "; biases ",
                              s.bias_updater ? describe(*s.bias_updater) : "the same",
                              "; l1 ",
                              s.l1,
                              ", l2 ",
                              s.l2,
                              ", biases ",
                              s.bias_l1,
                              ", ",
                              s.bias_l2,
                              "; gradient normalisation ",
                              s.normalisation.name(),
                              " ",
                              s.normalisation.at,
                              "; initial weights ",
                              s.weights.name(),
                              " ",
                              s.weights.parameter,
                              ", biases ",
                              s.bias.name(),
                              " ",
                              s.bias.parameter,
                              s.not_finite == when_not_finite::skip ? "; non-finite steps skipped" : ""});
  if (s.constraint != parameter_constraint()) text += "; " + describe("constraint", s.constraint);
  if (s.bias_constraint != parameter_constraint())
    text += "; " + describe("bias constraint", s.bias_constraint);
  if (s.decay_from_rank > 0) text += text_of({"; decay from rank ", s.decay_from_rank});
  for (layer_override const& row : s.layers) text += describe(row);
  if (s.plateau)
    text += text_of({"; reduce on plateau: patience ", s.plateau->patience, ", threshold ",
                     s.plateau->threshold, ", factor ", s.plateau->factor, ", least rate ", s.plateau->least,
                     ", cooldown ", s.plateau->cooldown});
  return text;
}

}  // namespace cohort::detail
