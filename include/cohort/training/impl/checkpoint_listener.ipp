// SPDX-License-Identifier: Apache-2.0
#include <cohort/error/exceptions.hpp>
#include <cohort/training/checkpoint_listener.hpp>
#include <cohort/training/checkpoints.hpp>
#include <utility>

namespace cohort {

checkpoint_listener::checkpoint_listener(std::string directory, std::int64_t every, int keep, sink to)
    : directory_(std::move(directory)), every_(every), keep_(keep), to_(to ? std::move(to) : silent_sink()) {
  if (every < 0 || keep < 1)
    throw setting_error({.what = "invalid checkpoint settings",
                         .where = "checkpoint_listener",
                         .expected = "every ≥ 0 steps, keep ≥ 1",
                         .got = {"every ", every, ", keep ", keep}});
}

void checkpoint_listener::on_step(training& run, step_report const& done) {
  if (every_ == 0 || (done.step + 1) % every_ != 0) return;
  if (run.has_common_steps())
    save(run);
  else
    run.request({.save = true});
}

void checkpoint_listener::on_epoch(training& run, epoch_report const& done) {
  bool const is_due_by_steps = every_ > 0 && run.step() % every_ == 0;  // on_step or a vote saves then
  if (done.epoch + 1 == done.epochs && !is_due_by_steps) save(run);
}

void checkpoint_listener::on_vote(training& run, votes const& all) {
  if (all.save || all.stop) save(run);
}

std::string checkpoint_listener::name() const {
  return every_ == 0 ? "checkpoint after the last epoch"
                     : detail::text_of({"checkpoint every ", every_, " steps"});
}

void checkpoint_listener::save(training& run) {
  if (run.step() == saved_step_) return;
  try {
    newest_ = save_checkpoint(run, directory_, keep_);
    saved_step_ = run.step();
    last_error_.clear();
  } catch (file_error const& why) {
    ++failures_;
    last_error_ = why.what();
    if (run.world().rank() == 0)
      to_(detail::text_of({"no checkpoint at step ", run.step(), ": ", why.what()}));
  }
}

}  // namespace cohort
