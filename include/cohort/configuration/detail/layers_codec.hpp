// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/graph.hpp>
#include <cohort/io/json_value.hpp>
#include <cohort/io/json_writer.hpp>
#include <optional>

namespace cohort::detail {

/// A network as a list of layers, as a user writes it; null: none.
///
///     [{input: [1, 28, 28]}, {conv2d: {filters: 20, kernel: 5}}, relu, softmax_cross_entropy]
///
/// Order     a layer reads the layer above it, unless `inputs` names other preceding layers. `name`, `inputs`
///           and `settings` are in the same object as the kind's fields. A value that is not an object is the
///           kind's first field.
/// Errors    data_error with line and path: also if the layers do not form a network.
/// Exact     read(write(net)) has the hash of net, except in the case that to_json(graph_view) documents.
struct layers_codec {
  void read(io::json_value from, std::optional<graph>& value) const;
  void write(io::json_writer& out, std::optional<graph> const& value) const;
  void schema(io::json_writer& out) const;
  /// Writes the definition "layer".
  static void define(io::json_writer& out);
};

}  // namespace cohort::detail
