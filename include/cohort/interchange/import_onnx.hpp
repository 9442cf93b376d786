// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/interchange/imported_model.hpp>
#include <cohort/interchange/onnx_import_settings.hpp>
#include <span>
#include <string>

namespace cohort {

/// Reads an ONNX file as a network with parameters, for prediction or further training.
///
///     training run = load_imported<onednn>(import_onnx("model.onnx"));
///     imported_model const detector = import_onnx("text.onnx", {.inputs = {{"x", {3, 640, 640}}}});
///
/// Shapes    the first axis of inputs and outputs is the batch, both in the file and in Cohort. Exception: an
///           input X of a recurrent operator with layout 0, T×N×C, becomes an input T×C. All other extents
///           are given by the file or by `settings`.
/// Before    the file may be untrusted. If recurrent operators read the number of steps that differ from a
///           padding value, padding only occurs after the last step of a sequence: the network skips the
///           padding itself, wherever it occurs.
/// After     layers that compute outputs of the graph have the names of the outputs. Other layers have the
///           names of their nodes, or of the nodes' outputs if the nodes have no names. Reshaped and
///           transposed constants are computed at import. Convolutions that implement arithmetic with
///           constants of the file, such as a normalisation of an input, are frozen by
///           `settings.optimizer.layers`. Dropout is omitted. A softmax becomes an ordinary layer, so
///           training requires an added loss.
/// Errors    file_error; data_error for bytes that are not an ONNX file; graph_error with node and reason if
///           Cohort cannot express a node: docs/onnx.md. Nothing is approximated. setting_error if
///           `settings` names an unknown input, or contradicts the file.
/// Exact     the outputs equal those that ONNX specifies, up to rounding.
imported_model import_onnx(std::string const& path, onnx_import_settings const& settings = {});
/// Imports an ONNX file in memory. `origin`: the file's name, for errors.
imported_model import_onnx(std::span<std::byte const> bytes, std::string const& origin,
                           onnx_import_settings const& settings = {});

}  // namespace cohort
