// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/graph/graph.hpp>
#include <cohort/layer/kind.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cohort {

namespace detail {

/// Returns a hash as it is written to files: 16 hexadecimal digits.
std::string hash_text(std::uint64_t hash);

/// Parses a network with the built-in kinds and `user_kinds`; see from_json.
///
/// Errors    setting_error if two kinds have the same name.
graph read_graph(std::string_view text, std::string_view name, std::span<kind const* const> user_kinds);

}  // namespace detail

/// Serialises a network as JSON. The layers have the format of a run document, in full form: in order, each
/// with all fields, its name and the names of its inputs.
///
/// Errors    numeric_error for a field that is not finite; data_error for a name that is not UTF-8.
/// Exact     from_json returns a graph of the same hash. Exception: a given name that equals the generated
///           name, such as "conv2d_1", is read as no name.
std::string to_json(graph_view net);

/// Parses a network written by to_json. `UserLayers` are layer kinds in addition to the built-in ones:
/// from_json<my_layer>(text).
///
/// Order     layers may be listed in any order. Layers listed after their inputs keep their order.
/// Before    the text may be untrusted. Limits: tensors have at most 2³⁰ elements, integers in fields are at
///           most 2²⁴ (32767 for windows), and names are unique. Fields with defaults may be omitted, and so
///           may the inputs of a layer that reads the layer above it.
/// Errors    data_error with line, column and path ($.layers[3].conv2d.kernel) for invalid text: unknown or
///           missing kinds, fields or inputs, wrong types, two layers with the same name, a cycle (its layers
///           are listed), layers that do not form a network, or a hash that does not match the layers.
template <layer... UserLayers>
graph from_json(std::string_view text, std::string_view name = "JSON text") {
  return detail::read_graph(text, name,
                            std::array<kind const*, sizeof...(UserLayers)>{&kind_of<UserLayers>...});
}

}  // namespace cohort
