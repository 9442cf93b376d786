// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/interchange/detail/onnx_importer.hpp>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>

/// Operators on constants and on shapes, computed at import. Exporters write such operators instead of their
/// results: Reshape(x, Concat(Gather(Shape(x), 0), -1)).
namespace cohort::detail {

std::int64_t slice_bound(std::int64_t given, std::int64_t extent) {
  return std::clamp(given < 0 ? given + extent : given, std::int64_t{0}, extent);
}

std::pair<std::int64_t, std::int64_t> reverse_bounds(std::int64_t first, std::int64_t last,
                                                     std::int64_t extent) {
  auto const index = [&](std::int64_t given, std::int64_t least) {
    return std::clamp(given < 0 ? given + extent : given, std::min(least, extent - 1), extent - 1);
  };
  return {index(first, 0), index(last, -1)};
}

namespace {

/// Returns whether the product of all extents but those of 0 fits in 63 bits, so that each product of some of
/// them does.
bool is_countable(std::vector<std::int64_t> const& dims) {
  std::int64_t product = 1;
  return std::ranges::none_of(dims, [&](std::int64_t extent) {
    return extent != 0 && __builtin_mul_overflow(product, extent, &product);
  });
}

}  // namespace

std::int64_t onnx_known::elements() const {
  std::int64_t count = 1;
  for (std::int64_t const extent : dims)
    if (__builtin_mul_overflow(count, extent, &count)) return -1;
  return count;
}

std::optional<onnx_known> onnx_importer::known(std::size_t which) const {
  auto const found = has_input(which) ? values_.find(node_->inputs[which]) : values_.end();
  if (found == values_.end()) return std::nullopt;
  if (found->second.known) return *found->second.known;
  if (example_axis_ && !found->second.constant) {
    auto const example = operand(which);
    if (!example || !is_countable(example->dims)) return std::nullopt;
    onnx_known result{.type = onnx_type::f32, .dims = example->dims, .values = {}, .of_batch = {}};
    for (float const number : example->values) result.values.push_back(static_cast<double>(number));
    result.of_batch.resize(result.values.size());
    return result;
  }
  onnx_tensor const* const from = found->second.constant;
  if (!from || from->elements() > max_onnx_folded || !is_countable(from->dims)) return std::nullopt;
  onnx_known result{.type = from->type, .dims = from->dims, .values = {}, .of_batch = {}};
  if (auto const reals = from->floats()) {
    for (float const number : *reals) result.values.push_back(static_cast<double>(number));
  } else if (auto const integers = from->integers()) {
    for (std::int64_t const number : *integers) result.values.push_back(static_cast<double>(number));
  } else if (from->type == onnx_type::boolean) {
    for (char const number : from->raw) result.values.push_back(number != 0 ? 1 : 0);
  } else {
    return std::nullopt;
  }
  result.of_batch.resize(result.values.size());
  return result;
}

void onnx_importer::set_known(onnx_known result, std::size_t output) {
  if ((folded_ += static_cast<std::int64_t>(result.values.size())) > max_onnx_folded_in_all)
    refuse("the constants that are computed at import have too many elements",
           {"at most ", max_onnx_folded_in_all}, {folded_}, onnx_remedy::fold);
  if (example_axis_) {
    onnx_value value{.dims = result.dims};
    value.dims.at(*example_axis_) = -1;
    value.repeated = std::make_shared<onnx_known const>(std::move(result));
    return set(std::move(value), output);
  }
  if (std::ranges::any_of(result.of_batch, [](char flag) { return flag != 0; })) {
    onnx_value value{.dims = result.dims, .is_integer = true};
    value.known = std::make_shared<onnx_known const>(std::move(result));
    return set(std::move(value), output);
  }
  onnx_tensor tensor{.type = result.type, .dims = result.dims};
  auto const put = [&](auto const& convert) {
    for (double const number : result.values) {
      auto const element = convert(number);
      tensor.raw.append(reinterpret_cast<char const*>(&element), sizeof element);
    }
  };
  constexpr double most = 9223372036854774784.0;  // the largest double below 2^63; a NaN becomes −most
  if (result.type == onnx_type::f32)
    put([](double x) { return static_cast<float>(x); });
  else if (result.type == onnx_type::boolean)
    put([](double x) { return static_cast<char>(x != 0); });
  else if (result.type == onnx_type::i32)
    put([](double x) {
      return static_cast<std::int32_t>(x > -2147483648.0 ? std::min(x, 2147483647.0) : -2147483648.0);
    });
  else
    put([](double x) {
      return x > most ? std::numeric_limits<std::int64_t>::max()
                      : static_cast<std::int64_t>(x > -most ? x : -most);
    });
  set_constant(std::move(tensor), output);
}

/// Imports Shape. The result is known, except that one extent may be a multiple of the batch.
void onnx_importer::shape_of_value() {
  onnx_value const& x = any(0);
  extents const dims = file_extents(x);
  auto const rank = static_cast<std::int64_t>(dims.size());
  std::int64_t const first = slice_bound(integer("start", 0), rank),
                     last = slice_bound(integer("end", rank), rank);
  onnx_known result{.type = onnx_type::i64,
                    .dims = {std::max<std::int64_t>(last - first, 0)},
                    .values = {},
                    .of_batch = {}};
  for (std::int64_t axis = first; axis < last; ++axis) {
    std::int64_t const extent = dims[static_cast<std::size_t>(axis)], multiple = batches_in(extent);
    result.values.push_back(static_cast<double>(multiple > 0 ? multiple : extent));
    result.of_batch.push_back(multiple > 0);
  }
  set_known(std::move(result));
}

namespace onnx_folding {

using extents = std::vector<std::int64_t>;

/// Returns the index of an element of an operand that is broadcast to `dims`.
inline std::size_t broadcast_index(extents const& dims, extents const& operand, std::int64_t i) {
  std::int64_t index = 0, stride = 1;
  std::size_t const more = dims.size() - operand.size();
  for (std::size_t axis = dims.size(); axis-- > 0; i /= dims[axis]) {
    if (axis < more) continue;
    std::int64_t const extent = operand[axis - more];
    if (extent > 1) index += i % dims[axis] * stride;
    stride *= extent;
  }
  return static_cast<std::size_t>(index);
}

/// Returns the shape to which shapes are broadcast; nullopt if the shapes cannot be broadcast.
inline std::optional<extents> broadcast_dims(std::vector<extents> const& all) {
  extents dims;
  for (extents const& operand : all) {
    if (operand.size() > dims.size()) dims.insert(dims.begin(), operand.size() - dims.size(), 1);
    for (std::size_t k = 1; k <= operand.size(); ++k) {
      std::int64_t& to = dims[dims.size() - k];
      std::int64_t const from = operand[operand.size() - k];
      if (from != to && from != 1 && to != 1) return std::nullopt;
      if (to == 1) to = from;
    }
  }
  return dims;
}

/// Returns entry i of indices along an axis, from 0; nullopt if it depends on the batch or does not exist.
std::optional<std::int64_t> index_at(onnx_known const& indices, std::size_t i, std::int64_t extent) {
  double const index = indices.values[i];
  bool const exists = index >= -static_cast<double>(extent) && index < static_cast<double>(extent);
  if (indices.of_batch[i] != 0 || !exists) return std::nullopt;  // an index of NaN does not exist
  auto const number = static_cast<std::int64_t>(index);
  return number < 0 ? number + extent : number;
}

/// Returns whether doubles compute an operator on the integers x[0] and x[1] exactly. Integers from 2^53 on,
/// as the ends of slices, are only selected, or compared with smaller ones.
bool is_exact(std::string_view op, double const* x, double value) {
  auto const is_small = [](double number) { return std::abs(number) < 9007199254740992.0; };
  if (op == "Where") return true;
  bool const compares = op == "Equal" || op == "Less" || op == "Greater" || op == "Min" || op == "Max";
  return compares ? is_small(x[0]) || is_small(x[1]) : is_small(x[0]) && is_small(x[1]) && is_small(value);
}

}  // namespace onnx_folding

/// Add, Sub, Mul, Div, Equal, Where and similar: element by element, with broadcasting. Of extents that
/// depend on the batch, only multiples and their quotients are known.
bool onnx_importer::fold_elements() {
  std::vector<onnx_known> from;
  std::vector<extents> shapes;
  for (std::size_t i = 0; i < node_->inputs.size(); ++i) {
    auto operand = known(i);
    if (!operand) return false;
    shapes.push_back(operand->dims);
    from.push_back(std::move(*operand));
  }
  std::string const& op = node_->op;
  auto const dims = onnx_folding::broadcast_dims(shapes);
  if (!dims || from.size() != (op == "Where" ? 3U : 2U)) return false;
  std::int64_t count = 1;
  for (std::int64_t const extent : *dims)
    if ((count *= extent) > max_onnx_folded) return false;
  bool const is_logic = op == "Equal" || op == "Less" || op == "Greater";
  onnx_type const type = from[op == "Where" ? 1 : 0].type;  // Pow may have an exponent of another type
  bool const is_real = type == onnx_type::f32;
  onnx_known result{
      .type = is_logic ? onnx_type::boolean : type, .dims = *dims, .values = {}, .of_batch = {}};
  for (std::int64_t i = 0; i < count; ++i) {
    double x[3]{};
    bool is_batch[3]{};
    for (std::size_t k = 0; k < from.size(); ++k) {
      std::size_t const index = onnx_folding::broadcast_index(*dims, from[k].dims, i);
      x[k] = from[k].values[index];
      is_batch[k] = from[k].of_batch[index] != 0;
    }
    double value = 0;
    bool of_batch = false;
    if (op == "Where") {
      if (is_batch[0]) return false;
      value = x[0] != 0 ? x[1] : x[2];
      of_batch = x[0] != 0 ? is_batch[1] : is_batch[2];
    } else if (op == "Mul") {
      if (is_batch[0] && is_batch[1]) return false;
      value = x[0] * x[1];
      of_batch = is_batch[0] || is_batch[1];
    } else if (op == "Div") {
      if (x[1] == 0 || (is_batch[1] && !is_batch[0])) return false;
      value = is_real ? x[0] / x[1] : std::trunc(x[0] / x[1]);
      of_batch = is_batch[0] && !is_batch[1];
      if (of_batch && value * x[1] != x[0]) return false;
    } else if ((op == "Max" || op == "Min") && (is_batch[0] || is_batch[1])) {
      // The batch has at least one example; a multiple of it is compared with another one, or with a number.
      double const multiple = x[is_batch[0] ? 0 : 1], other = x[is_batch[0] ? 1 : 0];
      bool const is_both = is_batch[0] && is_batch[1];
      if (!is_both && (multiple <= 0 || other > multiple)) return false;
      of_batch = is_both || op == "Max";
      value = is_both       ? (op == "Max" ? std::max(x[0], x[1]) : std::min(x[0], x[1]))
              : op == "Max" ? multiple
                            : other;
    } else if (is_batch[0] || is_batch[1]) {
      if (op != "Equal" || (is_batch[0] && is_batch[1])) return false;
      value = 0;  // an extent differs from −1 and other marks
      if (x[is_batch[0] ? 1 : 0] > 0) return false;
    } else {
      if (op == "Mod" && (x[1] == 0 || is_real)) return false;
      value = op == "Add"       ? x[0] + x[1]
              : op == "Sub"     ? x[0] - x[1]
              : op == "Mod"     ? x[0] - x[1] * std::floor(x[0] / x[1])
              : op == "Pow"     ? std::pow(x[0], x[1])
              : op == "Min"     ? std::min(x[0], x[1])
              : op == "Max"     ? std::max(x[0], x[1])
              : op == "Equal"   ? x[0] == x[1]
              : op == "Less"    ? x[0] < x[1]
              : op == "Greater" ? x[0] > x[1]
                                : 0;
    }
    if (!is_real && !onnx_folding::is_exact(op, x, value)) return false;
    result.values.push_back(value);
    result.of_batch.push_back(of_batch);
  }
  set_known(std::move(result));
  return true;
}

/// Functions of one number.
bool onnx_importer::fold_each() {
  static constexpr std::pair<std::string_view, double (*)(double)> functions[]{
      {"Abs", [](double x) { return std::abs(x); }},
      {"Ceil", [](double x) { return std::ceil(x); }},
      {"Cos", [](double x) { return std::cos(x); }},
      {"Exp", [](double x) { return std::exp(x); }},
      {"Floor", [](double x) { return std::floor(x); }},
      {"Log", [](double x) { return std::log(x); }},
      {"Neg", [](double x) { return -x; }},
      {"Not", [](double x) { return x == 0 ? 1.0 : 0.0; }},
      {"Reciprocal", [](double x) { return 1 / x; }},
      {"Relu", [](double x) { return x < 0 ? 0 : x; }},
      {"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"Sin", [](double x) { return std::sin(x); }},
      {"Sqrt", [](double x) { return std::sqrt(x); }},
      {"Tanh", [](double x) { return std::tanh(x); }}};
  auto result = known(0);
  if (!result) return false;
  std::string const& op = node_->op;
  if (op == "Cast") result->type = static_cast<onnx_type>(integer("to", 0));
  bool const is_known_type = result->type == onnx_type::f32 || result->type == onnx_type::i32
                             || result->type == onnx_type::i64 || result->type == onnx_type::boolean;
  if (!is_known_type) return false;
  auto const* const function =
      std::ranges::find(functions, op, &std::pair<std::string_view, double (*)(double)>::first);
  bool const copies = op == "Cast" || op == "Identity" || op == "Floor" || op == "Ceil";
  for (std::size_t i = 0; i < result->values.size(); ++i) {
    double& x = result->values[i];
    if (result->of_batch[i] != 0 && (!copies || x != std::trunc(x))) return false;
    if (function != std::end(functions)) x = function->second(x);
    if (op == "Cast" && result->type != onnx_type::f32)
      x = result->type == onnx_type::boolean ? x != 0 : std::trunc(x);
  }
  set_known(std::move(*result));
  return true;
}

/// Copies elements of the first input: element i of the result is the input's element source(i).
bool onnx_importer::fold_copies(onnx_known const& from, extents dims,
                                std::function<std::size_t(std::int64_t)> const& source) {
  onnx_known result{.type = from.type, .dims = std::move(dims), .values = {}, .of_batch = {}};
  std::int64_t const count = result.elements();
  if (count < 0 || count > max_onnx_folded) return false;
  for (std::int64_t i = 0; i < count; ++i) {
    std::size_t const index = source(i);
    result.values.push_back(from.values[index]);
    result.of_batch.push_back(from.of_batch[index]);
  }
  set_known(std::move(result));
  return true;
}

/// MatMul of constants, with the bias of fuse_bias. The second one is a matrix.
bool onnx_importer::fold_matmul() {
  auto const x = known(0), weights = known(1), bias = known(2);
  bool const is_known = x && weights && x->type == onnx_type::f32 && weights->type == onnx_type::f32;
  if (!is_known || x->dims.size() < (example_axis_ ? 2U : 1U) || weights->dims.size() != 2
      || x->dims.back() != weights->dims[0])
    return false;
  std::int64_t const inner = weights->dims[0], columns = weights->dims[1];
  onnx_known result{.type = onnx_type::f32, .dims = x->dims, .values = {}, .of_batch = {}};
  result.dims.back() = columns;
  std::int64_t const count = result.elements();
  bool const has_known_bias = bias && bias->dims.size() <= x->dims.size() && bias->elements() == columns;
  if (has_input(2) && !has_known_bias) return false;
  if (count < 0 || count > max_onnx_folded || inner < 1 || count > max_onnx_products / inner
      || (products_ += count * inner) > max_onnx_products)
    return false;
  for (std::int64_t i = 0; i < count; ++i) {
    double sum = bias ? bias->values[static_cast<std::size_t>(i % columns)] : 0;
    for (std::int64_t k = 0; k < inner; ++k)
      sum += x->values[static_cast<std::size_t>(i / columns * inner + k)]
             * weights->values[static_cast<std::size_t>(k * columns + i % columns)];
    result.values.push_back(sum);
  }
  result.of_batch.resize(result.values.size());
  set_known(std::move(result));
  return true;
}

/// Clip of constants to constant bounds.
bool onnx_importer::fold_clip() {
  auto result = known(0);
  if (!result || result->type != onnx_type::f32) return false;
  std::optional<double> const low = bound(1, "min"), high = bound(2, "max");
  for (std::size_t i = 0; i < result->values.size(); ++i) {
    if (low) result->values[i] = std::max(result->values[i], *low);
    if (high) result->values[i] = std::min(result->values[i], *high);
  }
  set_known(std::move(*result));
  return true;
}

/// Tile of known numbers.
bool onnx_importer::fold_tile() {
  auto const from = known(0);
  auto const repeats = list(1, nullptr);
  if (!from || !repeats || repeats->size() != from->dims.size()) return false;
  extents dims = from->dims;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if ((*repeats)[axis] < 0 || (*repeats)[axis] > max_onnx_extent) return false;
    dims[axis] *= (*repeats)[axis];
    if (dims[axis] > max_onnx_folded) return false;
  }
  return fold_copies(*from, dims, [&](std::int64_t i) {
    std::int64_t source = 0, distance = 1;
    for (std::size_t axis = dims.size(); axis-- > 0; i /= dims[axis], distance *= from->dims[axis])
      source += i % dims[axis] % from->dims[axis] * distance;
    return static_cast<std::size_t>(source);
  });
}

/// Trilu of known numbers.
bool onnx_importer::fold_trilu() {
  auto result = known(0);
  auto const diagonal = known(1);
  bool const is_known_diagonal =
      !has_input(1) || (diagonal && diagonal->values.size() == 1 && !diagonal->of_batch[0]);
  if (!result || result->dims.size() < 2 || !is_known_diagonal) return false;
  bool const is_upper = integer("upper", 1) != 0;
  double const first = diagonal ? diagonal->values[0] : 0;
  auto const columns = static_cast<std::size_t>(result->dims.back()),
             rows = static_cast<std::size_t>(result->dims[result->dims.size() - 2]);
  for (std::size_t i = 0; i < result->values.size(); ++i) {
    double const distance = static_cast<double>(i % columns) - static_cast<double>(i / columns % rows);
    if (is_upper ? distance < first : distance > first) result->values[i] = 0, result->of_batch[i] = 0;
  }
  set_known(std::move(*result));
  return true;
}

/// Transpose of integers; constants of f32 have their own import.
bool onnx_importer::fold_transpose() {
  auto const from = any(0).constant && any(0).constant->floats() ? std::nullopt : known(0);
  extents order = integers("perm");
  if (!from || (!order.empty() && order.size() != from->dims.size())) return false;
  std::size_t const rank = from->dims.size();
  for (std::size_t axis = 0; order.size() < rank; ++axis)
    order.push_back(static_cast<std::int64_t>(rank - 1 - axis));
  extents dims, strides(rank, 1);
  std::vector<bool> seen(rank);
  for (std::size_t axis = rank; axis-- > 1;) strides[axis - 1] = strides[axis] * from->dims[axis];
  for (std::int64_t const axis : order) {
    if (axis < 0 || axis >= static_cast<std::int64_t>(rank) || seen[static_cast<std::size_t>(axis)])
      return false;  // transpose() reports the error
    seen[static_cast<std::size_t>(axis)] = true;
    dims.push_back(from->dims[static_cast<std::size_t>(axis)]);
  }
  return fold_copies(*from, dims, [&](std::int64_t i) {
    std::int64_t source = 0;
    for (std::size_t axis = rank; axis-- > 0; i /= dims[axis])
      source += i % dims[axis] * strides[static_cast<std::size_t>(order[axis])];
    return static_cast<std::size_t>(source);
  });
}

/// Range of known numbers.
bool onnx_importer::fold_range() {
  auto const start = known(0), limit = known(1), delta = known(2);
  for (auto const* const number : {&start, &limit, &delta})
    if (!*number || (*number)->values.size() != 1 || (*number)->of_batch[0] != 0) return false;
  double const step = delta->values[0], count = std::ceil((limit->values[0] - start->values[0]) / step);
  if (!(count <= static_cast<double>(max_onnx_folded))) return false;  // also a step of 0, and NaN
  onnx_known result{.type = start->type, .dims = {0}, .values = {}, .of_batch = {}};
  for (double i = 0; i < count; ++i) result.values.push_back(start->values[0] + i * step);
  result.dims[0] = static_cast<std::int64_t>(result.values.size());
  result.of_batch.resize(result.values.size());
  set_known(std::move(result));
  return true;
}

/// Gather along an axis.
bool onnx_importer::fold_gather() {
  auto const from = known(0), indices = known(1);
  if (!from || !indices || from->dims.empty()) return false;
  auto const axis = static_cast<std::size_t>(axis_of(integer("axis", 0), from->dims.size()));
  std::int64_t const extent = from->dims[axis], count = indices->elements();
  extents places;
  for (std::size_t i = 0; i < indices->values.size(); ++i) {
    auto const place = onnx_folding::index_at(*indices, i, extent);
    if (!place) return false;
    places.push_back(*place);
  }
  std::int64_t inner = 1;
  for (std::size_t a = axis + 1; a < from->dims.size(); ++a) inner *= from->dims[a];
  extents dims(from->dims.begin(), from->dims.begin() + static_cast<std::ptrdiff_t>(axis));
  dims.insert(dims.end(), indices->dims.begin(), indices->dims.end());
  dims.insert(dims.end(), from->dims.begin() + static_cast<std::ptrdiff_t>(axis) + 1, from->dims.end());
  return fold_copies(*from, std::move(dims), [&](std::int64_t i) {
    std::int64_t const outer = i / inner / count;
    std::int64_t const place = places[static_cast<std::size_t>(i / inner % count)];
    return static_cast<std::size_t>((outer * extent + place) * inner + i % inner);
  });
}

/// GatherND of known numbers.
bool onnx_importer::fold_gather_nd() {
  auto const from = known(0), indices = known(1);
  if (!from || !indices || indices->dims.empty() || integer("batch_dims", 0) != 0) return false;
  std::int64_t const depth = indices->dims.back();
  if (depth < 1 || depth > std::ssize(from->dims)) return false;
  extents dims(indices->dims.begin(), indices->dims.end() - 1);
  std::int64_t inner = 1;
  for (auto axis = static_cast<std::size_t>(depth); axis < from->dims.size(); ++axis) {
    inner *= from->dims[axis];
    dims.push_back(from->dims[axis]);
  }
  extents places;  // of the first element of each slice
  for (std::size_t i = 0; i < indices->values.size();) {
    std::int64_t first = 0;
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(depth); ++axis, ++i) {
      auto const place = onnx_folding::index_at(*indices, i, from->dims[axis]);
      if (!place) return false;
      first = first * from->dims[axis] + *place;
    }
    places.push_back(first * inner);
  }
  return fold_copies(*from, std::move(dims), [&](std::int64_t i) {
    return static_cast<std::size_t>(places[static_cast<std::size_t>(i / inner)] + i % inner);
  });
}

