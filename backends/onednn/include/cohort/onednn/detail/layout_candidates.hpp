// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/onednn/backend.hpp>
#include <string_view>

namespace cohort::detail {

/// A choice of layouts for a layer with weights. The first candidate, "rule", is the fixed default.
///
/// `forward`, `data`   layout of activations in forward (also for the weights' gradient) and in
///                     backward-data; `kept`: the layout of the request
/// `weights_any`       the weights' gradient uses the layouts that oneDNN prefers
/// `plain`             weights are dense and row-major
struct layout_candidate {
  enum class order : unsigned char { rule, kept, blocks, last, any };

  std::string_view name;
  order forward = order::rule;
  order data = order::rule;
  bool weights_any = false;
  bool plain = false;
};

/// Candidates for the request's layer; none for a layer without weights or with groups.
std::span<layout_candidate const> layout_candidates_of(operation_request<onednn> const& request);

/// The candidate that the request names; "rule" if it names none.
layout_candidate requested_candidate(operation_request<onednn> const& request);

}  // namespace cohort::detail
