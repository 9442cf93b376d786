// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cohort/error/exceptions.hpp>
#include <cohort/interchange/detail/onnx_exporter.hpp>
#include <cohort/io/detail/permutation.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cohort/version.hpp>
#include <limits>
#include <numbers>
#include <span>
#include <utility>

namespace cohort::detail {

onnx_attribute with(std::string name, std::int64_t value) {
  return {.name = std::move(name), .type = onnx_attribute::integer, .i = value};
}
onnx_attribute with(std::string name, double value) {
  return {.name = std::move(name), .type = onnx_attribute::real, .f = static_cast<float>(value)};
}
onnx_attribute with(std::string name, char const* value) {
  return {.name = std::move(name), .type = onnx_attribute::text, .s = value};
}
onnx_attribute with(std::string name, std::vector<std::int64_t> values) {
  return {.name = std::move(name), .type = onnx_attribute::integers, .ints = std::move(values)};
}
onnx_attribute with(std::string name, std::vector<float> values) {
  return {.name = std::move(name), .type = onnx_attribute::reals, .floats = std::move(values)};
}
onnx_attribute with(std::string name, std::vector<std::string> values) {
  return {.name = std::move(name), .type = onnx_attribute::texts, .strings = std::move(values)};
}

/// Returns a type as the value of an attribute.
std::int64_t as_integer(onnx_type type) { return static_cast<std::int64_t>(type); }

/// Returns the extents of an ONNX tensor, without the batch.
std::vector<std::int64_t> extents_of(shape const& dims) {
  return {dims.extents.begin(), dims.extents.begin() + dims.rank};
}

/// Operators without attributes, indexed by the template argument of `simple`.
inline constexpr std::array<char const*, 6> simple_operators{"Relu",     "Sigmoid",  "Tanh",
                                                             "Softplus", "Softsign", "Identity"};

onnx_exporter::handler onnx_exporter::handler_of(std::string_view kind) {
  using self = onnx_exporter;
  static constexpr std::pair<std::string_view, handler> known[]{
      {"conv2d", &self::convolution},
      {"max_pool", &self::max_pool},
      {"dense", &self::dense},
      {"relu", &self::simple<0>},
      {"leaky_relu", &self::leaky_relu},
      {"add", &self::add},
      {"concatenate", &self::concatenate},
      {"softmax_cross_entropy", &self::softmax},
      {"kullback_leibler", &self::softmax},
      {"dice", &self::dice},
      {"binary_cross_entropy", &self::simple<1>},
      {"mean_squared_error", &self::nothing},
      {"mean_absolute_error", &self::nothing},
      {"huber", &self::nothing},
      {"hinge", &self::nothing},
      {"relu6", &self::relu6},
      {"prelu", &self::prelu},
      {"elu", &self::elu},
      {"selu", &self::selu},
      {"sigmoid", &self::simple<1>},
      {"hard_sigmoid", &self::hard_sigmoid},
      {"tanh", &self::simple<2>},
      {"hard_tanh", &self::hard_tanh},
      {"softplus", &self::simple<3>},
      {"softsign", &self::simple<4>},
      {"swish", &self::swish},
      {"gelu", &self::gelu},
      {"gelu_tanh", &self::gelu_tanh},
      {"mish", &self::mish},
      {"identity", &self::simple<5>},
      {"softmax", &self::softmax},
      {"log_softmax", &self::log_softmax},
      {"multiply", &self::multiply},
      {"average", &self::average},
      {"maximum", &self::maximum},
      {"subset", &self::subset},
      {"scale", &self::scale},
      {"zero_padding", &self::zero_padding},
      {"cropping", &self::cropping},
      {"upsampling", &self::upsampling},
      {"bilinear_upsampling", &self::bilinear_upsampling},
      {"reshape", &self::reshape},
      {"permute", &self::permute},
      {"flatten", &self::flatten},
      {"embedding", &self::embedding},
      {"dropout", &self::nothing},
      {"spatial_dropout", &self::nothing},
      {"gaussian_noise", &self::nothing},
      {"conv1d", &self::convolution_1d},
      {"conv2d_transposed", &self::transposed_convolution},
      {"avg_pool", &self::avg_pool},
      {"global_avg_pool", &self::global_avg_pool},
      {"global_max_pool", &self::global_max_pool},
      {"lrn", &self::lrn},
      {"batch_norm", &self::batch_norm},
      {"layer_norm", &self::layer_norm},
      {"group_norm", &self::group_norm},
      {"synchronised_batch_norm", &self::batch_norm},
      {"matmul", &self::matmul},
      {"zero_masked", &self::zero_masked},
      {"simple_rnn", &self::simple_rnn},
      {"lstm", &self::lstm},
      {"gru", &self::gru},
      {"recurrent_output", &self::recurrent_output},
      {"attention", &self::attention},
      {"rms_norm", &self::rms_norm},
      {"learned_positions", &self::learned_positions},
      {"sinusoidal_positions", &self::sinusoidal_positions}};
  for (auto const& [name, function] : known)
    if (name == kind) return function;
  return nullptr;
}

onnx_exporter::onnx_exporter(graph_view net, std::span<stored_tensor const> parameters,
                             data_preparation const& preparation, onnx_export_settings const& how)
    : net_(net), parameters_(parameters), preparation_(preparation), how_(how) {}

onnx_model onnx_exporter::run() {
  model_.opsets = {{"", 17}};
  model_.producer = "cohort";
  model_.producer_version = library_version;
  model_.graph_name = "network";
  values_.resize(static_cast<std::size_t>(net_.size()));
  recurrent_.resize(values_.size());
  bool const encodes = how_.encoder && preparation_.encoder;
  for (int id = 0; id < net_.size(); ++id)
    if (!encodes || net_.kind(id).role != layer_role::input) names_.add(net_.name(id));
  if (encodes) add_encoded_input();
  for (id_ = 0; id_ < net_.size(); ++id_) {
    name_ = net_.name(id_);
    if (net_.kind(id_).role == layer_role::input)
      add_input(id_);
    else
      export_layer(id_);
  }
  return std::move(model_);
}

void onnx_exporter::add_input(int id) {
  std::string& value = values_[static_cast<std::size_t>(id)];
  std::vector<int> const all = net_.with_role(layer_role::input);
  auto const which = static_cast<std::size_t>(std::ranges::find(all, id) - all.begin());
  if (value.empty()) {
    value = name_;
    model_.inputs.push_back({name_, net_.is_indices(id) ? onnx_type::i32 : onnx_type::f32, true, {}});
    model_.inputs.back().dims.push_back({-1, how_.batch});
    for (std::int64_t const one : extents_of(output_shape())) model_.inputs.back().dims.push_back({one, {}});
  }
  if (net_[id].mask == id && !is_padded(id)) {
    lengths_[id] = unique(name_ + ".lengths");
    model_.inputs.push_back({lengths_[id], onnx_type::i32, true, {{-1, how_.batch}}});
  }
  auto const& maps = preparation_.rescaling.inputs;
  if (which < maps.size() && !maps[which].empty()) value = scaled(value, maps[which], output_shape(), false);
}

void onnx_exporter::export_layer(int id) {
  handler const function = handler_of(net_.kind(id).name);
  if (!function) refuse("ONNX has no operator for this kind of layer");
  std::size_t const nodes = model_.nodes.size();
  std::string value = (this->*function)();
  std::vector<int> const outputs = net_.outputs();
  bool const is_output = std::ranges::find(outputs, id) != outputs.end();
  if (value.empty()) return;  // only recurrent_output layers read this recurrent layer
  if (is_output) value = rescaled_output(id, value);
  if (model_.nodes.size() == nodes && is_output) value = emit("Identity", {value});
  // The last node and its output get the layer's name. Exception: in a recurrent layer, the recurrent
  // operator has the layer's name.
  if (model_.nodes.size() > nodes && model_.nodes.back().outputs.size() == 1
      && model_.nodes.back().outputs[0] == value) {
    onnx_node& last = model_.nodes.back();
    value = last.outputs[0] = name_;
    if (std::ranges::none_of(std::span(model_.nodes).subspan(nodes),
                             [&](onnx_node const& one) { return one.name == name_; }))
      last.name = name_;
  }
  values_[static_cast<std::size_t>(id)] = value;
  if (!is_output) return;
  model_.outputs.push_back({value, onnx_type::f32, true, {{-1, how_.batch}}});
  for (std::int64_t const one : extents_of(output_shape())) model_.outputs.back().dims.push_back({one, {}});
}

std::string onnx_exporter::rescaled_output(int id, std::string value) {
  std::vector<int> const losses = net_.with_role(layer_role::loss);
  auto const which = static_cast<std::size_t>(std::ranges::find(losses, id) - losses.begin());
  auto const& maps = preparation_.rescaling.targets;
  if (which >= losses.size() || which >= maps.size() || maps[which].empty()) return value;
  return scaled(value, maps[which], output_shape(), true);
}

void onnx_exporter::add_encoded_input() {
  table_encoder const& encoder = *preparation_.encoder;
  std::vector<int> const all = net_.with_role(layer_role::input);
  names parts;
  std::size_t next = 1;
  bool const has_columns = std::ranges::any_of(encoder.columns(), [](auto const& c) { return !c.indexed; });
  if (!has_columns) next = 0;
  for (std::size_t c = 0; c < encoder.columns().size(); ++c) {
    encoded_column const& column = encoder.columns()[c];
    name_ = column.name;
    std::string const value = column.is_text ? encoded_text(c) : encoded_number(c);
    if (!column.indexed) {
      parts.push_back(value);
    } else if (next < all.size()) {
      values_[static_cast<std::size_t>(all[next++])] = value;
    }
  }
  if (has_columns && !all.empty()) {
    name_ = "columns";
    values_[static_cast<std::size_t>(all[0])] = emit("Concat", parts, {with("axis", std::int64_t{1})});
  }
}

std::string onnx_exporter::encoded_number(std::size_t c) {
  encoded_column const& column = preparation_.encoder->columns()[c];
  std::string const value = value_info(column.name, onnx_type::f32, {1});
  if (!column.fill) return value;
  std::string const missing = emit("Or", {emit("IsNaN", {value}), emit("IsInf", {value})});
  return emit("Where", {missing, number(*column.fill), value});
}

/// If the encoder has no slot for a string, the runtime reports an error: OneHotEncoder does because `zeros`
/// is 0, and Gather does because LabelEncoder returns an index that is out of range.
std::string onnx_exporter::encoded_text(std::size_t c) {
  encoded_column const& column = preparation_.encoder->columns()[c];
  std::string const value = value_info(column.name, onnx_type::text, {1});
  if (model_.opsets.size() == 1) model_.opsets.push_back({"ai.onnx.ml", 2});
  auto const texts = static_cast<std::int64_t>(column.vocabulary.size());
  if (!column.indexed && !column.other) {
    std::string const made = emit("OneHotEncoder", {value},
                                  {with("cats_strings", column.vocabulary), with("zeros", std::int64_t{0})});
    model_.nodes.back().domain = "ai.onnx.ml";
    return reshaped(made, {texts});
  }
  std::vector<std::int64_t> codes(column.vocabulary.size());
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::int64_t>(i);
  std::string const index =
      emit("LabelEncoder", {value},
           {with("keys_strings", column.vocabulary), with("values_int64s", codes),
            with("default_int64", column.other ? texts : std::numeric_limits<std::int32_t>::max())});
  model_.nodes.back().domain = "ai.onnx.ml";
  if (column.indexed) return index;
  std::string const hot = emit("OneHot", {index, integers({texts + 1}), constant("off_and_on", {2}, {0, 1})},
                               {with("axis", std::int64_t{-1})});
  return reshaped(hot, {texts + 1});
}

void onnx_exporter::refuse(std::string reason) const {
  throw graph_error({.what = "the network cannot be exported to ONNX",
                     .where = {"layer ", name_, " of kind ", net_.kind(id_).name},
                     .got = std::move(reason)});
}

double onnx_exporter::field(std::string_view name, int slot) const {
  for (field_info const& info : net_.kind(id_).fields)
    if (info.name == name) return net_.fields(id_)[info.first_slot + slot];
  refuse("the layer has no field " + std::string(name));
}

shape const& onnx_exporter::input_shape(std::size_t which) const {
  return net_[net_.inputs(id_)[which]].output;
}
std::string const& onnx_exporter::input(std::size_t which) const {
  return values_[static_cast<std::size_t>(net_.inputs(id_)[which])];
}

std::string onnx_exporter::value_info(std::string name, onnx_type type, shape const& dims) {
  onnx_value_info made{unique(name), type, true, {{-1, how_.batch}}};
  for (std::int64_t const one : extents_of(dims)) made.dims.push_back({one, {}});
  model_.inputs.push_back(made);
  return made.name;
}

std::string onnx_exporter::emit(char const* op, names inputs, attributes with) {
  std::string const value = unique(name_ + '/' + op);
  model_.nodes.push_back({op, std::move(inputs), {value}, std::move(with), value, {}});
  return value;
}

std::string onnx_exporter::constant(std::string_view suffix, std::vector<std::int64_t> dims,
                                    std::vector<float> values) {
  std::string const name = unique(name_ + '.' + std::string(suffix));
  model_.initializers.push_back(onnx_tensor::of(name, std::move(dims), values));
  return name;
}
std::string onnx_exporter::number(double value) {
  std::string& name = numbers_[value];
  if (!name.empty()) return name;
  name = unique("number/" + std::to_string(numbers_.size()));
  model_.initializers.push_back(onnx_tensor::of(name, {}, {static_cast<float>(value)}));
  return name;
}
std::string onnx_exporter::integers(std::vector<std::int64_t> const& values) {
  std::string& name = integers_[values];
  if (!name.empty()) return name;
  std::string text = "integers/";
  for (std::size_t i = 0; i < values.size(); ++i) text += (i > 0 ? "," : "") + std::to_string(values[i]);
  name = unique(text);
  model_.initializers.push_back(onnx_tensor::of(name, values));
  return name;
}

stored_tensor const* onnx_exporter::find(std::string_view parameter) const {
  std::string const name = net_.name(net_.owner(id_)) + '.' + std::string(parameter);
  for (stored_tensor const& one : parameters_)
    if (one.name == name) return &one;
  return nullptr;
}
std::vector<float> onnx_exporter::values_of(std::string_view parameter) const {
  stored_tensor const* const found = find(parameter);
  if (!found) refuse("the model has no parameter " + std::string(parameter));
  std::vector<float> values;
  append(found->view, values);
  return values;
}
std::string onnx_exporter::parameter(std::string_view name) {
  stored_tensor const* const found = find(name);
  if (!found) refuse("the model has no parameter " + std::string(name));
  return parameter(name, "", extents_of(found->view.dims), {});
}
/// Stores the parameter as an initializer with extents `dims`. `values`: the parameter's values in ONNX's
/// order; empty: in the stored order. Layers that share the parameter share the initializer.
std::string onnx_exporter::parameter(std::string_view name, std::string_view suffix,
                                     std::vector<std::int64_t> dims, std::vector<float> values) {
  std::string const wanted = net_.name(net_.owner(id_)) + '.' + std::string(name) + std::string(suffix);
  std::string& stored = stored_[wanted];
  if (!stored.empty()) return stored;
  stored = unique(wanted);
  model_.initializers.push_back(
      onnx_tensor::of(stored, std::move(dims), values.empty() ? values_of(name) : values));
  return stored;
}

std::string onnx_exporter::transposed(std::string value, std::vector<std::int64_t> order) {
  return emit("Transpose", {std::move(value)}, {with("perm", std::move(order))});
}
std::string onnx_exporter::reshaped(std::string value, shape const& dims) {
  std::vector<std::int64_t> wanted = extents_of(dims);
  wanted.insert(wanted.begin(), 0);  // the batch stays unchanged
  return emit("Reshape", {std::move(value), integers(wanted)});
}
std::string onnx_exporter::sliced(std::string value, int axis, int first, int last) {
  return emit("Slice", {std::move(value), integers({first}), integers({last}), integers({axis})});
}
/// Returns an input with `rank` extents: extents of 1 are added before the others.
std::string onnx_exporter::aligned(std::size_t which, int rank) {
  shape const& dims = input_shape(which);
  if (dims.rank == rank) return input(which);
  shape wide;
  wide.rank = rank;
  for (int axis = 0; axis < rank; ++axis)
    wide[axis] = axis < rank - dims.rank ? 1 : dims[axis - (rank - dims.rank)];
  return reshaped(input(which), wide);
}
/// Returns the extents of a tensor with one number per channel that ONNX broadcasts to an example.
std::vector<std::int64_t> channel_extents(shape const& dims) {
  if (dims.rank < 3) return {channels_of(dims)};
  std::vector<std::int64_t> made(static_cast<std::size_t>(dims.rank), 1);
  made[0] = dims[0];
  return made;
}
std::string onnx_exporter::scaled(std::string value, std::span<channel_scaling const> maps, shape const& dims,
                                  bool back) {
  std::vector<float> scales, offsets;
  for (channel_scaling const& one : maps) {
    scales.push_back(static_cast<float>(one.scale));
    offsets.push_back(static_cast<float>(one.offset));
  }
  std::vector<std::int64_t> extents = extents_of(dims);
  if (maps.size() == 1)
    extents = {1};
  else if (static_cast<int>(maps.size()) == channels_of(dims))
    extents = channel_extents(dims);
  std::string const scale = constant("scale", extents, scales);
  std::string const offset = constant("offset", extents, offsets);
  if (back) return emit("Div", {emit("Sub", {std::move(value), offset}), scale});
  return emit("Add", {emit("Mul", {std::move(value), scale}), offset});
}

std::string onnx_exporter::mask(int begin) {
  std::string& made = masks_[begin];
  if (!made.empty()) return made;
  std::string const layer = std::exchange(name_, net_.name(begin) + ".mask");
  if (is_padded(begin)) {
    double const value = decode<padded_input>(net_.fields(begin)).value;
    std::string numbers = values_[static_cast<std::size_t>(begin)];
    if (net_.is_indices(begin)) numbers = emit("Cast", {numbers}, {with("to", as_integer(onnx_type::f32))});
    std::string exist = emit("Not", {emit("Equal", {numbers, number(value)})});
    if (net_[begin].output.rank == 2)  // a step exists if one of its numbers is not `value`
      exist = emit("Cast",
                   {emit("ReduceMax", {emit("Cast", {exist}, {with("to", as_integer(onnx_type::f32))})},
                         {with("axes", std::vector<std::int64_t>{2}), with("keepdims", std::int64_t{0})})},
                   {with("to", as_integer(onnx_type::boolean))});
    made = exist;
  } else if (net_.kind(begin).role == layer_role::input) {
    int const steps = net_[begin].output[0];
    onnx_tensor range{unique(name_ + ".steps"), onnx_type::i32, {1, steps}, {}};
    for (std::int32_t t = 0; t < steps; ++t) range.raw.append(reinterpret_cast<char const*>(&t), sizeof t);
    std::string const numbers = range.name;
    model_.initializers.push_back(std::move(range));
    made = emit("Less", {numbers, emit("Unsqueeze", {lengths_.at(begin), integers({1})})});
  } else {  // an embedding with mask_zero
    onnx_tensor zero{unique(name_ + ".zero"), onnx_type::i32, {}, std::string(4, '\0')};
    std::string const name = zero.name;
    model_.initializers.push_back(std::move(zero));
    std::string const indices = emit("Cast", {values_[static_cast<std::size_t>(net_.inputs(begin)[0])]},
                                     {with("to", as_integer(onnx_type::i32))});
    made = emit("Not", {emit("Equal", {indices, name})});
  }
  name_ = layer;
  return made;
}

std::string onnx_exporter::lengths(int begin) {
  std::string& made = lengths_[begin];
  if (!made.empty()) return made;
  if (!how_.padding_at_end)
    refuse(
        "ONNX's operator takes sequence lengths, not masks. If padding (index 0 of the embedding, or the "
        "value "
        "of the padded_input) occurs only after a sequence's last step, set "
        "onnx_export_settings::padding_at_end");
  std::string const exist = mask(begin);
  return made = emit("ReduceSum",
                     {emit("Cast", {exist}, {with("to", as_integer(onnx_type::i32))}), integers({1})},
                     {with("keepdims", std::int64_t{0})});
}

// ---- windows ----
sliding_window onnx_exporter::window(char const* size) const {
  auto const two = [&](char const* name) {
    return extent2(static_cast<int>(field(name, 0)), static_cast<int>(field(name, 1)));
  };
  sliding_window made{two(size), two("stride"), extent2(1), {}};
  if (made.stride == extent2(0)) made.stride = made.size;
  made.padding.mode = static_cast<padding_mode>(static_cast<int>(field("padding", 0)));
  made.padding.top = static_cast<int>(field("padding", 1));
  made.padding.bottom = static_cast<int>(field("padding", 2));
  made.padding.left = static_cast<int>(field("padding", 3));
  made.padding.right = static_cast<int>(field("padding", 4));
  return made;
}

onnx_exporter::attributes onnx_exporter::window_attributes(sliding_window const& window,
                                                           shape const& image) const {
  border const v = vertical_border(window, image[1]), h = horizontal_border(window, image[2]);
  using list = std::vector<std::int64_t>;
  return {with("kernel_shape", list{window.size.height, window.size.width}),
          with("strides", list{window.stride.height, window.stride.width}),
          with("pads", list{v.before, h.before, v.after, h.after})};
}

std::string onnx_exporter::convolution() {
  sliding_window moving = window("kernel");
  moving.dilation = {static_cast<int>(field("dilation", 0)), static_cast<int>(field("dilation", 1))};
  attributes how = window_attributes(moving, input_shape());
  how.push_back(with("dilations", std::vector<std::int64_t>{moving.dilation.height, moving.dilation.width}));
  how.push_back(with("group", static_cast<std::int64_t>(integer("groups"))));
  names from{input(), parameter("weights")};
  if (is_set("bias")) from.push_back(parameter("bias"));
  return emit("Conv", from, how);
}

std::string onnx_exporter::convolution_1d() {
  shape const image{input_shape()[1], 1, input_shape()[0]};
  sliding_window moving{{1, integer("kernel")}, {1, integer("stride")}, {1, integer("dilation")}, {}};
  moving.padding.mode = static_cast<padding_mode>(static_cast<int>(field("padding", 0)));
  moving.padding.left = static_cast<int>(field("padding", 3));
  moving.padding.right = static_cast<int>(field("padding", 4));
  border const along = horizontal_border(moving, image[2]);
  using list = std::vector<std::int64_t>;
  names from{transposed(input(), {0, 2, 1}), parameter("weights")};
  if (is_set("bias")) from.push_back(parameter("bias"));
  return transposed(
      emit("Conv", from,
           {with("kernel_shape", list{moving.size.width}), with("strides", list{moving.stride.width}),
            with("pads", list{along.before, along.after}), with("dilations", list{moving.dilation.width}),
            with("group", static_cast<std::int64_t>(integer("groups")))}),
      {0, 2, 1});
}

/// Weights K×(C/G)×R×S become C×(K/G)×R×S.
std::string onnx_exporter::transposed_convolution() {
  sliding_window moving = window("kernel");
  moving.dilation = {static_cast<int>(field("dilation", 0)), static_cast<int>(field("dilation", 1))};
  if (moving.padding.mode == padding_mode::strict) moving.padding = padding::valid;
  shape const& in = input_shape();
  shape const& out = output_shape();
  std::int64_t const groups = integer("groups"), filters = out[0] / groups, channels = in[0] / groups,
                     area = std::int64_t{moving.size.height} * moving.size.width;
  attributes how = window_attributes(moving, out);
  std::vector<std::int64_t>& pads = how[2].ints;
  std::vector<std::int64_t> more(2);
  for (int axis = 0; axis < 2; ++axis) {
    int const size = axis == 0 ? dilated(moving.size.height, moving.dilation.height)
                               : dilated(moving.size.width, moving.dilation.width);
    int const stride = axis == 0 ? moving.stride.height : moving.stride.width;
    auto const a = static_cast<std::size_t>(axis);
    more[a] = out[axis + 1] - ((in[axis + 1] - 1) * stride + size - pads[a] - pads[a + 2]);
    if (more[a] < 0) refuse("ONNX's ConvTranspose would give a larger output");
  }
  how.push_back(with("output_padding", more));
  how.push_back(with("dilations", std::vector<std::int64_t>{moving.dilation.height, moving.dilation.width}));
  how.push_back(with("group", groups));
  names operands{
      input(),
      parameter("weights", "/transposed", {in[0], filters, moving.size.height, moving.size.width},
                permute_axes(values_of("weights"), {groups, filters, channels, area}, {0, 2, 1, 3}))};
  if (is_set("bias")) operands.push_back(parameter("bias"));
  return emit("ConvTranspose", operands, how);
}

std::string onnx_exporter::max_pool() {
  return emit("MaxPool", {input()}, window_attributes(window("window"), input_shape()));
}
std::string onnx_exporter::avg_pool() {
  attributes how = window_attributes(window("window"), input_shape());
  how.push_back(with("count_include_pad", std::int64_t{0}));
  return emit("AveragePool", {input()}, how);
}

std::string onnx_exporter::global_avg_pool() {
  if (input_shape().rank != 2)
    return emit("Flatten", {emit("GlobalAveragePool", {input()})}, {with("axis", std::int64_t{1})});
  int const begin = net_.input_mask(id_);
  using list = std::vector<std::int64_t>;
  if (begin < 0)
    return emit("ReduceMean", {input()}, {with("axes", list{1}), with("keepdims", std::int64_t{0})});
  std::string const exist = mask(begin);
  std::string const sum =
      emit("ReduceSum",
           {emit("Where", {emit("Unsqueeze", {exist, integers({2})}), input(), number(0)}), integers({1})},
           {with("keepdims", std::int64_t{0})});
  std::string const steps =
      emit("ReduceSum",
           {emit("Cast", {exist}, {with("to", static_cast<std::int64_t>(onnx_type::f32))}), integers({1})},
           {with("keepdims", std::int64_t{1})});
  return emit("Div", {sum, emit("Max", {steps, number(1)})});
}

std::string onnx_exporter::global_max_pool() {
  if (input_shape().rank != 2)
    return emit("Flatten", {emit("GlobalMaxPool", {input()})}, {with("axis", std::int64_t{1})});
  int const begin = net_.input_mask(id_);
  attributes const how{with("axes", std::vector<std::int64_t>{1}), with("keepdims", std::int64_t{0})};
  if (begin < 0) return emit("ReduceMax", {input()}, how);
  std::string const exist = emit("Unsqueeze", {mask(begin), integers({2})});
  double const lowest = static_cast<double>(std::numeric_limits<float>::lowest());
  std::string const largest = emit("ReduceMax", {emit("Where", {exist, input(), number(lowest)})}, how);
  std::string const steps = emit(
      "ReduceMax", {emit("Cast", {exist}, {with("to", static_cast<std::int64_t>(onnx_type::f32))})}, how);
  return emit("Where", {emit("Cast", {steps}, {with("to", static_cast<std::int64_t>(onnx_type::boolean))}),
                        largest, number(0)});
}

// ---- layers of one operator ----
std::string onnx_exporter::dense() {
  shape const& dims = input_shape();
  stored_tensor const* const weights = find("weights");
  if (!weights) refuse("the model has no parameter weights");
  int const units = weights->view.dims[0], width = weights->view.dims[1];
  if (dims.rank != 2) {
    names from{dims.rank == 1 ? input() : emit("Flatten", {input()}, {with("axis", std::int64_t{1})}),
               parameter("weights")};
    if (is_set("bias")) from.push_back(parameter("bias"));
    return emit("Gemm", from, {with("transB", std::int64_t{1})});
  }
  std::string const product =
      emit("MatMul", {input(), parameter("weights", "/transposed", {width, units},
                                         permute_axes(values_of("weights"), {units, width}, {1, 0}))});
  return is_set("bias") ? emit("Add", {product, parameter("bias")}) : product;
}

template <int Op>
std::string onnx_exporter::simple() {
  return emit(simple_operators[Op], {input()});
}
std::string onnx_exporter::dice() {
  bool const sigmoid = is_set("multi_label") || channels_of(output_shape()) == 1;
  return sigmoid ? emit("Sigmoid", {input()}) : softmax();
}
std::string onnx_exporter::leaky_relu() {
  return emit("LeakyRelu", {input()}, {with("alpha", field("slope"))});
}
std::string onnx_exporter::elu() { return emit("Elu", {input()}, {with("alpha", field("alpha"))}); }
std::string onnx_exporter::selu() { return emit("Selu", {input()}); }
std::string onnx_exporter::hard_sigmoid() {
  return emit("HardSigmoid", {input()}, {with("alpha", 0.2), with("beta", 0.5)});
}
std::string onnx_exporter::clipped(double low, double high) {
  return emit("Clip", {input(), number(low), number(high)});
}
std::string onnx_exporter::swish() { return emit("Mul", {input(), emit("Sigmoid", {input()})}); }
std::string onnx_exporter::mish() {
  return emit("Mul", {input(), emit("Tanh", {emit("Softplus", {input()})})});
}
/// ½·x·(1 + erf(x/√2)), because the exported operator set 17 has no operator Gelu (it was added in set 20).
std::string onnx_exporter::gelu() {
  std::string const erf = emit("Erf", {emit("Div", {input(), number(std::numbers::sqrt2)})});
  return emit("Mul", {emit("Mul", {input(), emit("Add", {erf, number(1)})}), number(0.5)});
}
/// x·sigmoid(2·√(2/π)·(x + 0.044715·x³))
std::string onnx_exporter::gelu_tanh() {
  double const factor = 2 * std::numbers::inv_sqrtpi * std::numbers::sqrt2;
  std::string const squared = emit("Mul", {input(), input()});
  std::string const bent = emit("Add", {emit("Mul", {squared, number(0.044715 * factor)}), number(factor)});
  return emit("Mul", {input(), emit("Sigmoid", {emit("Mul", {input(), bent})})});
}
std::string onnx_exporter::prelu() {
  if (!is_set("per_channel")) return emit("PRelu", {input(), parameter("slope")});
  return emit("PRelu", {input(), parameter("slope", "", channel_extents(input_shape()), {})});
}
std::string onnx_exporter::over_channels(char const* op) {
  return emit(op, {input()}, {with("axis", std::int64_t{1} + channel_axis(input_shape()))});
}

std::string onnx_exporter::joined(char const* op) {
  names from;
  for (std::size_t x = 0; x < inputs(); ++x) from.push_back(aligned(x, output_shape().rank));
  return emit(inputs() == 2 && std::string_view(op) == "Sum" ? "Add" : op, from);
}
std::string onnx_exporter::multiply() {
  std::string product = aligned(0, output_shape().rank);
  for (std::size_t x = 1; x < inputs(); ++x)
    product = emit("Mul", {product, aligned(x, output_shape().rank)});
  return product;
}
std::string onnx_exporter::concatenate() {
  names from;
  for (std::size_t x = 0; x < inputs(); ++x) from.push_back(input(x));
  return emit("Concat", from, {with("axis", std::int64_t{1} + channel_axis(output_shape()))});
}
std::string onnx_exporter::subset() {
  return emit("Slice", {input(), integers({integer("first")}), integers({integer("last")}),
                        integers({1 + channel_axis(output_shape())})});
}
std::string onnx_exporter::scale() {
  if (!is_set("learned")) return emit("Mul", {input(), number(field("factor"))});
  return emit("Mul", {input(), parameter("factor", "", channel_extents(input_shape()), {})});
}
std::string onnx_exporter::zero_padding() {
  auto const side = [&](int slot) { return static_cast<std::int64_t>(field("sides", slot)); };
  return emit("Pad", {input(), integers({0, 0, side(1), side(3), 0, 0, side(2), side(4)})});
}
std::string onnx_exporter::cropping() {
  auto const side = [&](int slot) { return static_cast<std::int64_t>(field("sides", slot)); };
  return emit("Slice",
              {input(), integers({side(1), side(3)}),
               integers({input_shape()[1] - side(2), input_shape()[2] - side(4)}), integers({2, 3})});
}
std::string onnx_exporter::resized(attributes settings) {
  std::string const scales = constant(
      "scales", {4}, {1, 1, static_cast<float>(field("factor", 0)), static_cast<float>(field("factor", 1))});
  return emit("Resize", {input(), "", scales}, std::move(settings));
}
std::string onnx_exporter::upsampling() {
  return resized({with("mode", "nearest"), with("coordinate_transformation_mode", "asymmetric"),
                  with("nearest_mode", "floor")});
}
std::string onnx_exporter::bilinear_upsampling() {
  return resized({with("mode", "linear"), with("coordinate_transformation_mode",
                                               is_set("align_corners") ? "align_corners" : "half_pixel")});
}
std::string onnx_exporter::reshape() { return reshaped(input(), output_shape()); }
std::string onnx_exporter::permute() {
  auto const decoded = decode<cohort::permute>(net_.fields(id_));
  std::string value = decoded.view.rank > 0 ? reshaped(input(), decoded.view) : input();
  std::vector<std::int64_t> order{0};
  for (int axis = 0; axis < decoded.order.value.rank; ++axis) order.push_back(decoded.order.value[axis] + 1);
  value = transposed(value, order);
  return decoded.extents.rank > 0 ? reshaped(value, output_shape()) : value;
}
std::string onnx_exporter::flatten() { return emit("Flatten", {input()}, {with("axis", std::int64_t{1})}); }
std::string onnx_exporter::embedding() {
  int const from = net_.inputs(id_)[0];
  std::string const indices =
      net_.is_indices(from) && net_.kind(from).role == layer_role::input
          ? input()
          : emit("Cast", {input()}, {with("to", static_cast<std::int64_t>(onnx_type::i32))});
  std::string const rows = emit("Gather", {parameter("weights"), indices}, {with("axis", std::int64_t{0})});
  return input_shape().rank == 1 ? rows : transposed(rows, {0, 3, 1, 2});
}
std::string onnx_exporter::matmul() {
  int const rank = output_shape().rank;
  names from;
  for (std::size_t x = 0; x < 2; ++x) {
    std::string value = aligned(x, rank);
    if (is_set(x == 0 ? "transpose_a" : "transpose_b")) {
      std::vector<std::int64_t> order(static_cast<std::size_t>(rank) + 1);
      for (std::size_t axis = 0; axis < order.size(); ++axis) order[axis] = static_cast<std::int64_t>(axis);
      std::swap(order[order.size() - 1], order[order.size() - 2]);
      value = transposed(value, order);
    }
    from.push_back(value);
  }
  return emit("MatMul", from);
}
std::string onnx_exporter::zero_masked() {
  int const begin = net_.input_mask(id_);
  if (begin < 0) return input();
  std::string exist = mask(begin);
  if (input_shape().rank == 2) exist = emit("Unsqueeze", {exist, integers({2})});
  return emit("Where", {exist, input(), number(0)});
}

// ---- normalisation ----
std::string onnx_exporter::lrn() {
  shape const& dims = input_shape();
  double const n = field("n");
  attributes const how{with("alpha", field("alpha") * n), with("beta", field("beta")),
                       with("bias", field("k")), with("size", static_cast<std::int64_t>(n))};
  if (dims.rank == 3) return emit("LRN", {input()}, how);
  shape const image{dims[0], dims.rank == 2 ? dims[1] : 1, 1};
  return reshaped(emit("LRN", {reshaped(input(), image)}, how), dims);
}
std::string onnx_exporter::batch_norm() {
  bool const is_sequence = input_shape().rank == 2;
  std::string const made =
      emit("BatchNormalization",
           {is_sequence ? transposed(input(), {0, 2, 1}) : input(), parameter("scale"), parameter("shift"),
            parameter("running_mean"), parameter("running_variance")},
           {with("epsilon", field("epsilon")), with("momentum", field("momentum"))});
  return is_sequence ? transposed(made, {0, 2, 1}) : made;
}
std::string onnx_exporter::layer_norm() {
  return emit("LayerNormalization", {input(), parameter("scale"), parameter("shift")},
              {with("axis", -static_cast<std::int64_t>(field("axes"))), with("epsilon", field("epsilon"))});
}
/// Exports a layer norm of each group without scale and shift, because GroupNormalization requires operator
/// set 18.
std::string onnx_exporter::group_norm() {
  std::int64_t const groups = integer("groups");
  auto const count = static_cast<std::size_t>(groups);
  bool const has_steps = input_shape().rank == 2;  // N×T×C
  std::string const grouped =
      emit("Reshape", {has_steps ? transposed(input(), {0, 2, 1}) : input(), integers({0, groups, -1})});
  std::string value = emit("InstanceNormalization",
                           {grouped, constant("ones", {groups}, std::vector<float>(count, 1)),
                            constant("zeros", {groups}, std::vector<float>(count))},
                           {with("epsilon", field("epsilon"))});
  shape dims = input_shape();
  if (has_steps) std::swap(dims[0], dims[1]);
  value = reshaped(value, dims);
  if (has_steps) value = transposed(value, {0, 2, 1});
  auto const each = [&](char const* name) { return parameter(name, "", channel_extents(input_shape()), {}); };
  return emit("Add", {emit("Mul", {value, each("scale")}), each("shift")});
}
std::string onnx_exporter::rms_norm() {
  std::string const mean =
      emit("ReduceMean", {emit("Mul", {input(), input()})},
           {with("axes", std::vector<std::int64_t>{-1}), with("keepdims", std::int64_t{1})});
  std::string const root = emit("Sqrt", {emit("Add", {mean, number(field("epsilon"))})});
  return emit("Mul", {emit("Div", {input(), root}), parameter("scale")});
}

// ---- sequences ----
onnx_exporter::attributes onnx_exporter::activations_of(std::string_view op) const {
  constexpr std::array<std::string_view, 6> functions{"Tanh", "Sigmoid", "HardSigmoid", "", "Relu", "Affine"};
  std::vector<std::string> chosen;
  std::vector<float> alphas, betas;
  auto const choose = [&](char const* name) {
    std::string const function(functions[static_cast<std::size_t>(field(name))]);
    if (function.empty()) refuse("ONNX's operator has no function hard_tanh");
    chosen.push_back(function);
    if (function != "HardSigmoid" && function != "Affine") return;
    alphas.push_back(function == "Affine" ? 1.0F : 0.2F);
    betas.push_back(function == "Affine" ? 0.0F : 0.5F);
  };
  if (op != "RNN") choose("gate_activation");
  choose("activation");
  if (op == "LSTM") choose("activation");
  attributes made{with("activations", chosen)};
  if (!alphas.empty()) {
    made.push_back(with("activation_alpha", alphas));
    made.push_back(with("activation_beta", betas));
  }
  return made;
}

/// `order`: the gates in ONNX's order, each as the index of Cohort's gate.
std::string onnx_exporter::recurrent(char const* op, std::vector<std::size_t> const& order) {
  std::int64_t const units = integer("units"), columns = units * static_cast<std::int64_t>(order.size());
  attributes how = activations_of(op);
  how.push_back(with("hidden_size", units));
  how.push_back(with("direction", is_set("reverse") ? "reverse" : "forward"));
  std::string const kind = op;
  if (kind == "GRU") how.push_back(with("linear_before_reset", std::int64_t{is_set("reset_after")}));

  names from{transposed(input(), {1, 0, 2}),
             parameter("weights", "/gates", {1, columns, input_shape()[1]},
                       reorder_blocks(values_of("weights"), order)),
             parameter("recurrent_weights", "/gates", {1, columns, units},
                       reorder_blocks(values_of("recurrent_weights"), order))};
  from.resize(8);
  if (is_set("bias")) {
    std::vector<float> both = reorder_blocks(values_of("bias"), order);
    std::vector<float> const second = has("recurrent_bias")
                                          ? reorder_blocks(values_of("recurrent_bias"), order)
                                          : std::vector<float>(both.size());
    both.insert(both.end(), second.begin(), second.end());
    from[3] = parameter("bias", "/gates", {1, 2 * columns}, both);
  }
  if (int const begin = net_.input_mask(id_); begin >= 0) from[4] = lengths(begin);
  for (std::size_t x = 1; x < inputs(); ++x) from[4 + x] = emit("Unsqueeze", {input(x), integers({0})});
  if (has("peepholes"))  // i f o become i o f
    from[7] =
        parameter("peepholes", "/gates", {1, 3 * units}, reorder_blocks(values_of("peepholes"), {0, 2, 1}));
  while (from.back().empty()) from.pop_back();

  bool const last = is_set("last_step"), returns = is_set("returns_state");
  std::string const all = emit(op, from, how), state = unique(name_ + "/state"),
                    cells = unique(name_ + "/cells");
  std::size_t const node = model_.nodes.size() - 1;
  model_.nodes[node].name = name_;
  model_.nodes[node].outputs = {last ? "" : all};
  if (last || returns) model_.nodes[node].outputs.push_back(state);
  if (returns && kind == "LSTM") model_.nodes[node].outputs.push_back(cells);

  recurrent_values& made = recurrent_[static_cast<std::size_t>(id_)];
  if (last || returns) made.state = emit("Squeeze", {state, integers({0})});
  if (returns && kind == "LSTM") made.cells = emit("Squeeze", {cells, integers({0})});
  if (last && !returns) return made.state;
  if (!last) made.steps = transposed(emit("Squeeze", {all, integers({1})}), {1, 0, 2});
  if (!returns) return made.steps;
  // The whole output, one tensor (T + S)×U, is needed only if a layer other than recurrent_output reads it.
  bool is_whole = false;
  std::vector<int> const outputs = net_.outputs();
  is_whole = std::ranges::find(outputs, id_) != outputs.end();
  for (int reader = 0; reader < net_.size(); ++reader)
    for (int const read : net_.inputs(reader))
      if (read == id_ && net_.kind(reader).name != "recurrent_output") is_whole = true;
  if (!is_whole) return {};
  names rows;
  if (!last) rows.push_back(made.steps);
  rows.push_back(emit("Unsqueeze", {made.state, integers({1})}));
  if (!made.cells.empty()) rows.push_back(emit("Unsqueeze", {made.cells, integers({1})}));
  return emit("Concat", rows, {with("axis", std::int64_t{1})});
}

std::string onnx_exporter::recurrent_output() {
  recurrent_values const& from = recurrent_[static_cast<std::size_t>(net_.inputs(id_)[0])];
  int const part = integer("part");
  std::string const& value = part == 0 ? from.steps : part == 1 ? from.state : from.cells;
  if (!value.empty()) return emit("Identity", {value});
  int const rows = input_shape()[0], states = integer("states");  // the input is not a recurrent layer
  if (part == 0) return sliced(input(), 1, 0, rows - states);
  int const row = rows - states + part - 1;
  return emit("Squeeze", {sliced(input(), 1, row, row + 1), integers({1})});
}

/// Applies rotary positions to a value N×heads×steps×width: see attention.
std::string onnx_exporter::rotated(std::string value, int steps, int width, double base) {
  int const half = width / 2;
  std::vector<float> cosines, sines;
  for (int t = 0; t < steps; ++t)
    for (int k = 0; k < width; ++k) {
      double const angle = t * std::pow(base, -static_cast<double>(k % half) / half);
      cosines.push_back(static_cast<float>(std::cos(angle)));
      sines.push_back(static_cast<float>(k < half ? -std::sin(angle) : std::sin(angle)));
    }
  std::string const turned = emit("Concat", {sliced(value, 3, half, width), sliced(value, 3, 0, half)},
                                  {with("axis", std::int64_t{3})});
  return emit("Add", {emit("Mul", {value, constant("cosines", {steps, width}, cosines)}),
                      emit("Mul", {turned, constant("sines", {steps, width}, sines)})});
}

std::string onnx_exporter::attention() {
  bool const packed = inputs() == 1;
  int const heads = integer("heads"), queries = input_shape()[0], keys = packed ? queries : input_shape(1)[0],
            columns = packed ? input_shape()[1] / 3 : input_shape()[1],
            value_columns = packed ? columns : input_shape(2)[1];
  auto const split = [&](std::size_t which, int steps, int width) {
    std::string const part = packed ? sliced(input(), 2, static_cast<int>(which) * columns,
                                             (static_cast<int>(which) + 1) * columns)
                                    : input(which);
    return transposed(reshaped(part, {steps, heads, width / heads}), {0, 2, 1, 3});
  };
  std::string q = split(0, queries, columns), k = split(1, keys, columns), v = split(2, keys, value_columns);
  if (double const base = field("rotary"); base > 0) {
    q = rotated(q, queries, columns / heads, base);
    k = rotated(k, keys, columns / heads, base);
  }
  std::string scores = emit("Mul", {emit("MatMul", {q, transposed(k, {0, 1, 3, 2})}),
                                    number(1 / std::sqrt(static_cast<double>(columns / heads)))});
  // The lowest score, whose exponential is 0, masks keys to which a query must not attend.
  std::string allowed;
  if (is_set("causal")) {
    onnx_tensor before{unique(name_ + ".causal"), onnx_type::boolean, {queries, keys}, {}};
    for (int i = 0; i < queries; ++i)
      for (int j = 0; j < keys; ++j) before.raw += static_cast<char>(j <= i);
    allowed = before.name;
    model_.initializers.push_back(std::move(before));
  }
  if (int const begin = net_.input_mask(id_); begin >= 0) {
    std::string const exist = emit("Unsqueeze", {mask(begin), integers({1, 2})});
    allowed = allowed.empty() ? exist : emit("And", {exist, allowed});
  }
  if (!allowed.empty())
    scores =
        emit("Where", {allowed, scores, number(static_cast<double>(std::numeric_limits<float>::lowest()))});
  std::string weights = emit("Softmax", {scores}, {with("axis", std::int64_t{-1})});
  if (!allowed.empty()) weights = emit("Where", {allowed, weights, number(0)});
  std::string const sum = transposed(emit("MatMul", {weights, v}), {0, 2, 1, 3});
  return reshaped(sum, {queries, value_columns});
}

std::string onnx_exporter::learned_positions() { return emit("Add", {input(), parameter("weights")}); }
std::string onnx_exporter::sinusoidal_positions() {
  int const steps = input_shape()[0], columns = input_shape()[1];
  std::vector<float> waves;
  for (int t = 0; t < steps; ++t)
    for (int c = 0; c < columns; ++c) {
      double const angle = t * std::pow(field("base"), -static_cast<double>(c / 2 * 2) / columns);
      waves.push_back(static_cast<float>(c % 2 == 0 ? std::sin(angle) : std::cos(angle)));
    }
  return emit("Add", {input(), constant("waves", {steps, columns}, waves)});
}

}  // namespace cohort::detail
