// SPDX-License-Identifier: Apache-2.0
// expect: keep it in a variable
// expect: history_of_a_temporary_report.cpp:4711
// max-lines: 12
#include <cohort/training/training.hpp>

double last_loss(cohort::training& run, cohort::dataset const& data) {
#ifdef MUST_FAIL
#line 4711
  std::span<double const> const losses = run.fit(data).history["loss"];
#else
  cohort::fit_report const done = run.fit(data);
  std::span<double const> const losses = done.history["loss"];
#endif
  return losses.back();
}
