// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the programs of the reference networks share: flags, ranks, strategies, checkpoints, reports. Each of them is a
// network, its data and its defaults.
#include <cohort/data/dataset.hpp>
#include <cohort/graph/graph.hpp>
#include <cohort/trainer/settings.hpp>
#include <string>
#include "options.hpp"

namespace cohort {
class communicator;
class training;
}  // namespace cohort

namespace reference_program {

/// What a program trains on and is judged by.
struct sets {
  cohort::dataset train;
  cohort::dataset test;
  std::string kind = "real";  ///< in the report: real, scaled or drawn
  std::string notice{};       ///< the first line that is printed, where the data are not the network's own
  std::string where{};
};

struct program {
  program_text text;
  options defaults;
  double original_rate = 0;  ///< of --original
  int top = 1;               ///< also reports top-N accuracy
  int prefetch = 0;          ///< batches made ahead
  int evaluation_batch = 256;
  sets (*data)(options const&);
  cohort::graph (*network)(options const&, sets const&);
  cohort::training_settings (*settings)(options const&);
  /// On every rank, when the network is trained.
  void (*afterwards)(cohort::training&, options const&, sets const&) = nullptr;
};

/// A training on the backend and by the strategy that the flags say, with their seed, workers and threads. `world` must outlive it.
cohort::training make_training(cohort::graph net, cohort::training_settings settings, options const& chosen,
                               cohort::communicator& world);

/// Writes the parameters and the updater's state.
void save(cohort::training& trained, std::string const& path);

/// What main returns: 0; 1 for an error; 2 for flags that cannot be understood; 75 where the same command may be started
/// again with --resume. Errors are one sentence on standard error.
int run(program const& what, int argc, char** argv);

}  // namespace reference_program