/// ScatterND without a reduction: replaces slices of constants.
bool onnx_importer::fold_scatter() {
  auto result = known(0);
  auto const indices = known(1), updates = known(2);
  if (!result || !indices || !updates || indices->dims.empty() || text("reduction", "none") != "none")
    return false;
  auto const depth = static_cast<std::size_t>(indices->dims.back());
  if (depth > result->dims.size()) return false;
  std::int64_t inner = 1;
  for (std::size_t axis = depth; axis < result->dims.size(); ++axis) inner *= result->dims[axis];
  std::int64_t const count = depth == 0 ? 0 : indices->elements() / static_cast<std::int64_t>(depth);
  if (updates->elements() != count * inner) return false;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t first = 0;
    for (std::size_t axis = 0; axis < depth; ++axis) {
      std::size_t const entry = static_cast<std::size_t>(i) * depth + axis;
      auto const place = onnx_folding::index_at(*indices, entry, result->dims[axis]);
      if (!place) return false;
      first = first * result->dims[axis] + *place;
    }
    for (std::int64_t k = 0; k < inner; ++k) {
      auto const to = static_cast<std::size_t>(first * inner + k),
                 source = static_cast<std::size_t>(i * inner + k);
      result->values[to] = updates->values[source];
      result->of_batch[to] = updates->of_batch[source];
    }
  }
  set_known(std::move(*result));
  return true;
}

