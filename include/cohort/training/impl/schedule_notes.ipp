// SPDX-License-Identifier: Apache-2.0
#include <cohort/detail/text.hpp>
#include <cohort/training/detail/schedule_notes.hpp>

namespace cohort::detail {

std::vector<schedule_note> schedule_notes(training_settings const& settings, run_extent const& run) {
  std::vector<schedule_note> notes;
  auto const add_notes_of = [&](rate_schedule const& schedule, std::string const& owner) {
    for (rate_schedule::extent const& one : schedule.extents()) {
      bool const by_step = one.by == schedule::unit::step;
      std::optional<std::int64_t> const total = by_step ? run.steps : run.epochs;
      bool const exceeds_run = total && one.length > static_cast<double>(*total);
      bool const ends_in_run = total && one.is_decay && 2 * one.length < static_cast<double>(*total);
      if (!exceeds_run && !ends_in_run) continue;
      char const *const unit = by_step ? " steps" : " epochs", *const other = by_step ? "epoch" : "step";
      std::string const subject = text_of({"the schedule ", one.name, " of the ", owner});
      constexpr std::int64_t end = std::int64_t{1} << 53;  // a step after the schedule and its warm-up
      std::string text =
          exceeds_run ? text_of({subject, " ends after ", one.length, unit, ", this run after ", *total})
                      : text_of({subject, " ends after ", one.length, " of ", *total, unit,
                                 " and then stays at ", schedule.value(end, end)});
      text +=
          text_of({"; ", one.field, " counts", unit, ": change it, or set .by = schedule::unit::", other});
      notes.push_back({subject, std::move(text)});
    }
  };
  auto const add_notes = [&](optimizer_rule const& one, std::string const& of) {
    add_notes_of(one.learning_rate(), "rate" + of);
    if (one.has_momentum()) add_notes_of(one.momentum(), "momentum" + of);
  };
  add_notes(settings.optimizer.rule, "");
  if (settings.optimizer.bias_rule) add_notes(*settings.optimizer.bias_rule, " of biases");
  for (layer_override const& row : settings.optimizer.layers) {
    if (row.rule) add_notes(*row.rule, " of " + row.layer);
    if (row.bias_rule) add_notes(*row.bias_rule, " of biases of " + row.layer);
  }
  return notes;
}

}  // namespace cohort::detail
