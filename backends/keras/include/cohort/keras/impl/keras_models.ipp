// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cohort/io/detail/permutation.hpp>
#include <cohort/keras/detail/keras_translation.hpp>
#include <cohort/layer/layers.hpp>
#include <cohort/layer/zero_masked.hpp>
#include <utility>

namespace cohort::detail {

// ---- references in configurations ------------------------------------------------------------------------

namespace keras_nodes {

inline bool is_reference(io::json_value from) {
  return from.kind() == io::json_kind::array && from.size() >= 3
         && from.at(std::size_t{0}).kind() == io::json_kind::string
         && from.at(std::size_t{1}).kind() == io::json_kind::number
         && from.at(std::size_t{2}).kind() == io::json_kind::number;
}

inline keras_reference read_reference(io::json_value from) {
  return {std::string(from.at(std::size_t{0}).string()),
          static_cast<std::size_t>(from.at(std::size_t{1}).integer(0, 100'000)),
          static_cast<std::size_t>(from.at(std::size_t{2}).integer(0, 100'000))};
}

/// Appends the tensors in an argument. Returns whether the argument also contains numbers or strings.
inline bool collect(io::json_value from, std::vector<keras_reference>& into) {
  if (from.is_null()) return false;
  if (from.kind() == io::json_kind::object) {
    auto const name = from.find("class_name");
    if (name && name->kind() == io::json_kind::string && name->string() == "__keras_tensor__") {
      into.push_back(read_reference(from.at("config").at("keras_history")));
      return false;
    }
    bool constants = false;
    for (io::json_value const one : from.items()) constants |= collect(one, into);
    return constants;
  }
  if (from.kind() != io::json_kind::array) return true;
  if (is_reference(from)) {
    into.push_back(read_reference(from));
    return false;
  }
  bool constants = false;
  for (io::json_value const one : from.items()) constants |= collect(one, into);
  return constants;
}

inline void collect_options(io::json_value from, keras_call& into) {
  for (io::json_value const one : from.items()) {
    std::vector<keras_reference> tensors;
    collect(one, tensors);
    if (!tensors.empty())
      into.named_inputs.emplace_back(std::string(one.key()), std::move(tensors));
    else if (!one.is_null())
      into.options.emplace(std::string(one.key()), one);
  }
}

/// Reads an entry of "inbound_nodes" of any version of Keras.
inline keras_call read_call(io::json_value from) {
  keras_call made;
  if (from.kind() == io::json_kind::object) {
    for (io::json_value const argument : from.at("args").items()) {
      std::size_t const tensors = made.inputs.size();
      made.has_constants |= collect(argument, made.inputs);
      if (made.inputs.size() > tensors || argument.is_null()) continue;
      made.begins_with_constant |= tensors == 0;
      made.constants.push_back(argument);
    }
    if (auto const options = from.find("kwargs")) collect_options(*options, made);
    return made;
  }
  if (from.kind() != io::json_kind::array) from.refuse("a call: an array or an object");
  auto const add = [&](io::json_value reference) {
    made.inputs.push_back(read_reference(reference));
    if (reference.size() > 3 && reference.at(std::size_t{3}).kind() == io::json_kind::object)
      collect_options(reference.at(std::size_t{3}), made);
  };
  if (is_reference(from)) {
    add(from);
  } else {
    for (io::json_value const one : from.items()) {
      if (!is_reference(one)) one.refuse("a tensor: [layer, call, output]");
      add(one);
    }
  }
  return made;
}

/// Reads "input_layers" or "output_layers": one tensor, or any structure of tensors.
inline std::vector<keras_reference> read_references(io::json_value from) {
  std::vector<keras_reference> made;
  collect(from, made);
  return made;
}

inline std::string layer_name(io::json_value layer) {
  auto const config = layer.find("config");
  if (config && config->kind() == io::json_kind::object)
    if (auto const name = config->find("name"); name && name->kind() == io::json_kind::string)
      return std::string(name->string());
  if (auto const name = layer.find("name"); name && name->kind() == io::json_kind::string)
    return std::string(name->string());
  return std::string(layer.at("class_name").string());
}

inline bool is_model(std::string_view class_name) {
  return class_name == "Sequential" || class_name == "Functional" || class_name == "Model";
}

/// Returns whether a layer has the argument initial_state.
inline bool takes_states(std::string_view class_name) {
  return class_name == "LSTM" || class_name == "GRU" || class_name == "SimpleRNN" || class_name == "RNN"
         || class_name == "Bidirectional";
}

/// Returns the value that marks padding if a layer is Masking.
inline std::optional<double> padding_of(io::json_value layer) {
  if (layer.at("class_name").string() != "Masking") return {};
  auto const config = layer.find("config");
  auto const value =
      config && config->kind() == io::json_kind::object ? config->find("mask_value") : std::nullopt;
  return value && !value->is_null() ? value->number() : 0;
}

/// Returns the layers of a Sequential. In old files, the configuration is the list.
inline io::json_value layers_of(io::json_value config) {
  return config.kind() == io::json_kind::array ? config : config.at("layers");
}

/// Limits for an untrusted file: repeated calls of a nested model multiply the network and the work.
inline constexpr std::size_t most_layers = 20'000, most_work = 200'000;

}  // namespace keras_nodes

// ---- recording -------------------------------------------------------------------------------------------

void keras_translation::refuse(std::string what, std::string expected, std::string got) const {
  refuse_keras(state_ && !state_->path.empty() ? origin_ + ", layer " + state_->path : origin_,
               std::move(what), std::move(expected), std::move(got));
}

std::string keras_translation::unique_name(std::string_view suffix) {
  std::string name = state_->path;
  for (std::string_view const part : {std::string_view(suffix_), suffix})
    if (!part.empty()) name += '/' + std::string(part);
  if (state_->calls > 0) name += '@' + std::to_string(state_->calls + 1);
  std::string made = name;
  for (int number = 2; paths_.contains(made) || !names_.insert(made).second; ++number)
    made = name + '#' + std::to_string(number);
  return made;
}

std::string keras_translation::layer_name() const {
  return state_->calls > 0 ? state_->path + '@' + std::to_string(state_->calls + 1) : state_->path;
}

/// Names a node after its layer, or after a later call of the layer: "dense@2".
void keras_translation::publish(int node, std::string const& name) {
  if (names_.insert(name).second) net_.rename(node, name);
}

void keras_translation::count_work(std::size_t parts) {
  if ((work_ += parts) > keras_nodes::most_work)
    refuse("the model is too large: nested models are counted once for each call",
           "at most " + std::to_string(keras_nodes::most_work) + " layers, calls and inputs", "more");
}

void keras_translation::expect_elements(double elements) const {
  if (!(elements <= static_cast<double>(keras_limits::most_elements)))
    refuse("a tensor is too large", "at most 2^30 elements for an example",
           std::to_string(static_cast<std::int64_t>(std::min(elements, 1e18))));
}

template <class L>
int keras_translation::record(L const& layer, std::vector<int> const& inputs, std::string_view suffix,
                              bool is_shared) {
  if (static_cast<std::size_t>(net_.view().size()) >= keras_nodes::most_layers)
    refuse("the network has too many layers: those of a nested model are counted once for each call",
           "at most " + std::to_string(keras_nodes::most_layers), "more");
  auto const encoded = encode(layer);
  int owner = -1;
  std::vector<shape> shapes;
  for (int const id : inputs) shapes.push_back(net_.view()[id].output);
  auto const& kind = kind_of<L>;
  bool const has_parameters = !kind.infer(encoded.data(), shapes).problem.found()
                              && kind.parameters(encoded.data(), shapes).count > 0;
  if (has_parameters && !is_first_call() && is_shared) {
    if (state_->cursor >= state_->nodes.size())
      refuse("a later call of the layer needs other parameters than the first one",
             "equal parameters in all calls", "call " + std::to_string(state_->calls) + " of the layer");
    owner = state_->nodes[state_->cursor++];
  }
  std::string const name = unique_name(suffix.empty() ? kind.name : suffix);
  int const id = net_.append(kind, encoded.data(), inputs, name, settings_of(layer), {}, owner);
  if (net_.problem().found()) {
    auto const text = net_.problem().text();
    std::string_view message = text.view();
    if (message.starts_with("graph: ")) message.remove_prefix(7);
    refuse(std::string(message), "inputs and fields that fit", "the layer " + std::string(kind.name));
  }
  double elements = 1;
  for (int axis = 0; axis < net_.view()[id].output.rank; ++axis) elements *= net_.view()[id].output[axis];
  expect_elements(elements);
  if (has_parameters && is_first_call()) {
    state_->nodes.push_back(id);
    if (!state_->trainable) freeze(id);
  }
  return id;
}

keras_value keras_translation::value(int id, std::vector<int> dims) const {
  auto slot = std::make_shared<keras_slot>();
  slot->id = id;
  return {.slot = std::move(slot), .dims = std::move(dims)};
}

/// Returns a tensor with the shape and order of `v`.
keras_value keras_translation::like(keras_value const& v, int id) const {
  keras_value made = value(id, v.dims);
  made.order = v.order;
  return made;
}

template <class L>
keras_value keras_translation::one(call const& c, L const& layer, std::vector<int> dims,
                                   std::string_view suffix) {
  return value(record(layer, {id_of(only(c))}, suffix), std::move(dims));
}

int keras_translation::id_of(keras_value const& v) {
  if (!v.slot)
    refuse("the layer reads a tensor that its layer does not return", "a tensor with values",
           "an output that is not computed");
  if (v.slot->id < 0) v.slot->id = v.slot->record();
  return v.slot->id;
}

bool keras_translation::has_mask(keras_value const& v) {
  return net_.view()[v.slot->id >= 0 || v.slot->logits < 0 ? id_of(v) : v.slot->logits].mask >= 0;
}

int keras_translation::reshaped(int id, shape extents, std::string_view suffix) {
  if (net_.view()[id].output == extents) return id;
  return record(reshape{.extents = extents}, {id}, suffix);
}

shape keras_translation::extents_of(keras_value const& v) const {
  switch (v.dims.size()) {
    case 1:
      return {v.dims[0]};
    case 2:
      return {v.dims[0], v.dims[1]};
    case 3:
      return images_first_ ? shape{v.dims[0], v.dims[1], v.dims[2]} : shape{v.dims[2], v.dims[0], v.dims[1]};
    default:
      refuse("Cohort has tensors of one to three axes besides the batch", "1 to 3 axes", keras_text(v.dims));
  }
}

keras_value const& keras_translation::only(call const& c) const {
  if (c.inputs.size() != 1)
    refuse(c.class_name + " must have one input here", "1 tensor", std::to_string(c.inputs.size()));
  return c.inputs[0];
}

void keras_translation::expect_rank(call const& c, std::size_t rank) const {
  if (only(c).dims.size() != rank)
    refuse(
        c.class_name + " is imported only for inputs of " + std::to_string(rank) + " axes besides the batch",
        std::to_string(rank) + " axes", keras_text(only(c).dims));
}

void keras_translation::expect_plain_order(keras_value const& v) const {
  if (!v.order.empty())
    refuse(
        "the elements of a flattened image are in another order in Cohort (C×H×W), and this layer depends "
        "on the order",
        "a Dense layer after the Flatten", "the elements of " + keras_text(v.dims));
}

void keras_translation::expect_no_mask(keras_value const& v) {
  if (has_mask(v))
    refuse("Keras computes this layer with the padding of the masked sequence, which Cohort excludes",
           "a sequence without mask", "a masked sequence");
}

void keras_translation::drop_masks(call& c) {
  for (keras_value& v : c.inputs) {
    if (!v.slot || !has_mask(v)) continue;
    // If padding is 0 in Keras and in Cohort, the sequence is the same without a mask. `flatten` removes a
    // mask.
    if (!v.has_zero_padding || c.class_name == "Softmax") expect_no_mask(v);
    int const rows = record(flatten{}, {id_of(v)}, "unmasked");
    v = like(v, reshaped(rows, extents_of(v), "unmasked"));
  }
}

int keras_translation::channels_of(keras_value const& v) const {
  return v.dims.size() == 3 && images_first_ ? v.dims[0] : v.dims.back();
}

/// Returns whether an axis is the channel axis. Axis 0 is the batch.
bool keras_translation::is_channel_axis(int axis, keras_value const& v) const {
  int const rank = static_cast<int>(v.dims.size());
  if (axis < 0) axis += rank + 1;
  return axis == (rank == 3 && images_first_ ? 1 : rank);
}

// ---- parameters ------------------------------------------------------------------------------------------

void keras_translation::weigh(int node, std::string_view parameter, weight_place place, std::vector<int> dims,
                              std::function<std::vector<float>(std::vector<float> const&)> convert,
                              std::size_t offset) {
  if (!is_first_call()) return;
  double elements = 1;
  for (int const extent : dims) elements *= extent;
  if (elements > 0x1p36) refuse("a parameter is too large", "at most 2^36 elements", keras_text(dims));
  weights_.push_back({.layer = state_->path,
                      .object_path = state_->object_path,
                      .part = std::string(place.part),
                      .index = place.index,
                      .group = state_->group,
                      .order = state_->order,
                      .is_trained = place.is_trained && state_->trainable,
                      .dims = std::move(dims),
                      .node = node,
                      .parameter = std::string(parameter),
                      .offset = offset,
                      .convert = std::move(convert)});
  weights_.back().order.push_back(static_cast<int>(weights_.size()));
}

void keras_translation::weigh(int node, std::string_view parameter, weight_place place, std::vector<int> dims,
                              std::vector<int> axes, keras_order const& order, std::size_t offset) {
  std::vector<std::int64_t> const shared_dims(dims.begin(), dims.end());
  // `order` permutes the last axis of the result to Cohort's order of a flattened image.
  weigh(
      node, parameter, place, std::move(dims),
      [shared_dims, axes, order](std::vector<float> const& from) {
        std::vector<float> made = axes.empty() ? from : permute_axes(from, shared_dims, axes);
        if (order.empty()) return made;
        std::vector<float> sorted(made.size());
        for (std::size_t row = 0; row < made.size(); row += order.size())
          for (std::size_t i = 0; i < order.size(); ++i)
            sorted[row + static_cast<std::size_t>(order[i])] = made[row + i];
        return sorted;
      },
      offset);
}

void keras_translation::weigh_kernels(int node, std::vector<int> dims, std::vector<int> axes, int area) {
  if (!is_theano_) return weigh(node, "weights", {}, std::move(dims), std::move(axes));
  std::vector<std::int64_t> const shared_dims(dims.begin(), dims.end());
  weigh(node, "weights", {}, std::move(dims), [shared_dims, axes, area](std::vector<float> const& from) {
    std::vector<float> kernels = axes.empty() ? from : permute_axes(from, shared_dims, axes);
    for (auto kernel = kernels.begin(); kernel != kernels.end(); kernel += area)
      std::reverse(kernel, kernel + area);
    return kernels;
  });
}

void keras_translation::fill(int node, std::string_view parameter, float with) {
  if (is_first_call()) filled_.push_back({{node, std::string(parameter)}, with});
}

void keras_translation::freeze(int node) { overrides_.push_back({node, {.layer = {}, .frozen = true}}); }

void keras_translation::add_penalties(layer_override& row, std::optional<keras_object> of, bool bias) {
  if (!of || !how_.training) return;
  keras_fields const fields(of->config, origin_ + ", layer " + state_->path, version_);
  double l1 = 0, l2 = 0;
  if (of->class_name == "L1L2" || of->class_name == "l1_l2") {
    l1 = fields.number({"l1"}, of->config ? 0 : 0.01);
    l2 = fields.number({"l2"}, of->config ? 0 : 0.01);
  } else if (of->class_name == "L1" || of->class_name == "l1") {
    l1 = fields.number({"l1"}, 0.01);
  } else if (of->class_name == "L2" || of->class_name == "l2") {
    l2 = fields.number({"l2"}, 0.01);
  } else {
    refuse("Cohort has the penalties L1 and L2", "L1, L2 or L1L2", of->class_name);
  }
  fields.expect_read(true);
  // Keras adds l2·Σw², Cohort ½·l2·Σw².
  (bias ? row.bias_l1 : row.l1) = l1;
  (bias ? row.bias_l2 : row.l2) = 2 * l2;
}

/// Translates a constraint. `unit_axes`: number of leading axes over which Keras must compute the norm of a
/// unit.
parameter_constraint keras_translation::constraint_of(std::optional<keras_object> of,
                                                      std::size_t unit_axes) const {
  keras_fields const fields(of->config, origin_ + ", layer " + state_->path, version_);
  if (of->class_name == "NonNeg" || of->class_name == "non_neg" || of->class_name == "nonneg") {
    fields.expect_read(true);
    return constraint::non_negative{};
  }
  bool const is_max = of->class_name == "MaxNorm" || of->class_name == "max_norm";
  if (!is_max && of->class_name != "UnitNorm" && of->class_name != "unit_norm")
    refuse("Cohort has the constraints MaxNorm, UnitNorm and NonNeg", "one of these", of->class_name);
  std::vector<int> axes{0};
  if (auto const found = fields.find({"axis"})) {
    axes.clear();
    if (found->kind() == io::json_kind::number)
      axes.push_back(static_cast<int>(found->integer(-8, 8)));
    else
      for (io::json_value const axis : found->items()) axes.push_back(static_cast<int>(axis.integer(-8, 8)));
  }
  std::vector<int> wanted(unit_axes);
  for (std::size_t i = 0; i < unit_axes; ++i) wanted[i] = static_cast<int>(i);
  if (axes != wanted)
    refuse("the norm of a constraint is over the incoming weights of a unit in Cohort",
           "axis " + keras_text(wanted), keras_text(axes));
  double const most = is_max ? fields.number({"max_value", "m"}, 2) : 0;
  fields.expect_read(true);
  if (is_max) return constraint::max_norm{most};
  return constraint::unit_norm{};
}

/// Sets the regularisers and constraints of a node. The prefixes begin the names of the fields: "kernel",
/// "bias".
void keras_translation::override_layer(int node, keras_fields const& fields, char const* weights_prefix,
                                       char const* bias_prefix) {
  fields.expect_unset({"activity_regularizer"}, "Cohort has no penalty of activations");
  if (!is_first_call() || !how_.training) return;
  for (std::string_view const field : {"W_regularizer", "b_regularizer", "W_constraint", "b_constraint"})
    fields.expect_unset({field}, "penalties and constraints of Keras 1 are not imported");
  layer_override row;
  std::string const weights = weights_prefix, bias = bias_prefix;
  add_penalties(row, fields.object({weights + "_regularizer"}), false);
  if (!bias.empty()) add_penalties(row, fields.object({bias + "_regularizer"}), true);
  if (auto const found = fields.object({weights + "_constraint"})) {
    int rank = 0;
    for (parameter_spec const& spec : net_.view().parameters(node))
      if (spec.role == parameter_role::weights) rank = spec.dims.rank;
    row.constraint = constraint_of(found, static_cast<std::size_t>(std::max(rank - 1, 1)));
  }
  if (!bias.empty())
    if (auto const found = fields.object({bias + "_constraint"})) {
      if (found->class_name != "NonNeg")
        refuse("of biases only the constraint NonNeg is imported", "NonNeg", found->class_name);
      row.bias_constraint = constraint::non_negative{};
    }
  if (row != layer_override()) overrides_.emplace_back(node, std::move(row));
}

void keras_translation::read_weights(imported_model& into, keras_weight_source const& from) const {
  struct target {
    shape dims;
    std::vector<float> values;
    std::size_t written = 0;
  };
  std::map<std::string, target> targets;
  graph_view const net = into.network();
  for (int id = 0; id < net.size(); ++id)
    if (net.owner(id) == id)
      for (parameter_spec const& spec : net.parameters(id))
        targets[net.name(id) + '.' + std::string(spec.name)].dims = spec.dims;
  auto const put = [&](keras_weight const& w, std::vector<float> const& values) {
    if (w.parameter.empty()) return;  // an array that Cohort does not need
    std::string const parameter = name_of(w.node, w.parameter);
    target& to = targets.at(parameter);
    if (to.values.empty()) to.values.resize(static_cast<std::size_t>(to.dims.elements()));
    std::vector<float> const made = w.convert ? w.convert(values) : values;
    if (w.offset + made.size() > to.values.size())
      refuse_keras(from.name() + ", layer " + w.layer, "an array is larger than the parameter " + parameter,
                   "at most " + std::to_string(to.values.size() - w.offset) + " elements",
                   std::to_string(made.size()));
    std::ranges::copy(made, to.values.begin() + static_cast<std::ptrdiff_t>(w.offset));
    to.written += made.size();
  };

  std::vector<keras_weight const*> sorted;
  for (keras_weight const& w : weights_) sorted.push_back(&w);
  if (from.has_paths()) {
    std::map<std::string, std::set<int>> read;
    for (keras_weight const* const w : sorted) {
      std::string const path = w->part.empty() ? w->object_path : w->object_path + '/' + w->part;
      put(*w, from.read(path, static_cast<std::size_t>(w->index), w->dims).values);
      read[path].insert(w->index);
    }
    for (auto const& [path, numbers] : read)
      if (auto const count = from.count_of(path); count && *count != numbers.size())
        refuse_keras(from.name() + ", " + path, "the layer has another number of arrays",
                     std::to_string(numbers.size()), std::to_string(*count));
  } else {
    // For each layer of the outermost model, the file stores the arrays in the order of layer.weights:
    // trained arrays first.
    std::ranges::stable_sort(sorted, [](keras_weight const* a, keras_weight const* b) {
      if (a->group != b->group) return a->group < b->group;
      if (a->is_trained != b->is_trained) return a->is_trained;
      return a->order < b->order;
    });
    for (std::size_t i = 0; i < sorted.size();) {
      std::string const& group = sorted[i]->group;
      std::size_t last = i, number = 0;
      // An array that two parameters read (the two biases of a GRU) counts once.
      keras_weight const* before = nullptr;
      std::vector<std::size_t> numbers;
      for (; last < sorted.size() && sorted[last]->group == group; ++last) {
        keras_weight const* const w = sorted[last];
        bool const same = before && before->object_path == w->object_path && before->part == w->part
                          && before->index == w->index;
        if (before && !same) ++number;
        numbers.push_back(number);
        before = w;
      }
      if (std::size_t const count = from.count_in_group(group); count != number + 1)
        refuse_keras(from.name() + ", layer " + group, "the layer has another number of arrays",
                     std::to_string(number + 1), std::to_string(count));
      for (std::size_t k = i; k < last; ++k)
        put(*sorted[k], from.read_in_group(group, numbers[k - i], sorted[k]->dims).values);
      i = last;
    }
  }
  auto const target_of = [&](parameter_place const& at) -> target& {
    return targets.at(name_of(at.node, at.parameter));
  };
  for (auto const& [place, with] : filled_) {
    target& to = target_of(place);
    to.values.assign(static_cast<std::size_t>(to.dims.elements()), with);
    to.written = to.values.size();
  }
  for (auto const& [place, values] : constant_parameters_) {
    target& to = target_of(place);
    to.values = values;
    to.written = values.size();
  }
  for (auto const& [place, source] : copied_parameters_) {
    target const& of = target_of(source);
    target& to = target_of(place);
    to.values = of.values;
    to.written = of.written;
  }
  for (auto& [name, to] : targets) {
    if (to.written != static_cast<std::size_t>(to.dims.elements()))
      refuse_keras(from.name() + ", parameter " + name, "the arrays do not fill the parameter",
                   std::to_string(to.dims.elements()) + " values", std::to_string(to.written));
    into.set(name, to.dims, std::move(to.values));
  }
}

// ---- models ----------------------------------------------------------------------------------------------

/// Determines whether images are H×W×C or C×H×W. All layers must agree.
void keras_translation::find_image_order(io::json_value config) {
  std::optional<bool> first;
  std::vector<io::json_value> pending{config};
  while (!pending.empty()) {
    io::json_value const at = pending.back();
    pending.pop_back();
    if (at.kind() == io::json_kind::array) {
      for (io::json_value const one : at.items()) pending.push_back(one);
    } else if (at.kind() == io::json_kind::object) {
      auto const name = at.find("class_name");
      bool const counts = name && name->kind() == io::json_kind::string && name->string() != "Flatten";
      for (io::json_value const one : at.items()) pending.push_back(one);
      auto const inner = at.find("config");
      if (!counts || !inner || inner->kind() != io::json_kind::object) continue;
      for (std::string_view const field : {"data_format", "dim_ordering"}) {
        auto const found = inner->find(field);
        if (!found || found->kind() != io::json_kind::string) continue;
        bool const is_first = found->string() == "channels_first" || found->string() == "th";
        if (first && *first != is_first)
          found->refuse("the same data_format in all layers", std::string(found->string()));
        first = is_first;
      }
    }
  }
  images_first_ = first.value_or(false);
}

keras_value keras_translation::make_input(std::string const& name, keras_fields const& fields,
                                          std::optional<double> padding) {
  fields.expect_unset({"sparse"}, "Cohort has no sparse inputs");
  fields.expect_unset({"ragged"}, "Cohort has masks instead of ragged inputs");
  auto const found = fields.find({"batch_shape", "batch_input_shape", "build_input_shape"});
  std::vector<int> dims, given;
  if (auto const named = std::ranges::find(how_.inputs, name, &input_extents::name);
      named != how_.inputs.end()) {
    given.assign(named->extents.extents.begin(), named->extents.extents.begin() + named->extents.rank);
    if (given.size() == 3 && !images_first_) std::rotate(given.begin(), given.begin() + 1, given.end());
  }
  auto const add = [&](io::json_value extent) {
    bool const is_open = extent.is_null();
    std::size_t const axis = dims.size();
    int const known = is_open ? 0 : static_cast<int>(extent.integer(1, keras_limits::largest_extent));
    if (axis < given.size()) {
      if (!is_open && known != given[axis])
        refuse("keras_options::inputs contradicts the input " + name, std::to_string(known),
               std::to_string(given[axis]));
      return dims.push_back(given[axis]);
    }
    if (!is_open) return dims.push_back(known);
    if (dims.empty() && how_.steps > 0) return dims.push_back(how_.steps);
    refuse("an extent of the input is unknown",
           "a number; set keras_options::inputs to {{\"" + name
               + "\", {channels, height, width}}}, or, for sequences, steps",
           "null");
  };
  if (found) {
    for (std::size_t axis = 1; axis < found->size(); ++axis) add(found->at(axis));
  } else if (auto const extents = fields.find({"shape", "input_shape"})) {
    for (io::json_value const extent : extents->items()) add(extent);
  } else if (fields.has("input_dim")) {
    dims.push_back(fields.integer({"input_dim"}));
  } else {
    refuse("the shape of the input is unknown", "an Input layer, or a model that was built",
           "an input without shape");
  }
  if (!given.empty() && given.size() != dims.size())
    refuse("keras_options::inputs has another number of extents than the input " + name,
           std::to_string(dims.size()), std::to_string(given.size()));
  if (dims.empty() || dims.size() > 3)
    refuse("Cohort has inputs of one to three axes besides the batch", "1 to 3 axes", keras_text(dims));
  keras_value made{.slot = std::make_shared<keras_slot>(), .dims = std::move(dims)};
  shape const extents = extents_of(made);
  if (extents.elements() > (std::int64_t{1} << 30))
    refuse("the input is too large", "at most 2^30 elements", keras_text(made.dims));
  names_.insert(name);
  made.slot->id = (padding ? net_.padded_input(extents, *padding, name) : net_.input(extents, name)).id();
  if (net_.problem().found())
    refuse(std::string(net_.problem().text().view()), "a valid shape", keras_text(made.dims));
  input_names_.push_back(name);
  return made;
}

void keras_translation::find_paths(io::json_value config, std::string const& parent) {
  bool const is_list = config.kind() == io::json_kind::array;
  if (!is_list && (config.kind() != io::json_kind::object || !config.find("layers"))) return;
  io::json_value const layers = keras_nodes::layers_of(config);
  if (layers.kind() != io::json_kind::array) return;
  for (io::json_value const layer : layers.items()) {
    if (layer.kind() != io::json_kind::object) continue;
    std::string const name = keras_nodes::layer_name(layer);
    std::string const path = parent.empty() ? name : parent + '/' + name;
    paths_.insert(path);
    if (auto const inner = layer.find("config");
        inner && keras_nodes::is_model(layer.at("class_name").string()))
      find_paths(*inner, path);
  }
}

keras_layer_state& keras_translation::state_of(keras_layer_state const& parent, io::json_value layer,
                                               int position, std::map<std::string, int>& used) {
  std::string const name = keras_nodes::layer_name(layer);
  std::string const class_name(layer.at("class_name").string());
  // Files contain the name of the Python class, configurations the exported name.
  std::string object =
      keras_snake_case(class_name == "GroupQueryAttention" ? "GroupedQueryAttention" : class_name);
  if (int const number = used[object]++; number > 0) object += '_' + std::to_string(number);
  std::string const path = parent.path.empty() ? name : parent.path + '/' + name;
  auto const [found, is_new] = states_.try_emplace(path);
  keras_layer_state& made = found->second;
  std::vector<int> order = parent.order;
  order.push_back(position);
  if (!is_new && made.order != order)
    refuse("two layers have the name " + path, "unique names, with those of the nested models before them",
           "a layer of a nested model, and another layer");
  if (!is_new) return made;
  made.path = path;
  made.object_path = (parent.object_path.empty() ? "layers/" : parent.object_path + "/layers/") + object;
  made.group = parent.group.empty() ? name : parent.group;
  made.order = std::move(order);
  auto const config = layer.find("config");
  made.trainable = parent.trainable;
  if (config && config->kind() == io::json_kind::object)
    if (auto const flag = config->find("trainable"); flag && flag->kind() == io::json_kind::boolean)
      made.trainable = made.trainable && flag->boolean();
  return made;
}

keras_translation::values keras_translation::translate_layer(
    io::json_value layer, keras_layer_state& state, keras_call const& how,
    std::function<keras_value(keras_reference const&)> const& find, std::set<std::size_t> wanted,
    bool inference) {
  std::string const class_name(layer.at("class_name").string());
  auto* const before = std::exchange(state_, &state);
  count_work(1);
  auto const suffix_before = std::exchange(suffix_, {});
  state.cursor = 0;
  int const first_node = net_.view().size();
  auto const config = layer.find("config");
  auto const module = layer.find("module");
  std::string_view const from =
      module && module->kind() == io::json_kind::string ? module->string() : "keras.layers";
  call c{.class_name = class_name,
         .fields = keras_fields(config, origin_ + ", layer " + state.path, version_),
         .wanted = std::move(wanted),
         .inference = inference};
  for (auto const& reference : how.inputs) c.inputs.push_back(find(reference));
  for (auto const& [name, references] : how.named_inputs) {
    if (name.ends_with("mask"))
      refuse("an explicit mask is an argument of the layer, and Cohort derives masks from inputs",
             "the mask of the layer's input", name);
    for (auto const& reference : references) c.named_inputs[name].push_back(find(reference));
  }
  for (auto const& [name, given] : how.options) {
    bool const is_off = given.kind() == io::json_kind::boolean && !given.boolean();
    if (name == "training") {
      // Keras 3 writes training=True into each call of an augmenting layer.
      if (!is_off && !augments_images(class_name))
        refuse("the layer is called with training=True, and Cohort decides this for each run",
               "no argument training, or training=False", "training=True");
      c.inference = c.inference || is_off;
    } else if (!is_off) {
      c.options.emplace(name, given);
    }
  }
  values made;
  if (keras_nodes::is_model(class_name)) {
    if (!c.options.empty())
      refuse("the call of a nested model has an argument", "tensors and training=False only",
             c.options.begin()->first);
    if (c.inference && how_.training && state.trainable && !inference)
      refuse("the model is called with training=False but is trained",
             "trainable=False for the model, or keras_options::training false", "training=False");
    made = translate_model(layer.at("config"), class_name, state, c.inputs, &c.wanted, c.inference);
  } else if (!from.starts_with("keras") && !from.starts_with("tensorflow") && !from.starts_with("tf_keras")
             && !from.empty() && from != "builtins") {
    refuse("the layer's class " + class_name + " is not of Keras",
           "a class of keras.layers: rebuild a custom class from such layers", std::string(from));
  } else if (from.find(".ops") != std::string_view::npos || class_name == "TFOpLambda"
             || class_name == "SlicingOpLambda") {
    drop_masks(c);
    made = translate_operation(std::move(c), how);
  } else {
    if (how.has_constants)
      refuse("the call of the layer has a number among its inputs", "tensors only", "a number");
    keras_fields const& f = c.fields;
    if (auto const policy = f.object({"dtype"})) {
      std::string name = policy->class_name;
      if (policy->config)
        name = keras_fields(policy->config, f.where(), version_).text({"name"}, policy->class_name);
      bool const is_index = class_name == "InputLayer" || name.starts_with("int");
      // A mixed policy changes the type of Keras' computations. The arrays are float32.
      bool const is_mixed = name == "mixed_float16" || name == "mixed_bfloat16";
      if (name != "float32" && name != "DTypePolicy" && !is_index && !is_mixed)
        refuse("Cohort computes imported models in float32", "dtype float32", name);
    }
    f.expect_unset({"lora_rank"}, "the layer has a LoRA adapter");
    f.expect_unset({"quantization_mode", "quantization_config"}, "the layer is quantised");
    // If a layer has several tensors as arguments, Keras 3 passes a mask only if the call names the mask.
    bool const has_states =
        keras_nodes::takes_states(class_name) && (c.inputs.size() > 1 || !c.named_inputs.empty());
    bool const loses_mask = version_ == 3 && has_states && !how.has_mask;
    // In Keras, the outputs of all steps keep the mask that the layer ignores.
    if (loses_mask && returns_sequences(f, class_name)) expect_no_mask(c.inputs.front());
    if (!keeps_keras_mask(class_name) || loses_mask) drop_masks(c);
    made = dispatch(c);
  }
  // Only a node that computes the layer's single output gets the layer's name. Layers with several outputs,
  // and flattened images, whose elements are in another order, have derived names.
  if (!keras_nodes::is_model(class_name) && made.size() == 1 && made[0].slot && made[0].slot->id >= first_node
      && made[0].order.empty() && owns(layer_name()))
    publish(made[0].slot->id, layer_name());
  ++state.calls;
  state_ = before;
  suffix_ = suffix_before;
  return made;
}

bool keras_translation::returns_sequences(keras_fields const& f, std::string_view class_name) const {
  auto const inner = class_name == "Bidirectional" ? f.object({"layer"}) : std::nullopt;
  if (!inner || !inner->config) return f.flag({"return_sequences"}, false);
  return keras_fields(inner->config, f.where(), version_).flag({"return_sequences"}, false);
}

keras_translation::values keras_translation::translate_sequential(io::json_value config,
                                                                  keras_layer_state const& state,
                                                                  std::optional<values> inputs,
                                                                  bool inference) {
  io::json_value const layers = keras_nodes::layers_of(config);
  if (layers.size() > keras_nodes::most_layers) layers.refuse("at most 20000 layers");
  count_work(layers.size());
  std::optional<keras_value> current;
  if (inputs) {
    if (inputs->size() != 1) refuse("a Sequential has one input", "1", std::to_string(inputs->size()));
    current = inputs->front();
  }
  std::map<std::string, int> used;
  int position = 0;
  std::size_t const count = layers.size();
  for (std::size_t i = 0; i < count; ++i) {
    io::json_value const layer = layers.at(i);
    std::string const class_name(layer.at("class_name").string());
    auto const layer_config = layer.find("config");
    bool const is_input = class_name == "InputLayer";
    if (!current) {
      keras_fields const fields(layer_config, origin_, version_);
      bool const has_shape = is_input || fields.has("batch_input_shape") || fields.has("batch_shape")
                             || fields.has("input_shape")
                             || (version_ == 1 && fields.has("input_dim") && class_name != "Embedding");
      io::json_value const after = is_input && i + 1 < count ? layers.at(i + 1) : layer;
      auto const padding = keras_nodes::padding_of(after);
      std::string const name =
          is_input ? keras_nodes::layer_name(layer) : keras_nodes::layer_name(layer) + "_input";
      if (has_shape)
        current = make_input(name, fields, padding);
      else
        current = make_input(
            name,
            keras_fields(config.kind() == io::json_kind::array ? std::optional<io::json_value>{} : config,
                         origin_, version_),
            padding);
    }
    if (is_input) continue;
    keras_layer_state& made = state_of(state, layer, position++, used);
    bool const is_last = i + 1 == count;
    values const outputs = translate_layer(
        layer, made, {.inputs = {{}}}, [&](keras_reference const&) { return *current; }, {0}, inference);
    if (outputs.empty()) refuse("the layer has no output", "at least 1", "0");
    current = outputs.front();
    if (is_last && outputs.size() > 1) return outputs;
  }
  if (!current) config.refuse("layers");
  return {*current};
}

keras_translation::values keras_translation::translate_functional(io::json_value config,
                                                                  keras_layer_state const& state,
                                                                  std::optional<values> inputs,
                                                                  std::set<std::size_t> const* wanted,
                                                                  bool inference) {
  io::json_value const layers = config.at("layers");
  if (layers.size() > keras_nodes::most_layers) layers.refuse("at most 20000 layers");
  count_work(layers.size());
  auto const input_layers = keras_nodes::read_references(config.at("input_layers"));
  auto output_layers = keras_nodes::read_references(config.at("output_layers"));
  if (output_layers.empty()) config.at("output_layers").refuse("at least one tensor");

  using node_key = std::pair<std::string, std::size_t>;
  struct layer_entry {
    io::json_value json;
    keras_layer_state* state;
    std::vector<keras_call> calls;
  };
  std::map<std::string, layer_entry> entries;
  std::map<std::string, int> used;
  int position = 0;
  for (io::json_value const layer : layers.items()) {
    std::string const name = keras_nodes::layer_name(layer);
    layer_entry entry{layer, &state_of(state, layer, position++, used), {}};
    if (auto const nodes = layer.find("inbound_nodes"))
      for (io::json_value const node : nodes->items()) {
        entry.calls.push_back(keras_nodes::read_call(node));
        count_work(1 + entry.calls.back().inputs.size());
      }
    if (layer.at("class_name").string() == "InputLayer") entry.calls.assign(1, {});
    if (!entries.emplace(name, std::move(entry)).second) layer.refuse("layers with different names", name);
  }

  // For each layer: the number of calls that read its output, and the mask values of the Masking layers among
  // the readers.
  std::map<std::string_view, std::pair<std::size_t, std::vector<double>>> readers;
  for (auto const& [other, entry] : entries) {
    if (inputs || entry.json.at("class_name").string() == "NotEqual") continue;
    auto const padding = keras_nodes::padding_of(entry.json);
    for (keras_call const& call : entry.calls)
      for (keras_reference const& from : call.inputs) {
        ++readers[from.layer].first;
        if (padding) readers[from.layer].second.push_back(*padding);
      }
  }

  std::map<node_key, values> made;
  if (inputs && inputs->size() != input_layers.size())
    refuse("the model has another number of inputs", std::to_string(input_layers.size()),
           std::to_string(inputs->size()));
  for (std::size_t i = 0; i < input_layers.size(); ++i) {
    auto const found = entries.find(input_layers[i].layer);
    if (found == entries.end())
      config.at("input_layers").refuse("layers of this model", input_layers[i].layer);
    if (inputs) {
      made[{input_layers[i].layer, 0}] = {(*inputs)[i]};
      continue;
    }
    std::string const& name = input_layers[i].layer;
    auto const [reading, masking] = readers[name];
    if (!masking.empty()
        && (masking.size() != reading || std::ranges::count(masking, masking[0]) != std::ssize(masking)))
      refuse("the input " + name
                 + " of a Masking layer is also read by other layers, with another mask or without",
             "an input that only Masking layers read, with the same mask_value",
             std::to_string(reading) + " readers, " + std::to_string(masking.size()) + " of them Masking");
    made[{name, 0}] = {make_input(
        name, keras_fields(found->second.json.find("config"), origin_ + ", layer " + name, version_),
        masking.empty() ? std::optional<double>() : masking[0])};
  }

  // Keras counts the calls of a nested model from 1; Keras 3 does so in output_layers only.
  auto const call_of = [&](keras_reference const& from, bool is_output) {
    auto const found = entries.find(from.layer);
    if (found == entries.end() || from.call == 0) return from.call;
    std::string const class_name(found->second.json.at("class_name").string());
    bool const from_one =
        version_ < 3 ? keras_nodes::is_model(class_name) : is_output && class_name == "Functional";
    return from_one ? from.call - 1 : from.call;
  };
  for (auto& [name, entry] : entries)
    for (keras_call& call : entry.calls) {
      for (keras_reference& from : call.inputs) from.call = call_of(from, false);
      for (auto& [argument, references] : call.named_inputs)
        for (keras_reference& from : references) from.call = call_of(from, false);
    }
  for (keras_reference& from : output_layers) from.call = call_of(from, true);

  // Files of Keras 3 contain masks derived from an input x as arguments: any(x != 0).
  std::map<node_key, std::vector<keras_reference>> masks;
  for (auto& layer : entries)
    for (std::size_t call = 0; call < layer.second.calls.size(); ++call)
      std::erase_if(layer.second.calls[call].named_inputs, [&](auto const& argument) {
        bool const is_mask = argument.first == "mask" || argument.first == "query_mask"
                             || argument.first == "value_mask" || argument.first == "key_mask";
        if (is_mask) {
          layer.second.calls[call].has_mask = true;
          std::vector<keras_reference>& of_call = masks[{layer.first, call}];
          of_call.insert(of_call.end(), argument.second.begin(), argument.second.end());
        }
        return is_mask;
      });
  // Returns the inputs from which a mask is derived, with their padding values.
  auto const origins_of = [&](std::vector<keras_reference> pending) {
    std::vector<std::pair<int, double>> found;
    for (std::size_t steps = 0; !pending.empty(); ++steps) {
      count_work(1);
      keras_reference const from = pending.back();
      pending.pop_back();
      auto const entry = entries.find(from.layer);
      if (entry == entries.end() || steps > keras_nodes::most_layers
          || from.call >= entry->second.calls.size())
        return std::vector<std::pair<int, double>>{};
      std::string const operation(entry->second.json.at("class_name").string());
      keras_call const& call = entry->second.calls[from.call];
      if (operation == "NotEqual" && call.inputs.size() == 1 && call.constants.size() == 1
          && call.constants[0].kind() == io::json_kind::number) {
        auto const input = made.find({call.inputs[0].layer, call.inputs[0].call});
        if (input == made.end() || !input->second[0].slot) return std::vector<std::pair<int, double>>{};
        found.emplace_back(id_of(input->second[0]), call.constants[0].number());
      } else if (operation == "Any" || operation == "LogicalOr" || operation == "LogicalAnd"
                 || operation == "ConvertToTensor") {
        pending.insert(pending.end(), call.inputs.begin(), call.inputs.end());
      } else {
        return std::vector<std::pair<int, double>>{};
      }
    }
    return found;
  };
  auto const check_masks = [&](std::vector<keras_reference> const& of, keras_value const& input) {
    int const read = id_of(input);  // may record a layer, as origins_of does
    auto const origins = origins_of(of);
    graph_view const net = net_.view();
    int const begin = net[read].mask;
    bool is_same = begin >= 0 && !origins.empty();
    for (auto const& [id, padding] : origins) {
      if (!is_same) break;
      bool const is_input = net.kind(begin) == kind_of<padded_input>;
      double const known = is_input ? double(decode<padded_input>(net.fields(begin)).value) : 0.0;
      is_same = (is_input ? begin : net.inputs(begin)[0]) == id && known == padding;
    }
    if (!is_same)
      refuse("an explicit mask is an argument of the layer, and Cohort derives masks from inputs",
             "the mask of the layer's input", "another mask");
  };

  // Sorts the needed calls topologically, by a depth-first search from the outputs without recursion.
  std::map<node_key, std::set<std::size_t>> read;
  std::map<node_key, int> colour;  // 1: being visited, 2: done
  std::vector<node_key> order, pending;
  auto const inputs_of = [&](node_key const& key) {
    std::vector<keras_reference> all;
    auto const found = entries.find(key.first);
    if (found == entries.end() || key.second >= found->second.calls.size())
      config.refuse("layers whose inputs exist",
                    "a tensor of " + key.first + ", call " + std::to_string(key.second));
    keras_call const& call = found->second.calls[key.second];
    all = call.inputs;
    for (auto const& [name, references] : call.named_inputs)
      all.insert(all.end(), references.begin(), references.end());
    return all;
  };
  std::vector<std::size_t> needed;
  for (std::size_t i = 0; i < output_layers.size(); ++i)
    if (!wanted || wanted->contains(i)) needed.push_back(i);
  for (std::size_t const i : needed) {
    read[{output_layers[i].layer, output_layers[i].call}].insert(output_layers[i].output);
    pending.emplace_back(output_layers[i].layer, output_layers[i].call);
    while (!pending.empty()) {
      node_key const key = pending.back();
      if (made.contains(key) || colour[key] == 2) {
        pending.pop_back();
        continue;
      }
      auto const from = inputs_of(key);
      if (colour[key] == 1) {
        colour[key] = 2;
        order.push_back(key);
        pending.pop_back();
        continue;
      }
      colour[key] = 1;
      for (auto at = from.rbegin(); at != from.rend(); ++at) {
        keras_reference const& one = *at;
        node_key const other{one.layer, one.call};
        read[other].insert(one.output);
        if (colour[other] == 1) config.refuse("layers without a cycle", "a cycle through " + one.layer);
        if (!made.contains(other) && colour[other] == 0) pending.push_back(other);
      }
    }
  }
  auto const find = [&](keras_reference const& from) -> keras_value {
    auto const found = made.find({from.layer, from.call});
    if (found == made.end() || from.output >= found->second.size())
      refuse("the model has no tensor " + from.layer + ", call " + std::to_string(from.call) + ", output "
                 + std::to_string(from.output),
             "a tensor that a layer of the model returns", "none");
    return found->second[from.output];
  };
  for (node_key const& key : order) {
    layer_entry& entry = entries.at(key.first);
    if (auto const given = masks.find(key); given != masks.end() && !entry.calls[key.second].inputs.empty()) {
      auto* const before_masks = std::exchange(state_, entry.state);
      check_masks(given->second, find(entry.calls[key.second].inputs[0]));
      state_ = before_masks;
    }
    values outputs =
        translate_layer(entry.json, *entry.state, entry.calls[key.second], find, read[key], inference);
    made[key] = std::move(outputs);
  }
  values result(output_layers.size());
  for (std::size_t const i : needed) result[i] = find(output_layers[i]);
  return result;
}

keras_translation::values keras_translation::translate_model(
    io::json_value config, std::string const& class_name, keras_layer_state const& state,
    std::optional<values> inputs, std::set<std::size_t> const* wanted, bool inference) {
  if (class_name == "Sequential") return translate_sequential(config, state, std::move(inputs), inference);
  return translate_functional(config, state, std::move(inputs), wanted, inference);
}

imported_model keras_translation::run(io::json_value model, std::optional<io::json_value> compile,
                                      keras_weight_source const* weights) {
  std::string const class_name(model.at("class_name").string());
  if (!keras_nodes::is_model(class_name))
    refuse("the model is of a custom class, whose layers are not in the file",
           "a Sequential or functional model", class_name);
  io::json_value const config = model.at("config");
  find_image_order(config);
  find_paths(config, "");
  settings_.optimizer.rule = sgd{};
  keras_layer_state root;
  if (config.kind() == io::json_kind::object)
    if (auto const flag = config.find("trainable"); flag && flag->kind() == io::json_kind::boolean)
      root.trainable = flag->boolean();
  values outputs = translate_model(config, class_name, root, {}, nullptr, false);
  for (input_extents const& given : how_.inputs)
    if (std::ranges::find(input_names_, given.name) == input_names_.end()) {
      std::string known;
      for (std::string const& name : input_names_) known += (known.empty() ? "" : ", ") + name;
      state_ = nullptr;
      refuse("keras_options::inputs names an unknown input", "one of " + known, given.name);
    }

  std::vector<std::string> names;  // names of the layers of the outputs
  if (class_name == "Sequential") {
    io::json_value const layers = keras_nodes::layers_of(config);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      names.push_back(keras_nodes::layer_name(layers.at(layers.size() - 1)));
  } else {
    for (auto const& from : keras_nodes::read_references(config.at("output_layers")))
      names.push_back(from.layer);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].order.empty()) {
      state_ = nullptr;
      refuse("the output " + names[i]
                 + " is a flattened image, whose elements are in another order in Cohort (C×H×W)",
             "a Dense layer, or no Flatten, before the output", keras_text(outputs[i].dims));
    }
  }
  std::vector<int> ids;
  keras_layer_state output_state;
  state_ = &output_state;
  if (compile && how_.training && compile->kind() == io::json_kind::object) {
    read_training(*compile, outputs, names, ids);
  } else {
    for (keras_value const& output : outputs) ids.push_back(id_of(output));
  }
  // An output that another layer also reads, or that is an input, gets a separate identity layer.
  graph_view const view = net_.view();
  std::set<int> read(view.edges.begin(), view.edges.end()), returned;
  std::vector<std::string> output_names;  // names of the layers that compute Keras' outputs
  for (std::size_t i = 0; i < ids.size(); ++i) {
    auto const is_input = [&](int id) { return net_.view().kind(id).role == layer_role::input; };
    if (read.contains(ids[i]) || is_input(ids[i]) || !returned.insert(ids[i]).second) {
      output_state.path = names[i];
      ids[i] = record(identity_activation{}, {ids[i]}, "output");
    }
    // If the loss contains the last activation, the loss node computes the output; other losses only read it.
    int const computed = outputs[i].slot->id;
    output_names.push_back(name_of(computed < 0 || is_input(computed) ? ids[i] : computed));
  }
  state_ = nullptr;
  net_.declare_outputs(ids);
  if (net_.problem().found())
    refuse(std::string(net_.problem().text().view()), "outputs that a network can have",
           std::to_string(ids.size()) + " outputs");
  for (int id = 0; id < net_.view().size(); ++id) node_names_.push_back(name_of(id));
  for (auto& [node, row] : overrides_) {
    row.layer = node_names_[static_cast<std::size_t>(node)];
    settings_.optimizer.layers.push_back(std::move(row));
  }
  imported_model made(graph(std::move(net_)), origin_);
  made.inputs = input_names_;
  made.outputs = output_names;
  made.settings = settings_;
  made.metrics = metrics_;
  if (weights) read_weights(made, *weights);
  return made;
}

}  // namespace cohort::detail