/// Slice of a batch that is filled with one number, along axes after the batch.
bool onnx_importer::slice_filled() {
  onnx_value result = any(0);
  auto const starts = list(1, nullptr), ends = list(2, nullptr), axes = list(3, nullptr),
             steps = list(4, nullptr);
  if (!starts || !ends || !axes || starts->size() != axes->size() || ends->size() != axes->size())
    return false;
  if (steps && std::ranges::any_of(*steps, [](std::int64_t step) { return step != 1; })) return false;
  for (std::size_t i = 0; i < axes->size(); ++i) {
    std::int64_t& extent = result.dims[static_cast<std::size_t>(axis_of((*axes)[i], result.dims.size()))];
    if (extent < 0) return false;  // the axis of the batch
    extent = slice_bound((*ends)[i], extent) - slice_bound((*starts)[i], extent);
    if (extent < 1) return false;
  }
  set(std::move(result));
  return true;
}

/// Squeeze and Unsqueeze of a batch that is filled with one number.
bool onnx_importer::fold_axes_of_filled() {
  onnx_value result = any(0);
  auto const axes = list(1, "axes");
  bool const inserts = node_->op == "Unsqueeze";
  if (!axes || (!inserts && node_->op != "Squeeze")) return false;
  std::vector<char> is_named(result.dims.size() + (inserts ? axes->size() : 0));
  for (std::int64_t const axis : *axes)
    is_named[static_cast<std::size_t>(axis_of(axis, is_named.size()))] = 1;
  if (static_cast<std::size_t>(std::ranges::count(is_named, 1)) != axes->size())
    return false;  // an axis twice
  extents dims;
  auto from = result.dims.begin();
  for (char const named : is_named) {
    if (!named)
      dims.push_back(*from++);
    else if (inserts)
      dims.push_back(1);
    else if (*from++ != 1)
      return false;
  }
  result.dims = std::move(dims);
  set(std::move(result));
  return true;
}

