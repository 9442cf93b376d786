// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/trainer/listener.hpp>
#include <cohort/trainer/training.hpp>
#include <cstdint>
#include <string>

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
  checkpoint_listener(std::string directory, std::int64_t every, int keep = 3, sink to = stderr_sink());

  void on_step(training& run, step_report const& done) override;
  void on_vote(training& run, votes const& all) override;

  /// Where the newest one is; empty before the first.
  std::string const& newest() const { return newest_; }
  /// The step of the newest one; −1 before the first.
  std::int64_t newest_step() const { return saved_step_; }
  /// Why the last attempt failed; empty if it succeeded, and before the first.
  std::string const& trouble() const { return trouble_; }
  std::int64_t failures() const { return failures_; }

 private:
  void save(training& run);

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

#ifndef COHORT_CORE_COMPILED
#include <cohort/trainer/impl/checkpoint_listener.ipp>
#endif
