// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/model_content.hpp>
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <cstddef>
#include <memory>
#include <span>

namespace cohort::detail {

/// Metadata keys of a model file for the preparation of the data.
inline constexpr char const *preparation_key = "data/preparation", *pipeline_key = "data/pipeline";

/// Copies this rank's parameters, the optimizers' state in `arrays` (arenas), position and plateau state to
/// `to`.
void add_replica(training_state& run, std::span<std::byte* const> arrays, model_content& to);

/// The ranks' consensus as the content of a model file. `on_all_ranks`: whether ranks other than 0 need the
/// optimizers' state.
///
/// Order     collective.
model_content consensus_model(training_state& run, bool optimizer_state, bool on_all_ranks = true);

/// Returns the preparation of the data in a model file, without the pipeline.  Errors: data_error.
data_preparation steps_after_pipeline(model_file const& from);
/// Returns the pipeline in a model file; null if the file has none.  Errors: data_error.
std::shared_ptr<row_pipeline const> pipeline_of(model_file const& from);
/// Returns the preparation of the data in a model file.  Errors: data_error.
data_preparation preparation_in(model_file const& from, graph_view net);

/// See training::load.
void load_model(training_state& run, model_file const& from);

}  // namespace cohort::detail
