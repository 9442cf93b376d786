// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <omp.h>
#include <cohort/onednn/backend.hpp>
#include <string_view>

namespace cohort::detail {

/// A way to run a layer with weights, of which the first, "rule", is what the layer takes by itself.
///
/// `forward`, `data`   how activations lie in forward and weights' gradient, and in backward-data; `kept`: as they come
/// `weights_any`       the weights' gradient takes and gives what oneDNN likes best
/// `plain`             weights are dense and row-major
struct layout_candidate {
  enum class order : unsigned char { rule, kept, blocks, last, any };

  std::string_view name;
  order forward = order::rule;
  order data = order::rule;
  bool weights_any = false;
  bool plain = false;
};

/// Those of the request's layer; none for a layer without weights, or in groups.
std::span<layout_candidate const> ways_of(operation_request<onednn> const& request);

/// The way that a request asks for.
layout_candidate way_of(operation_request<onednn> const& request);

}  // namespace cohort::detail

#ifndef COHORT_ONEDNN_COMPILED
#include <cohort/onednn/impl/layout_candidates.ipp>
#endif
