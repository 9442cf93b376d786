// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/interchange/imported_model.hpp>
#include <cohort/keras/detail/implementation.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// Settings of load_keras and from_keras_config.
///
/// Units     `steps`: the padded length of sequences, if the file does not define it. `inputs`: the extents
///           of other inputs for which the file has none, or only some: (None, None, 3). `training`: false
///           imports the network for predictions only, without a loss and without layers that act in training
///           only. `optimizer`, `metrics`: false ignores the file's optimizer or metrics. `weights`: path of
///           a .weights.h5 file with the parameters for a configuration. `max_bytes`: largest size of each
///           file that is read.
struct keras_options {
  int steps = 0;
  std::vector<input_extents> inputs{};
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
/// Shapes    sequences are T×C, as in Keras. Images are C×H×W; if the Keras model has channels last (H×W×C),
///           the caller transposes the batches. Parameters are converted.
/// After     a layer of the network that computes the output of a layer in the file has the same name, or
///           "model/layer" in a nested model. Other layers have derived names: "cls/dense" has the parameters
///           of a Dense "cls" with an activation. The loss of the file is the last layer, and `settings`
///           contains the file's optimizer. `mask_value` of Masking becomes the mask value of a padded_input.
/// Errors    file_error; data_error with layer and reason for a damaged file, or for a layer, option, loss or
///           optimizer without an exact equivalent. Nothing is approximated.
imported_model load_keras(std::string const& path, keras_options const& how = {});

/// Like load_keras, for the text of a configuration, as returned by model.to_json(). The parameters are read
/// from keras_options::weights; without this file, the model has no parameters.
///
/// Parameters  `origin`: name of the text in errors.
imported_model from_keras_config(std::string_view json, keras_options const& how = {},
                                 std::string const& origin = "Keras configuration");

}  // namespace cohort
