// SPDX-License-Identifier: Apache-2.0
#include <cohort/checkpoint/detail/graph_reader.hpp>
#include <cohort/checkpoint/detail/read_graph.hpp>
#include <cohort/checkpoint/graph_json.hpp>
#include <cohort/io/json_writer.hpp>
#include <optional>

namespace cohort::detail {

void write_initialiser(io::json_writer& out, std::string_view key, std::optional<initialiser> const& how) {
  if (!how) return;
  out.key(key).begin_object(io::json_lines::one).field("initialiser", how->name());
  if (how->has_parameter()) out.field("parameter", how->parameter);
  out.end_object();
}

}  // namespace cohort::detail

namespace cohort {

std::string to_json(graph_view net) {
  io::json_writer out(2);
  out.begin_object().field("format", detail::graph_format).field("version", detail::graph_format_version);
  out.field("hash", detail::hash_text(detail::serialised_hash(net))).key("layers").begin_array();
  for (int id = 0; id < net.size(); ++id) {
    out.begin_object(io::json_lines::one).field("kind", net.kind(id).name).field("name", net.name(id));
    out.key("inputs").begin_array();
    for (int const from : net.inputs(id)) out.value(net.name(from));
    out.end_array();
    if (!net.kind(id).fields.empty()) {
      out.key("fields").begin_object();
      for (field_info const& info : net.kind(id).fields)
        detail::write_field(out, info, net.fields(id) + info.first_slot);
      out.end_object();
    }
    if (net.owner(id) != id) {
      out.key("shares").value(net.name(net.owner(id)));
    } else {
      detail::write_initialiser(out, "weights", net[id].settings.weights);
      detail::write_initialiser(out, "bias", net[id].settings.bias);
      detail::write_initialiser(out, "recurrent", net[id].settings.recurrent);
    }
    out.end_object();
  }
  return out.end_array().end_object().text();
}

}  // namespace cohort
