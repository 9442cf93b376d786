// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared by the programs of the reference networks: flags, ranks, strategies, checkpoints, reports. Each
// program defines a network, its data and its defaults.
#include <cohort/configuration/run_document.hpp>
#include <cohort/data/dataset.hpp>
#include <cohort/graph/graph.hpp>
#include <cohort/training/settings.hpp>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include "options.hpp"

namespace cohort {
class checkpoint_listener;
class communicator;
class strategy;
class training;
}  // namespace cohort

namespace reference_program {

/// Training and test set of a program.
struct sets {
  cohort::dataset train;
  cohort::dataset test;
  std::string kind = "real";  ///< in the report: real, scaled or synthetic
  std::string notice{};       ///< printed first if the data differ from the published data set
  std::string where{};        ///< folder or file of the data, which is printed
};

struct program {
  program_text text;
  options defaults;
  double original_learning_rate = 0;  ///< learning rate with --original
  int top = 1;                        ///< also reports top-N accuracy
  int prefetch = 0;                   ///< batches prepared ahead
  int evaluation_batch = 256;
  bool normalises = false;  ///< rescales inputs by the statistics of the training set
  sets (*data)(options const&);
  cohort::graph (*network)(options const&, sets const&);
  cohort::training_settings (*settings)(options const&);
  /// Called on every rank after the training.
  void (*afterwards)(cohort::training&, options const&, sets const&) = nullptr;
};

/// Makes the strategy of this rank; `automatic_strategy`: allreduce for several ranks. Collective.
///
/// Errors    setting_error for an invalid setting, and for `no_strategy` with several ranks.
std::unique_ptr<cohort::strategy> make_strategy(cohort::strategy_source const& from,
                                                cohort::communicator& world);

/// Makes a training with the backend, strategy, seed, workers and threads chosen by flags. `world` must
/// outlive the training.
cohort::training make_training(cohort::graph net, cohort::training_settings settings, options const& chosen,
                               cohort::communicator& world);

/// Makes a training on the backend of this name, auto, onednn, …, with all other settings given.
///
/// Errors    usage_error if this program was built without that backend.
cohort::training make_training(std::string_view backend, cohort::graph net,
                               cohort::training_settings const& settings, cohort::communicator& world,
                               std::unique_ptr<cohort::strategy> how);

/// Names of settings in error messages: flags, or the fields of a document.
struct setting_names {
  char const* backend = "--backend";
  char const* ranks = "--ranks";
  char const* communicator = "--communicator";
};

/// Throws usage_error if this program was built without the backend of this name.
void require_backend(std::string_view backend, setting_names const& named = {});

/// Requires that either all ranks or no rank set each of these flags or fields, which lead to collective
/// calls outside fit. Collective.
void require_same_calls(cohort::communicator& world,
                        std::initializer_list<std::pair<char const*, bool>> settings);

/// A file, or a folder of files, that a run writes; empty: none.
struct output_place {
  std::string path;
  char const* setting;  ///< the flag or field that names it
  bool is_folder = false;
};

/// Throws usage_error for a place that cannot be written: before a long run instead of after it. Rank 0 calls
/// it, because only its host needs the folders.
void require_writable(std::initializer_list<output_place> places);

/// Throws usage_error if a run that does not resume would write to a folder with checkpoints.
void require_no_checkpoints(output_place const& checkpoints, bool resumes);

/// Returns the autotuner of this program's backends, for `batch` examples per rank.
std::shared_ptr<cohort::run_autotuner> make_tuner(int batch, cohort::communicator const& world);

/// Returns the bytes that all ranks sent. Collective.
std::uint64_t bytes_sent(cohort::communicator& world);

/// Returns the seconds in which the rank that waited longest had no batch. Collective.
double longest_wait(cohort::fit_report const& fitted, cohort::communicator& world);

/// Prints notice, location and sizes of the data sets. `test` may be null. `examples`: the plural noun for
/// their examples, such as "images".
void print_data(std::string const& notice, std::string const& where, cohort::dataset const& train,
                cohort::dataset const* test, char const* examples);

/// Continues from the newest checkpoint in a folder, if there is one. Rank 0 prints which one.
void resume_newest(cohort::training& training, std::string const& checkpoints);

/// Numbers of a run for its reports.
struct run_totals {
  double seconds = 0;       ///< of the training's steps
  double wait_seconds = 0;  ///< see longest_wait
  std::uint64_t bytes = 0;  ///< sent by all ranks
};

/// Prints one line with speed, wait for data, traffic and checksum, and one line about the exchange.
void print_totals(cohort::training& training, cohort::fit_report const& fitted, run_totals const& totals,
                  std::string const& strategy);

/// Prints on rank 0 how many checkpoints could not be saved. Returns the exit status of a run that has ended,
/// the same on every rank: 0, or 1 if its last checkpoint could not be saved. `saving` is null without
/// checkpoints.
int report_failed_saves(cohort::training const& training, cohort::checkpoint_listener const* saving);

/// With --preflight: checks the run before fit, and prints what was found. `strategy`: of the training.
/// `keep`: the number of checkpoints. Collective.
///
/// Errors    setting_error on every rank if the run cannot begin.
void check_run(cohort::training& training, cohort::dataset const& train, cohort::fit_settings const& how,
               cohort::strategy_source const& strategy, std::string const& checkpoints, int keep);

/// Prints on rank 0 where a stopped run can be resumed. Returns the exit status, the same on every rank: 75,
/// or 1 if the steps since an older checkpoint are lost. `saving` is null without checkpoints.
int report_stop(cohort::training const& training, cohort::checkpoint_listener const* saving);

/// Calls `body` on the ranks that `chosen` requests. The exit status is the result of rank 0 if ranks are
/// threads, and of this process's rank under MPI or TCP. If the body of a rank throws usage_error, all ranks
/// end with status 2.
int launch(options const& chosen, int argc, char** argv,
           std::function<int(cohort::communicator&)> const& body, setting_names const& named = {});

/// Writes the parameters and the optimizer's state to a file.
void save(cohort::training& trained, std::string const& path);

/// Parses the flags, and calls `body` on the ranks that they request. Returns the exit status: that of
/// launch, or after an error or for invalid flags that of run.
int run_ranks(program_text const& text, options const& defaults, int argc, char** argv,
              std::function<int(options const&, cohort::communicator&)> const& body);

/// Runs the program and returns its exit status: 0; 1 after an error; 2 for invalid flags; 75 if the same
/// command can be restarted with --resume. An error prints one sentence on standard error.
int run(program const& what, int argc, char** argv);

}  // namespace reference_program
