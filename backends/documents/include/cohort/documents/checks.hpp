// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/configuration/run_document.hpp>
#include <cohort/documents/detail/implementation.hpp>
#include <cohort/execution/sink.hpp>
#include <cohort/training/training.hpp>
#include <string>

namespace cohort::documents {

/// Checks hosts and network, and prints the findings on rank 0. Collective. `checkpoints`: a folder that must
/// be writable; or empty.
///
/// Errors    setting_error on every rank if the job cannot run.
void check_hosts(communicator& world, std::string const& checkpoints, sink const& log);

/// Checks a run before fit, and prints the findings on rank 0. Collective.
///
/// Errors    setting_error on every rank if the run cannot begin.
void check_run(training& trained, dataset const& train, fit_settings const& settings, run_document const& run,
               sink const& log);

}  // namespace cohort::documents
