// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/checkpoint/detail/graph_reader.hpp>
#include <cohort/checkpoint/detail/read_graph.hpp>
#include <cohort/configuration/detail/layers_codec.hpp>
#include <cohort/error/detail/nearest_name.hpp>
#include <cohort/io/detail/json_string.hpp>
#include <cohort/layer/built_in_kinds.hpp>
#include <cohort/layer/detail/initialiser_fields.hpp>
#include <map>
#include <utility>

namespace cohort::detail {

/// A layer's settings in a document.
struct layer_settings_text {
  std::optional<initialiser> weights{};
  std::optional<initialiser> bias{};
  std::optional<initialiser> recurrent{};
  std::string shares{};
};
template <class Visitor>
void field_table(Visitor& v, layer_settings_text& s) {
  v.field("weights", s.weights, nullable_codec<initialiser_codec>{});
  v.field("bias", s.bias, nullable_codec<initialiser_codec>{});
  v.field("recurrent", s.recurrent, nullable_codec<initialiser_codec>{});
  v.field("shares", s.shares, text_codec{});
}

/// Names that a layer's object has beside its kind's fields.
inline constexpr std::array<std::string_view, 3> layer_members{"name", "inputs", "settings"};

class layers_reader {
 public:
  graph read(io::json_value list) {
    if (list.kind() != io::json_kind::array || list.size() == 0) list.refuse("a list of layers");
    if (list.size() > max_layers) list.refuse("a list of 1 to " + std::to_string(max_layers) + " layers");
    for (io::json_value const one : list.items()) append(one);
    try {
      return graph(std::move(net_));
    } catch (graph_error const& problem) {
      list.refuse("layers that form a network", problem.what());
    }
  }

 private:
  kind const& find_kind(io::json_value entry, std::string_view name) const {
    std::vector<std::string_view> names;
    for (kind const* one : kinds_) {
      if (one->name == name) return *one;
      names.push_back(one->name);
    }
    std::string_view const nearest = nearest_name(name, names);
    entry.refuse(nearest.empty() ? "a kind of layer, such as conv2d"
                                 : "a kind of layer; the nearest name is " + std::string(nearest),
                 quote_for_error(name));
  }

  int find_layer(io::json_value name) const {
    auto const found = ids_.find(name.string());
    if (found != ids_.end()) return found->second;
    std::vector<std::string_view> names;
    for (auto const& [known, id] : ids_) names.push_back(known);
    std::string_view const nearest = nearest_name(name.string(), names);
    name.refuse(nearest.empty()
                    ? "the name of a layer above this one"
                    : "the name of a layer above this one; the nearest is " + std::string(nearest),
                quote_for_error(name.string()));
  }

  /// Reads the kind's fields.
  void read_fields(kind const& which, io::json_value entry, std::optional<io::json_value> given,
                   double* values) const {
    if (given && given->kind() != io::json_kind::object) {
      if (which.fields.empty()) given->refuse("an object, because this kind of layer has no fields");
      read_field(which.fields[0], *given, values + which.fields[0].first_slot);
    } else if (given) {
      for (io::json_value const one : given->items()) read_one(which, one, values);
    }
    for (field_info const& info : which.fields) {
      bool const is_given = given
                            && (given->kind() != io::json_kind::object ? &info == &which.fields[0]
                                                                       : given->find(info.name).has_value());
      if (info.required && !is_given)
        (given ? *given : entry).refuse("a field " + quote_for_error(info.name), "no such field");
    }
  }

  void read_one(kind const& which, io::json_value one, double* values) const {
    if (std::find(layer_members.begin(), layer_members.end(), one.key()) != layer_members.end()) return;
    for (field_info const& info : which.fields)
      if (info.name == one.key()) return read_field(info, one, values + info.first_slot);
    std::vector<std::string_view> names;
    for (field_info const& info : which.fields) names.push_back(info.name);
    names.insert(names.end(), layer_members.begin(), layer_members.end());
    refuse_name(one, "fields", one.key(), names);
  }