/// Concat of batches that are filled with the same number, along an axis after the batch or before it.
bool onnx_importer::fold_concat_of_filled() {
  onnx_value result = any(0);
  auto const axis = static_cast<std::size_t>(axis_of(integer("axis", 1), result.dims.size()));
  if (result.dims[axis] < 0) return false;  // the axis of the batch
  for (std::size_t i = 1; i < node_->inputs.size(); ++i) {
    onnx_value const& part = any(i);
    if (part.fill != result.fill || part.dims.size() != result.dims.size()) return false;
    for (std::size_t a = 0; a < part.dims.size(); ++a)
      if (a != axis && part.dims[a] != result.dims[a]) return false;
    result.dims[axis] += part.dims[axis];
  }
  set(std::move(result));
  return true;
}

/// ReduceProd of a vector, as of a shape.
bool onnx_importer::fold_product() {
  auto const from = known(0);
  auto const axes = list(1, "axes");
  integer("noop_with_empty_axes", 0);
  if (!from || from->dims.size() != 1 || (axes && *axes != extents{0} && *axes != extents{-1})) return false;
  onnx_known product{.type = from->type, .dims = {}, .values = {1}, .of_batch = {0}};
  if (integer("keepdims", 1) != 0) product.dims = {1};
  for (std::size_t i = 0; i < from->values.size(); ++i) {
    product.values[0] *= from->values[i];
    product.of_batch[0] += from->of_batch[i];
  }
  if (product.of_batch[0] > 1 || !(std::abs(product.values[0]) <= static_cast<double>(max_onnx_extent)))
    return false;
  set_known(std::move(product));
  return true;
}

