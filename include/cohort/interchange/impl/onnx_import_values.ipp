// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cohort/detail/json_string.hpp>
#include <cohort/interchange/detail/onnx_importer.hpp>
#include <cohort/layer/built_in_kinds.hpp>
#include <cohort/layer/permute.hpp>
#include <limits>
#include <utility>

namespace cohort::detail {

shape onnx_importer::checked_shape(extents const& dims) const {
  if (dims.size() > static_cast<std::size_t>(shape::max_rank))
    refuse("a tensor has too many axes", {"at most ", shape::max_rank}, {dims.size()}, onnx_remedy::reduce);
  shape made;
  made.rank = static_cast<int>(dims.size());
  std::int64_t product = 1;
  for (int axis = 0; axis < made.rank; ++axis) {
    std::int64_t const one = dims[static_cast<std::size_t>(axis)];
    if (one < 1 || one > max_onnx_extent || (product *= one) > max_onnx_layer_elements)
      refuse("a tensor is too large, or empty",
             {"extents of 1 to ", max_onnx_extent, " and at most ", max_onnx_layer_elements, " elements"},
             extents_text(dims), onnx_remedy::reduce);
    made[axis] = static_cast<int>(one);
  }
  return made;
}

/// Returns whether layers of this kind compute each step independently of padding. All other kinds would read
/// padding, whose elements are not those of ONNX's operators.
bool is_stepwise(std::string_view kind) {
  constexpr std::string_view known[]{"dense",
                                     "relu",
                                     "leaky_relu",
                                     "add",
                                     "relu6",
                                     "elu",
                                     "selu",
                                     "sigmoid",
                                     "tanh",
                                     "hard_tanh",
                                     "softplus",
                                     "softsign",
                                     "swish",
                                     "gelu",
                                     "gelu_tanh",
                                     "mish",
                                     "identity",
                                     "softmax",
                                     "log_softmax",
                                     "multiply",
                                     "maximum",
                                     "average",
                                     "concatenate",
                                     "subset",
                                     "scale",
                                     "lstm",
                                     "gru",
                                     "simple_rnn",
                                     "layer_norm",
                                     "rms_norm",
                                     "batch_norm",
                                     "embedding",
                                     "hard_sigmoid",
                                     "prelu",
                                     "recurrent_output",
                                     "learned_positions"};
  return std::ranges::find(known, kind) != std::end(known);
}

/// Returns whether a layer of this kind computes unmasked steps as the node does if the input is masked: the
/// layer computes each step separately, or the node reads the mask, or the padding consists of zeros, or the
/// input contains the queries of an attention.
bool onnx_importer::reads_mask(std::string_view kind_name, std::vector<int> const& inputs,
                               std::size_t which) const {
  if (is_stepwise(kind_name) || kind_name == "zero_masked") return true;
  if (fused() && !fused()->masked_by.empty()) return true;
  if (kind_name == "attention" && inputs.size() == 3 && which == 0) return true;
  bool const needs_zeros = kind_name == "conv1d" || kind_name == "flatten";
  return needs_zeros && net_.view().kind(inputs[which]).name == "zero_masked";
}

void onnx_importer::check_mask(onnx_value const& value) const {
  std::string const& input = fused()->masked_by;
  auto const found = values_.find(input);
  if (found == values_.end() || net_.view()[value.id].mask != found->second.id)
    refuse("the node reads the mask of another value",
           {"a value computed from input ", quote_for_error(input)},
           net_.view()[value.id].mask < 0 ? "a value without a mask" : "a value with another mask",
           onnx_remedy::replace);
}

int onnx_importer::append(std::string_view kind_name, std::vector<int> const& inputs, fields const& with) {
  auto const found = std::ranges::find(built_in_kinds(), kind_name, &kind::name);
  std::int64_t elements = 0;
  for (int const id : inputs) elements += shape_of(id).elements();
  for (std::size_t which = 0; which < inputs.size(); ++which)
    if (net_.view()[inputs[which]].mask >= 0 && !reads_mask(kind_name, inputs, which))
      refuse("the layer reads the padding of sequences of different lengths",
             "a layer that computes each step separately", {kind_name}, onnx_remedy::replace);
  if (elements > max_onnx_layer_elements)
    refuse("the inputs have too many elements", {"at most ", max_onnx_layer_elements}, {elements},
           onnx_remedy::reduce);
  std::vector<double> values((*found)->defaults, (*found)->defaults + (*found)->slots);
  for (auto const& [name, numbers] : with) {
    auto const info = std::ranges::find((*found)->fields, name, &field_info::name);
    bool const is_window = info->type == field_type::extent || info->type == field_type::padding;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      double const most = static_cast<double>(is_window ? max_onnx_window : max_onnx_extent);
      if (info->type != field_type::real && !(std::abs(numbers[i]) <= most))
        refuse({"field ", name, " of the layer ", kind_name, " is out of range"}, {"at most ", most},
               {numbers[i]}, onnx_remedy::replace);
      values[static_cast<std::size_t>(info->first_slot) + i] = numbers[i];
    }
  }
  int const id = net_.append(**found, values.data(), inputs, {}, {}, source_line{});
  if (net_.problem().found())
    refuse({"the layer ", kind_name, " cannot be built"}, "inputs and attributes that fit",
           std::string(net_.problem().text().view()), onnx_remedy::check);
  check_size(shape_of(id));
  for (parameter_spec const& spec : net_.view().parameters(id)) check_size(spec.dims);
  recorded_by_[id] = node_;
  return layer_ = id;
}

