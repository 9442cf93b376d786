// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/builder.hpp>
#include <concepts>
#include <tuple>
#include <type_traits>
#include <vector>

namespace cohort::detail {

/// Returns the id of a tensor, or the ids of the tensors in a pair, tuple, array or vector.
template <class Returned>
constexpr std::vector<int> ids_of(Returned const& outputs) {
  std::vector<int> ids;
  if constexpr (std::same_as<Returned, tensor>)
    ids.push_back(outputs.id());
  else if constexpr (requires { std::tuple_size<Returned>::value; })
    std::apply([&](std::same_as<tensor> auto const&... each) { (ids.push_back(each.id()), ...); }, outputs);
  else
    for (tensor const& each : outputs) ids.push_back(each.id());
  return ids;
}

/// Runs a builder function and declares its result, if any, as the outputs. Does nothing for a function that
/// is not callable, because the compiler has already reported an error in its body.
template <class F>
constexpr void describe_with(F&& describe, builder& net) {
  if constexpr (!std::is_invocable_v<F, builder&>) {
    return;
  } else if constexpr (std::is_void_v<std::invoke_result_t<F, builder&>>) {
    describe(net);
  } else {
    std::vector<int> const ids = ids_of(describe(net));
    net.declare_outputs(ids);
  }
}

}  // namespace cohort::detail
