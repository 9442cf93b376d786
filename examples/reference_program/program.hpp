// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared by the programs of the reference networks: flags, ranks, strategies, checkpoints, reports. Each
// program defines a network, its data and its defaults.
#include <cohort/configuration/run_document.hpp>
#include <cohort/data/dataset.hpp>
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
class checkpoint_listener;
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

/// Names of settings in error messages: flags, or the fields of a document.
struct setting_names {
  char const* backend = "--backend";
  char const* ranks = "--ranks";
  char const* communicator = "--communicator";
  char const* strategy = "--strategy";
};

/// Returns the name of the strategy that a run on `world` uses.
std::string_view strategy_name(cohort::strategy_source const& how, cohort::communicator const& world);

/// Makes a training with the document's settings, strategy and backend. `world` must outlive the training.
/// Collective.
///
/// Errors    usage_error if this program was built without that backend, and for `no_strategy` with several
///           ranks; setting_error for an invalid setting.
cohort::training make_training(cohort::run_document const& run, cohort::graph net,
                               cohort::communicator& world, setting_names const& named = {});

/// Throws usage_error if this program was built without the backend with this name.
void require_backend(std::string_view backend, setting_names const& named = {});

/// Requires that each of these flags or fields is set on all ranks or on none, because each causes collective
/// calls outside fit. Collective.
void require_same_calls(cohort::communicator& world,
                        std::initializer_list<std::pair<char const*, bool>> settings);

/// A file, or a folder of files, that a run writes; empty: none.
struct output_place {
  std::string path;
  char const* setting;  ///< the flag or field that names it
  bool is_folder = false;
};

/// Throws usage_error for a place that cannot be written. This check precedes a long run whose results would
/// be lost. Only rank 0 calls it, because only the host of rank 0 needs the folders.
void require_writable(std::initializer_list<output_place> places);

/// Throws usage_error if a run that does not resume would write to a folder with checkpoints.
void require_no_checkpoints(output_place const& checkpoints, bool resumes);

/// Returns the bytes that all ranks sent. Collective.
std::uint64_t bytes_sent(cohort::communicator& world);

/// Returns the seconds that a rank waited for batches, of the rank that waited longest. Collective.
double longest_wait(cohort::fit_report const& fitted, cohort::communicator& world);

/// Prints notice, location and sizes of the data sets. `test` may be null. `examples`: the plural noun for
/// their examples, such as "images".
void print_data(std::string const& notice, std::string const& where, cohort::dataset const& train,
                cohort::dataset const* test, char const* examples);

/// Continues from the newest checkpoint in a folder, if there is one. Rank 0 prints which one.
void resume_newest(cohort::training& training, std::string const& checkpoints);

/// Numbers of a run for its reports.
struct run_totals {
  double seconds = 0;       ///< duration of the training's steps
  double wait_seconds = 0;  ///< see longest_wait
  std::uint64_t bytes = 0;  ///< bytes sent by all ranks
};

/// Prints one line with speed, wait for data, bytes sent and checksum, and one line about the exchange.
void print_totals(cohort::training& training, cohort::fit_report const& fitted, run_totals const& totals,
                  cohort::strategy_source const& strategy);

/// Writes the fields that the reports of all programs have.
void write_totals(cohort::io::json_writer& out, cohort::training& training, cohort::fit_report const& fitted,
                  run_totals const& totals, cohort::strategy_source const& strategy);

/// Prints on rank 0 how many checkpoints could not be saved. Returns the exit status of a run that has ended:
/// 0, or 1 if its last checkpoint could not be saved. All ranks return the same status. `saving` is null
/// without checkpoints.
int report_failed_saves(cohort::training const& training, cohort::checkpoint_listener const* saving);

/// With --preflight: checks the run before fit, and prints the findings. Collective.
///
/// Errors    setting_error on every rank if the run cannot begin.
void check_run(cohort::training& training, cohort::dataset const& train, cohort::fit_settings const& how,
               cohort::run_document const& run);

/// Prints on rank 0 where a stopped run can be resumed. Returns the exit status: 75, or 1 if steps since the
/// last saved checkpoint are lost. All ranks return the same status. `saving` is null without checkpoints.
int report_stop(cohort::training const& training, cohort::checkpoint_listener const* saving);

/// Calls `body` on the ranks that the document requests. `preflight`: checks hosts and network first. Returns
/// the result of rank 0 if ranks are threads; under MPI or TCP, the result of this process's rank. If the
/// body of a rank throws usage_error, all ranks end with status 2.
int launch(cohort::run_document const& run, bool preflight, int argc, char** argv,
           std::function<int(cohort::communicator&)> const& body, setting_names const& named = {});

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