void onnx_importer::check_size(shape const& dims) const {
  std::int64_t product = 1;
  for (int axis = 0; axis < dims.rank; ++axis) {
    product = dims[axis] < 1 ? 0 : product * dims[axis];
    if (product < 1 || product > max_onnx_layer_elements)
      refuse("a tensor is too large, or empty", {"1 to ", max_onnx_layer_elements, " elements"},
             to_string(dims), onnx_remedy::reduce);
  }
}

void onnx_importer::store(std::string_view parameter, shape dims, std::vector<float> values) {
  if (static_cast<std::int64_t>(values.size()) != dims.elements())
    refuse({"parameter ", parameter, " has another number of elements"}, {dims.elements()}, {values.size()},
           onnx_remedy::check);
  count_bytes(4 * values.size());
  parameters_.push_back({layer_, parameter, dims, std::move(values)});
}
/// Limits the memory, because many nodes may copy the same constant.
void onnx_importer::count_bytes(std::size_t bytes) {
  constexpr std::size_t most = std::size_t{1} << 34;
  if ((bytes_ += bytes) > most)
    refuse("the constants of the network take too many bytes", {"at most ", most}, {bytes_},
           onnx_remedy::reduce);
}
void onnx_importer::freeze() { frozen_.push_back(layer_); }

// ---- the current node ----
onnx_attribute const* onnx_importer::attribute(char const* name, onnx_attribute::kind type) {
  read_.insert(name);
  onnx_attribute const* const found = node_->find(name);
  if (found && found->type != type)
    refuse({"attribute ", name, " has another type"}, name_of(type), name_of(found->type),
           onnx_remedy::check);
  return found;
}
std::int64_t onnx_importer::integer(char const* name, std::int64_t otherwise) {
  onnx_attribute const* const found = attribute(name, onnx_attribute::integer);
  return found ? found->i : otherwise;
}
double onnx_importer::real(char const* name, double otherwise) {
  onnx_attribute const* const found = attribute(name, onnx_attribute::real);
  double const value = found ? static_cast<double>(found->f) : otherwise;
  if (!(std::abs(value) < std::numeric_limits<double>::infinity()))
    refuse({"attribute ", name, " is not finite"}, "a finite number", {value}, onnx_remedy::check);
  return value;
}
std::string onnx_importer::text(char const* name, char const* otherwise) {
  onnx_attribute const* const found = attribute(name, onnx_attribute::text);
  return found ? found->s : otherwise;
}
onnx_importer::extents onnx_importer::integers(char const* name) {
  onnx_attribute const* const found = attribute(name, onnx_attribute::integers);
  return found ? found->ints : extents{};
}

