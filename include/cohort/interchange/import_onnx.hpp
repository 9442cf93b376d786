// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/interchange/imported_model.hpp>
#include <span>
#include <string>

namespace cohort {

/// Reads an ONNX file as a network with parameters: to predict with, or to train further.
///
///     training run = load_imported<onednn>(import_onnx("model.onnx"));
///
/// Shapes    inputs and outputs have the batch as their first axis, in the file as in Cohort; an X of a
///           recurrent operator with layout 0, T×N×C, becomes an input T×C. All other extents are known.
/// Before    the file is untrusted. A file with recurrent operators needs the headers of their layers, as
///           load_trained does: cohort/layer/recurrent.hpp.
/// After     layers are named as the file's nodes, where these have names. Operators on constants are
///           computed. Layers that compute with constants of the file, such as a normalisation, are frozen:
///           `settings.layers`. Dropout is left out, softmax stays an ordinary layer: add a loss to train.
/// Errors    file_error; data_error for bytes that are no ONNX file; graph_error with node and reason for
///           what Cohort cannot express: docs/onnx.md. Nothing is approximated.
/// Exact     the outputs are those of the file to rounding.
imported_model import_onnx(std::string const& path);
/// The same of a file in memory. `origin`: its name, for errors.
imported_model import_onnx(std::span<std::byte const> bytes, std::string const& origin);

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/interchange/impl/import_onnx.ipp>
#endif
