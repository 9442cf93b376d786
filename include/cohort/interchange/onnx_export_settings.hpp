// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/interchange/detail/implementation.hpp>
#include <string>

namespace cohort {

/// Settings of export_onnx.
///
/// Units     `batch`: the name of the batch axis of all inputs and outputs, whose extent is free. `encoder`:
///           if the run has a table_encoder, the inputs of the file are the columns of a table, as a kept
///           pipeline prepares them; false: the inputs of the network. `padding_at_end`: set it if padding
///           (index 0 of an `embedding` with `mask_zero`, the value of a `padded_input`) occurs only after
///           the last step of a sequence. Recurrent layers after such a layer need it, because the operators
///           of ONNX take sequence lengths, not masks.
struct onnx_export_settings {
  std::string batch = "N";
  bool encoder = true;
  bool padding_at_end = false;
};

}  // namespace cohort
