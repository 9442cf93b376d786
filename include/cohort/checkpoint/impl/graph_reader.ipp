// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/checkpoint/detail/graph_reader.hpp>
#include <cohort/io/detail/json_string.hpp>
#include <cstdint>
#include <utility>

namespace cohort::detail {

/// Limits on the numbers in a layer's fields, smaller for windows, whose area is a product.
inline constexpr std::int64_t max_field_value = std::int64_t{1} << 24;

inline constexpr std::int64_t max_window_value = (std::int64_t{1} << 15) - 1;

double read_integer(io::json_value value, std::int64_t most = max_field_value) {
  return static_cast<double>(value.integer(-most, most));
}

void read_integers(io::json_value list, double* to, std::int64_t most = max_field_value) {
  for (std::size_t i = 0; i < list.size(); ++i) to[i] = read_integer(list.at(i), most);
}

std::string listed(std::span<std::string_view const> names) {
  std::string list;
  for (std::string_view const one : names) list += (list.empty() ? "" : ", ") + std::string(one);
  return list;
}

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
      if (!is_list || value.size() > static_cast<std::size_t>(shape::max_rank))
        value.refuse("a list of at most " + std::to_string(shape::max_rank) + " extents");
      to[0] = static_cast<double>(value.size());
      read_integers(value, to + 1);
      return;
    case field_type::choice: {
      auto const known = std::find(info.choices.begin(), info.choices.end(), value.string());
      if (known == info.choices.end()) value.refuse("one of " + listed(info.choices));
      to[0] = static_cast<double>(known - info.choices.begin());
      return;
    }
  }
}

std::optional<initialiser> read_initialiser(io::json_value layer, std::string_view key) {
  auto const setting = layer.find(key);
  if (!setting) return std::nullopt;
  setting->expect_only({"initialiser", "parameter"});
  io::json_value const name = setting->at("initialiser");
  auto const& names = initialiser::names;
  auto const known = std::find(names.begin(), names.end(), name.string());
  if (known == names.end()) name.refuse("one of " + listed(names));
  initialiser how;
  how.which = static_cast<enum initialiser::kind>(known - names.begin());
  if (!how.has_parameter()) {
    if (auto const extra = setting->find("parameter"))
      extra->refuse("no parameter for " + std::string(*known));
    return how;
  }
  io::json_value const parameter = setting->at("parameter");
  how.parameter = parameter.number();
  if (how.parameter < 0 && how.which != initialiser::kind::constant)
    parameter.refuse("a number of at least 0");
  return how;
}

std::string generated_name(kind const& kind, int ordinal) {
  return std::string(kind.name) + '_' + std::to_string(ordinal);
}

builder graph_reader::read() {
  if (list_.kind() != io::json_kind::array) list_.refuse("a list of layers");
  if (list_.size() == 0 || list_.size() > max_layers)
    list_.refuse("a list of 1 to " + std::to_string(max_layers) + " layers");
  for (io::json_value const value : list_.items()) declare(value);
  for (std::size_t i = 0; i < layers_.size(); ++i) resolve(i);
  for (std::size_t i = 0; i < layers_.size(); ++i) visit(i);
  return std::move(net_);
}

void graph_reader::declare(io::json_value value) {
  value.expect_only({"kind", "name", "inputs", "fields", "weights", "bias", "shares", "recurrent"});
  io::json_value const kind_name = value.at("kind");
  auto const kind = std::find_if(kinds_.begin(), kinds_.end(),
                                 [&](cohort::kind const* k) { return k->name == kind_name.string(); });
  if (kind == kinds_.end())
    kind_name.refuse(
        "a built-in kind of layer, or a user-defined layer whose type is passed, as in "
        "load_trained<onednn, my_layer>(path)");
  io::json_value const name = value.at("name");
  if (name.string().empty()) name.refuse("a name that is not empty");
  auto const [existing, is_new] = by_name_.emplace(name.string(), layers_.size());
  if (!is_new)
    name.refuse("a unique name", quote_for_error(name.string()) + ", the name of " + path(existing->second));
  layers_.push_back({value, *kind, name.string()});
}

void graph_reader::resolve(std::size_t i) {
  layer_entry& layer = layers_[i];
  io::json_value const inputs = layer.value.at("inputs");
  bool const is_input = layer.kind->role == layer_role::input;
  if (inputs.kind() != io::json_kind::array) inputs.refuse("a list of layer names");
  if (is_input != (inputs.size() == 0))
    inputs.refuse(is_input ? "an empty list, because an input has no inputs"
                           : "a list of at least 1 layer name");
  if (inputs.size() > max_layer_inputs)
    inputs.refuse("at most " + std::to_string(max_layer_inputs) + " inputs");
  for (io::json_value const input : inputs.items()) layer.inputs.push_back(find_layer(input));
  if (auto const shares = layer.value.find("shares")) layer.owner = find_layer(*shares);
}

