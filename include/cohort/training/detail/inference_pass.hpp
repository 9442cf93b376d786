// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/batch.hpp>
#include <cohort/data/dataset.hpp>
#include <cohort/plan/plan.hpp>
#include <cohort/training/evaluation_settings.hpp>
#include <cstdint>
#include <functional>
#include <span>

namespace cohort::detail {

struct training_state;

/// Receives the outputs of one worker's rows of a batch, from row `first` on.
using output_consumer = std::function<void(batch const& from, std::int64_t first, plan_context const& done)>;

/// Runs inference on this rank's part of a data set, with the consensus of the ranks' parameters. `layers`:
/// nodes whose outputs the contexts keep.
///
/// Order     collective. `consume` is called on this thread, in the order of the examples.
/// Errors    setting_error, shape_error. An error of the data set or the consumer is thrown on its rank; the
///           other ranks throw a data_error that names this rank.
void run_inference(training_state& run, dataset const& data, evaluation_settings const& how,
                   std::span<int const> layers, output_consumer const& consume);

}  // namespace cohort::detail
