// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/training/training.hpp>
#include <optional>

namespace cohort {

/// Loads the parameters (or their moving average, if the file has one), the normalisation, the encoder, the
/// pipeline and the names of classes of a model file, to continue training with other settings. They replace
/// those of the run; if the file has none, the run has none.
///
/// Order     not collective: every rank makes the same call.
/// After     optimizers' state, step and epoch are unchanged, unlike after training::load.
/// Errors    data_error with the difference between the file's network and this one. After an error nothing
///           has changed.
void load_parameters(training& into, model_file const& from);

/// Returns the encoder of the tables that a model was trained on; nothing if the file has none.
///
/// Errors    data_error if the encoder is damaged.
std::optional<table_encoder> encoder_in(model_file const& from);

}  // namespace cohort
