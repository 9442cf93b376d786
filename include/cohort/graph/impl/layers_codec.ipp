// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/detail/nearest_name.hpp>
#include <cohort/graph/detail/layers_codec.hpp>
#include <cohort/io/detail/field_codecs.hpp>
#include <cohort/layer/built_in_kinds.hpp>
#include <cohort/layer/detail/initialiser_fields.hpp>
#include <map>
#include <utility>
#include <vector>

namespace cohort::detail {

/// Limits on an untrusted text: elements of a layer's inputs, outputs or parameters, and numbers of layers
/// and of a layer's inputs. Within these limits and the limits of read_field, no sum or product of extents
/// overflows in the layers' shape inference.
inline constexpr std::int64_t max_layer_elements = std::int64_t{1} << 30;
inline constexpr std::size_t max_layers = 10'000;
inline constexpr std::size_t max_layer_inputs = 1'000;

/// Names of the padding modes without numbers, in the order of the enumerators.
inline constexpr std::array<std::string_view, 3> padding_names{"valid", "same", "strict"};

// ---- fields of a kind -----------------------------------------------------------------------------------

/// Limits on the magnitudes of integers in a layer's fields; smaller for windows, whose area is a product.
inline constexpr std::int64_t max_field_value = std::int64_t{1} << 24;

inline constexpr std::int64_t max_window_value = (std::int64_t{1} << 15) - 1;

double read_integer(io::json_value value, std::int64_t most = max_field_value) {
  return static_cast<double>(value.integer(-most, most));
}

void read_integers(io::json_value list, double* to, std::int64_t most = max_field_value) {
  for (std::size_t i = 0; i < list.size(); ++i) to[i] = read_integer(list.at(i), most);
}

/// Reads the value of a field into its slots.
///
/// Errors    data_error at `value` for another type, or a number beyond the limits of untrusted texts.
void read_field(field_info const& info, io::json_value value, double* to) {
  bool const is_list = value.kind() == io::json_kind::array;
  std::fill_n(to, info.slots, 0.0);
  switch (info.type) {
    case field_type::integer:
      to[0] = read_integer(value);
      return;
    case field_type::boolean:
      to[0] = value.boolean() ? 1 : 0;
      return;
    case field_type::real:
      to[0] = value.number();
      return;
    case field_type::extent:
      if (is_list && value.size() != 2) value.refuse("a number, or [height, width]");
      if (is_list)
        read_integers(value, to, max_window_value);
      else if (value.kind() == io::json_kind::number)
        to[0] = to[1] = read_integer(value, max_window_value);
      else
        value.refuse("a number, or [height, width]");
      return;
    case field_type::padding: {
      constexpr char const* expected = R"("valid", "same", "strict" or [top, bottom, left, right])";
      if (is_list && value.size() == 4) {
        to[0] = static_cast<double>(padding_mode::sides);
        read_integers(value, to + 1, max_window_value);
        return;
      }
      if (value.kind() != io::json_kind::string) value.refuse(expected);
      auto const known = std::find(padding_names.begin(), padding_names.end(), value.string());
      if (known == padding_names.end()) value.refuse(expected);
      to[0] = static_cast<double>(known - padding_names.begin());
      return;
    }
    case field_type::shape:
    case field_type::axes:
      if (!is_list || value.size() > static_cast<std::size_t>(shape::max_rank))
        value.refuse("a list of at most " + std::to_string(shape::max_rank)
                     + (info.type == field_type::shape ? " extents" : " axes"));
      to[0] = static_cast<double>(value.size());
      read_integers(value, to + 1);
      return;
    case field_type::choice:
      to[0] = static_cast<double>(index_of_name(value, "values", value.string(), info.choices));
      return;
  }
}

/// Writes a field's name and value.
void write_field(io::json_writer& out, field_info const& info, double const* from) {
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
    case field_type::axes:
      list(1, static_cast<int>(from[0]));
      return;
    case field_type::choice:
      out.value(info.choices[static_cast<std::size_t>(from[0])]);
      return;
  }
}

// ---- settings of a layer --------------------------------------------------------------------------------

