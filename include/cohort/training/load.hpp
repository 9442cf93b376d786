// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/training/trainer.hpp>
#include <string>
#include <utility>

namespace cohort {

namespace detail {

/// Sets the run's normalisation, table encoder, pipeline and names of classes to those of a model file.
void load_preparation(training& run, model_file const& from);

}  // namespace detail

/// Builds the network that a model file describes, and loads the file's parameters or, if it has one, their
/// moving average: to predict, to evaluate, or to train from these parameters. Does not load the optimizers'
/// state, unlike training::load.
/// `UserLayers`: layer types that the library does not define.
///
/// Errors    file_error and data_error of model_file; those of trainer.
template <class Choice, layer... UserLayers>
training load_trained(std::string const& path, training_settings settings = {}) {
  model_file const file = model_file::open(path);
  training made = trainer<Choice>(file.network<UserLayers...>(), std::move(settings));
  file.read_averaged_parameters(made.network(), made.parameters());
  detail::load_preparation(made, file);
  return made;
}

}  // namespace cohort