/// Slice of a vector.
bool onnx_importer::fold_slice() {
  if (any(0).fill && !example_axis_) return slice_filled();
  auto const from = known(0);
  if (!from) return false;
  auto const starts = list(1, "starts"), ends = list(2, "ends"), axes = list(3, "axes"),
             steps = list(4, nullptr);
  if (!starts || !ends || ends->size() != starts->size() || (axes && axes->size() != starts->size())
      || (steps && steps->size() != starts->size()))
    return false;
  std::size_t const rank = from->dims.size();
  extents dims = from->dims, first(rank, 0), step(rank, 1);
  for (std::size_t i = 0; i < starts->size(); ++i) {
    std::int64_t const given = axes ? (*axes)[i] : static_cast<std::int64_t>(i);
    if (given >= static_cast<std::int64_t>(rank) && !axes) return false;
    auto const axis = static_cast<std::size_t>(axis_of(given, rank));
    std::int64_t const extent = from->dims[axis], stride = steps ? (*steps)[i] : 1;
    if (stride == 0 || stride < -max_onnx_extent || stride > max_onnx_extent) return false;
    bool const is_all =
        (*starts)[i] == 0 && (*ends)[i] >= std::numeric_limits<std::int32_t>::max() && stride == 1;
    if (example_axis_ == axis && !is_all) return false;
    step[axis] = stride;
    if (stride > 0) {
      std::int64_t const last = slice_bound((*ends)[i], extent);
      first[axis] = slice_bound((*starts)[i], extent);
      dims[axis] = std::max<std::int64_t>((last - first[axis] + stride - 1) / stride, 0);
    } else {
      auto const [from_last, end] = reverse_bounds((*starts)[i], (*ends)[i], extent);
      first[axis] = from_last;
      dims[axis] = std::max<std::int64_t>((from_last - end - stride - 1) / -stride, 0);
    }
  }
  return fold_copies(*from, dims, [&](std::int64_t i) {
    std::int64_t source = 0, distance = 1;
    for (std::size_t axis = rank; axis-- > 0; i /= dims[axis], distance *= from->dims[axis])
      source += (first[axis] + i % dims[axis] * step[axis]) * distance;
    return static_cast<std::size_t>(source);
  });
}

