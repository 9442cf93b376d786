// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared by the programs of the reference networks: flags, ranks, strategies, checkpoints, reports. Each
// program defines a network, its data and its defaults.
#include <cohort/data/dataset.hpp>
#include <cohort/graph/graph.hpp>
#include <cohort/trainer/settings.hpp>
#include <functional>
#include <string>
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
  std::string kind = "real";  ///< in the report: real, scaled, or drawn (synthetic)
  std::string notice{};       ///< printed first if the data set is not the network's own
  std::string where{};        ///< printed: folder or file of the data
};

struct program {
  program_text text;
  options defaults;
  double original_rate = 0;  ///< learning rate with --original
  int top = 1;               ///< also reports top-N accuracy
  int prefetch = 0;          ///< batches prepared ahead
  int evaluation_batch = 256;
  bool normalises = false;  ///< rescales inputs by the statistics of the training set
  sets (*data)(options const&);
  cohort::graph (*network)(options const&, sets const&);
  cohort::training_settings (*settings)(options const&);
  /// Called on every rank after the training.
  void (*afterwards)(cohort::training&, options const&, sets const&) = nullptr;
};

/// Makes a training with the backend, strategy, seed, workers and threads chosen by flags. `world` must
/// outlive it.
cohort::training make_training(cohort::graph net, cohort::training_settings settings, options const& chosen,
                               cohort::communicator& world);

/// Writes the parameters and the updater's state to a file.
void save(cohort::training& trained, std::string const& path);

/// Parses the flags, calls `body` on every rank that they ask for, and returns the largest of its results on
/// this process's ranks; otherwise as run.
int run_ranks(program_text const& text, options const& defaults, int argc, char** argv,
              std::function<int(options const&, cohort::communicator&)> const& body);

/// Runs the program and returns its exit status: 0; 1 after an error; 2 for invalid flags; 75 if the same
/// command can be restarted with --resume. An error prints one sentence on standard error.
int run(program const& what, int argc, char** argv);

}  // namespace reference_program
