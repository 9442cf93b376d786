// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <cohort/training/settings.hpp>

/// States that stateful layers carry from step to step of a run. Each row of this rank's batches has
/// separate states, which are zero at the beginning of each epoch.
namespace cohort::detail {

/// Makes the states of a call of fit: zeros, or those of an interrupted epoch.
///
/// Errors    setting_error if the rows of a batch do not continue those of the previous batch, or if an
///           interrupted epoch cannot continue because its states are unknown.
void prepare_states(training_state& run, dataset const& data, fit_settings const& how);

/// Makes the states of a step on a batch that the caller passes, with `rows` examples.
///
/// Errors    setting_error if the previous batch of this epoch had another number of rows.
void prepare_states(training_state& run, int rows);

/// Throws setting_error if the network has stateful layers. `what`: the call that does not support these
/// layers, for the message.
void refuse_states(training_state const& run, char const* what);

/// Sets the states to zero, for a new epoch.
void clear_states(training_state& run);

}  // namespace cohort::detail
