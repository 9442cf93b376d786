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

/// Adds this rank's parameters, the optimizers' state, position and plateau state to `to`.
void add_replica(training_state& run, model_content& to);

/// Returns the source of a model of a run with sharded state, which collects each tensor on rank 0 or on all
/// ranks; otherwise a source without `read`. Only tensors for rank 0 are deferred.
///
/// Order     all ranks read the same tensors in the same order.
tensor_source source_of_ranks(training_state& run, bool on_all_ranks);

/// The ranks' consensus as the content of a model file. `on_all_ranks`: whether ranks other than 0 need the
/// content; otherwise they have none, or only their part of deferred state.
///
/// Order     collective. Sharded state is read when the content is written, unless all ranks need it.
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
