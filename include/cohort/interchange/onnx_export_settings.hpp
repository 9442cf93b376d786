// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/interchange/detail/implementation.hpp>
#include <string>

namespace cohort {

/// Settings of export_onnx.
///
/// Units     `batch`: the name of the batch axis of all inputs and outputs; its extent is variable.
///           `encoder`: exports the run's table_encoder, if there is one. The inputs of the file are then the
///           columns of a table that the kept pipeline has prepared; otherwise the file has the network's
///           inputs. `padding_at_end`: whether padding (index 0 of an `embedding` with `mask_zero`, the value
///           of a `padded_input`) occurs only after the last step of a sequence. Recurrent layers with such a
///           mask require `true`, because the operators of ONNX take sequence lengths, not masks.
struct onnx_export_settings {
  std::string batch = "N";
  bool encoder = true;
  bool padding_at_end = false;
};

}  // namespace cohort
