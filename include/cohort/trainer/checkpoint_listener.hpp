// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/trainer/checkpoints.hpp>
#include <cohort/trainer/listener.hpp>
#include <cstdint>
#include <string>
#include <utility>

namespace cohort {

/// Writes checkpoints: every `every` steps (0: none of these), and when a vote asks for one or for a stop. Where ranks have no
/// common steps (training::has_common_steps), at the first meeting after each `every` steps.
///
/// Order     collective: every rank has one with the same settings. It stands last in the list: listeners behind it have not seen
///           yet what it writes down.
/// Errors    setting_error for settings that make no sense. A checkpoint that cannot be written (a full disk) is said, not
///           thrown: training goes on and the older ones survive; failures() counts them.
class checkpoint_listener final : public listener {
 public:
  checkpoint_listener(std::string directory, std::int64_t every, int keep = 3, sink to = stderr_sink())
      : directory_(std::move(directory)),
        every_(every),
        keep_(keep),
        to_(to ? std::move(to) : silent_sink()) {
    if (every < 0 || keep < 1)
      throw setting_error({.what = "checkpoints cannot be written like that",
                           .where = "checkpoint_listener",
                           .expected = "every ≥ 0 steps, keep ≥ 1",
                           .got = {"every ", every, ", keep ", keep}});
  }

  void on_step(training& run, step_report const& done) override {
    if (every_ == 0 || (done.step + 1) % every_ != 0) return;
    if (run.has_common_steps())
      save(run);
    else
      run.request({.save = true});
  }
  void on_vote(training& run, votes const& all) override {
    if (all.save || all.stop) save(run);
  }

  /// Where the newest one is; empty before the first.
  std::string const& newest() const { return newest_; }
  /// The step of the newest one; −1 before the first.
  std::int64_t newest_step() const { return saved_step_; }
  /// Why the last attempt failed; empty if it succeeded, and before the first.
  std::string const& trouble() const { return trouble_; }
  std::int64_t failures() const { return failures_; }

 private:
  void save(training& run) {
    if (run.step() == saved_step_) return;
    try {
      newest_ = save_checkpoint(run, directory_, keep_);
      saved_step_ = run.step();
      trouble_.clear();
    } catch (file_error const& why) {
      ++failures_;
      trouble_ = why.what();
      if (run.world().rank() == 0)
        to_(detail::text_of({"no checkpoint at step ", run.step(), ": ", why.what()}));
    }
  }

  std::string directory_;
  std::int64_t every_;
  int keep_;
  sink to_;
  std::string newest_;
  std::int64_t saved_step_ = -1;
  std::string trouble_;
  std::int64_t failures_ = 0;
};

}  // namespace cohort
