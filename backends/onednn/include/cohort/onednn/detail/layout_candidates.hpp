// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/onednn/backend.hpp>
#include <string_view>

namespace cohort::detail {

/// A choice of layouts for a layer with weights. The first candidate, "rule", is the fixed default.
///
/// `forward`           layout of activations in forward and in backward-weights
/// `data`              layout of activations in backward-data; `kept`: the layout in the request
/// `weights_any`       whether oneDNN chooses the layouts of backward-weights
/// `plain`             whether the weights are dense and row-major
struct layout_candidate {
  enum class order : unsigned char { rule, kept, blocks, last, any };

  std::string_view name;
  order forward = order::rule;
  order data = order::rule;
  bool weights_any = false;
  bool plain = false;
};

/// Returns the candidates for the request's layer; none for a layer without weights or with groups.
std::span<layout_candidate const> layout_candidates_of(operation_request<onednn> const& request);

/// Returns the candidate that the request names; "rule" if it names none.
layout_candidate requested_candidate(operation_request<onednn> const& request);

}  // namespace cohort::detail
