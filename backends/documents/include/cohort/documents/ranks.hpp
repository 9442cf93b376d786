// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/configuration/run_document.hpp>
#include <cohort/documents/data.hpp>
#include <cohort/documents/settings.hpp>
#include <cohort/graph/graph.hpp>
#include <cohort/training/training.hpp>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace cohort::documents {

/// Returns the name of the strategy that a run on `world` uses.
std::string_view strategy_name(strategy_source const& strategy, communicator const& world);

/// Throws usage_error if this program was built without the backend with this name.
void require_backend(std::string_view backend, setting_names const& named = {});

/// Makes a training with the document's settings, strategy and backend. `world` must outlive the training.
/// Collective.
///
/// Errors    usage_error if this program was built without that backend, and for `no_strategy` with several
///           ranks; setting_error for an invalid setting.
training make_training(run_document const& run, graph net, communicator& world,
                       setting_names const& named = {});

/// Makes a run of the document's model, with the model's parameters, normalisation, encoder and pipeline.
/// Collective.
///
/// Errors    as for make_training and model_file::open.
training load_model(run_document const& run, communicator& world);

/// Requires that each of these flags or fields is set on all ranks or on none, because each causes collective
/// calls outside fit. Collective.
///
/// Errors    setting_error on every rank.
void require_same_calls(communicator& world, std::initializer_list<std::pair<char const*, bool>> settings);

/// Calls `body` on the ranks that the document requests. `preflight`: checks hosts and network first. Returns
/// the result of rank 0 if ranks are threads; under MPI or TCP, the result of this process's rank. If the
/// body of a rank throws usage_error, all ranks end with usage_status.
///
/// Errors    usage_error for a communicator that this program lacks, or other ranks than the communicator
///           has; those of `body`.
int launch(run_document const& run, bool preflight, std::function<int(communicator&)> const& body,
           setting_names const& named = {});

/// The work of the ranks of a document.
struct rank_work {
  bool preflight = false;  ///< checks hosts and network first
  /// Called on each rank before the data is loaded; null: nothing.
  std::function<void(communicator&)> begin{};
  /// Reads the data. Called on one rank of each process, after its ranks have joined, so that all ranks end
  /// at once, with one status, if a host has no data.
  std::function<data_sets(communicator&)> load;
  /// Returns the exit status of a rank.
  std::function<int(communicator&, data_sets const&)> run_rank;
};

/// Calls the work on the ranks of a document. Returns the status of launch.
///
/// Errors    as for launch; usage_error for a backend that this program lacks.
int run_on_ranks(run_document const& run, rank_work const& work);

}  // namespace cohort::documents
