// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/safetensors_format.hpp>
#include <cohort/graph/node.hpp>
#include <cohort/plan/parameter_set.hpp>
#include <span>
#include <string>
#include <vector>

namespace cohort {

/// Which layers took their parameters from elsewhere, and which kept theirs and why.
///
/// Order     that of the network; layers without parameters are not mentioned.
struct transfer_report {
  struct kept {
    std::string layer;
    std::string why;  ///< "absent", or "weights is 84x10 f32 there, 84x5 f32 here"
  };
  std::vector<std::string> taken{};
  std::vector<kept> left{};

  /// "taken: conv2d_1, dense_1; left: head (absent)".
  std::string text() const;
};

/// Fills the parameters of those layers whose name, parameters and their shapes are all found among `from`.
///
/// After     a layer has taken all its parameters, running statistics too, or kept all.
/// Errors    data_error if no layer at all is found: then nothing has changed.
/// Exact     as model_file.
transfer_report read_matching(std::span<stored_tensor const> from, std::string const& name, graph_view net,
                              parameter_set& into);

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/checkpoint/impl/matching_layers.ipp>
#endif
