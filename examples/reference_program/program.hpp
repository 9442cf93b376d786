// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared by the programs of the reference networks: flags, ranks, strategies, checkpoints, reports. Each
// program defines a network, its data and its defaults.
#include <cohort/configuration/run_document.hpp>
#include <cohort/data/dataset.hpp>
#include <cohort/documents/settings.hpp>
#include <cohort/graph/graph.hpp>
#include <cohort/io/json_writer.hpp>
#include <cohort/training/settings.hpp>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include "options.hpp"

namespace cohort {
class communicator;
class training;
}  // namespace cohort

namespace reference_program {

/// Training and test set of a program.
struct sets {
  cohort::dataset train;
  cohort::dataset test;
  std::string kind = "real";  ///< shown in the report: real, scaled or synthetic
  std::string notice{};       ///< printed first if the data differ from the published data set
  std::string where{};        ///< printed location of the data: folder or file
};

struct program {
  program_text text;
  options defaults;
  cohort::training_settings original{};  ///< settings with --original
  bool normalises = false;               ///< rescales inputs by the statistics of the training set
  sets (*data)(options const&);
  cohort::graph (*network)(options const&, sets const&);
  /// Changes settings after the flags have set the learning rate, on which they depend; null: none.
  void (*adjust)(options const&, cohort::optimizer_settings&) = nullptr;
  /// Called on every rank after training.
  void (*afterwards)(cohort::training&, options const&, sets const&) = nullptr;
};

/// Names of settings in error messages.
inline constexpr cohort::documents::setting_names flag_names{
    .backend = "--backend", .ranks = "--ranks", .communicator = "--communicator", .strategy = "--strategy"};

/// Writes the parameters and the optimizer's state to a file.
void save(cohort::training& trained, std::string const& path);

/// Parses the flags, and calls `body` on the ranks that they request. Returns the exit status of launch;
/// after an error or for invalid flags, the status that run returns.
int run_ranks(program_text const& text, options const& defaults, int argc, char** argv,
              std::function<int(options const&, cohort::communicator&)> const& body);

/// Runs the program and returns its exit status: 0; 1 after an error; 2 for invalid flags; 75 if the same
/// command can be restarted with --resume. An error prints one sentence on standard error.
int run(program const& what, int argc, char** argv);

}  // namespace reference_program
