// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/safetensors_format.hpp>
#include <cohort/graph/node.hpp>
#include <cohort/plan/parameter_set.hpp>
#include <span>
#include <string>
#include <vector>

namespace cohort {

/// Result of loading parameters by name: the loaded layers, and the skipped layers with the reason.
///
/// Order     the order of the layers in the network; layers without parameters are not listed.
struct transfer_report {
  struct skipped_layer {
    std::string layer;
    std::string reason;  ///< "absent", or "weights: expected 84x5 f32, got 84x10 f32"
  };
  std::vector<std::string> loaded{};
  std::vector<skipped_layer> skipped{};

  /// Returns the report as one line: "loaded: conv2d_1, dense_1; skipped: head (absent)".
  std::string text() const;
};

/// Loads the parameters of every layer whose name, parameter names and shapes all occur in `from`.
///
/// After     for each layer, either all parameters are loaded, including running statistics, or none.
/// Errors    data_error if no layer matches, or a running variance is negative or NaN; nothing changes then.
/// Exact     type conversion as in model_file.
transfer_report read_matching(std::span<stored_tensor const> from, std::string const& name, graph_view net,
                              parameter_set& into);

}  // namespace cohort