/// Split of known numbers.
bool onnx_importer::fold_split() {
  auto const from = known(0);
  if (!from || from->dims.empty()) return false;
  std::size_t const rank = from->dims.size();
  auto const axis = static_cast<std::size_t>(axis_of(integer("axis", 0), rank));
  if (example_axis_ == axis) return false;
  std::int64_t const extent = from->dims[axis];
  extents const sizes = split_sizes(extent);
  std::int64_t first = 0, inner = 1;
  for (std::size_t a = axis + 1; a < rank; ++a) inner *= from->dims[a];
  for (std::size_t part = 0; part < sizes.size(); first += sizes[part++]) {
    if (!is_used(part)) continue;
    onnx_known result{.type = from->type, .dims = from->dims, .values = {}, .of_batch = {}};
    result.dims[axis] = sizes[part];
    for (std::int64_t i = 0; i < result.elements(); ++i) {
      std::int64_t const row = i / inner / sizes[part], place = i / inner % sizes[part] + first;
      auto const source = static_cast<std::size_t>((row * extent + place) * inner + i % inner);
      result.values.push_back(from->values[source]);
      result.of_batch.push_back(from->of_batch[source]);
    }
    set_known(std::move(result), part);
  }
  return true;
}

/// Concat along an axis: 1 if the node does not name it, as in operator sets 1 to 3.
bool onnx_importer::fold_concat() {
  if (any(0).fill) return fold_concat_of_filled();
  std::vector<onnx_known> from;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < node_->inputs.size(); ++i) {
    auto operand = known(i);
    if (!operand || operand->dims.empty() || operand->dims.size() != any(0).dims.size()) return false;
    if ((count += operand->elements()) > max_onnx_folded) return false;
    from.push_back(std::move(*operand));
  }
  std::size_t const rank = from[0].dims.size();
  auto const axis = static_cast<std::size_t>(axis_of(integer("axis", 1), rank));
  onnx_known all{.type = from[0].type, .dims = from[0].dims, .values = {}, .of_batch = {}};
  all.dims[axis] = 0;
  std::int64_t outer = 1, inner = 1;
  for (std::size_t a = 0; a < rank; ++a)
    if (a != axis) (a < axis ? outer : inner) *= from[0].dims[a];
  for (onnx_known const& part : from) {
    for (std::size_t a = 0; a < rank; ++a)
      if (a != axis && part.dims[a] != from[0].dims[a]) return false;
    all.dims[axis] += part.dims[axis];
  }
  for (std::int64_t row = 0; row < outer; ++row)
    for (onnx_known const& part : from)
      for (std::int64_t i = 0; i < part.dims[axis] * inner; ++i) {
        auto const source = static_cast<std::size_t>(row * part.dims[axis] * inner + i);
        all.values.push_back(part.values[source]);
        all.of_batch.push_back(part.of_batch[source]);
      }
  set_known(std::move(all));
  return true;
}