std::size_t graph_reader::find_layer(io::json_value name) const {
  auto const found = by_name_.find(name.string());
  if (found == by_name_.end())
    name.refuse("the name of a layer", "no layer named " + quote_for_error(name.string()));
  return found->second;
}

void graph_reader::visit(std::size_t first) {
  if (layers_[first].visited) return;
  std::vector<step> stack{{first}};
  layers_[first].visited = true;
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
    if (layers_[input].visited) refuse_cycle(stack, input);
    layers_[input].visited = true;
    stack.push_back({input});
  }
}

void graph_reader::refuse_cycle(std::vector<step> const& stack, std::size_t start) const {
  constexpr std::size_t most_shown = 12;
  std::string cycle(layers_[start].name);
  std::size_t count = 0;
  for (auto at = stack.rbegin(); at->layer != start; ++at)
    if (++count <= most_shown) cycle += " → " + std::string(layers_[at->layer].name);
  if (count > most_shown) cycle += " → …";
  io::json_value const inputs = layers_[start].value.at("inputs");
  inputs.refuse("layers that do not form a cycle", cycle + " → " + std::string(layers_[start].name));
}

void graph_reader::append(layer_entry& layer) {
  cohort::kind const& kind = *layer.kind;
  std::vector<double> values(kind.defaults, kind.defaults + kind.slots);
  read_fields(layer, values.data());
  std::vector<int> inputs;
  std::int64_t elements = 0;
  for (std::size_t const i : layer.inputs) {
    inputs.push_back(layers_[i].id);
    elements += net_.view()[layers_[i].id].output.elements();
    if (elements > max_layer_elements)
      layer.value.at("inputs").refuse("inputs of at most " + std::to_string(max_layer_elements) + " elements",
                                      "more");
  }
  layer_settings const settings{.weights = read_initialiser(layer.value, "weights"),
                                .bias = read_initialiser(layer.value, "bias"),
                                .recurrent = read_initialiser(layer.value, "recurrent")};
  // A generated name is not stored, as in the graph that was written.
  int const ordinal = ++ordinals_[layer.kind];
  layer.id =
      net_.append(kind, values.data(), inputs, layer.name == generated_name(kind, ordinal) ? "" : layer.name,
                  settings, {}, layer.owner ? layers_[*layer.owner].id : -1);
  if (net_.problem().found())
    throw graph_error(
        {.what = {"the network is not well formed: ", net_.problem().text().view()}, .where = where(layer)});
  check_size(layer, net_.view()[layer.id].output);
  for (parameter_spec const& spec : net_.view().parameters(layer.id)) check_size(layer, spec.dims);
}

void graph_reader::read_fields(layer_entry const& layer, double* values) const {
  std::span<field_info const> const fields = layer.kind->fields;
  bool const required =
      std::any_of(fields.begin(), fields.end(), [](field_info const& f) { return f.required; });
  if (!required && !layer.value.find("fields")) return;
  io::json_value const object = layer.value.at("fields");
  if (object.kind() != io::json_kind::object) object.refuse("an object");
  for (io::json_value const value : object.items()) {
    auto const info = std::find_if(fields.begin(), fields.end(),
                                   [&](field_info const& f) { return f.name == value.key(); });
    if (info == fields.end()) {
      std::string known;
      for (field_info const& f : fields) known += (known.empty() ? "" : ", ") + std::string(f.name);
      value.refuse(known.empty() ? "no field" : "one of the fields " + known,
                   "an unknown field " + quote_for_error(value.key()));
    }
    read_field(*info, value, values + info->first_slot);
  }
  for (field_info const& info : fields)
    if (info.required) object.at(info.name);
}

void graph_reader::check_size(layer_entry const& layer, shape const& dims) const {
  check_layer_size(dims, where(layer));
}

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
      list(1, static_cast<int>(from[0]));
      return;
    case field_type::choice:
      out.value(info.choices[static_cast<std::size_t>(from[0])]);
      return;
  }
}

void check_layer_size(shape const& dims, std::string const& where) {
  std::int64_t product = 1;
  for (int axis = 0; axis < dims.rank; ++axis) {
    product = dims[axis] < 1 ? 0 : product * dims[axis];
    if (product >= 1 && product <= max_layer_elements) continue;
    throw graph_error({.what = "a layer is too large",
                       .where = where,
                       .expected = {"tensors of 1 to ", max_layer_elements, " elements"},
                       .got = to_string(dims)});
  }
}

std::string graph_reader::where(layer_entry const& layer) const {
  return layer.value.path() + ", layer " + quote_for_error(layer.name);
}

}  // namespace cohort::detail
