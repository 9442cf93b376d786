// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/graph.hpp>
#include <cohort/io/json_value.hpp>
#include <cohort/io/json_writer.hpp>
#include <cohort/layer/kind.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

/// The layers of a network as JSON, in model files and in documents:
///
///     [{input: [1, 28, 28]}, {conv2d: {filters: 20, kernel: 5}}, relu, softmax_cross_entropy]
///
/// A layer is the name of its kind, or an object whose only field has that name. The field's value is an
/// object with the kind's fields and with `name`, `inputs` and `settings`. If the field's value is not an
/// object, it is the value of the kind's first field. A layer reads the layer listed before it, unless
/// `inputs` names other layers.
namespace cohort::detail {

/// Reads a list of layers.
///
/// Order     layers may be listed in any order. Layers listed after their inputs keep their order.
/// Units     `expected_kind`: expected value in the error of an unknown kind.
/// Errors    data_error with line and path, also if the layers do not form a network, or exceed the limits of
///           untrusted files.
graph read_layers(io::json_value list, std::span<kind const* const> kinds, std::string_view expected_kind);

/// brief: omits generated names, and inputs of layers that read only the layer before. full: omits nothing.
enum class layer_form : std::uint8_t { brief, full };

/// Writes a list of layers.
///
/// Exact     read_layers returns a graph of the same hash, except in the case that to_json documents.
void write_layers(io::json_writer& out, graph_view net, layer_form form);

/// Codec of a network of built-in layers; JSON null: no network.
struct layers_codec {
  void read(io::json_value from, std::optional<graph>& value) const;
  void write(io::json_writer& out, std::optional<graph> const& value) const;
  void schema(io::json_writer& out) const;
  /// Writes the definition "layer" of the JSON Schema.
  static void define(io::json_writer& out);
};

}  // namespace cohort::detail
