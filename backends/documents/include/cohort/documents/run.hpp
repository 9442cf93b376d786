// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/configuration/run_document.hpp>
#include <cohort/documents/reports.hpp>
#include <cohort/execution/sink.hpp>
#include <cohort/training/progress_listener.hpp>
#include <cohort/training/settings.hpp>
#include <functional>
#include <string>

namespace cohort {

/// Reads a run document in JSON (.json) or, in a program with the component yaml, YAML (.yaml, .yml).
///
/// Errors    documents::usage_error for another name, and for YAML without the component; file_error; those
///           of run_document::from_json.
run_document read_document(std::string const& path);

namespace documents {

/// Whether a run is checked: hosts, network, settings, memory and disk.
enum class checking { none, before_training, only };

/// Settings of `run`. A function that is null does nothing; without `load`, the data is the document's.
///
/// `output`    receives data, results and totals, as `cohort train` prints them
/// `log`       receives notices and findings of checks
/// `begin`     called on each rank before the data is loaded
/// `load`      rank_work::load
/// `start`     called on each rank before a checkpoint is resumed, for example to set parameters
/// `finish`    called on each rank after the model has been written
struct run_settings {
  checking checks = checking::none;
  std::string title = "cohort";  ///< title of the HTML report
  sink output = silent_sink();
  sink log = stderr_sink();
  progress_settings progress{};
  std::function<void(communicator&)> begin{};
  std::function<data_sets(communicator&)> load{};
  std::function<void(training&)> start{};
  std::function<void(training&)> finish{};
};

}  // namespace documents

/// Results of a run. All ranks have the same numbers of the test set and the same checksum.
struct document_result {
  /// 0, also after an early stop; 75 or 1 after a signal; 1 if the last checkpoint could not be saved.
  int exit_status = 0;
  fit_report fitted{};            ///< of rank 0, or of this process's rank
  documents::test_report test{};  ///< empty without a test set, and after a signal
  std::string checksum{};         ///< of the parameters; empty after checks alone, and after a signal
};

/// Trains the network of a document on the document's data and ranks, and writes its outputs.
///
///     run_document const run = read_document("run.yaml");
///     document_result const result = cohort::run(run);
///     return result.exit_status;
///
/// Ranks that are threads belong to this call. With mpi or tcp, each process is a rank, and calls `run` once.
///
/// Order     the program has no other ranks.
/// Errors    those of run_document::check; documents::usage_error if the document needs a component that the
///           program lacks, or an output that cannot be written; those of the readers and of training::fit.
document_result run(run_document const& document, documents::run_settings const& settings = {});

}  // namespace cohort
