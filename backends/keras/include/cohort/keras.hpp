// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cohort/interchange/imported_model.hpp>
#include <cstddef>
#include <string>
#include <string_view>

namespace cohort {

/// How a Keras model is imported.
///
/// Units     `steps`: the length of sequences whose input has an unknown length, with padding. `training`:
///           false imports the network for predictions only: layers that work in training only are left out,
///           and there is no loss. `optimizer`: false ignores the file's optimizer. `metrics`: false ignores
///           its metrics. `weights`: a file .weights.h5 for a configuration .json. `max_bytes`: limit of the
///           file's size.
struct keras_options {
  int steps = 0;
  bool training = true;
  bool optimizer = true;
  bool metrics = true;
  std::string weights{};
  std::size_t max_bytes = std::size_t{8} << 30;
};

/// Imports a model of Keras 2 or 3 from a file: .keras, .h5, or a configuration .json.
///
///     imported_model const model = load_keras("model.keras");
///     training run = load_imported<onednn>(model);
///
/// Shapes    sequences are T×C as in Keras. Images are C×H×W: batches of channels-last models are H×W×C in
///           Keras. Parameters are converted to this order.
/// After     the network has the file's layers, by their names; a layer of a nested model is "model/layer".
///           With a loss in the file, the network ends with it, and `settings` have the file's optimizer.
/// Errors    file_error, and data_error for a damaged file or a layer, option, loss or optimizer that has no
///           exact equivalent, with the layer and the reason. Nothing is approximated.
imported_model load_keras(std::string const& path, keras_options const& how = {});

/// The same from the text of a configuration, as model.to_json() returns it: without parameters.
///
/// Order     `origin`: the name of the text in errors.
imported_model from_keras_config(std::string_view json, keras_options const& how = {},
                                 std::string const& origin = "Keras configuration");

}  // namespace cohort

#ifndef COHORT_KERAS_COMPILED
#include <cohort/keras/impl/keras.ipp>
#endif
