// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/io/byte_sink.hpp>
#include <cohort/trainer/training.hpp>
#include <string>

namespace cohort {

/// Settings of export_onnx.
///
/// Units     `batch`: the name of the first extent of all inputs and outputs, which is known at run time.
///           `encoder`: if the run keeps a table_encoder, the inputs are the columns of a table; false: those
///           of the network. `padding_at_end`: index 0 of an `embedding` with `mask_zero` only follows the
///           last step of a sequence. Recurrent layers behind such an embedding are exported only then,
///           because ONNX's operators accept lengths of sequences, not masks.
struct onnx_export_settings {
  std::string batch = "N";
  bool encoder = true;
  bool padding_at_end = false;
};

/// Writes network and parameters as an ONNX file (operator set 17, IR version 8) for inference.
///
/// Shapes    as in Cohort, with the batch in front: N×C×H×W, N×T×C, N×C. Indices are int32. A masked input
///           has a second one, "<name>.lengths", int32 N: the number of steps of each sequence, whose padding
///           follows its steps.
/// Order     collective, as training::save: rank 0 writes the ranks' consensus.
/// After     inputs and outputs are named as the layers. The fitted normalisation is part of the file: inputs
///           and outputs are in the data's own units. Losses become what they output: the softmax, the
///           sigmoid or their input. Layers that act in training only (dropout, noise) are left out. Batch
///           normalisation uses the running statistics. Parameters are f32, named as in model files. A
///           stateful layer starts from zeros.
/// Errors    graph_error with layer and reason if ONNX cannot express a layer: docs/onnx.md. file_error.
/// Exact     ONNX Runtime computes the same to rounding. At masked steps outputs have no meaning.
void export_onnx(training& run, std::string const& path, onnx_export_settings const& how = {});
void export_onnx(training& run, io::byte_sink_ref to, onnx_export_settings const& how = {});

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/interchange/impl/export_onnx.ipp>
#endif