bool onnx_importer::is_used(std::size_t output) const {
  if (output >= node_->outputs.size() || node_->outputs[output].empty()) return false;
  return uses_.find(node_->outputs[output]) != uses_.end();
}
onnx_value const& onnx_importer::any(std::size_t which) const {
  if (!has_input(which))
    refuse({"input ", which, " is missing"}, {"at least ", which + 1, " inputs"}, {node_->inputs.size()},
           onnx_remedy::check);
  auto const found = values_.find(node_->inputs[which]);
  if (auto const refused = refused_.find(node_->inputs[which]); refused != refused_.end())
    throw graph_error(refused->second);
  if (found == values_.end())
    refuse({"input ", which, " is unknown"},
           "an input of the graph, a constant or an output of an earlier node",
           quote_for_error(node_->inputs[which]), onnx_remedy::check);
  return found->second;
}
onnx_value const& onnx_importer::tensor(std::size_t which) const {
  onnx_value const& value = any(which);
  if (value.known || value.fill || value.repeated)
    refuse({"input ", which,
            value.known ? " consists of extents with the batch" : " is the same for each example"},
           "a value that depends on the elements of an input", input_text(which), onnx_remedy::dynamic);
  return value;
}
onnx_value const& onnx_importer::viewed(std::size_t which) const {
  onnx_value const& value = tensor(which);
  if (value.constant)
    refuse({"input ", which, " is a constant"}, "a value that depends on an input", input_text(which),
           onnx_remedy::fold);
  if (value.is_integer)
    refuse({"input ", which, " consists of integers"}, "float", input_text(which), onnx_remedy::replace);
  return value;
}
onnx_value const& onnx_importer::data(std::size_t which) {
  onnx_value const& value = viewed(which);
  if (value.view.empty()) return value;
  std::size_t const batch = batch_axis(value);
  onnx_value const turned = moved(value, batch, 0);
  extents const dims = behind_batch_of(turned);
  onnx_value settled = row_major(reshaped(turned, collapsed(dims)), dims, turned.dims[0]);
  return values_.find(node_->inputs[which])->second = moved(std::move(settled), 0, batch);
}
onnx_importer::tensor_float onnx_importer::numbers(std::size_t which) const {
  onnx_value const& value = any(which);
  if (!value.constant)
    refuse({"input ", which, " is not a constant"}, "an initializer or a Constant", input_text(which),
           onnx_remedy::fold);
  auto made = value.constant->floats();
  if (!made)
    refuse({"input ", which, " has another type"}, "float", input_text(which),
           "convert the model to float32");
  return {value.dims, std::move(*made)};
}
std::optional<onnx_importer::extents> onnx_importer::list(std::size_t which, char const* older,
                                                          std::int64_t most) {
  // Constants that would represent multiples of the batch become a number as far below all others.
  auto const constants = [](extents numbers) {
    for (std::int64_t& number : numbers) number = std::max(number, batch_multiple(max_onnx_extent + 1));
    return numbers;
  };
  if (onnx_attribute const* const found = older ? attribute(older, onnx_attribute::integers) : nullptr)
    return constants(found->ints);
  if (!has_input(which)) return std::nullopt;
  onnx_value const& value = any(which);
  if (value.known) {
    extents numbers;
    for (std::size_t i = 0; i < value.known->values.size(); ++i) {
      bool const of_batch = value.known->of_batch[i] != 0;
      double const number = value.known->values[i];
      if (of_batch && !(number >= 1 && number <= static_cast<double>(most)))
        refuse({"input ", which, " contains the batch size", most > 0 ? " times a number" : ""},
               most > 0 ? "the batch size itself, or constants" : "constants", input_text(which),
               onnx_remedy::dynamic);
      auto const integer = static_cast<std::int64_t>(number);
      numbers.push_back(of_batch ? batch_multiple(integer) : integer);
    }
    return numbers;
  }
  if (!value.constant)
    refuse({"input ", which, " is not a constant"}, "an initializer or a Constant", input_text(which),
           onnx_remedy::fold);
  auto made = value.constant->integers();
  if (!made)
    refuse({"input ", which, " has another type"}, "int32 or int64", input_text(which), onnx_remedy::check);
  return constants(std::move(*made));
}
std::optional<double> onnx_importer::bound(std::size_t which, char const* older) {
  if (onnx_attribute const* const found = attribute(older, onnx_attribute::real))
    return static_cast<double>(found->f);
  if (!has_input(which)) return std::nullopt;
  tensor_float const made = numbers(which);
  if (made.values.size() != 1)
    refuse({"input ", which, " is not one number"}, "1 element", {made.values.size()}, onnx_remedy::check);
  return static_cast<double>(made.values[0]);
}
void onnx_importer::set(onnx_value value, std::size_t output) {
  if (output >= node_->outputs.size() || node_->outputs[output].empty()) return;
  if (!values_.try_emplace(node_->outputs[output], std::move(value)).second)
    refuse({"the value ", quote_for_error(node_->outputs[output]), " is computed a second time"}, "one node",
           "two", onnx_remedy::check);
}
void onnx_importer::set_constant(onnx_tensor tensor, std::size_t output) {
  count_bytes(tensor.raw.size());
  constants_.push_back(std::make_unique<onnx_tensor>(std::move(tensor)));
  set({.dims = constants_.back()->dims, .constant = constants_.back().get()}, output);
}

