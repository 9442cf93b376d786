// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/trainer/trainer.hpp>
#include <string>
#include <utility>

namespace cohort {

/// Makes a network out of a model file alone and gives it the file's parameters: to predict, to evaluate, or
/// to train anew. (`training::load` also takes up the updaters' state.) `Own` are kinds of layers beside the
/// library's.
///
/// Errors    file_error, data_error as model_file; those of trainer.
template <class Choice, layer... Own>
training load_trained(std::string const& path, training_settings settings = {}) {
  model_file const file = model_file::open(path);
  training made = trainer<Choice>(file.network<Own...>(), std::move(settings));
  file.read_parameters(made.network(), made.parameters());
  return made;
}

}  // namespace cohort
