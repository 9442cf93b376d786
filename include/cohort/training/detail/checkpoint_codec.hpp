// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/checkpoint_reader.hpp>
#include <cohort/checkpoint/model_content.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <optional>
#include <string>

namespace cohort::detail {

/// Writes the state of a run as a checkpoint, and restores it.
///
/// Shapes    the shared file is a model with the ranks' consensus and the listeners' states. A rank's file
///           holds the strategy's state of that rank as "strategy/…" and, if the ranks have diverged, the
///           rank's parameters and optimizer state.
class checkpoint_codec {
 public:
  explicit checkpoint_codec(training_state& run) : run_(run) {}

  /// See cohort::save_checkpoint.
  std::string save(std::string const& directory, int keep);
  /// See cohort::resume.
  std::optional<std::string> resume(std::string const& directory);

 private:
  void log_differences(checkpoint_reader const& from) const;
  void add_epoch_data(model_content& to) const;
  void add_strategy(model_content& to) const;
  void add_listeners(model_content& to) const;
  void restore_states(model_file const& from);
  void restore_from_ranks(checkpoint_reader const& from);

  training_state& run_;
};

}  // namespace cohort::detail
