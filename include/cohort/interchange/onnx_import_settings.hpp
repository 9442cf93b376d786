// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/interchange/imported_model.hpp>
#include <vector>

namespace cohort {

/// Settings of import_onnx.
///
/// Units     `inputs`: the extents of inputs for which the file has no extents, or not all of them.
struct onnx_import_settings {
  std::vector<input_extents> inputs{};
};

}  // namespace cohort