  std::vector<int> read_inputs(kind const& which, io::json_value entry,
                               std::optional<io::json_value> given) const {
    bool const is_input = which.role == layer_role::input;
    if (is_input && given) given->refuse("no inputs: an input reads no layer");
    if (is_input) return {};
    if (!given) {
      if (last_ < 0) entry.refuse("an input as the first layer, such as input: [1, 28, 28]");
      return {last_};
    }
    if (given->kind() == io::json_kind::string) return {find_layer(*given)};
    if (given->kind() != io::json_kind::array || given->size() == 0)
      given->refuse("the name of a layer, or a list of names");
    if (given->size() > max_layer_inputs)
      given->refuse("at most " + std::to_string(max_layer_inputs) + " inputs");
    std::vector<int> ids;
    for (io::json_value const one : given->items()) ids.push_back(find_layer(one));
    return ids;
  }

  void append(io::json_value entry) {
    chosen_name const chosen = read_chosen_name(entry, "kinds of layers");
    kind const& which = find_kind(entry, chosen.name);
    bool const is_object = chosen.fields && chosen.fields->kind() == io::json_kind::object;
    auto const member = [&](std::string_view name) {
      return is_object ? chosen.fields->find(name) : std::nullopt;
    };
    std::vector<double> values(which.defaults, which.defaults + which.slots);
    read_fields(which, entry, chosen.fields, values.data());
    layer_settings_text text;
    if (auto const given = member("settings")) object_codec<layer_settings_text>().read(*given, text);
    auto const name_given = member("name");
    std::string name(name_given ? name_given->string() : "");
    if (name_given && name.empty()) name_given->refuse("a name that is not empty");
    std::string const generated = generated_name(which, ++counts_[&which]);
    if (name.empty()) name = generated;
    if (auto const same = ids_.find(name); same != ids_.end())
      (name_given ? *name_given : entry).refuse("a unique name", quote_for_error(name));
    std::vector<int> const inputs = read_inputs(which, entry, member("inputs"));
    int owner = -1;
    if (!text.shares.empty()) owner = find_layer(member("settings")->at("shares"));
    check_inputs(entry, inputs);
    int const id =
        net_.append(which, values.data(), inputs, name == generated ? "" : name,
                    {.weights = text.weights, .bias = text.bias, .recurrent = text.recurrent}, {}, owner);
    if (finding const& problem = net_.problem(); problem.found())
      entry.refuse("a layer that fits its inputs", text_without_line(problem));
    ids_.emplace(name, id);
    last_ = id;
    try {
      check_layer_size(net_.view()[id].output, {});
      for (parameter_spec const& spec : net_.view().parameters(id)) check_layer_size(spec.dims, {});
    } catch (graph_error const& problem) {
      entry.refuse(problem.why().expected, problem.why().got);
    }
  }

  void check_inputs(io::json_value entry, std::vector<int> const& inputs) const {
    std::int64_t elements = 0;
    for (int const id : inputs) elements += net_.view()[id].output.elements();
    if (elements > max_layer_elements)
      entry.refuse("inputs of at most " + std::to_string(max_layer_elements) + " elements", "more");
  }

  /// Returns the finding's text without the prefix "graph: ": the error has the document's line instead.
  static std::string text_without_line(finding const& problem) {
    std::string text(problem.text().view());
    if (text.starts_with("graph: ")) text.erase(0, 7);
    return text;
  }

