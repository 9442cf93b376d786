// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/interchange/imported_model.hpp>
#include <span>
#include <string>

namespace cohort {

/// Reads an ONNX file as a network with parameters, for prediction or further training.
///
///     training run = load_imported<onednn>(import_onnx("model.onnx"));
///
/// Shapes    the first axis of inputs and outputs is the batch, in the file as in Cohort. Exception: an input
///           X of a recurrent operator with layout 0, T×N×C, becomes an input T×C. All other extents are
///           known.
/// Before    the file may be untrusted.
/// After     layers that compute outputs of the graph have the names of the outputs. Other layers have the
///           names of their nodes, or of the nodes' outputs if the nodes have no names. Reshaped and
///           transposed constants are computed at import. Convolutions that implement arithmetic with
///           constants of the file, such as a normalisation of an input, are frozen by
///           `settings.optimizer.layers`. Dropout is omitted. A softmax becomes an ordinary layer: to train,
///           add a loss.
/// Errors    file_error; data_error for bytes that are not an ONNX file; graph_error with node and reason if
///           Cohort cannot express a node: docs/onnx.md. Nothing is approximated.
/// Exact     to rounding, the outputs equal those that ONNX specifies.
imported_model import_onnx(std::string const& path);
/// Imports an ONNX file in memory. `origin`: the file's name, for errors.
imported_model import_onnx(std::span<std::byte const> bytes, std::string const& origin);

}  // namespace cohort
