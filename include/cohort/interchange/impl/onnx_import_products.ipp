// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cohort/interchange/detail/onnx_importer.hpp>
#include <cohort/io/detail/permutation.hpp>

namespace cohort::detail {

// ---- normalisation ----
void onnx_importer::batch_normalization() {
  onnx_value const& x = data(0);
  double const epsilon = real("epsilon", 1e-5F), momentum = real("momentum", 0.9F);
  if (integer("training_mode", 0) != 0)
    refuse("the node is in training mode", "training_mode 0", {integer("training_mode", 0)},
           onnx_remedy::inference);
  if (integer("is_test", 0) == 0 && version_ < 7)
    refuse("the node is in training mode", "is_test 1", "is_test 0", onnx_remedy::inference);
  if (integer("spatial", 1) != 1)
    refuse("each position is normalised separately", "spatial 1", {"spatial ", integer("spatial", 1)},
           onnx_remedy::replace);
  for (std::size_t output = 1; output < node_->outputs.size(); ++output)
    if (is_used(output))
      refuse("the statistics of the batch are read", "no reader",
             {"readers of ", quote_for_error(node_->outputs[output])}, onnx_remedy::inference);
  if (x.dims.size() < 2)
    refuse("the input has no channels", "N x C or more axes", input_text(0), onnx_remedy::check);
  ::cohort::shape const have = shape_of(x.id);
  auto const axis = static_cast<std::size_t>(axis_of(1, x.dims.size()));
  bool const keeps = x.axes[axis] >= 0 && have.rank > 0 && x.axes[axis] == channel_axis(have)
                     && have[x.axes[axis]] == x.dims[axis] && !(have.rank == 2 && x.dims.size() < 3);
  fields const with{{"momentum", {momentum}}, {"epsilon", {epsilon}}};
  int from = x.id;
  if (!keeps) {
    around const part = split_at(x, static_cast<int>(axis));
    if (part.before > 1 && part.after > 1)
      refuse("the channels are not the last axis, and the batch is joined with other axes", "N x C",
             input_text(0), onnx_remedy::batch_first);
    from = reshaped(x, part.before > 1      ? checked_shape({part.before, part.along})
                       : x.dims.size() == 2 ? checked_shape({part.along})
                                            : checked_shape({part.along, part.after, 1}));
  }
  int const made = append("batch_norm", {from}, with);
  int const channels = static_cast<int>(x.dims[axis]);
  store("scale", {channels}, numbers(1).values);
  store("shift", {channels}, numbers(2).values);
  store("running_mean", {channels}, numbers(3).values);
  store("running_variance", {channels}, numbers(4).values);
  set(keeps ? like(x, made) : row_major(made, behind_batch_of(x), x.dims[0]));
}

void onnx_importer::layer_normalization() {
  onnx_value const& x = data(0);
  double const epsilon = real("epsilon", 1e-5F);
  int const axis = axis_of(integer("axis", -1), x.dims.size());
  if (integer("stash_type", 1) != 1)
    refuse("the node computes in another type than float", "stash_type 1",
           {"stash_type ", integer("stash_type", 1)}, onnx_remedy::replace);
  if (is_used(1) || is_used(2))
    refuse("the statistics of the input are read", "no reader",
           {"readers of ", quote_for_error(node_->outputs[is_used(1) ? 1 : 2])}, onnx_remedy::replace);
  around const part = split_at(x, axis);
  std::int64_t const width = part.along * part.after;
  tensor_float const scale = numbers(1);
  bool const has_shift = has_input(2);
  if (static_cast<std::int64_t>(scale.values.size()) != width)
    refuse("the scale does not fit the input", {width, " elements"}, input_text(1), onnx_remedy::check);
  ::cohort::shape const have = shape_of(x.id);
  int const axes = static_cast<int>(x.dims.size()) - axis;
  bool const keeps = have.rank == static_cast<int>(x.dims.size()) - 1 && is_row_major(x)
                     && have == checked_shape(behind_batch_of(x));
  int const from =
      keeps ? x.id
            : reshaped(x, part.before > 1 ? checked_shape({part.before, width}) : checked_shape({width}));
  int const made = append("layer_norm", {from},
                          {{"axes", {keeps ? static_cast<double>(axes) : 1.0}}, {"epsilon", {epsilon}}});
  ::cohort::shape const each = net_.view().parameters(made).specs[0].dims;
  store("scale", each, scale.values);
  store("shift", each, has_shift ? numbers(2).values : std::vector<float>(scale.values.size()));
  set(keeps ? like(x, made) : row_major(made, behind_batch_of(x), x.dims[0]));
}

void onnx_importer::normalise_groups(std::int64_t groups, std::vector<float> const& scale,
                                     std::vector<float> const& shift) {
  onnx_value const& x = data(0);
  double const epsilon = real("epsilon", 1e-5F);
  if (x.dims.size() < 2)
    refuse("the input has no channels", "N x C or more axes", input_text(0), onnx_remedy::check);
  around const part = split_at(x, 1);
  if (groups < 1 || part.along % groups != 0)
    refuse("the groups do not divide the channels", {"a divisor of ", part.along}, {groups},
           onnx_remedy::check);
  if (static_cast<std::int64_t>(scale.size()) != part.along || scale.size() != shift.size())
    refuse("scale and bias do not fit the input", {part.along, " elements each"},
           {scale.size(), " and ", shift.size()}, onnx_remedy::check);
  int const norm = append("group_norm", {reshaped(x, checked_shape({part.along, part.after, 1}))},
                          {{"groups", {static_cast<double>(groups)}}, {"epsilon", {epsilon}}});
  store("scale", checked_shape({part.along}), scale);
  store("shift", checked_shape({part.along}), shift);
  set(row_major(norm, behind_batch_of(x), x.dims[0]));
}

void onnx_importer::instance_normalization() {
  normalise_groups(data(0).dims.size() < 2 ? 0 : data(0).dims[1], numbers(1).values, numbers(2).values);
}

/// Normalises over any axes after the batch. Scale and shift may vary along any axes after the batch.
void onnx_importer::normalise_over(formula_norm const& of) {
  onnx_value const& x = viewed(0);
  double const epsilon = real("epsilon", 1e-5F);
  std::size_t const rank = x.dims.size();
  std::vector<bool> is_reduced(rank), varies(rank);
  for (std::int64_t const axis : of.axes) is_reduced[static_cast<std::size_t>(axis_of(axis, rank))] = true;
  for (std::size_t axis = 2; of.axes.empty() && axis < rank; ++axis) is_reduced[axis] = true;
  if (x.axes[0] != onnx_value::batch || is_reduced[0])
    refuse("the node normalises along the batch, or the batch is not the first axis", "axes after the batch",
           {"axes ", extents_text(of.axes, ", "), " of ", input_text(0)}, onnx_remedy::batch_first);
  bool varies_outside = false;
  std::array<tensor_float, 2> parameters{tensor_float{{}, {1}}, tensor_float{{}, {0}}};
  for (std::size_t which : {0, 1}) {
    tensor_float& parameter = parameters[which];
    if (has_input(which + 1)) parameter = numbers(which + 1);
    bool fits = parameter.dims.size() <= rank;
    if (fits) parameter.dims.insert(parameter.dims.begin(), rank - parameter.dims.size(), 1);
    for (std::size_t axis = 0; fits && axis < rank; ++axis) {
      if (parameter.dims[axis] == 1) continue;
      fits = axis > 0 && parameter.dims[axis] == x.dims[axis];
      varies[axis] = true;
      varies_outside = varies_outside || !is_reduced[axis];
    }
    if (!fits)
      refuse("scale or shift do not fit the input", input_text(0), input_text(which + 1),
             onnx_remedy::replace);
  }
  // The axes that stay separate; then the reduced axes along which scale or shift vary; then the others.
  std::vector<std::size_t> order{0};
  std::array<std::int64_t, 3> parts{1, 1, 1};
  for (std::size_t part : {0, 1, 2})
    for (std::size_t axis = 1; axis < rank; ++axis) {
      if (part != (!is_reduced[axis] ? 0U : varies[axis] ? 1U : 2U)) continue;
      order.push_back(axis);
      parts[part] *= x.dims[axis];
    }
  onnx_value turned = x;
  for (std::size_t place = 0; place < rank; ++place)
    turned.dims[place] = x.dims[order[place]], turned.axes[place] = x.axes[order[place]];
  // Returns a parameter for each element of `count` elements that begin with an axis in the new order.
  auto const each = [&](tensor_float const& from, std::size_t first, std::int64_t count) {
    std::vector<float> result;
    for (std::int64_t i = 0; i < count; ++i) {
      extents places(rank, 0);
      std::int64_t rest = i, index = 0;
      std::size_t last = first;
      for (std::int64_t size = 1; last < rank && size < count; ++last) size *= turned.dims[last];
      for (; last-- > first; rest /= turned.dims[last]) places[order[last]] = rest % turned.dims[last];
      for (std::size_t axis = 0; axis < rank; ++axis)
        index = index * from.dims[axis] + (from.dims[axis] > 1 ? places[axis] : 0);
      result.push_back(from.values[static_cast<std::size_t>(index)]);
    }
    return result;
  };
  auto const kept = static_cast<std::size_t>(std::ranges::count(is_reduced, false));
  std::int64_t const width = parts[1] * parts[2];
  bool const is_of_rows = !of.is_centred || (!varies_outside && parts[1] > 1 && parts[2] == 1);
  if (!of.is_centred && varies_outside)
    refuse("the scale varies along an axis that is not normalised", "a scale along the normalised axes",
           input_text(1), onnx_remedy::replace);
  int norm = -1;
  if (is_of_rows) {
    int const from =
        reshaped(turned, parts[0] == 1 ? checked_shape({width}) : checked_shape({parts[0], width}));
    norm = append(of.is_centred ? "layer_norm" : "rms_norm", {from}, {{"epsilon", {epsilon}}});
    store("scale", checked_shape({width}), each(parameters[0], kept, width));
    if (of.is_centred) store("shift", checked_shape({width}), each(parameters[1], kept, width));
  } else {
    std::int64_t const channels = parts[0] * parts[1];
    norm = append("group_norm", {reshaped(turned, checked_shape({channels, parts[2], 1}))},
                  {{"groups", {static_cast<double>(parts[0])}}, {"epsilon", {epsilon}}});
    store("scale", checked_shape({channels}), each(parameters[0], 1, channels));
    store("shift", checked_shape({channels}), each(parameters[1], 1, channels));
  }
  if (!has_input(1) && !has_input(2)) freeze();
  onnx_value const result = row_major(norm, behind_batch_of(turned), x.dims[0]);
  onnx_value back = result;
  for (std::size_t place = 0; place < rank; ++place)
    back.dims[order[place]] = result.dims[place], back.axes[order[place]] = result.axes[place];
  set(std::move(back));
}

void onnx_importer::group_normalization() {
  if (fused() && fused()->norm) return normalise_over(*fused()->norm);
  onnx_value const& x = data(0);
  std::int64_t const groups = integer("num_groups", 0);
  if (integer("stash_type", 1) != 1)
    refuse("the node computes in another type than float", "stash_type 1",
           {"stash_type ", integer("stash_type", 1)}, onnx_remedy::replace);
  if (fused() && !fused()->result.empty()) {
    extents const& result = fused()->result;
    bool fits = result.size() == x.dims.size();
    for (std::size_t axis = 0; fits && axis < result.size(); ++axis)
      fits = result[axis] == x.dims[axis] || result[axis] == 0 || (axis == 0 && result[axis] == -1);
    if (!fits)
      refuse("the normalised groups get another shape than the input", input_text(0),
             extents_text(result, ", "), onnx_remedy::replace);
  }
  std::vector<float> scale = numbers(1).values, shift = numbers(2).values;
  // Before operator set 21, scale and bias have an element for each group.
  if (!fused() && version_ < 21 && groups > 0 && x.dims.size() > 1 && x.dims[1] % groups == 0)
    for (std::vector<float>* const each : {&scale, &shift}) {
      if (static_cast<std::int64_t>(each->size()) != groups)
        refuse("scale and bias do not fit the groups", {groups, " elements"}, {each->size()},
               onnx_remedy::check);
      std::vector<float> wide;
      for (float const number : *each)
        wide.insert(wide.end(), static_cast<std::size_t>(x.dims[1] / groups), number);
      *each = std::move(wide);
    }
  normalise_groups(groups, scale, shift);
}

void onnx_importer::rms_normalization() {
  onnx_value const& x = data(0);
  double const epsilon = real("epsilon", 1e-5F);
  int const axis = axis_of(integer("axis", -1), x.dims.size());
  if (integer("stash_type", 1) != 1)
    refuse("the node computes in another type than float", "stash_type 1",
           {"stash_type ", integer("stash_type", 1)}, onnx_remedy::replace);
  around const part = split_at(x, axis);
  int const width = static_cast<int>(part.along * part.after);
  int const from =
      reshaped(x, part.before == 1 ? ::cohort::shape{width} : checked_shape({part.before, width}));
  if (fused() && fused()->norm)
    return set(row_major(unit_vectors(from, epsilon), behind_batch_of(x), x.dims[0]));
  int const made = append("rms_norm", {from}, {{"epsilon", {epsilon}}});
  store("scale", {width}, numbers(1).values);
  set(row_major(made, behind_batch_of(x), x.dims[0]));
}

/// Returns x / max(‖x‖, least) of the last axis, as u·min(x·u / least, 1) with u = x / ‖x‖.
int onnx_importer::unit_vectors(int x, double least) {
  constexpr double smallest = 1e-37;  // so that the u of zeros is 0
  ::cohort::shape lengths = shape_of(x);
  int const width = std::exchange(lengths[lengths.rank - 1], 1);
  int const unit = append("rms_norm", {x}, {{"epsilon", {smallest}}});
  store("scale", {width},
        std::vector<float>(static_cast<std::size_t>(width),
                           static_cast<float>(1 / std::sqrt(static_cast<double>(width)))));
  freeze();
  int const ratio = append("dense", {append("multiply", {x, unit})}, {{"units", {1}}, {"bias", {0}}});
  store("weights", {1, width},
        std::vector<float>(static_cast<std::size_t>(width), static_cast<float>(1 / least)));
  freeze();
  extents const dims(lengths.extents.begin(), lengths.extents.begin() + lengths.rank);
  onnx_value const most_1 = at_most(row_major(ratio, dims, -1), {{}, {1}});
  return append("multiply", {unit, reshaped(most_1, lengths)});
}

/// Checks that Expand of the vectors' lengths does not add elements to x: input 2 is its target.
void onnx_importer::check_expanded() {
  if (!has_input(2)) return;
  std::optional<extents> const target = list(2, nullptr, max_onnx_extent);
  extents const dims = file_extents(any(0));
  bool fits = target->size() <= dims.size();
  for (std::size_t i = 1; fits && i <= target->size(); ++i) {
    std::int64_t const extent = (*target)[target->size() - i];
    fits = extent == 1 || extent == dims[dims.size() - i];
  }
  if (!fits)
    refuse("the lengths of the vectors are expanded to more elements", input_text(0), extents_text(*target),
           onnx_remedy::replace);
}

void onnx_importer::lrn() {
  onnx_value const& x = data(0);
  double const alpha = real("alpha", 0.0001F), beta = real("beta", 0.75), k = real("bias", 1);
  std::int64_t const size = integer("size", 0);
  if (size < 1 || size > max_onnx_window)
    refuse("the size is out of range", {"1 to ", max_onnx_window}, {size}, onnx_remedy::check);
  if (x.dims.size() < 2)
    refuse("the input has no channels", "N x C or more axes", input_text(0), onnx_remedy::check);
  around const part = split_at(x, 1);
  int const made = append("lrn", {reshaped(x, checked_shape({part.along, part.after, 1}))},
                          {{"k", {k}},
                           {"n", {static_cast<double>(size)}},
                           {"alpha", {alpha / static_cast<double>(size)}},
                           {"beta", {beta}}});
  set(row_major(made, behind_batch_of(x), x.dims[0]));
}

// ---- products ----
void onnx_importer::gemm() {
  double const alpha = real("alpha", 1), beta = real("beta", 1);
  integer("broadcast", 0);
  bool const turns_a = integer("transA", 0) != 0, turned = integer("transB", 0) != 0;
  onnx_value const& x = data(0);
  tensor_float weights = numbers(1);
  if (turns_a) refuse("the node transposes its input", "transA 0", "transA 1", onnx_remedy::batch_first);
  bool const is_matrix = x.dims.size() == 2 && x.axes[0] == onnx_value::batch;
  if (!(is_matrix || joined_count_ > 1) || weights.dims.size() != 2)
    refuse("the operands are not matrices, or the batch is not the first axis", "N x C and a constant matrix",
           {input_text(0), " and ", input_text(1)}, onnx_remedy::batch_first);
  ::cohort::shape const matrix = checked_shape(weights.dims);
  int const units = matrix[turned ? 0 : 1], width = matrix[turned ? 1 : 0];
  if (width != x.dims.back())
    refuse("the weights do not fit the input", {x.dims.back(), " elements for each unit"}, {width},
           onnx_remedy::check);
  if (!turned) weights.values = permute_axes(weights.values, {width, units}, {1, 0});
  if (alpha != 1)
    for (float& one : weights.values) one = static_cast<float>(alpha * static_cast<double>(one));
  std::vector<float> bias;
  if (has_input(2)) {
    tensor_float const with = numbers(2);
    bool const is_row =
        with.dims.empty() || (with.dims.size() == 1 || (with.dims.size() == 2 && with.dims[0] == 1));
    if (!is_row || (with.values.size() != 1 && static_cast<int>(with.values.size()) != units))
      refuse("C has an axis for the batch, or does not fit the output", {"1 or ", units, " elements"},
             input_text(2), onnx_remedy::replace);
    for (int u = 0; u < units; ++u)
      bias.push_back(static_cast<float>(
          beta
          * static_cast<double>(with.values[with.values.size() == 1 ? 0 : static_cast<std::size_t>(u)])));
  }
  set(dense(x, units, !bias.empty(), [&] {
    store("weights", {units, width}, std::move(weights.values));
    if (!bias.empty()) store("bias", {units}, std::move(bias));
  }));
}

/// Returns the products of a value's last axis and constant weights: `units` elements.
onnx_value onnx_importer::dense(onnx_value const& x, int units, bool bias,
                                std::function<void()> const& store_parameters) {
  fields const with{{"units", {static_cast<double>(units)}}, {"bias", {bias ? 1.0 : 0.0}}};
  auto const append_to = [&](int from) {
    int const layer = append("dense", {from}, with);
    store_parameters();
    return layer;
  };
  if (shape_of(x.id).rank == 2 && x.axes.back() == 1 && x.dims.size() == 3) {  // N×T×C or T×N×C
    onnx_value product = like(x, append_to(x.id));
    product.dims.back() = units;
    return product;
  }
  std::size_t const batch = batch_axis(x);
  onnx_value const turned = moved(x, batch, 0);
  around const part = split_at(turned, static_cast<int>(x.dims.size()) - 1);
  int const width = static_cast<int>(part.along);
  extents dims = behind_batch_of(turned);
  dims.back() = units;
  int const from =
      reshaped(turned, dims.size() == 1 ? ::cohort::shape{width} : checked_shape({part.before, width}));
  return moved(row_major(append_to(from), dims, turned.dims[0]), 0, batch);
}

/// Returns the products of the matrices in the last two axes. More than one axis before them must be equal.
onnx_value onnx_importer::product(onnx_value const& x, onnx_value const& y) {
  if (x.dims.size() != y.dims.size() || x.dims.size() < 3 || x.axes[0] != onnx_value::batch
      || y.axes[0] != onnx_value::batch || x.dims[0] != y.dims[0])
    refuse("the operands are not matrices of each example",
           "two operands with N first and equal numbers of axes, three or more",
           {input_text(0), " and ", input_text(1)}, onnx_remedy::batch_first);
  std::size_t const rank = x.dims.size();
  bool const is_stack = rank > 4;
  if (is_stack && !std::equal(x.dims.begin(), x.dims.end() - 2, y.dims.begin()))
    refuse("the axes before the matrices differ", extents_text(x.dims), extents_text(y.dims),
           onnx_remedy::replace);
  // The layer reads transposed matrices without moving their elements.
  std::array<bool, 2> turned{};
  std::vector<int> from;
  for (std::size_t which = 0; which < 2; ++which) {
    onnx_value operand = which == 0 ? x : y;
    onnx_value const other = moved(operand, rank - 1, rank - 2);
    if (!is_row_major(operand) && is_row_major(other)) {
      operand = other;
      turned[which] = true;
    }
    extents const dims = behind_batch_of(operand);
    from.push_back(reshaped(operand, checked_shape(is_stack ? stacked(dims) : dims)));
  }
  int const result = append(
      "matmul", from, {{"transpose_a", {turned[0] ? 1.0 : 0.0}}, {"transpose_b", {turned[1] ? 1.0 : 0.0}}});
  ::cohort::shape const out = shape_of(result);
  extents dims(out.extents.begin(), out.extents.begin() + out.rank);
  if (is_stack) {
    extents whole(x.dims.begin() + 1, x.dims.end() - 2);
    whole.insert(whole.end(), dims.end() - 2, dims.end());
    dims = std::move(whole);
  }
  return row_major(result, dims, x.dims[0]);
}

/// Einsum of two operands that is a product of matrices: leading axes that all three have, then rows, columns
/// and the axis of the sums in any order.
void onnx_importer::einsum() {
  std::string equation = text("equation", "");
  std::erase(equation, ' ');
  std::size_t const comma = equation.find(','), arrow = equation.find("->");
  auto const refuse_equation = [&] {
    refuse("the equation is not a product of matrices", "an equation such as bij,bjk->bik",
           quote_for_error(equation), onnx_remedy::replace);
  };
  if (comma == std::string::npos || arrow == std::string::npos || arrow < comma) refuse_equation();
  std::string const a = equation.substr(0, comma), b = equation.substr(comma + 1, arrow - comma - 1),
                    c = equation.substr(arrow + 2);
  onnx_value x = viewed(0), y = viewed(1);
  for (std::string const& labels : {a, b, c})
    if (std::set(labels.begin(), labels.end()).size() != labels.size()) refuse_equation();  // a diagonal
  std::size_t const rank = a.size();
  if (rank < 3 || b.size() != rank || c.size() != rank || x.dims.size() != rank || y.dims.size() != rank
      || a.substr(0, rank - 2) != c.substr(0, rank - 2) || b.substr(0, rank - 2) != c.substr(0, rank - 2))
    refuse_equation();
  std::string const left = a.substr(rank - 2), right = b.substr(rank - 2), result = c.substr(rank - 2);
  bool const is_turned = right.find(result[0]) != std::string::npos;  // the second operand has the rows
  char const row = result[0], column = result[1], sum = left[left[0] == (is_turned ? column : row) ? 1 : 0];
  std::string const rows{is_turned ? column : row, sum}, columns{sum, is_turned ? row : column};
  auto const arranged = [&](onnx_value value, std::string const& axes, std::string const& wanted) {
    if (axes == wanted) return value;
    if (axes != std::string(wanted.rbegin(), wanted.rend())) refuse_equation();
    return moved(std::move(value), rank - 1, rank - 2);
  };
  onnx_value matrices = product(arranged(x, left, rows), arranged(y, right, columns));
  set(is_turned ? moved(std::move(matrices), rank - 1, rank - 2) : matrices);
}

void onnx_importer::matmul() {
  if (!is_constant(1)) return set(product(viewed(0), viewed(1)));
  onnx_value const& x = data(0);
  tensor_float const weights = numbers(1);
  if (weights.dims.size() != 2 || x.dims.size() < 2)
    refuse("the weights are not a matrix", "N x C and a constant matrix",
           {input_text(0), " and ", input_text(1)}, onnx_remedy::replace);
  ::cohort::shape const matrix = checked_shape(weights.dims);
  int const width = matrix[0], units = matrix[1];
  if (x.dims.back() != width)
    refuse("the weights do not fit the input", {x.dims.back(), " rows"}, {width}, onnx_remedy::check);
  bool const bias = fused() && fused()->has_bias;
  set(dense(x, units, bias, [&] {
    store("weights", {units, width}, permute_axes(weights.values, {width, units}, {1, 0}));
    if (bias) store("bias", {units}, numbers(2).values);
  }));
}

// ---- sums and products of elements ----
onnx_value onnx_importer::scaled(onnx_value const& x, double factor) {
  return like(x, append("scale", {x.id}, {{"factor", {factor}}}));
}

void onnx_importer::neg() { set(scaled(data(0), -1)); }

void onnx_importer::absolute() {
  onnx_value const& x = data(0);
  set(combined("maximum", {x, scaled(x, -1)}));
}

/// Pow with the constant exponent 2, 3 or 4.
void onnx_importer::power() {
  std::optional<double> const exponent = bound(1, "exponent");
  if (!exponent || !(*exponent == 2 || *exponent == 3 || *exponent == 4))
    refuse("no layer computes this power", "the constant exponent 2, 3 or 4",
           exponent ? text_of({*exponent}) : "none", onnx_remedy::replace);
  set(combined("multiply", std::vector<onnx_value>(static_cast<std::size_t>(*exponent), data(0))));
}

/// Returns the larger element of a value and a constant, as the maximum of x and 0·hard_tanh(x) + constant:
/// 0·x would be NaN for infinite x.
onnx_value onnx_importer::at_least(onnx_value const& x, tensor_float const& least) {
  onnx_value const finite = like(x, append("hard_tanh", {x.id})),
                   bound = affine(scaled(finite, 0), nullptr, &least);
  if (std::ranges::find(frozen_, layer_) == frozen_.end()) freeze();
  return combined("maximum", {x, bound});
}
onnx_value onnx_importer::at_most(onnx_value const& x, tensor_float most) {
  for (float& number : most.values) number = -number;
  return scaled(at_least(scaled(x, -1), most), -1);
}

/// Returns the numbers of a constant, or those of each example with an extent of 1 for the batch; nullopt for
/// other values.
std::optional<onnx_importer::tensor_float> onnx_importer::operand(std::size_t which) const {
  if (is_constant(which)) return numbers(which);
  onnx_value const& value = any(which);
  auto const batch = std::ranges::find(value.dims, -1);
  if (batch == value.dims.end() || (!value.fill && !value.repeated)) return std::nullopt;
  tensor_float example{value.dims, {}};
  example.dims[static_cast<std::size_t>(batch - value.dims.begin())] = 1;
  if (value.repeated) {
    for (double const number : value.repeated->values) example.values.push_back(static_cast<float>(number));
    return example;
  }
  std::int64_t const count =
      onnx_known{.type = onnx_type::f32, .dims = example.dims, .values = {}, .of_batch = {}}.elements();
  if (count < 0 || count > max_onnx_folded) return std::nullopt;
  example.values.assign(static_cast<std::size_t>(count), static_cast<float>(*value.fill));
  return example;
}

void onnx_importer::binary() {
  std::string const& op = node_->op;
  integer("broadcast", 0);  // before set 7; without `axis` it has no effect
  if (is_constant(0) && is_constant(1))
    refuse("all operands are constants", "a value that depends on an input",
           {input_text(0), " and ", input_text(1)}, onnx_remedy::fold);
  std::optional<tensor_float> const left = operand(0), right = operand(1);
  if (left || right) {
    bool const first = left.has_value();
    tensor_float with = first ? *left : *right;
    onnx_value x = data(first ? 1 : 0);
    extents const& dims = any(first ? 0 : 1).dims;  // with a batch: the same numbers for each example
    auto const behind = static_cast<std::size_t>(dims.end() - std::ranges::find(dims, -1));
    if (behind > 0 && (behind > x.dims.size() || x.axes[x.dims.size() - behind] != onnx_value::batch))
      refuse("the operands have their batches at different axes", input_text(first ? 1 : 0),
             input_text(first ? 0 : 1), onnx_remedy::batch_first);
    if (op == "Add") return set(affine(x, nullptr, &with));
    if (op == "Mul") return set(affine(x, &with, nullptr));
    if (op == "Div" && first)
      refuse("the node divides by a value that is not a constant", "a constant divisor", input_text(1),
             onnx_remedy::replace);
    for (float& one : with.values) one = op == "Div" ? 1 / one : first ? one : -one;
    if (op == "Div") return set(affine(x, &with, nullptr));
    if (first) x = scaled(x, -1);
    return set(affine(x, nullptr, &with));
  }
  if (op == "Div")
    refuse("the node divides by a value that is not a constant", "a constant divisor", input_text(1),
           onnx_remedy::replace);
  joined();
}

/// Sum, Mean, Max and Min of any number of operands, and Add, Sub and Mul of two values.
void onnx_importer::joined() {
  std::string const& op = node_->op;
  bool const is_bound = op == "Max" || op == "Min";
  std::vector<onnx_value> from;
  std::vector<tensor_float> bounds;
  for (std::size_t x = 0; x < node_->inputs.size(); ++x)
    if (is_bound && is_constant(x))
      bounds.push_back(numbers(x));
    else
      from.push_back(data(x));
  if (from.empty()) refuse("the node has no inputs", "at least 1 value", "0", onnx_remedy::check);
  if (op == "Sub") from[1] = scaled(from[1], -1);
  if (op == "Min" && from.size() > 1)
    for (onnx_value& each : from) each = scaled(each, -1);
  std::string_view const kind = op == "Mul"    ? "multiply"
                                : op == "Mean" ? "average"
                                : is_bound     ? "maximum"
                                               : "add";
  onnx_value result = from.size() == 1 ? from[0] : combined(kind, from);
  if (op == "Min" && from.size() > 1) result = scaled(result, -1);
  for (tensor_float& each : bounds)
    result = op == "Max" ? at_least(result, each) : at_most(result, std::move(each));
  set(std::move(result));
}

/// Like combined, for values with more than three axes after the batch: neighbouring axes along which the
/// same values are repeated become one axis.
onnx_value onnx_importer::repeated_along_axes(std::string_view kind, std::vector<onnx_value> const& from) {
  extents result = behind_batch_of(from[0]);
  for (onnx_value const& value : from)
    for (std::size_t axis = 0; axis < result.size(); ++axis)
      result[axis] = std::max(result[axis], value.dims[axis + 1]);
  std::vector<extents> dims(from.size());
  std::vector<bool> repeated_before;
  for (std::size_t axis = 0; axis < result.size(); ++axis) {
    if (result[axis] == 1) continue;
    std::vector<bool> is_repeated;
    for (onnx_value const& value : from) is_repeated.push_back(value.dims[axis + 1] == 1);
    for (std::size_t i = 0; i < from.size(); ++i)
      if (is_repeated == repeated_before)
        dims[i].back() *= from[i].dims[axis + 1];
      else
        dims[i].push_back(from[i].dims[axis + 1]);
    repeated_before = std::move(is_repeated);
  }
  if (dims[0].size() > 3)
    refuse("the inputs are repeated along separate axes", "at most 3 groups of neighbouring axes",
           {dims[0].size()}, onnx_remedy::replace);
  std::vector<int> ids;
  for (std::size_t i = 0; i < from.size(); ++i) ids.push_back(reshaped(from[i], checked_shape(dims[i])));
  return row_major(append(kind, ids), result, from[0].dims[0]);
}

/// Returns a layer of this kind that reads all values, which are broadcast to each other.
onnx_value onnx_importer::combined(std::string_view kind, std::vector<onnx_value> from) {
  std::vector<int> ids;
  std::size_t rank = 0;
  for (onnx_value const& value : from) rank = std::max(rank, value.dims.size());
  for (onnx_value& value : from) {
    if (value.joined > 1) continue;
    std::size_t const more = rank - value.dims.size();
    value.dims.insert(value.dims.begin(), more, 1);
    value.axes.insert(value.axes.begin(), more, onnx_value::unit);
  }
  bool const is_same = std::ranges::all_of(from, [&](onnx_value const& value) {
    return value.dims == from[0].dims && value.axes == from[0].axes && value.view == from[0].view
           && shape_of(value.id) == shape_of(from[0].id);
  });
  bool const is_equal =
      std::ranges::all_of(from, [&](onnx_value const& value) { return value.dims == from[0].dims; });
  if (is_same) {
    for (onnx_value const& value : from) ids.push_back(value.id);
    return like(from[0], append(kind, ids));
  }
  if (std::size_t const batch = batch_axis(from[0]); batch > 0) {
    for (onnx_value& value : from) value = moved(std::move(value), batch, 0);
    return moved(combined(kind, std::move(from)), 0, batch);
  }
  for (onnx_value const& value : from)
    if (value.dims.size() != from[0].dims.size() || value.axes[0] != onnx_value::batch
        || value.dims[0] != from[0].dims[0])
      refuse("the inputs have different batches or different numbers of axes", extents_text(from[0].dims),
             extents_text(value.dims), onnx_remedy::batch_first);
  if (!is_equal && rank > 4) return repeated_along_axes(kind, from);
  for (onnx_value const& value : from) {
    extents const dims = value.dims.size() == 1 ? extents{1} : behind_batch_of(value);
    ids.push_back(reshaped(value, is_equal ? collapsed(dims) : checked_shape(dims)));
  }
  int const made = append(kind, ids);
  if (is_equal) return row_major(made, behind_batch_of(from[0]), from[0].dims[0]);
  ::cohort::shape const out = shape_of(made);
  extents dims(out.extents.begin(), out.extents.begin() + out.rank);
  if (from[0].dims.size() == 1) dims.clear();
  return row_major(made, dims, from[0].dims[0]);
}

}  // namespace cohort::detail