/// Squeeze, Unsqueeze and Reshape of a shape with the batch; constants have their own imports.
bool onnx_importer::fold_axes() {
  if (any(0).fill) return fold_axes_of_filled();
  if (!any(0).known) return false;
  onnx_known result = *any(0).known;
  std::string const& op = node_->op;
  if (op == "Unsqueeze") {
    auto const axes = list(1, "axes");
    if (!axes || axes->size() != 1 || !result.dims.empty()) return false;
    result.dims = {1};
  } else if (op == "Squeeze") {
    list(1, "axes");
    if (result.elements() != 1) return false;
    result.dims.clear();
  } else {
    auto const target = list(1, nullptr);
    integer("allowzero", 0);
    if (!target || target->size() > 1) return false;
    result.dims = target->empty() ? extents() : extents{result.elements()};
    if (!target->empty() && (*target)[0] != -1 && (*target)[0] != result.elements()) return false;
  }
  set_known(std::move(result));
  return true;
}

/// ConstantOfShape and Expand of constants; if the batch is among the extents, the value must be the same
/// everywhere, for example the initial state of a recurrent layer.
bool onnx_importer::fold_filled() {
  bool const expands = node_->op == "Expand";
  auto const wanted = known(expands ? 1 : 0);
  if (!wanted || wanted->dims.size() != 1) return false;
  onnx_known from{.type = onnx_type::f32, .dims = {}, .values = {0}, .of_batch = {0}};
  if (expands) {
    auto const given = known(0);
    if (!given) return false;
    from = *given;
  } else if (onnx_attribute const* const value = attribute("value", onnx_attribute::tensor)) {
    onnx_tensor const& element = value->t[0];
    if (element.elements() != 1) return false;
    from.type = element.type;
    if (auto const reals = element.floats())
      from.values[0] = static_cast<double>((*reals)[0]);
    else if (auto const integers = element.integers())
      from.values[0] = static_cast<double>((*integers)[0]);
    else
      return false;
  }
  extents dims;
  bool has_batch = false;
  for (std::size_t i = 0; i < wanted->values.size(); ++i) {
    bool const of_batch = wanted->of_batch[i] != 0;
    if (!(wanted->values[i] >= 0 && wanted->values[i] <= static_cast<double>(max_onnx_folded))) return false;
    if (of_batch && (has_batch || wanted->values[i] != 1)) return false;
    has_batch = has_batch || of_batch;
    dims.push_back(of_batch ? -1 : static_cast<std::int64_t>(wanted->values[i]));
  }
  if (has_batch) {
    bool const is_uniform =
        std::ranges::all_of(from.values, [&](double number) { return number == from.values[0]; });
    bool const has_batches = std::ranges::any_of(from.of_batch, [](char flag) { return flag != 0; });
    if (from.values.empty() || (from.type != onnx_type::f32 && !is_uniform) || has_batches) return false;
    auto const batch = static_cast<std::size_t>(std::ranges::find(dims, -1) - dims.begin());
    dims[batch] = 1;
    auto const example = onnx_folding::broadcast_dims({dims, from.dims});
    if (!example || example->size() != dims.size() || (*example)[batch] != 1) return false;
    onnx_value result{.dims = *example, .is_integer = from.type != onnx_type::f32};
    result.dims[batch] = -1;
    if (is_uniform) {
      result.fill = from.values[0];
    } else {
      onnx_known each{.type = from.type, .dims = *example, .values = {}, .of_batch = {}};
      std::int64_t const count = each.elements();
      if (count < 0 || (folded_ += count) > max_onnx_folded_in_all) return false;
      for (std::int64_t i = 0; i < count; ++i)
        each.values.push_back(from.values[onnx_folding::broadcast_index(*example, from.dims, i)]);
      result.repeated = std::make_shared<onnx_known const>(std::move(each));
    }
    set(std::move(result));
    return true;
  }
  auto const whole = onnx_folding::broadcast_dims({dims, from.dims});
  if (!whole || (!expands && *whole != dims)) return false;
  extents const before = from.dims;
  return fold_copies(from, *whole,
                     [&](std::int64_t i) { return onnx_folding::broadcast_index(*whole, before, i); });
}

