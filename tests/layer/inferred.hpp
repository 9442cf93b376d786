// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/layer.hpp>
#include <string>

/// Results of a layer's inference for one input.
namespace inferred_layer {

template <cohort::layer L>
constexpr cohort::inference inferred(L const& l, cohort::shape const& input) {
  return l.infer({&input, 1});
}
template <cohort::layer L>
constexpr cohort::shape made(L const& l, cohort::shape const& input) {
  return inferred(l, input).output;
}
template <cohort::layer L>
constexpr cohort::parameter_list parameters(L const& l, cohort::shape const& input) {
  return l.parameters({&input, 1});
}
/// Message of the problem that inference finds; empty: none.
template <cohort::layer L>
std::string refused(L const& l, cohort::shape const& input) {
  cohort::inference const result = inferred(l, input);
  return result.problem.found() ? std::string(result.problem.text().view()) : "";
}

}  // namespace inferred_layer
