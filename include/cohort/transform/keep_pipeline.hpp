// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/training/training.hpp>
#include <cohort/transform/fitted_pipeline.hpp>
#include <optional>

namespace cohort {

/// Stores the pipeline that prepares the rows on which a network is trained. Model files and checkpoints
/// contain the pipeline; training::load, load_parameters and load_trained restore it.
///
///     keep(run, prepared);
///     run.fit(prepared.apply(training).examples({.target = "answer"}));
///     run.save("model.safetensors");
///     ...
///     loaded.predict(rows);  // in the schema of the training rows
///
/// predict(rows) applies the pipeline and then the table_encoder, if the run keeps one. Data sets for fit,
/// evaluate and similar calls must consist of prepared rows: kept_pipeline(loaded)->apply(rows).
void keep(training& run, fitted_pipeline const& rows);

/// Returns the pipeline that was kept or loaded; nullopt if there is none.
std::optional<fitted_pipeline> kept_pipeline(training const& run);

/// Returns the pipeline in a model file; nullopt if the file has none.
///
/// Errors    data_error if the pipeline is damaged.
std::optional<fitted_pipeline> pipeline_in(model_file const& from);

}  // namespace cohort