// ---- values ----
bool onnx_importer::is_row_major(onnx_value const& value) const {
  int last = onnx_value::batch - 1;
  for (std::size_t axis = 0; axis < value.axes.size(); ++axis) {
    if (value.dims[axis] == 1 || value.axes[axis] == onnx_value::unit) continue;
    int const at = value.axes[axis];
    if (at < last || (at == onnx_value::batch && last >= 0)) return false;
    last = at;
  }
  return true;
}
bool onnx_importer::is_in_order(onnx_value const& value) const {
  onnx_value without_batch = value;
  auto const batch = std::ranges::find(value.axes, onnx_value::batch) - value.axes.begin();
  if (batch < std::ssize(value.axes)) without_batch.axes[static_cast<std::size_t>(batch)] = onnx_value::unit;
  return is_row_major(without_batch);
}
int onnx_importer::reshaped(int id, shape const& dims) {
  if (shape_of(id) == dims) return id;
  std::vector<double> extents{static_cast<double>(dims.rank)};
  for (int axis = 0; axis < dims.rank; ++axis) extents.push_back(dims[axis]);
  int const layer = layer_;
  int const made = append("reshape", {id}, {{"extents", extents}});
  layer_ = layer;
  return made;
}
int onnx_importer::reshaped(onnx_value const& value, shape const& dims) {
  return is_row_major(value) ? reshaped(value.id, dims) : permuted(value, dims);
}
int onnx_importer::permuted(onnx_value const& value, shape const& dims) {
  shape const have = shape_of(value.id), source = value.view.empty() ? have : checked_shape(value.view);
  shape view;  // the source without extents of 1
  std::array<int, shape::max_rank> places{};
  for (int axis = 0; axis < source.rank; ++axis) {
    places[static_cast<std::size_t>(axis)] = view.rank;
    if (source[axis] > 1) view[view.rank++] = source[axis];
  }
  axis_order order;
  for (std::size_t axis = 0; axis < value.axes.size(); ++axis) {
    if (value.dims[axis] == 1) continue;
    if (value.axes[axis] == onnx_value::batch && order.rank > 0)
      refuse("the batch is not the first axis of the input", "N first", extents_text(value.dims),
             onnx_remedy::batch_first);
    if (value.axes[axis] >= 0) order[order.rank++] = places[static_cast<std::size_t>(value.axes[axis])];
  }
  auto const encoded = [](auto const& numbers) {
    std::vector<double> result{static_cast<double>(numbers.rank)};
    for (int axis = 0; axis < numbers.rank; ++axis) result.push_back(numbers[axis]);
    return result;
  };
  fields with{{"order", encoded(order)}};
  if (!(view == have)) with.push_back({"view", encoded(view)});
  if (!(detail::permuted(view, order) == dims)) with.push_back({"extents", encoded(dims)});
  int const layer = layer_;
  int const result = append("permute", {value.id}, with);
  layer_ = layer;
  return result;
}
shape without_units(shape const& s) {
  shape result;
  for (int axis = 0; axis < s.rank; ++axis)
    if (s[axis] > 1) result[result.rank++] = s[axis];
  return result;
}
shape onnx_importer::layer_shape(extents const& dims) const {
  shape result = checked_shape(dims);
  if (result.rank > 3) result = without_units(result);
  if (result.rank > 3)
    refuse("the result has more than three axes after the batch", "at most 3, without those of extent 1",
           extents_text(dims), onnx_remedy::reduce);
  return result.rank == 0 ? shape{1} : result;
}
shape onnx_importer::collapsed(extents const& dims) const {
  if (without_units(checked_shape(dims)).rank <= 3) return layer_shape(dims);
  return checked_shape(stacked(dims));
}
onnx_value onnx_importer::in_view(int id, extents dims, std::int64_t batch) {
  onnx_value value{.id = id, .dims = {batch}, .axes = {onnx_value::batch}, .view = std::move(dims)};
  for (std::int64_t const extent : value.view) {
    value.axes.push_back(static_cast<int>(value.dims.size()) - 1);
    value.dims.push_back(extent);
  }
  return value;
}
onnx_value onnx_importer::row_major(int id, extents dims, std::int64_t batch) {
  if (without_units(checked_shape(dims)).rank > 3) return in_view(id, std::move(dims), batch);
  if (!(without_units(shape_of(id)) == without_units(checked_shape(dims))))
    id = reshaped(id, layer_shape(dims));
  onnx_value made{.id = id, .dims = {batch}, .axes = {onnx_value::batch}};
  shape const& now = shape_of(id);
  int next = 0;
  for (std::int64_t const one : dims) {
    while (one > 1 && next < now.rank && now[next] == 1) ++next;
    made.dims.push_back(one);
    made.axes.push_back(one == 1 ? onnx_value::unit : next++);
  }
  return made;
}
onnx_value onnx_importer::like(onnx_value const& other, int id) const {
  onnx_value made = other;
  made.id = id;
  return made;
}
onnx_value onnx_importer::moved(onnx_value value, std::size_t from, std::size_t to) {
  auto const move = [&](auto& list) {
    auto const place = [&](std::size_t i) { return list.begin() + static_cast<std::ptrdiff_t>(i); };
    if (from < to)
      std::rotate(place(from), place(from + 1), place(to + 1));
    else
      std::rotate(place(to), place(from), place(from + 1));
  };
  move(value.dims), move(value.axes);
  return value;
}
std::size_t onnx_importer::batch_axis(onnx_value const& value) {
  return static_cast<std::size_t>(std::ranges::find(value.axes, onnx_value::batch) - value.axes.begin());
}
onnx_importer::extents onnx_importer::file_extents(onnx_value const& value) {
  extents dims;
  for (std::size_t axis = 0; axis < value.dims.size();) {
    std::size_t const count = value.joined > 1 && axis == value.first_joined ? value.joined : 1;
    std::int64_t product = 1;
    bool has_batch = false;
    for (std::size_t i = axis; i < axis + count; ++i)
      if (value.dims[i] < 0)
        has_batch = true;
      else
        product *= value.dims[i];
    dims.push_back(has_batch ? batch_multiple(product) : product);
    axis += count;
  }
  return dims;
}
int onnx_importer::axis_of(std::int64_t axis, std::size_t rank) const {
  std::size_t const more = joined_count_ - 1;
  auto const count = static_cast<std::int64_t>(rank - more), first = static_cast<std::int64_t>(first_joined_);
  if (axis < -count || axis >= count)
    refuse("the axis does not exist", {-count, " to ", count - 1}, {axis}, onnx_remedy::check);
  std::int64_t const place = axis < 0 ? axis + count : axis;
  if (more > 0 && place == first)
    refuse("the node reads an axis that joins the batch with other axes", "another axis", {"axis ", axis},
           onnx_remedy::batch_first);
  return static_cast<int>(place > first ? place + static_cast<std::int64_t>(more) : place);
}
onnx_importer::around onnx_importer::split_at(onnx_value const& value, int axis) const {
  if (value.axes[0] != onnx_value::batch)
    refuse("the batch is not the first axis of the input", "N first", extents_text(value.dims),
           onnx_remedy::batch_first);
  if (axis == 0)
    refuse("the node works along the batch", "an axis after the batch",
           {"axis 0 of ", extents_text(value.dims)}, onnx_remedy::batch_first);
  around made;
  for (int at = 1; at < static_cast<int>(value.dims.size()); ++at) {
    std::int64_t& part = at < axis ? made.before : at == axis ? made.along : made.after;
    part *= value.dims[static_cast<std::size_t>(at)];
  }
  return made;
}
std::vector<std::int64_t> behind_batch_of(onnx_value const& value) {
  return {value.dims.begin() + 1, value.dims.end()};
}
std::vector<std::int64_t> stacked(std::vector<std::int64_t> const& dims) {
  std::int64_t before = 1;
  for (std::size_t axis = 0; axis + 2 < dims.size(); ++axis) before *= dims[axis];
  return {before, dims[dims.size() - 2], dims.back()};
}
/// Returns a value N×C×H×W as an image; a value N×C×L as an image of one row.
int onnx_importer::image(onnx_value const& value) {
  if (value.dims.size() == 3 && value.axes[0] == onnx_value::batch)
    return reshaped(value, checked_shape({value.dims[1], 1, value.dims[2]}));
  if (value.dims.size() != 4 || value.axes[0] != onnx_value::batch)
    refuse("the input is no image and no sequence", "N x C x H x W or N x C x L", extents_text(value.dims),
           onnx_remedy::batch_first);
  return reshaped(value, checked_shape(behind_batch_of(value)));
}

