// SPDX-License-Identifier: Apache-2.0
#include <cohort/detail/text_table.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/training/score_listener.hpp>
#include <cohort/training/training.hpp>
#include <string>
#include <utility>

namespace cohort {

score_listener::score_listener(std::int64_t every, sink to)
    : every_(every), to_(to ? std::move(to) : silent_sink()) {
  if (every < 1)
    throw setting_error({.what = "invalid report interval",
                         .where = "score_listener",
                         .expected = "every ≥ 1 step",
                         .got = {every}});
}

void score_listener::on_step(training& run, step_report const& done) {
  if (run.world().rank() != 0) return;
  loss_.add(done);
  if (++steps_ < every_) return;
  to_("step " + std::to_string(done.step + 1) + ": loss " + detail::loss_text(loss_.value()));
  steps_ = 0;
  loss_ = {};
}

}  // namespace cohort
