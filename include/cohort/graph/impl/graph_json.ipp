// SPDX-License-Identifier: Apache-2.0
#include <cohort/detail/json_string.hpp>
#include <cohort/graph/detail/layers_codec.hpp>
#include <cohort/graph/graph_json.hpp>
#include <cohort/io/detail/field_codecs.hpp>
#include <cohort/io/json.hpp>
#include <cohort/layer/built_in_kinds.hpp>
#include <vector>

namespace cohort::detail {

inline constexpr std::string_view graph_format = "cohort graph";
inline constexpr int graph_format_version = 2;

/// Returns the built-in kinds, followed by `user_kinds`.
std::vector<kind const*> known_kinds(std::span<kind const* const> user_kinds) {
  std::span<kind const* const> const built_in = built_in_kinds();
  std::vector<kind const*> kinds(built_in.begin(), built_in.end());
  for (kind const* added : user_kinds) {
    for (kind const* other : kinds)
      if (other->name == added->name)
        throw setting_error({.what = "two layer kinds have the same kind_name",
                             .where = "the layer kinds of from_json",
                             .expected = "a unique name for each kind",
                             .got = {added->name}});
    kinds.push_back(added);
  }
  return kinds;
}

std::string hash_text(std::uint64_t hash) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text(16, '0');
  for (std::size_t i = 16; i-- > 0; hash >>= 4) text[i] = digits[hash & 15];
  return text;
}

graph read_graph(std::string_view text, std::string_view name, std::span<kind const* const> user_kinds) {
  std::vector<kind const*> const kinds = known_kinds(user_kinds);
  io::json_document const document = io::parse_json(text, name);
  io::json_value const root = document.root();
  root.expect_only({"format", "version", "hash", "layers"});
  if (io::json_value const format = root.at("format"); format.string() != graph_format)
    format.refuse("the string " + quote_for_error(graph_format));
  int version = 0;
  version_codec{graph_format_version}.read(root.at("version"), version);
  graph net = read_layers(root.at("layers"), kinds,
                          "a built-in kind of layer, or a user-defined layer whose type is passed, as in "
                          "load_trained<onednn, my_layer>(path)");
  std::string const hash = hash_text(graph_view(net).hash());
  if (auto const expected = root.find("hash"); expected && expected->string() != hash)
    expected->refuse("the hash of these layers, " + quote_for_error(hash));
  return net;
}

}  // namespace cohort::detail

namespace cohort {

std::string to_json(graph_view net) {
  io::json_writer out(2);
  out.begin_object().field("format", detail::graph_format).field("version", detail::graph_format_version);
  out.field("hash", detail::hash_text(net.hash()));
  detail::write_layers(out.key("layers"), net, detail::layer_form::full);
  return out.end_object().text();
}

}  // namespace cohort
