// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <charconv>
#include <cohort/checkpoint/checkpoint_reader.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cohort/trainer/training.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cohort {

/// How a run becomes a checkpoint and goes on from one.
///
/// Shapes    the shared file is a model with what all ranks would agree on; a rank's own file has the parameters and state
///           of that rank where ranks differ, and what its strategy remembers, as "strategy/…".
struct checkpoint_io {
  static std::string save(training& run, std::string const& directory, int keep);

  static std::optional<std::string> resume(training& run, std::string const& directory);

 private:
  static constexpr char const* strategy_key = "strategy/description";
  static constexpr char const* position_key = "strategy/position";
  static constexpr char const *loss_key = "strategy/loss",
                              *weight_key = "strategy/weight";  // of the epoch so far
  static constexpr char const* listener_key = "listener/";

  static void say_differences(training& run, checkpoint_reader const& from);

  static void add_replica(training& run, model_content& to);

  static void add_strategy(training& run, model_content& to);

  static std::vector<std::pair<std::string, std::string>> listeners_in(model_file const& shared);

  static std::string text_in(model_file const& file, std::string const& key);
  static std::int64_t number_in(model_file const& file, std::string const& key);
  /// Older checkpoints have none.
  static double real_in(model_file const& file, std::string const& key);
  template <class T>
  static T value_in(model_file const& file, std::string const& key, std::string const& text,
                    char const* expected) {
    T number = 0;
    auto const [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure != std::errc{} || end != text.data() + text.size())
      throw data_error({.what = "cannot read the checkpoint",
                        .where = {file.file().name(), ", ", key},
                        .expected = expected,
                        .got = text});
    return number;
  }

  /// What the strategy of that rank remembered; it refers to the file.
  static strategy_state state_in(model_file const& own);

  static void restore_from_ranks(training& run, checkpoint_reader const& from);
};

/// Writes a checkpoint of the whole run into `directory`, under a name of its own, and keeps the newest `keep` there.
/// Returns its path.
///
/// Order     collective.
/// After     the run is as it was.
/// Errors    file_error, the same on every rank, naming rank, path and reason; then the older checkpoints are as they were.
std::string save_checkpoint(training& run, std::string const& directory, int keep = 3);

/// Goes on from the newest complete checkpoint in `directory` and returns its path; nothing where there is none.
///
/// Order     collective; before fit.
/// Exact     with the same ranks, strategy, workers, threads, backend and build the run goes on bit by bit as if it had not
///           stopped; else from the parameters and state that all would have agreed on, at the same place in the data; another
///           number of ranks with what their strategy inherits.
/// Errors    data_error for a checkpoint of another network, or if all that are there are damaged.
std::optional<std::string> resume(training& run, std::string const& directory);

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/trainer/impl/checkpoints.ipp>
#endif