struct layer_settings_text {
  std::optional<initialiser> weights{}, bias{}, recurrent{};
  std::string shares{};  // name of the layer whose parameters are shared
  bool operator==(layer_settings_text const&) const = default;
};
template <class Visitor>
void field_table(Visitor& v, layer_settings_text& s) {
  v.field("weights", s.weights, sparse<nullable_codec<initialiser_codec>>{});
  v.field("bias", s.bias, sparse<nullable_codec<initialiser_codec>>{});
  v.field("recurrent", s.recurrent, sparse<nullable_codec<initialiser_codec>>{});
  v.field("shares", s.shares, sparse<text_codec>{});
}

// ---- reading --------------------------------------------------------------------------------------------

/// Reads a list of layers into a builder: first all names, then each layer after its inputs.
class layers_reader {
 public:
  layers_reader(io::json_value list, std::span<kind const* const> kinds, std::string_view expected_kind)
      : list_(list), kinds_(kinds), expected_kind_(expected_kind) {}

  graph read() {
    if (list_.kind() != io::json_kind::array || list_.size() == 0) list_.refuse("a list of layers");
    if (list_.size() > max_layers) list_.refuse("a list of 1 to " + std::to_string(max_layers) + " layers");
    for (io::json_value const value : list_.items()) declare(value);
    for (std::size_t i = 0; i < layers_.size(); ++i) resolve(i);
    for (std::size_t i = 0; i < layers_.size(); ++i) visit(i);
    try {
      return graph(std::move(net_));
    } catch (graph_error const& problem) {
      list_.refuse("layers that form a network", problem.what());
    }
  }

 private:
  struct layer_entry {
    io::json_value value;
    cohort::kind const* kind;
    std::optional<io::json_value> fields;  // none: only the kind is given
    std::string name{};
    layer_settings_text settings{};
    std::vector<std::size_t> inputs{};   // indices of layers in the text
    std::optional<std::size_t> owner{};  // layer whose parameters are shared
    int id = -1;                         // id in the builder; -1 before append
    bool is_visited = false;

    bool has_members() const { return fields && fields->kind() == io::json_kind::object; }
    std::optional<io::json_value> find(std::string_view member) const {
      return has_members() ? fields->find(member) : std::nullopt;
    }
  };
  struct step {
    std::size_t layer;
    std::size_t next_input = 0;
  };

  kind const& find_kind(io::json_value value, std::string_view name) const {
    std::vector<std::string_view> names;
    for (kind const* known : kinds_) {
      if (known->name == name) return *known;
      names.push_back(known->name);
    }
    refuse_unknown(value, expected_kind_, name, names);
  }

  std::size_t find_layer(io::json_value name) const {
    auto const found = by_name_.find(name.string());
    if (found != by_name_.end()) return found->second;
    std::vector<std::string_view> names;
    for (auto const& [known, index] : by_name_) names.push_back(known);
    refuse_unknown(name, "the name of a layer", name.string(), names);
  }

  [[noreturn]] static void refuse_unknown(io::json_value value, std::string_view expected,
                                          std::string_view name, std::span<std::string_view const> known) {
    std::string_view const nearest = nearest_name(name, known);
    value.refuse(text_of({expected, nearest.empty() ? "" : "; the nearest name is ", nearest}),
                 quote_for_error(name));
  }

  void declare(io::json_value value) {
    chosen_name const chosen = read_chosen_name(value, "kinds of layers");
    layer_entry layer{value, &find_kind(value, chosen.name), chosen.fields};
    layer.name = generated_name(*layer.kind, ++counts_[layer.kind]);
    auto const given = layer.find("name");
    if (given) {
      if (given->string().empty()) given->refuse("a name that is not empty");
      layer.name = given->string();
    }
    auto const [known, is_new] = by_name_.emplace(layer.name, layers_.size());
    if (!is_new)
      (given ? *given : value)
          .refuse("a unique name", text_of({quote_for_error(layer.name), ", the name of ",
                                            layers_[known->second].value.path()}));
    layers_.push_back(std::move(layer));
  }

  void resolve(std::size_t i) {
    layer_entry& layer = layers_[i];
    layer.inputs = read_inputs(i);
    if (auto const settings = layer.find("settings")) {
      object_codec<layer_settings_text>().read(*settings, layer.settings);
      if (!layer.settings.shares.empty()) layer.owner = find_layer(settings->at("shares"));
    }
  }

