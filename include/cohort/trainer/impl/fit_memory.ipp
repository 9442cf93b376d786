// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/error/detail/text.hpp>
#include <cohort/plan/plan_text.hpp>
#include <cohort/trainer/detail/fit_memory.hpp>
#include <cohort/trainer/detail/run_checks.hpp>
#include <cohort/trainer/detail/training_state.hpp>
#include <string>

namespace cohort::detail {

COHORT_CORE_INLINE run_memory memory_of_fit(training_state& run, dataset const& data,
                                            fit_settings const& how) {
  check_batch(how);
  worker_group& workers = *run.workers;
  int const micro_batch = workers.micro_batch_size(how.batch, how.accumulate);
  bool const accumulates = how.accumulate > 1;
  auto const made = workers.plan_for({.examples = micro_batch, .accumulates = accumulates});
  run_memory all = memory_of_workers(*made, workers.size(), accumulates);
  all.updater_state = run.update().bytes();
  all.exchange = run.exchange_strategy->bytes(run.current_replica());
  add_examples(all, data.describe(), run.parameters(), how.batch, how.prefetch + 1, workers.size(),
               micro_batch);
  return all;
}

COHORT_CORE_INLINE void log_memory(training_state& run, plan const& made, dataset const& data,
                                   fit_settings const& how) {
  if (!run.settings.log || run.logged_plan == &made) return;
  run.logged_plan = &made;
  std::string const again = text_of(made.recomputed());
  run.settings.log(
      text_of({cohort::text_of(memory_of_fit(run, data, how), run.workers->size(), how.accumulate),
               again.empty() ? "" : "; recomputation: ", again}));
}

}  // namespace cohort::detail
