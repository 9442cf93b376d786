// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/configuration/run_document.hpp>
#include <cohort/documents/data.hpp>
#include <cohort/execution/sink.hpp>
#include <cohort/io/json_writer.hpp>
#include <cohort/training/checkpoint_listener.hpp>
#include <cohort/training/training.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cohort::documents {

/// Prints notice, location and sizes of data sets. `test` may be null. `examples`: the plural noun for their
/// examples, such as "images".
void print_data(std::string const& notice, std::string const& where, dataset const& train,
                dataset const* test, char const* examples, sink const& output);
/// Prints location and sizes of the data to `output`, and its notices to `log`, on rank 0.
void print_data(run_document const& run, data_sets const& data, communicator const& world, sink const& output,
                sink const& log);
/// Prints to `output` how many rows of a table a pipeline has removed, and to `log` the rows that it skipped;
/// nothing without a pipeline.
void print_rows(data_sets const& data, sink const& output, sink const& log);

/// Numbers of reads of all ranks; nullopt if the data is of another kind.
struct read_counts {
  std::optional<std::uint64_t> skipped{};               ///< of damaged records
  std::optional<std::uint64_t> ignored_orientations{};  ///< of images whose EXIF orientation was not applied
};

/// Returns the numbers of reads since the last call. Collective. Each read counts once, even if ranks that
/// are threads share a counter.
read_counts count_reads(data_sets const& data, communicator& world);
/// Prints the numbers that are not 0.
void print(read_counts const& reads, sink const& output);

/// Results on a test set, of a classification or a regression.
struct test_report {
  std::string text{};
  std::vector<std::pair<std::string, double>> numbers{};
};

/// Evaluates a test set. Collective.
test_report evaluate(training& trained, dataset const& test, evaluation_settings const& settings);

/// Numbers of a run for its reports.
struct run_totals {
  double seconds = 0;       ///< duration of the training's steps
  double wait_seconds = 0;  ///< seconds that the rank that waited longest has waited for batches
  std::uint64_t bytes = 0;  ///< bytes sent by all ranks
};

/// Returns the numbers of a run whose steps took `seconds`. Collective.
run_totals totals_of(fit_report const& fitted, double seconds, communicator& world);

/// Prints one line with speed, wait for data, bytes sent and checksum, and one line about the exchange.
/// Called on rank 0.
void print_totals(training& trained, fit_report const& fitted, run_totals const& totals,
                  strategy_source const& strategy, sink const& output);

/// Writes the fields that the reports of all programs have. Called on rank 0.
void write_totals(io::json_writer& out, training& trained, fit_report const& fitted, run_totals const& totals,
                  strategy_source const& strategy);

/// Continues from the newest checkpoint in a folder, if there is one. Rank 0 prints which one. Collective.
void resume_newest(training& trained, std::string const& checkpoints, sink const& output);

/// Prints on rank 0 how many checkpoints could not be saved. Returns the exit status of a run that has ended:
/// 0, or 1 if its last checkpoint could not be saved. All ranks return the same status. `saving` is null
/// without checkpoints.
int report_failed_saves(training const& trained, checkpoint_listener const* saving, sink const& log);

/// Prints on rank 0 where a stopped run can be resumed. Returns the exit status: 75, or 1 if steps since the
/// last saved checkpoint are lost. All ranks return the same status. `saving` is null without checkpoints.
int report_stop(training const& trained, checkpoint_listener const* saving, sink const& output,
                sink const& log);

}  // namespace cohort::documents
