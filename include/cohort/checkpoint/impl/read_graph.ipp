// SPDX-License-Identifier: Apache-2.0
#include <cohort/checkpoint/detail/graph_reader.hpp>
#include <cohort/checkpoint/detail/read_graph.hpp>
#include <cohort/io/detail/json_string.hpp>
#include <cohort/io/json.hpp>
#include <cohort/layer/built_in_kinds.hpp>

namespace cohort::detail {

std::vector<kind const*> known_kinds(std::span<kind const* const> user_kinds) {
  std::span<kind const* const> const built_in = built_in_kinds();
  std::vector<kind const*> kinds(built_in.begin(), built_in.end());
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

std::string hash_text(std::uint64_t hash) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text(16, '0');
  for (std::size_t i = 16; i-- > 0; hash >>= 4) text[i] = digits[hash & 15];
  return text;
}

std::uint64_t serialised_hash(graph_view net) {
  std::vector<node> nodes(net.nodes.begin(), net.nodes.end());
  for (node& one : nodes) {
    std::string_view const given(net.characters.data() + one.first_character,
                                 static_cast<std::size_t>(one.name_size));
    if (given == generated_name(*one.kind, one.ordinal)) one.name_size = 0;
  }
  return graph_view{nodes, net.values, net.edges, net.characters}.hash();
}

graph read_graph(std::string_view text, std::string_view name, std::span<kind const* const> kinds) {
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
