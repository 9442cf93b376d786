// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/detail/graph_reader.hpp>
#include <cohort/checkpoint/graph_json.hpp>
#include <cohort/detail/config.hpp>
#include <cohort/io/detail/json_string.hpp>
#include <cohort/io/json.hpp>
#include <cohort/io/json_writer.hpp>
#include <cohort/layer/built_in_kinds.hpp>
#include <cohort/layer/detail/kinds_on_demand.hpp>
#include <optional>
#include <vector>

namespace cohort::detail {

inline constexpr std::string_view graph_format = "cohort graph";

inline constexpr std::int64_t graph_format_version = 1;

COHORT_CORE_INLINE std::vector<kind const*> known_kinds(std::span<kind const* const> user_kinds) {
  std::span<kind const* const> const built_in = built_in_kinds();
  std::vector<kind const*> kinds(built_in.begin(), built_in.end());
  kinds.insert(kinds.end(), kinds_on_demand.begin(), kinds_on_demand.end());
  for (kind const* one : user_kinds) {
    for (kind const* other : kinds)
      if (other->name == one->name)
        throw setting_error({.what = "two layer kinds have the same kind_name",
                             .where = "the layer kinds of from_json",
                             .expected = "a unique name for each kind",
                             .got = {one->name}});
    kinds.push_back(one);
  }
  return kinds;
}

COHORT_CORE_INLINE std::string hash_text(std::uint64_t hash) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text(16, '0');
  for (std::size_t i = 16; i-- > 0; hash >>= 4) text[i] = digits[hash & 15];
  return text;
}

COHORT_CORE_INLINE std::uint64_t serialised_hash(graph_view net) {
  std::vector<node> nodes(net.nodes.begin(), net.nodes.end());
  for (node& one : nodes) {
    std::string_view const given(net.characters.data() + one.first_character,
                                 static_cast<std::size_t>(one.name_size));
    if (given == generated_name(*one.kind, one.ordinal)) one.name_size = 0;
  }
  return graph_view{nodes, net.values, net.edges, net.characters}.hash();
}

COHORT_CORE_INLINE void write_field(io::json_writer& out, field_info const& info, double const* from) {
  auto const integer = [&](int slot) { return static_cast<std::int64_t>(from[slot]); };
  auto const list = [&](int first, int count) {
    out.begin_array(io::json_lines::one);
    for (int i = first; i < first + count; ++i) out.value(integer(i));
    out.end_array();
  };
  out.key(info.name);
  switch (info.type) {
    case field_type::integer:
      out.value(integer(0));
      return;
    case field_type::boolean:
      out.value(from[0] != 0);
      return;
    case field_type::real:
      out.value(from[0]);
      return;
    case field_type::extent:
      if (from[0] == from[1])
        out.value(integer(0));
      else
        list(0, 2);
      return;
    case field_type::padding:
      if (static_cast<std::size_t>(from[0]) < padding_names.size())
        out.value(padding_names[static_cast<std::size_t>(from[0])]);
      else
        list(1, 4);
      return;
    case field_type::shape:
      list(1, static_cast<int>(from[0]));
      return;
    case field_type::choice:
      out.value(info.choices[static_cast<std::size_t>(from[0])]);
      return;
  }
}

COHORT_CORE_INLINE void write_initialiser(io::json_writer& out, std::string_view key,
                                          std::optional<initialiser> const& how) {
  if (!how) return;
  out.key(key).begin_object(io::json_lines::one).field("initialiser", how->name());
  if (how->has_parameter()) out.field("parameter", how->parameter);
  out.end_object();
}

COHORT_CORE_INLINE graph read_graph(std::string_view text, std::string_view name,
                                    std::span<kind const* const> kinds) {
  io::json_document const document = io::parse_json(text, name);
  io::json_value const root = document.root();
  root.expect_only({"format", "version", "hash", "layers"});
  if (io::json_value const format = root.at("format"); format.string() != graph_format)
    format.refuse("the string " + quote_for_error(graph_format));
  root.at("version").integer(graph_format_version, graph_format_version);
  graph made(graph_reader(root.at("layers"), kinds).read());
  auto const hash = root.find("hash");
  if (hash && hash->string() != hash_text(serialised_hash(made)))
    hash->refuse("the hash of these layers, " + quote_for_error(hash_text(serialised_hash(made))));
  return made;
}

}  // namespace cohort::detail

namespace cohort {

COHORT_CORE_INLINE std::string to_json(graph_view net) {
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
