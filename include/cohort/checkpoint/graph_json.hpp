// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/checkpoint/detail/read_graph.hpp>
#include <cohort/graph/graph.hpp>
#include <cohort/layer/kind.hpp>
#include <string>
#include <string_view>

namespace cohort {

/// Serialises a network as JSON: the layers in order, each with kind, name, names of its inputs, fields, and
/// the initialisers set on the layer.
///
/// Errors    numeric_error for a field that is not finite; data_error for a name that is not UTF-8.
/// Exact     from_json returns a graph of the same hash. Exception: a given name that equals the generated
///           one, such as "conv2d_1", is read as if no name were given.
std::string to_json(graph_view net);

/// Parses a network written by to_json. `UserLayers` are layer kinds in addition to the built-in ones:
/// from_json<my_layer>(text).
///
/// Order     layers may be listed in any order. Layers listed after their inputs keep their order.
/// Before    the text is untrusted: tensors have at most 2³⁰ elements, numeric fields are at most 2²⁴
///           (32767 for windows), and names are unique. Fields with defaults may be omitted.
/// Errors    data_error with line, column and path ($.layers[3].fields.kernel) for invalid text: unknown or
///           missing kinds, fields or inputs, wrong types, two layers with the same name, a cycle (its layers
///           are listed), or a hash that does not match the layers. graph_error naming the layer if the
///           layers do not form a network.
template <layer... UserLayers>
graph from_json(std::string_view text, std::string_view name = "JSON text") {
  return detail::read_graph(
      text, name,
      detail::known_kinds(std::array<kind const*, sizeof...(UserLayers)>{&kind_of<UserLayers>...}));
}

}  // namespace cohort