/// Computes x·factor or x + offset: by `scale` for a single factor, by `learned_positions` for one offset per
/// element of a sequence, otherwise by a depthwise convolution with a kernel of one element.
onnx_value onnx_importer::affine(onnx_value const& x, tensor_float const* factor,
                                 tensor_float const* offset) {
  tensor_float const& with = factor ? *factor : *offset;
  std::size_t const rank = x.dims.size();
  if (with.dims.size() > rank) {
    std::size_t const more = with.dims.size() - rank;
    bool const are_units =
        std::all_of(with.dims.begin(), with.dims.begin() + static_cast<std::ptrdiff_t>(more),
                    [](std::int64_t extent) { return extent == 1; });
    if (!are_units || x.joined > 1)
      refuse("the constant has more axes than the other operand", {"at most ", rank}, {with.dims.size()},
             onnx_remedy::replace);
    onnx_value wide = x;
    wide.dims.insert(wide.dims.begin(), more, 1);
    wide.axes.insert(wide.axes.begin(), more, onnx_value::unit);
    return affine(wide, factor, offset);
  }
  extents dims(rank, 1);
  std::ranges::copy(with.dims, dims.end() - static_cast<std::ptrdiff_t>(with.dims.size()));
  std::size_t const batch = batch_axis(x);
  if (dims[batch] > 1 && dims[batch] == x.dims[batch]) {  // of a file for a fixed number of examples
    tensor_float each{dims, {}};
    auto const examples = static_cast<std::size_t>(std::exchange(each.dims[batch], 1));
    std::size_t after = 1;
    for (std::size_t axis = batch + 1; axis < rank; ++axis) after *= static_cast<std::size_t>(dims[axis]);
    bool is_same = true;
    for (std::size_t i = 0; i < with.values.size(); ++i) {
      std::size_t const block = i / after, first = (block - block % examples) * after + i % after;
      is_same = is_same && with.values[i] == with.values[first];
      if (block % examples == 0) each.values.push_back(with.values[i]);
    }
    if (is_same) return affine(x, factor ? &each : nullptr, factor ? nullptr : &each);
  }
  if (batch > 0 && dims[batch] == 1) {  // an axis of 1 may move
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(batch));
    dims.insert(dims.begin(), 1);
    tensor_float const turned{dims, with.values};
    return moved(affine(moved(x, batch, 0), factor ? &turned : nullptr, factor ? nullptr : &turned), 0,
                 batch);
  }
  std::size_t first = rank, last = 0;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (dims[axis] == 1) continue;
    if (x.axes[axis] == onnx_value::batch)
      refuse("the constant has an axis for the batch", {"1 at axis ", axis}, extents_text(with.dims),
             onnx_remedy::batch_first);
    if (dims[axis] != x.dims[axis])
      refuse("the constant does not fit the other operand", extents_text(x.dims), extents_text(with.dims),
             onnx_remedy::check);
    first = std::min(first, axis), last = axis;
  }
  shape const whole = shape_of(x.id);
  if (first == rank) {  // the factor or offset is one number
    double const value = static_cast<double>(with.values.at(0));
    if (factor) return like(x, append("scale", {x.id}, {{"factor", {value}}}));
    int const row = reshaped(x.id, checked_shape({1, 1, whole.elements()}));
    int const made = append("conv2d", {row}, {{"filters", {1}}, {"kernel", {1, 1}}});
    store("weights", {1, 1, 1, 1}, {1});
    store("bias", {1}, with.values);
    freeze();
    return like(x, reshaped(made, whole));
  }
  if (x.axes[0] != onnx_value::batch)
    refuse("the batch is not the first axis of the input", "N first", extents_text(x.dims),
           onnx_remedy::batch_first);
  // The constant, broadcast to all axes between the first and the last one along which it varies.
  std::int64_t before = 1, along = 1, after = 1;
  for (std::size_t axis = 1; axis < rank; ++axis)
    (axis < first ? before : axis <= last ? along : after) *= x.dims[axis];
  std::int64_t const copies = before > 1 ? after : 1;
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(along * copies));
  for (std::int64_t i = 0; i < along; ++i) {
    std::int64_t index = 0, rest = i, stride = 1;
    for (std::size_t axis = last + 1; axis-- > first;) {
      if (dims[axis] > 1) index += rest % x.dims[axis] * stride, stride *= dims[axis];
      rest /= x.dims[axis];
    }
    values.insert(values.end(), static_cast<std::size_t>(copies),
                  with.values[static_cast<std::size_t>(index)]);
  }
  bool const is_sequence = offset && whole.rank == 2 && before == 1 && after == 1
                           && x.axes == std::vector<int>{onnx_value::batch, 0, 1};
  if (is_sequence) {
    int const sum = append("learned_positions", {x.id});
    store("weights", whole, values);
    return like(x, sum);
  }
  auto const channels = static_cast<double>(values.size());
  int const channel_count = static_cast<int>(values.size());
  fields with_fields{{"filters", {channels}}, {"groups", {channels}}, {"bias", {factor ? 0.0 : 1.0}}};
  int made = -1;
  shape weights;
  if (before == 1) {
    int const rows = reshaped(x, checked_shape({along, after, 1}));
    with_fields.push_back({"kernel", {1, 1}});
    made = append("conv2d", {rows}, with_fields);
    weights = {channel_count, 1, 1, 1};
  } else {
    int const rows = reshaped(x, checked_shape({before, along * after}));
    with_fields.push_back({"kernel", {1}});
    made = append("conv1d", {rows}, with_fields);
    weights = {channel_count, 1, 1};
  }
  store("weights", weights, factor ? values : std::vector<float>(values.size(), 1));
  if (!factor) store("bias", {channel_count}, values);
  freeze();
  return row_major(made, behind_batch_of(x), x.dims[0]);
}

