// SPDX-License-Identifier: Apache-2.0
#include <cohort/error/exceptions.hpp>
#include <cohort/plan/parameter_update.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <cohort/training/trainer.hpp>

namespace cohort::detail {

void mark_without_world(training& made) { made.state().has_given_world = false; }

void check_training_settings(training_settings const& settings, strategy const& exchange_strategy) {
  settings.optimizer.check();
  if (settings.plateau) settings.plateau->check();
  if (!(settings.average_decay >= 0 && settings.average_decay < 1))
    throw setting_error({.what = "invalid decay of the average of the parameters",
                         .where = "training_settings::average_decay",
                         .expected = "at least 0 and below 1, for example 0.999; 0: no average",
                         .got = {settings.average_decay}});
  if (settings.average_decay > 0 && !exchange_strategy.supports_average_decay())
    throw setting_error(
        {.what = "the strategy replaces updated parameters, which their moving average would not follow",
         .where = "training_settings::average_decay",
         .expected = "0; or a strategy that exchanges gradients; or parameter_averaging with "
                     "average_optimizer_state, without outer step and overlap",
         .got = {settings.average_decay, " with ", exchange_strategy.describe()}});
  bool const calibrates = settings.tune && settings.workers == 0;
  if ((settings.workers < 1 && !calibrates) || settings.threads < 1)
    throw setting_error(
        {.what = "the number of workers or threads is too small",
         .expected = settings.tune ? "at least 0 workers and 1 thread"
                                   : "at least 1 of each; 0 workers only with tune, which calibrates them",
         .got = {settings.workers, " workers, ", settings.threads, " threads"}});
  if (static_cast<std::size_t>(settings.workers) > parameter_update::max_parts)
    throw setting_error({.what = "too many workers",
                         .expected = {"at most ", parameter_update::max_parts},
                         .got = {settings.workers}});
}

}  // namespace cohort::detail