  std::vector<std::size_t> read_inputs(std::size_t i) const {
    layer_entry const& layer = layers_[i];
    auto const inputs = layer.find("inputs");
    if (layer.kind->role == layer_role::input) {
      if (inputs) inputs->refuse("no inputs: an input reads no layer");
      return {};
    }
    if (!inputs) {
      if (i == 0) layer.value.refuse("an input as the first layer, such as input: [1, 28, 28]");
      return {i - 1};
    }
    if (inputs->kind() == io::json_kind::string) return {find_layer(*inputs)};
    if (inputs->kind() != io::json_kind::array || inputs->size() == 0)
      inputs->refuse("the name of a layer, or a list of names");
    if (inputs->size() > max_layer_inputs)
      inputs->refuse("at most " + std::to_string(max_layer_inputs) + " inputs");
    std::vector<std::size_t> indices;
    for (io::json_value const name : inputs->items()) indices.push_back(find_layer(name));
    return indices;
  }

  /// Appends a layer after its dependencies: its inputs and the layer whose parameters it shares. Layers that
  /// are listed after their dependencies keep their order.
  void visit(std::size_t first) {
    if (layers_[first].is_visited) return;
    std::vector<step> stack{{first}};
    layers_[first].is_visited = true;
    while (!stack.empty()) {
      layer_entry& layer = layers_[stack.back().layer];
      std::size_t const next = stack.back().next_input++;
      if (next == layer.inputs.size() + (layer.owner ? 1 : 0)) {
        append(layer);
        stack.pop_back();
        continue;
      }
      std::size_t const input = next < layer.inputs.size() ? layer.inputs[next] : *layer.owner;
      if (layers_[input].id >= 0) continue;
      if (layers_[input].is_visited) refuse_cycle(stack, input);
      layers_[input].is_visited = true;
      stack.push_back({input});
    }
  }

  /// Throws data_error for a cycle. On the stack, each layer is followed by one of its dependencies. The
  /// message lists the layers in data-flow order.
  [[noreturn]] void refuse_cycle(std::vector<step> const& stack, std::size_t start) const {
    constexpr std::size_t most_shown = 12;
    std::string cycle(layers_[start].name);
    std::size_t count = 0;
    for (auto position = stack.rbegin(); position->layer != start; ++position)
      if (++count <= most_shown) cycle += " → " + layers_[position->layer].name;
    if (count > most_shown) cycle += " → …";
    layers_[start].value.refuse("layers that do not form a cycle", cycle + " → " + layers_[start].name);
  }

  void append(layer_entry& layer) {
    cohort::kind const& kind = *layer.kind;
    std::vector<double> values(kind.defaults, kind.defaults + kind.slots);
    read_fields(layer, values.data());
    std::vector<int> inputs;
    std::int64_t elements = 0;
    for (std::size_t const i : layer.inputs) {
      inputs.push_back(layers_[i].id);
      elements += net_.view()[layers_[i].id].output.elements();
    }
    if (elements > max_layer_elements)
      layer.value.refuse("inputs of at most " + std::to_string(max_layer_elements) + " elements", "more");
    layer.id = net_.append(kind, values.data(), inputs, layer.name,
                           {.weights = layer.settings.weights,
                            .bias = layer.settings.bias,
                            .recurrent = layer.settings.recurrent},
                           {}, layer.owner ? layers_[*layer.owner].id : -1);
    if (finding const& problem = net_.problem(); problem.found())
      layer.value.refuse("a layer that fits its inputs", text_without_line(problem));
    check_size(layer, net_.view()[layer.id].output);
    for (parameter_spec const& spec : net_.view().parameters(layer.id)) check_size(layer, spec.dims);
  }

  /// Reads a layer's fields. Omitted fields keep their default; required fields must be present.
  static void read_fields(layer_entry const& layer, double* values) {
    std::span<field_info const> const fields = layer.kind->fields;
    if (layer.fields && !layer.has_members()) {
      if (fields.empty()) layer.fields->refuse("an object, because this kind of layer has no fields");
      read_field(fields[0], *layer.fields, values + fields[0].first_slot);
    } else if (layer.fields) {
      std::vector<std::string_view> names;
      for (field_info const& info : fields) names.push_back(info.name);
      names.insert(names.end(), layer_members.begin(), layer_members.end());
      for (io::json_value const value : layer.fields->items()) {
        std::size_t const f = index_of_name(value, "fields", value.key(), names);
        if (f < fields.size()) read_field(fields[f], value, values + fields[f].first_slot);
      }
    }
    for (field_info const& info : fields) {
      bool const is_given =
          layer.has_members() ? layer.find(info.name).has_value() : layer.fields && &info == &fields[0];
      if (info.required && !is_given)
        (layer.fields ? *layer.fields : layer.value)
            .refuse("a field " + quote_for_error(info.name), "no such field");
    }
  }

