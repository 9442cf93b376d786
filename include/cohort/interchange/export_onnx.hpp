// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/interchange/onnx_export_settings.hpp>
#include <cohort/io/byte_sink.hpp>
#include <cohort/training/training.hpp>
#include <string>

namespace cohort {

/// Writes network and parameters as an ONNX file (operator set 17, IR version 8) for inference.
///
/// Shapes    as in Cohort, with the batch as the first axis: N×C×H×W, N×T×C, N×C. Indices are int32. A masked
///           input has a second input, "<name>.lengths", int32 N: the number of steps of each sequence. In a
///           sequence, all padding follows the last step.
/// Order     collective, as training::save. The file contains the ranks' consensus; rank 0 writes it.
/// After     inputs and outputs have the names of their layers. The file contains the fitted normalisation:
///           inputs and outputs are in the data's own units. A loss is replaced by its activation
///           (softmax, sigmoid or none). Layers that act in training only (dropout, noise) are omitted. Batch
///           normalisation uses the running statistics. Parameters are f32, named as in model files. A
///           stateful layer starts from zeros.
/// Errors    graph_error with layer and reason if ONNX cannot express a layer: docs/onnx.md. file_error.
/// Exact     ONNX Runtime computes the same outputs up to rounding. Outputs at masked steps are undefined.
void export_onnx(training& run, std::string const& path, onnx_export_settings const& how = {});
/// Exports to a sink instead of a file. Each rank writes the same bytes to its own sink.
void export_onnx(training& run, io::byte_sink_ref to, onnx_export_settings const& how = {});

}  // namespace cohort