  std::span<kind const* const> kinds_ = built_in_kinds();
  builder net_;
  std::map<std::string, int, std::less<>> ids_;
  std::map<kind const*, int> counts_;
  int last_ = -1;
};

void layers_codec::read(io::json_value from, std::optional<graph>& value) const {
  if (from.is_null())
    value.reset();
  else
    value.emplace(layers_reader().read(from));
}

void write_layer(io::json_writer& out, graph_view net, int id) {
  kind const& which = net.kind(id);
  auto const inputs = net.inputs(id);
  bool const is_next = inputs.empty() || (inputs.size() == 1 && inputs[0] == id - 1);
  std::string_view const name = net.given_name(id);
  layer_settings const& settings = net[id].settings;
  bool const shares = net.owner(id) != id;
  bool const is_set = shares || settings.weights || settings.bias || settings.recurrent;
  if (which.fields.empty() && is_next && name.empty() && !is_set) {
    out.value(which.name);
    return;
  }
  out.begin_object(io::json_lines::one).key(which.name).begin_object(io::json_lines::one);
  for (field_info const& info : which.fields) write_field(out, info, net.fields(id) + info.first_slot);
  if (!name.empty()) out.field("name", name);
  if (!is_next) {
    out.key("inputs").begin_array(io::json_lines::one);
    for (int const from : inputs) out.value(net.name(from));
    out.end_array();
  }
  if (is_set) {
    out.key("settings").begin_object(io::json_lines::one);
    initialiser_codec const codec;
    if (shares) out.field("shares", net.name(net.owner(id)));
    if (!shares && settings.weights) codec.write(out.key("weights"), *settings.weights);
    if (!shares && settings.bias) codec.write(out.key("bias"), *settings.bias);
    if (!shares && settings.recurrent) codec.write(out.key("recurrent"), *settings.recurrent);
    out.end_object();
  }
  out.end_object().end_object();
}

void layers_codec::write(io::json_writer& out, std::optional<graph> const& value) const {
  if (!value) {
    out.value(nullptr);
    return;
  }
  graph_view const net = *value;
  out.begin_array();
  for (int id = 0; id < net.size(); ++id) write_layer(out, net, id);
  out.end_array();
}

void layers_codec::schema(io::json_writer& out) const {
  out.begin_object().key("anyOf").begin_array();
  out.begin_object().field("type", "array").field("minItems", 1);
  write_reference(out.key("items"), "layer");
  out.end_object();
  write_type(out, "null");
  out.end_array().end_object();
}

/// Writes the schema of a list of `least` to `most` integers.
void write_integers_schema(io::json_writer& out, int least, int most) {
  out.begin_object(io::json_lines::one).field("type", "array").key("items");
  write_type(out, "integer");
  out.field("minItems", least).field("maxItems", most).end_object();
}

void write_layer_field_schema(io::json_writer& out, field_info const& info) {
  auto const either = [&](auto first, int numbers) {
    out.begin_object(io::json_lines::one).key("anyOf").begin_array(io::json_lines::one);
    first();
    write_integers_schema(out, numbers, numbers);
    out.end_array().end_object();
  };
  switch (info.type) {
    case field_type::integer:
      return write_type(out, "integer");
    case field_type::boolean:
      return write_type(out, "boolean");
    case field_type::real:
      return write_type(out, "number");
    case field_type::extent:
      return either([&] { write_type(out, "integer"); }, 2);
    case field_type::padding:
      return either([&] { write_enum(out, padding_names); }, 4);
    case field_type::shape:
      return write_integers_schema(out, 0, shape::max_rank);
    case field_type::choice:
      return write_enum(out, info.choices);
  }
}

void write_kind_schema(io::json_writer& out, kind const& which) {
  auto const is_required = [](field_info const& info) { return info.required; };
  out.begin_object().field("type", "object").field("additionalProperties", false);
  if (std::any_of(which.fields.begin(), which.fields.end(), is_required)) {
    out.key("required").begin_array(io::json_lines::one);
    for (field_info const& info : which.fields)
      if (info.required) out.value(info.name);
    out.end_array();
  }
  out.key("properties").begin_object();
  for (field_info const& info : which.fields) write_layer_field_schema(out.key(info.name), info);
  write_type(out.key("name"), "string");
  if (which.role != layer_role::input) {
    out.key("inputs").begin_object(io::json_lines::one).key("anyOf").begin_array(io::json_lines::one);
    write_type(out, "string");
    out.begin_object(io::json_lines::one).field("type", "array").field("minItems", 1).key("items");
    write_type(out, "string");
    out.end_object().end_array().end_object();
  }
  object_codec<layer_settings_text>().schema(out.key("settings"));
  out.end_object().end_object();
}

void layers_codec::define(io::json_writer& out) {
  std::span<kind const* const> const kinds = built_in_kinds();
  auto const count_required = [](kind const& which) {
    return std::count_if(which.fields.begin(), which.fields.end(),
                         [](field_info const& info) { return info.required; });
  };
  std::vector<std::string_view> alone;
  for (kind const* one : kinds)
    if (count_required(*one) == 0) alone.push_back(one->name);
  write_choice_schema(out, alone, [&] {
    for (kind const* one : kinds) {
      out.key(one->name).begin_object().key("anyOf").begin_array();
      write_kind_schema(out, *one);
      if (!one->fields.empty() && count_required(*one) <= 1) write_layer_field_schema(out, one->fields[0]);
      out.end_array().end_object();
    }
  });
}

}  // namespace cohort::detail