/// Returns the elements first … last − 1 along an axis.
onnx_value onnx_importer::sliced(onnx_value const& x, int axis, std::int64_t first, std::int64_t last) {
  if (std::size_t const batch = batch_axis(x); batch > 0 && static_cast<std::size_t>(axis) != batch) {
    int const place = static_cast<std::size_t>(axis) < batch ? axis + 1 : axis;
    return moved(sliced(moved(x, batch, 0), place, first, last), 0, batch);
  }
  auto const [before, along, after] = split_at(x, axis);
  if (first < 0 || last > along || first >= last)
    refuse("no elements are selected, or some that do not exist", {"a part of 0 to ", along},
           {first, " to ", last}, onnx_remedy::check);
  extents dims = behind_batch_of(x);
  dims[static_cast<std::size_t>(axis) - 1] = last - first;
  if (first == 0 && last == along) return x;
  auto const from = static_cast<double>(first), to = static_cast<double>(last);
  if (!x.view.empty()) {  // the axis becomes the channel axis
    onnx_value part = moved(x, static_cast<std::size_t>(axis), 1);
    part.id = append("subset", {reshaped(part, checked_shape({along, before * after, 1}))},
                     {{"first", {from}}, {"last", {to}}});
    part.dims[1] = last - first;
    part.view = behind_batch_of(part);
    part.axes = {onnx_value::batch};
    for (std::size_t place = 0; place < part.view.size(); ++place)
      part.axes.push_back(static_cast<int>(place));
    return moved(std::move(part), 1, static_cast<std::size_t>(axis));
  }
  int made = -1;
  if (after == 1)
    made =
        append("subset", {reshaped(x, before == 1 ? checked_shape({along}) : checked_shape({before, along}))},
               {{"first", {from}}, {"last", {to}}});
  else if (before == 1)
    made = append("subset", {reshaped(x, checked_shape({along, after, 1}))},
                  {{"first", {from}}, {"last", {to}}});
  else
    made = append(
        "cropping", {reshaped(x, checked_shape({before, along, after}))},
        {{"sides", {static_cast<double>(padding_mode::sides), from, static_cast<double>(along) - to, 0, 0}}});
  return row_major(made, dims, x.dims[0]);
}

}  // namespace cohort::detail
