// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/caffe/caffe_model.hpp>
#include <cohort/plan/parameter_set.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cohort {

/// Reads a network of Caffe, for prediction or training.
///
///     caffe_import_settings const training{.state = {.phase = caffe_state::phases::train}};
///     caffe_model const net = import_caffe("train_val.prototxt", training);
///     caffe_model const nsfw = import_caffe("deploy.prototxt", "resnet_50.caffemodel");
///     training run = load_imported<onednn>(nsfw.model);
///
/// Shapes    the first axis of a blob is the batch; in recurrent networks the second one.
/// Before    the files may be untrusted. The network has the formats V2 (`layer`) or V1 (`layers`).
/// After     `weights` sets the parameters of all layers with equal names. Other parameters are not set:
///           imported_model::read_known_parameters keeps the initial values of the fillers.
/// Errors    file_error; data_error for bytes in another format, or for parameters of another shape;
///           graph_error with file, line, layer and reason if Cohort cannot express a layer: docs/caffe.md.
///           Nothing is approximated. setting_error if `settings` names an unknown input.
/// Exact     the outputs equal Caffe's up to rounding.
caffe_model import_caffe(std::string const& path, caffe_import_settings const& settings = {});
caffe_model import_caffe(std::string const& path, std::string const& weights,
                         caffe_import_settings const& settings = {});
/// Imports a network that was read before. `weights`: path of a .caffemodel; empty: none.
caffe_model import_caffe(prototxt_message const& net, std::string const& weights,
                         caffe_import_settings const& settings = {});

/// Returns the data layers of a network in one state, without importing it: their extents are needed before.
std::vector<caffe_data_layer> caffe_data_layers(prototxt_message const& net, caffe_state const& state);

/// Throws data_error unless `continuation` is 0 at step 0 and 1 at all other steps up to the end of the
/// sequence, and all labels after the end are `ignored`. Then the network without this input has the loss and
/// the gradients of Caffe's network. `example`: for the error.
void check_continuation(std::span<float const> continuation, std::span<float const> labels, int ignored,
                        std::int64_t example);

/// Writes the parameters of a trained network as a .caffemodel with the layer names of a network file.
///
/// Before    `parameters` are those of a run of `from.model`.
/// Errors    file_error; data_error if the parameters belong to another network.
void save_caffemodel(caffe_model const& from, parameter_set const& parameters, std::string const& path);

}  // namespace cohort