/// Computes the current node at import if its inputs are known. Returns whether the node was computed.
bool onnx_importer::fold() {
  using self = onnx_importer;
  static constexpr std::pair<std::string_view, bool (self::*)()> table[]{
      {"Abs", &self::fold_each},
      {"Add", &self::fold_elements},
      {"Cast", &self::fold_each},
      {"Ceil", &self::fold_each},
      {"Clip", &self::fold_clip},
      {"Concat", &self::fold_concat},
      {"ConstantOfShape", &self::fold_filled},
      {"Cos", &self::fold_each},
      {"Div", &self::fold_elements},
      {"Equal", &self::fold_elements},
      {"Exp", &self::fold_each},
      {"Expand", &self::fold_filled},
      {"Floor", &self::fold_each},
      {"Gather", &self::fold_gather},
      {"GatherND", &self::fold_gather_nd},
      {"Greater", &self::fold_elements},
      {"Identity", &self::fold_each},
      {"Less", &self::fold_elements},
      {"Log", &self::fold_each},
      {"MatMul", &self::fold_matmul},
      {"Max", &self::fold_elements},
      {"Min", &self::fold_elements},
      {"Mod", &self::fold_elements},
      {"Mul", &self::fold_elements},
      {"Neg", &self::fold_each},
      {"Not", &self::fold_each},
      {"Pow", &self::fold_elements},
      {"Range", &self::fold_range},
      {"Reciprocal", &self::fold_each},
      {"ReduceProd", &self::fold_product},
      {"Relu", &self::fold_each},
      {"Reshape", &self::fold_axes},
      {"ScatterND", &self::fold_scatter},
      {"Sigmoid", &self::fold_each},
      {"Sin", &self::fold_each},
      {"Slice", &self::fold_slice},
      {"Split", &self::fold_split},
      {"Sqrt", &self::fold_each},
      {"Squeeze", &self::fold_axes},
      {"Sub", &self::fold_elements},
      {"Tanh", &self::fold_each},
      {"Tile", &self::fold_tile},
      {"Transpose", &self::fold_transpose},
      {"Trilu", &self::fold_trilu},
      {"Unsqueeze", &self::fold_axes},
      {"Where", &self::fold_elements}};
  auto const* const found =
      std::ranges::find(table, node_->op, &std::pair<std::string_view, bool (self::*)()>::first);
  if (found == std::end(table) || node_->inputs.empty()) return false;
  auto const all_inputs = [&](auto const& is_known) {
    return std::ranges::all_of(node_->inputs, [&](std::string const& name) {
      auto const value = values_.find(name);
      return name.empty() || (value != values_.end() && is_known(value->second));
    });
  };
  if (all_inputs([](onnx_value const& value) { return value.constant || value.known || value.fill; })
      && (this->*found->second)())
    return true;
  // The same numbers for each example of a batch of any size: computed for one example.
  static constexpr std::string_view of_examples[]{"Add",   "MatMul", "Mul", "Relu", "Sigmoid",
                                                  "Slice", "Split",  "Sub", "Tanh"};
  std::size_t rank = 0, batch = 0;
  for (std::string const& name : node_->inputs)
    if (auto const value = values_.find(name);
        value != values_.end() && (value->second.fill || value->second.repeated)) {
      extents const& dims = value->second.dims;
      rank = dims.size(), batch = static_cast<std::size_t>(std::ranges::find(dims, -1) - dims.begin());
    }
  if (batch == rank || std::ranges::find(of_examples, node_->op) == std::end(of_examples)) return false;
  bool const pairs = node_->op == "Add" || node_->op == "Mul" || node_->op == "Sub";
  bool const is_example = all_inputs([&](onnx_value const& value) {
    if (value.fill || value.repeated)
      return !value.is_integer && value.dims.size() == rank && value.dims[batch] < 0;
    if (!value.constant || !pairs) return value.constant != nullptr;
    std::size_t const size = value.dims.size();
    return size <= rank && (size + batch < rank || value.dims[size + batch - rank] == 1);
  });
  bool const is_of_rows = node_->op != "MatMul" || is_constant(1);
  if (!is_example || !is_of_rows) return false;
  example_axis_ = batch;
  bool const is_folded = (this->*found->second)();
  example_axis_.reset();
  return is_folded;
}

}  // namespace cohort::detail
