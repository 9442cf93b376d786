// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parts of the commands that run a document on ranks.
#include <cohort/communicator/communicator.hpp>
#include <cohort/configuration/run_document.hpp>
#include <cohort/training/training.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include "document_call.hpp"
#include "document_data.hpp"

namespace cohort_program {

/// How a command runs on the ranks of a document.
struct rank_work {
  bool preflight = false;  ///< checks hosts and network first
  /// Called on each rank before the data is loaded; null: nothing.
  std::function<void(cohort::communicator&)> begin{};
  /// Reads the data. Called once in each process, after its ranks have joined, so that all ranks end at once,
  /// with one status, if a host has no data.
  std::function<document_data()> load;
  /// Returns the exit status of a rank.
  std::function<int(cohort::communicator&, document_data const&)> run_rank;
};

/// Runs a command on the ranks of a document. Returns its exit status. `words`: of the command line.
int run_on_ranks(cohort::run_document const& run, int count, char** words, rank_work const& work);

/// Prints location, sizes and notices of the data on rank 0.
void print_data(cohort::run_document const& run, document_data const& data,
                cohort::communicator const& world);
/// Prints what a pipeline has done with the rows of a table; nothing without a pipeline.
void print_rows(document_data const& data);

/// Numbers of reads of all ranks; nullopt if the data is of another kind.
struct read_counts {
  std::optional<std::uint64_t> skipped{};               ///< of damaged records
  std::optional<std::uint64_t> ignored_orientations{};  ///< of images whose EXIF orientation was not applied
};

/// Returns the numbers of reads since the last call. Collective. Each read counts once, even if ranks that
/// are threads share a counter.
read_counts count_reads(document_data const& data, cohort::communicator& world);
/// Prints the numbers that are not 0.
void print(read_counts const& reads);

/// Returns the preparation of tables that is stored in a model file.
table_preparation preparation_in(std::string const& model);
/// Returns the preparation of tables that is stored in the model from whose parameters a training starts.
table_preparation preparation_of(cohort::network_source const& from);

/// Makes a run of the document's model, with the model's parameters, normalisation, encoder and pipeline.
cohort::training load_model(cohort::run_document const& run, cohort::communicator& world);

/// Throws usage_error unless the document names a model.
void require_model(cohort::run_document const& run);

/// Throws usage_error for local sharding if the preparation of the data is learned from the files (tables and
/// texts).
void require_equal_preparation(cohort::run_document const& run);

/// Results on a test set, of a classification or a regression.
struct test_report {
  std::string text;
  std::vector<std::pair<std::string, double>> numbers;
};

/// Evaluates a test set. Collective.
test_report evaluate(cohort::training& training, cohort::dataset const& test,
                     cohort::evaluation_settings const& settings);

}  // namespace cohort_program
