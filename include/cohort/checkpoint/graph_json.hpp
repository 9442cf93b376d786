// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/graph/graph.hpp>
#include <cohort/layer/kind.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

namespace detail {

/// A hash as it is written in files: 16 hexadecimal digits.
std::string hash_text(std::uint64_t hash);

/// The hash of the graph that a text of `net` gives: a name that a layer would get anyway counts as none.
std::uint64_t written_hash(graph_view net);

graph read_graph(std::string_view text, std::string_view name, std::span<kind const* const> kinds);

/// The built-in kinds, then `own`.
///
/// Errors    setting_error if two of them have the same name.
std::vector<kind const*> known_kinds(std::span<kind const* const> own);

}  // namespace detail

/// A network as JSON: its layers in order, each with its kind, name, inputs by name, fields, and initialisers of its own.
///
/// Errors    numeric_error for a field that is not finite, data_error for a name that is not UTF-8.
/// Exact     from_json gives a graph of the same hash; but a name like "conv2d_1" that the layer would have got anyway is
///           no longer counted as given.
std::string to_json(graph_view net);

/// The inverse of to_json; `Own` are kinds of layers beside the library's: from_json<my_layer>(text).
///
/// Order     layers may stand in any order; those that stand after their inputs keep it.
/// Before    the text is untrusted: tensors have at most 2³⁰ elements, numbers of fields at most 2²⁴
///           (of windows 2¹⁵ − 1), names differ. Fields that have defaults may be left out.
/// Errors    data_error with line, column and path ($.layers[3].fields.kernel) for what is no such text: unknown kinds,
///           fields and inputs, missing ones, wrong types, two layers of one name, a cycle (with its way), a hash of
///           other layers; graph_error naming the layer if the layers make no network.
template <layer... Own>
graph from_json(std::string_view text, std::string_view name = "JSON text") {
  return detail::read_graph(text, name,
                            detail::known_kinds(std::array<kind const*, sizeof...(Own)>{&kind_of<Own>...}));
}

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/checkpoint/impl/graph_json.ipp>
#endif