  static void check_size(layer_entry const& layer, shape const& dims) {
    std::int64_t product = 1;
    for (int axis = 0; axis < dims.rank; ++axis) {
      product = dims[axis] < 1 ? 0 : product * dims[axis];
      if (product >= 1 && product <= max_layer_elements) continue;
      layer.value.refuse(text_of({"tensors of 1 to ", max_layer_elements, " elements"}), to_string(dims));
    }
  }

  /// Returns the finding's text without the prefix "graph: ", because the error names a line of the text.
  static std::string text_without_line(finding const& problem) {
    std::string text(problem.text().view());
    if (text.starts_with("graph: ")) text.erase(0, 7);
    return text;
  }

  io::json_value list_;
  std::span<kind const* const> kinds_;
  std::string_view expected_kind_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
  std::vector<layer_entry> layers_;
  std::map<kind const*, int> counts_;
  builder net_;
};

graph read_layers(io::json_value list, std::span<kind const* const> kinds, std::string_view expected_kind) {
  return layers_reader(list, kinds, expected_kind).read();
}

void layers_codec::read(io::json_value from, std::optional<graph>& value) const {
  if (from.is_null())
    value.reset();
  else
    value.emplace(read_layers(from, built_in_kinds(), "a kind of layer, such as conv2d"));
}

// ---- writing --------------------------------------------------------------------------------------------

void write_layer(io::json_writer& out, graph_view net, int id, layer_form form) {
  kind const& which = net.kind(id);
  auto const inputs = net.inputs(id);
  bool const is_full = form == layer_form::full;
  bool const reads_layer_above = inputs.size() == 1 && inputs[0] == id - 1;
  bool const has_inputs = !inputs.empty() && (is_full || !reads_layer_above);
  std::string const name = is_full ? net.name(id) : std::string(net.given_name(id));
  layer_settings_text settings;
  if (net.owner(id) != id)
    settings.shares = net.name(net.owner(id));
  else
    settings = {net[id].settings.weights, net[id].settings.bias, net[id].settings.recurrent};
  bool const has_settings = settings != layer_settings_text{};
  if (which.fields.empty() && !has_inputs && name.empty() && !has_settings) {
    out.value(which.name);
    return;
  }
  out.begin_object(io::json_lines::one).key(which.name).begin_object(io::json_lines::one);
  for (field_info const& info : which.fields) write_field(out, info, net.fields(id) + info.first_slot);
  if (!name.empty()) out.field("name", name);
  if (has_inputs) {
    out.key("inputs").begin_array(io::json_lines::one);
    for (int const from : inputs) out.value(net.name(from));
    out.end_array();
  }
  if (has_settings)
    object_codec<layer_settings_text>{io::json_lines::one}.write(out.key("settings"), settings);
  out.end_object().end_object();
}

void write_layers(io::json_writer& out, graph_view net, layer_form form) {
  out.begin_array();
  for (int id = 0; id < net.size(); ++id) write_layer(out, net, id, form);
  out.end_array();
}

void layers_codec::write(io::json_writer& out, std::optional<graph> const& value) const {
  if (value)
    write_layers(out, *value, layer_form::brief);
  else
    out.value(nullptr);
}

// ---- schema ---------------------------------------------------------------------------------------------

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
    case field_type::axes:
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
  for (kind const* known : kinds)
    if (count_required(*known) == 0) alone.push_back(known->name);
  write_choice_schema(out, alone, [&] {
    for (kind const* known : kinds) {
      out.key(known->name).begin_object().key("anyOf").begin_array();
      write_kind_schema(out, *known);
      if (!known->fields.empty() && count_required(*known) <= 1)
        write_layer_field_schema(out, known->fields[0]);
      out.end_array().end_object();
    }
  });
}

}  // namespace cohort::detail
