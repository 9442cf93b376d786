// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/checkpoint_reader.hpp>
#include <cohort/checkpoint/model_content.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cohort/training/detail/checkpoint_writer.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
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
  std::string save(checkpoint_target target);
  /// Another thread allocates the memory for the copies of `start`.
  void reserve();
  /// Starts to write the same checkpoint on another thread (checkpoint_writer). Sharded state is written at
  /// once.
  ///
  /// Order     collective.
  /// Before    the previous checkpoint has been written.
  std::shared_ptr<checkpoint_job> start(checkpoint_target target);
  /// See cohort::resume.
  std::optional<std::string> resume(std::string const& directory);

  /// The state that ranks have in common, without the position within the epoch, and its inverse. load_shared
  /// sets training_state::saved_listeners.
  ///
  /// Before    the state is not sharded.
  std::string shared_bytes();
  void load_shared(std::string const& bytes);
  /// The strategy's state on this rank. restore_strategy calls strategy::restore with it, or strategy::join.
  std::string strategy_bytes() const;
  static void restore_strategy(strategy& into, std::string const& bytes, bool joins);

 private:
  /// Another process of an elastic job may have saved the newest checkpoint.
  bool has_changed_ranks() const;
  void log_differences(checkpoint_reader const& from) const;
  /// The state of the run. With `copies`, large arrays are copied to this memory and converted when they are
  /// written.
  checkpoint_content content(std::shared_ptr<snapshot_memory> const& copies);
  void add_array(model_content& to, std::string const& name, element_type type,
                 std::span<std::byte const> values) const;
  void add_epoch_data(model_content& to) const;
  void add_strategy(model_content& to) const;
  void add_listeners(model_content& to) const;
  void restore_states(model_file const& from);
  void restore_from_ranks(checkpoint_reader const& from);

  training_state& run_;
  snapshot_memory* copies_ = nullptr;  // null: arrays are not copied
};

}  // namespace cohort::detail
