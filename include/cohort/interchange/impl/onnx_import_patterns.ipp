// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/interchange/detail/onnx_importer.hpp>
#include <cohort/interchange/detail/onnx_patterns.hpp>
#include <numbers>

namespace cohort::detail {

namespace {

/// Returns the operand of Mul or Add whose other operand is a constant, and sets the constant; "" if there is
/// none.
std::string beside_constant(onnx_patterns const& find, onnx_node const* node, std::string& constant) {
  for (std::size_t const which : {1, 0})
    if (node && find.constant(node->inputs[which])) {
      constant = node->inputs[which];
      return node->inputs[1 - which];
    }
  return {};
}

}  // namespace

/// Replaces Identity nodes of constants by the constants: exporters write them for shared parameters.
void onnx_importer::resolve_identities() {
  for (onnx_node& node : model_.nodes) {
    if (!onnx_patterns::is(node, "Identity", 1)) continue;
    auto const from = values_.find(node.inputs[0]);
    if (from == values_.end() || !from->second.constant) continue;
    if (values_.try_emplace(node.outputs[0], from->second).second) node.outputs.clear();
  }
}

void onnx_importer::fuse_patterns() {
  resolve_identities();
  fuse_masks();
  fuse_selections();
  fuse_signs();
  fuse_gelu();
  fuse_norms();
  fuse_unit_lengths();
  fuse_group_norm();
  fuse_attention();
  fuse_strides();
  fuse_bias();
}

/// Replaces c·a + (1 − c)·b of booleans c by Where(c, a, b), as tf2onnx selects numbers.
void onnx_importer::fuse_selections() {
  onnx_patterns const find(model_.nodes, values_);
  // Returns the booleans of a cast operand of Mul, and sets the other operand.
  auto const booleans = [&](std::string const& product, std::string& other) -> std::string {
    onnx_node const* const node = find.producer(product, "Mul", 2);
    for (std::size_t const which : {0, 1})
      if (onnx_node const* const cast =
              node ? find.producer(node->inputs[which], "Cast", 1, {"to"}) : nullptr) {
        bool const is_boolean = find.producer(cast->inputs[0], "Not", 1)
                                || find.producer(cast->inputs[0], "Less", 2)
                                || find.producer(cast->inputs[0], "Greater", 2);
        if (!is_boolean) continue;
        other = node->inputs[1 - which];
        return cast->inputs[0];
      }
    return {};
  };
  for (onnx_node& sum : model_.nodes) {
    if (!onnx_patterns::is(sum, "Add", 2)) continue;
    std::string first, second;
    std::string const chosen = booleans(sum.inputs[0], first), rest = booleans(sum.inputs[1], second);
    onnx_node const* const negation = find.producer(rest, "Not", 1);
    if (chosen.empty() || !negation || negation->inputs[0] != chosen) continue;
    sum.op = "Where";
    sum.inputs = {chosen, first, second};
  }
}

/// Replaces indices where(x < 0, x + rows, x) of a table by x, because an embedding refuses negative indices,
/// and where(x > 0, elu(x), α·elu(x)) by Elu of another slope.
void onnx_importer::fuse_signs() {
  onnx_patterns const find(model_.nodes, values_);
  auto const is_sign = [&](std::string const& condition, char const* op, std::string const& x) {
    onnx_node const* const compared = find.producer(condition, op, 2);
    if (!compared) return false;
    std::string const source = find.before_cast(compared->inputs[0], onnx_type::f32);
    onnx_tensor const* const zero = find.constant(compared->inputs[1]);
    bool const is_zero =
        zero && zero->elements() == 1 && zero->raw.find_first_not_of('\0') == std::string::npos;
    return is_zero && (compared->inputs[0] == x || source == x);
  };
  for (onnx_node& node : model_.nodes) {
    if (onnx_patterns::is(node, "Gather", 2, {"axis"}) && find.constant(node.inputs[0])) {
      onnx_node const* const where = find.producer(node.inputs[1], "Where", 3);
      onnx_node const* const sum = where ? find.producer(where->inputs[1], "Add", 2) : nullptr;
      onnx_tensor const* const table = find.constant(node.inputs[0]);
      if (!sum || table->dims.empty() || !is_sign(where->inputs[0], "Less", where->inputs[2])) continue;
      std::string rows;
      bool const adds_rows = beside_constant(find, sum, rows) == where->inputs[2];
      if (adds_rows && find.integers(rows) == extents{table->dims[0]}) node.inputs[1] = where->inputs[2];
    }
    if (!onnx_patterns::is(node, "Where", 3)) continue;
    onnx_node const* const curve = find.producer(node.inputs[1], "Elu", 1);
    std::string slope;
    std::string const scaled = beside_constant(find, find.producer(node.inputs[2], "Mul", 2), slope);
    auto const alpha = find.number(slope);
    if (!curve || scaled != node.inputs[1] || !alpha || !is_sign(node.inputs[0], "Greater", curve->inputs[0]))
      continue;
    node.op = "Elu";
    node.inputs = {curve->inputs[0]};
    node.attributes = {{.name = "alpha", .type = onnx_attribute::real, .f = *alpha}};
  }
}

/// Fuses ½·x·(1 + erf(x/√2)), with the factors in any usual order, into one Gelu node.
void onnx_importer::fuse_gelu() {
  onnx_patterns const find(model_.nodes, values_);
  // Returns the operand of a node whose other operand is `number`; "" if there is none.
  auto const beside = [&](onnx_node const* node, double number) -> std::string {
    if (!node) return {};
    if (find.is_number(node->inputs[1], number)) return node->inputs[0];
    return node->op != "Div" && find.is_number(node->inputs[0], number) ? node->inputs[1] : std::string();
  };
  struct match {
    onnx_node* last;
    std::string input;
  };
  std::vector<match> matches;
  for (onnx_node& erf : model_.nodes) {
    if (!onnx_patterns::is(erf, "Erf", 1)) continue;
    onnx_node const* const ratio = find.producer(erf.inputs[0], "Div", 2);
    onnx_node const* const scaled = ratio ? ratio : find.producer(erf.inputs[0], "Mul", 2);
    std::string const x = beside(scaled, ratio ? std::numbers::sqrt2 : 1 / std::numbers::sqrt2);
    onnx_node const* const sum = find.only_reader(erf, "Add", 2);
    if (x.empty() || beside(sum, 1).empty()) continue;
    onnx_node* const product = find.only_reader(*sum, "Mul", 2);
    if (!product) continue;
    std::string const& other = product->inputs[product->inputs[0] == sum->outputs[0] ? 1 : 0];
    onnx_node* last = product;
    if (other == x) {
      last = find.only_reader(*product, "Mul", 2);
      if (beside(last, 0.5).empty()) continue;
    } else if (beside(find.producer(other, "Mul", 2), 0.5) != x) {
      continue;
    }
    matches.push_back({last, x});
  }
  for (match& one : matches) {
    one.last->op = "Gelu";
    one.last->inputs = {std::move(one.input)};
  }
}

namespace {

/// A root √(mean(d²) + ε), where d is x − mean(x), or x itself.
struct onnx_root {
  std::string input{}, mean{}, centred{};  // x; mean(x) and x − mean(x), empty if d is x
  std::vector<std::int64_t> axes{};        // of the means; empty: all after the second one
  float epsilon = 0;
};

/// Returns whether a reduction keeps its axes as extents of 1.
bool keeps_axes(onnx_node const& node) {
  onnx_attribute const* const keeps = node.find("keepdims");
  return !keeps || keeps->i == 1;
}

/// Returns the node that computes a value as a mean that keeps its axes; otherwise null.
onnx_node const* mean_node(onnx_patterns const& find, std::string const& name) {
  if (onnx_node const* const pool = find.producer(name, "GlobalAveragePool", 1)) return pool;
  for (std::size_t const inputs : {1, 2})
    if (onnx_node const* const mean =
            find.producer(name, "ReduceMean", inputs, {"axes", "keepdims", "noop_with_empty_axes"}))
      return keeps_axes(*mean) ? mean : nullptr;
  return nullptr;
}

/// Returns the axes of a mean: none for those of GlobalAveragePool; nullopt if the node does not name them.
std::optional<std::vector<std::int64_t>> axes_of_mean(onnx_patterns const& find, onnx_node const& mean) {
  if (mean.op == "GlobalAveragePool") return std::vector<std::int64_t>();
  onnx_attribute const* const axes = mean.find("axes");
  auto result = mean.inputs.size() == 2 ? find.integers(mean.inputs[1])
                : axes                  ? axes->ints
                                        : std::vector<std::int64_t>();
  return result.empty() ? std::nullopt : std::optional(std::move(result));
}

std::optional<onnx_root> match_root(onnx_patterns const& find, std::string const& name) {
  onnx_node const* const root = find.producer(name, "Sqrt", 1);
  onnx_node const* const sum = root ? find.producer(root->inputs[0], "Add", 2) : nullptr;
  auto const epsilon = sum ? find.number(sum->inputs[1]) : std::nullopt;
  onnx_node const* const variance = epsilon ? mean_node(find, sum->inputs[0]) : nullptr;
  auto const axes = variance ? axes_of_mean(find, *variance) : std::nullopt;
  if (!axes) return std::nullopt;
  onnx_node const* const power = find.producer(variance->inputs[0], "Pow", 2);
  onnx_node const* const product = find.producer(variance->inputs[0], "Mul", 2);
  bool const is_square =
      power ? find.is_number(power->inputs[1], 2) : product && product->inputs[0] == product->inputs[1];
  if (!is_square) return std::nullopt;
  onnx_root result{.input = (power ? power : product)->inputs[0], .axes = *axes, .epsilon = *epsilon};
  onnx_node const* const centred = find.producer(result.input, "Sub", 2);
  onnx_node const* const mean = centred ? mean_node(find, centred->inputs[1]) : nullptr;
  if (mean && mean->inputs[0] == centred->inputs[0] && axes_of_mean(find, *mean) == axes) {
    result.input = centred->inputs[0];
    result.mean = centred->inputs[1];
    result.centred = centred->outputs[0];
  }
  return result;
}

}  // namespace

/// Fuses normalisations that are written as formulas, with or without constant scale and shift:
///   (x − mean) / √(variance + ε)·scale + shift, as exporters below operator set 17 write layer norms;
///   x·f + (shift − mean·f), with f = scale / √(variance + ε), as TensorFlow computes them;
///   x / √(mean(x²) + ε)·scale.
void onnx_importer::fuse_norms() {
  onnx_patterns const find(model_.nodes, values_);
  struct match {
    onnx_node* last;
    onnx_root root;
    std::string scale, shift;
  };
  // Returns the root of 1/root or scale/root, and sets scale.
  auto const root_of_factor = [&](std::string const& factor, std::string& scale) -> std::optional<onnx_root> {
    onnx_node const* const product = find.producer(factor, "Mul", 2);
    std::string const inverse = product ? beside_constant(find, product, scale) : factor;
    onnx_node const* const reciprocal = find.producer(inverse, "Reciprocal", 1);
    return reciprocal ? match_root(find, reciprocal->inputs[0]) : std::nullopt;
  };
  // Returns whether a value is mean·factor, or its negative.
  auto const is_mean_product = [&](std::string const& name, std::string mean, std::string const& factor,
                                   bool is_negative) {
    onnx_node const* const product = find.producer(name, "Mul", 2);
    if (!product || (product->inputs[0] != factor && product->inputs[1] != factor)) return false;
    std::string const& other = product->inputs[product->inputs[0] == factor ? 1 : 0];
    onnx_node const* const negative = find.producer(other, "Neg", 1);
    return is_negative ? negative && negative->inputs[0] == mean : other == mean;
  };
  std::vector<match> matches;
  for (onnx_node& product : model_.nodes) {
    bool const divides = onnx_patterns::is(product, "Div", 2);
    if (!divides && !onnx_patterns::is(product, "Mul", 2)) continue;
    match found{.last = &product, .root = {}, .scale = {}, .shift = {}};
    std::string value, factor;
    std::optional<onnx_root> root;
    for (std::size_t which : {1, 0}) {
      if (root || (divides && which == 0)) continue;
      factor = product.inputs[which], value = product.inputs[1 - which], found.scale.clear();
      root = divides ? match_root(find, factor) : root_of_factor(factor, found.scale);
    }
    if (!root) continue;
    bool const is_centred = !root->mean.empty();
    if (is_centred && value == root->input) {
      onnx_node* const sum = find.only_reader(product, "Add", 2);
      onnx_node* const difference = sum ? nullptr : find.only_reader(product, "Sub", 2);
      if (divides || (!sum && (!difference || difference->inputs[0] != product.outputs[0]))) continue;
      found.last = sum ? sum : difference;
      std::string rest = found.last->inputs[found.last->inputs[0] == product.outputs[0] ? 1 : 0];
      bool is_negative = sum != nullptr;
      onnx_node const* const shifted = sum ? find.producer(rest, "Add", 2) : nullptr;
      onnx_node const* const reduced = sum ? find.producer(rest, "Sub", 2) : nullptr;
      if (std::string const other = beside_constant(find, shifted, found.shift); !other.empty()) {
        rest = other;
      } else if (reduced && find.constant(reduced->inputs[0])) {
        found.shift = reduced->inputs[0], rest = reduced->inputs[1];
        is_negative = false;
      }
      if (!is_mean_product(rest, root->mean, factor, is_negative)) continue;
    } else if (value == (is_centred ? root->centred : root->input)) {
      onnx_node* const scaled = found.scale.empty() ? find.only_reader(product, "Mul", 2) : nullptr;
      if (!beside_constant(find, scaled, found.scale).empty()) found.last = scaled;
      onnx_node* const shifted = is_centred ? find.only_reader(*found.last, "Add", 2) : nullptr;
      if (!beside_constant(find, shifted, found.shift).empty()) found.last = shifted;
    } else {
      continue;
    }
    found.root = std::move(*root);
    matches.push_back(std::move(found));
  }
  auto const is_row = [&](std::string const& name) {
    return !name.empty() && find.constant(name)->dims.size() == 1 && find.constant(name)->dims[0] > 1;
  };
  for (match& found : matches) {
    bool const is_centred = !found.root.mean.empty();
    bool const is_usual = found.root.axes == std::vector<std::int64_t>{-1} && is_row(found.scale)
                          && (!is_centred || found.shift.empty() || is_row(found.shift));
    found.last->op = !is_usual    ? "GroupNormalization"
                     : is_centred ? "LayerNormalization"
                                  : "RMSNormalization";
    found.last->inputs = {std::move(found.root.input), std::move(found.scale)};
    if (is_centred) found.last->inputs.push_back(std::move(found.shift));
    found.last->attributes = {{.name = "epsilon", .type = onnx_attribute::real, .f = found.root.epsilon}};
    if (!is_usual)
      fusions_[found.last].norm = formula_norm{.axes = std::move(found.root.axes), .is_centred = is_centred};
  }
}

/// Fuses x / max(√Σx², ε), as PyTorch's normalize writes it, into one RMSNormalization node without a scale.
void onnx_importer::fuse_unit_lengths() {
  constexpr float smallest = 0.99e-12F;  // PyTorch's ε, however it is rounded
  onnx_patterns const find(model_.nodes, values_);
  for (onnx_node& ratio : model_.nodes) {
    if (!onnx_patterns::is(ratio, "Div", 2)) continue;
    onnx_node const* const expanded = find.producer(ratio.inputs[1], "Expand", 2);
    std::string const& divisor = expanded ? expanded->inputs[0] : ratio.inputs[1];
    onnx_node const* bound = find.producer(divisor, "Max", 2);
    for (std::size_t const inputs : {2, 3})
      if (!bound) bound = find.producer(divisor, "Clip", inputs);
    bool const has_upper = bound && bound->inputs.size() == 3 && !bound->inputs[2].empty();
    auto const least = bound && !has_upper ? find.number(bound->inputs[1]) : std::nullopt;
    if (!least || !(*least >= smallest)) continue;
    onnx_node const* length = find.producer(bound->inputs[0], "ReduceL2", 1, {"axes", "keepdims"});
    if (!length)
      length = find.producer(bound->inputs[0], "ReduceL2", 2, {"keepdims", "noop_with_empty_axes"});
    if (!length || length->inputs[0] != ratio.inputs[0] || !keeps_axes(*length)
        || axes_of_mean(find, *length) != std::vector<std::int64_t>{-1})
      continue;
    ratio.op = "RMSNormalization";
    if (expanded)
      ratio.inputs = {ratio.inputs[0], "", expanded->inputs[1]};
    else
      ratio.inputs.pop_back();
    ratio.attributes = {{.name = "epsilon", .type = onnx_attribute::real, .f = *least}};
    fusions_[&ratio].norm = formula_norm{.axes = {-1}, .is_centred = false};
  }
}

/// Fuses the form that replaces GroupNormalization before operator set 18 into one GroupNormalization node:
/// Reshape to N×G×…, InstanceNormalization without scale and bias, Reshape back, Mul and Add of constants.
void onnx_importer::fuse_group_norm() {
  onnx_patterns const find(model_.nodes, values_);
  auto const consists_of = [&](std::string const& name, float wanted) {
    onnx_tensor const* const found = find.constant(name);
    auto const values = found ? found->floats() : std::nullopt;
    return values && std::ranges::count(*values, wanted) == std::ssize(*values);
  };
  for (onnx_node& norm : model_.nodes) {
    if (!onnx_patterns::is(norm, "InstanceNormalization", 3, {"epsilon"}) || !consists_of(norm.inputs[1], 1)
        || !consists_of(norm.inputs[2], 0))
      continue;
    onnx_node const* const split = find.producer(norm.inputs[0], "Reshape", 2, {"allowzero"});
    onnx_node const* const back = split ? find.only_reader(norm, "Reshape", 2, {"allowzero"}) : nullptr;
    onnx_node const* const scaled = back ? find.only_reader(*back, "Mul", 2) : nullptr;
    onnx_node* const shifted = scaled ? find.only_reader(*scaled, "Add", 2) : nullptr;
    if (!shifted) continue;
    extents const groups = find.integers(split->inputs[1]);
    std::string const& scale = scaled->inputs[scaled->inputs[0] == back->outputs[0] ? 1 : 0];
    std::string const& shift = shifted->inputs[shifted->inputs[0] == scaled->outputs[0] ? 1 : 0];
    onnx_node const* const source = find.producer(back->inputs[1], "Shape", 1);
    bool const is_of_input = source && source->inputs[0] == split->inputs[0];
    extents const result = find.integers(back->inputs[1]);
    // Constants of C or C×1×… elements, which Mul and Add align with the channels.
    auto const is_per_channel = [&](std::string const& name) {
      onnx_tensor const* const found = find.constant(name);
      return found && !found->dims.empty() && found->elements() == found->dims[0];
    };
    if (groups.size() != 3 || groups[0] != 0 || groups[2] != -1 || (!is_of_input && result.size() < 3)
        || !is_per_channel(scale) || !is_per_channel(shift))
      continue;
    std::size_t const rank = find.constant(scale)->dims.size() + 1;
    if (rank < 2 || find.constant(shift)->dims.size() + 1 != rank || (!is_of_input && rank != result.size()))
      continue;
    fusion with;
    if (!is_of_input) with.result = result;
    onnx_attribute const* const epsilon = norm.find("epsilon");
    std::vector<std::string> inputs{split->inputs[0], scale, shift};
    std::vector<onnx_attribute> attributes{
        {.name = "num_groups", .type = onnx_attribute::integer, .i = groups[1]}};
    if (epsilon) attributes.push_back(*epsilon);
    shifted->op = "GroupNormalization";
    shifted->inputs = std::move(inputs);
    shifted->attributes = std::move(attributes);
    fusions_[shifted] = std::move(with);
  }
}

namespace {

/// Returns the base of the rotary positions with these cosines and sines of T×d angles, where the sines of
/// the first half of the columns are negative; 0 for T = 1: no rotation; nullopt for other numbers.
std::optional<double> rotary_base(onnx_tensor const& cosines, onnx_tensor const& sines) {
  auto const c = cosines.floats(), s = sines.floats();
  if (!c || !s || cosines.dims.size() != 2 || cosines.dims != sines.dims || cosines.dims[1] % 2 != 0
      || cosines.elements() == 0)
    return std::nullopt;
  auto const width = static_cast<std::size_t>(cosines.dims[1]), half = width / 2, steps = c->size() / width;
  double base = 10000;
  if (steps > 1 && half > 1) {  // from the smallest angle of step 1
    std::size_t const smallest = width + half - 1;
    double const angle =
        std::atan2(-static_cast<double>((*s)[smallest]), static_cast<double>((*c)[smallest]));
    base = std::pow(angle, -static_cast<double>(half) / static_cast<double>(half - 1));
    if (std::abs(base - std::round(base)) < 1e-5 * base) base = std::round(base);
  }
  if (!(base > 0 && base <= 1e15)) return std::nullopt;
  for (std::size_t i = 0; i < c->size(); ++i) {
    std::size_t const t = i / width, k = i % width;
    double const angle =
        static_cast<double>(t) * std::pow(base, -static_cast<double>(k % half) / static_cast<double>(half));
    double const sine = (k < half ? -1 : 1) * std::sin(angle), most = 1e-6 * (1 + angle);
    if (std::abs(static_cast<double>((*c)[i]) - std::cos(angle)) > most
        || std::abs(static_cast<double>((*s)[i]) - sine) > most)
      return std::nullopt;
  }
  return steps > 1 ? base : 0;
}

/// Returns the value before rotary positions as export_onnx writes them, and sets their base and their number
/// of steps; another value is returned unchanged.
std::string unrotated(onnx_patterns const& find, std::string const& name, double& base, std::int64_t& steps) {
  onnx_node const* const sum = find.producer(name, "Add", 2);
  onnx_node const* const kept = sum ? find.producer(sum->inputs[0], "Mul", 2) : nullptr;
  onnx_node const* const turned = sum ? find.producer(sum->inputs[1], "Mul", 2) : nullptr;
  onnx_node const* const halves = turned ? find.producer(turned->inputs[0], "Concat", 2, {"axis"}) : nullptr;
  if (!kept || !halves || !halves->find("axis") || halves->find("axis")->i != 3) return name;
  onnx_tensor const* const cosines = find.constant(kept->inputs[1]);
  onnx_tensor const* const sines = find.constant(turned->inputs[1]);
  if (!cosines || !sines || cosines->dims.size() != 2) return name;
  std::int64_t const width = cosines->dims[1];
  for (std::size_t part = 0; part < 2; ++part) {
    onnx_node const* const half = find.producer(halves->inputs[part], "Slice", 4);
    std::int64_t const first = part == 0 ? width / 2 : 0;
    bool const fits = half && half->inputs[0] == kept->inputs[0]
                      && find.integers(half->inputs[1]) == onnx_patterns::list{first}
                      && find.integers(half->inputs[2]) == onnx_patterns::list{first + width / 2}
                      && find.integers(half->inputs[3]) == onnx_patterns::list{3};
    if (!fits) return name;
  }
  auto const found = rotary_base(*cosines, *sines);
  if (!found) return name;
  base = *found;
  steps = cosines->dims[0];
  return kept->inputs[0];
}

}  // namespace

/// Fuses softmax(q·kᵀ / √d)·v, with or without a causal mask, a mask of padding and rotary positions, into
/// one Attention node. The heads are split by Reshape and Transpose.
void onnx_importer::fuse_attention() {
  onnx_patterns find(model_.nodes, values_);
  auto const transposed = [&](std::string const& name, extents const& wanted) -> onnx_node* {
    onnx_node* const found = find.producer(name, "Transpose", 1, {"perm"});
    onnx_attribute const* const perm = found ? found->find("perm") : nullptr;
    return perm && perm->ints == wanted ? found : nullptr;
  };
  // Returns the target of a Reshape node in which 0 means an unchanged extent; otherwise an empty list.
  auto const target_of = [&](onnx_node const* node) -> extents {
    onnx_attribute const* const zeros = node ? node->find("allowzero") : nullptr;
    return node && !(zeros && zeros->i != 0) ? find.integers(node->inputs[1]) : extents{};
  };
  // Returns the value N×T×C from which Slice reads the columns first … last − 1; otherwise "".
  auto const columns_of = [&](std::string const& name, std::int64_t first, std::int64_t last) -> std::string {
    onnx_node const* const found = find.producer(name, "Slice", 4);
    bool const fits = found && find.integers(found->inputs[1]) == extents{first}
                      && find.integers(found->inputs[2]) == extents{last}
                      && find.integers(found->inputs[3]) == extents{2};
    return fits ? found->inputs[0] : std::string();
  };
  // Reads the booleans that select the keys of each query: a causal mask, a mask of padding, or both.
  auto const read_mask = [&](std::string const& name, std::string& triangle, std::string& padding) {
    onnx_node const* const both = find.producer(name, "And", 2);
    for (std::size_t part = 0; part < (both ? 2 : 1); ++part) {
      std::string const& source = both ? both->inputs[part] : name;
      onnx_node const* const mask = find.producer(source, "Unsqueeze", 2);
      bool const is_mask =
          mask && masks_.contains(mask->inputs[0]) && find.integers(mask->inputs[1]) == extents{1, 2};
      std::string& found = is_mask ? padding : triangle;
      if (!found.empty() || (!is_mask && !find.is_lower_triangle(source))) return false;
      found = is_mask ? mask->inputs[0] : source;
    }
    return true;
  };
  struct match {
    onnx_node* last;
    std::vector<std::string> sources;
    float scale;
    fusion with;
  };
  std::vector<match> matches;
  for (onnx_node& product : model_.nodes) {
    if (!onnx_patterns::is(product, "MatMul", 2)) continue;
    // A mask sets scores to the lowest number before the softmax, and may also set weights to 0 after the
    // softmax.
    std::string name = product.inputs[0], mask_after, mask_before;
    if (onnx_node const* const where = find.producer(name, "Where", 3)) {
      if (!find.is_number(where->inputs[2], 0)) continue;
      mask_after = where->inputs[0];
      name = where->inputs[1];
    }
    onnx_node const* const softmax = find.producer(name, "Softmax", 1, {"axis"});
    onnx_attribute const* const axis = softmax ? softmax->find("axis") : nullptr;
    if (!softmax || (axis ? axis->i != -1 && axis->i != 3 : version_ < 13)) continue;
    name = softmax->inputs[0];
    if (onnx_node const* const where = find.producer(name, "Where", 3)) {
      auto const lowest = find.number(where->inputs[2]);
      if (!lowest || *lowest > -1e30F) continue;
      mask_before = where->inputs[0];
      name = where->inputs[1];
    }
    std::string triangle, padding;
    bool const is_known_mask = mask_before.empty() || read_mask(mask_before, triangle, padding);
    // Without a mask after the softmax, a query without unmasked keys attends to all of them.
    if (!is_known_mask || (mask_after.empty() ? !padding.empty() : mask_after != mask_before)) continue;
    onnx_node const* const times = find.producer(name, "Mul", 2);
    onnx_node const* const scaled = times ? times : find.producer(name, "Div", 2);
    auto const factor = scaled ? find.number(scaled->inputs[1]) : std::nullopt;
    onnx_node const* const scores = factor ? find.producer(scaled->inputs[0], "MatMul", 2) : nullptr;
    if (!scores) continue;
    std::string query_name = scores->inputs[0], key_name = scores->inputs[1];
    double query_rotary = 0, key_rotary = 0;
    extents rotated{0, 0};
    query_name = unrotated(find, query_name, query_rotary, rotated[0]);
    onnx_node const* keys = transposed(key_name, {0, 2, 3, 1});
    if (onnx_node const* const twice = transposed(key_name, {0, 1, 3, 2}))
      keys = transposed(unrotated(find, twice->inputs[0], key_rotary, rotated[1]), {0, 2, 1, 3});
    if (query_rotary != key_rotary) continue;
    onnx_node const* const heads[]{transposed(query_name, {0, 2, 1, 3}), keys,
                                   transposed(product.inputs[1], {0, 2, 1, 3})};
    match made{.last = nullptr, .sources = {}, .scale = 0, .with = {}};
    made.with.rotary = query_rotary;
    made.with.rotated = rotated;
    for (onnx_node const* const one : heads) {
      onnx_node const* const split =
          one ? find.producer(one->inputs[0], "Reshape", 2, {"allowzero"}) : nullptr;
      extents target = target_of(split);
      if (target.size() != 4 || target[2] < 1 || target[3] < 1 || target[2] > max_onnx_extent
          || target[3] > max_onnx_extent)
        break;
      made.sources.push_back(split->inputs[0]);
      made.with.heads.push_back(std::move(target));
    }
    onnx_node* const back = find.only_reader(product, "Transpose", 1, {"perm"});
    made.last = back && transposed(back->outputs[0], {0, 2, 1, 3})
                    ? find.only_reader(*back, "Reshape", 2, {"allowzero"})
                    : nullptr;
    made.with.joined = target_of(made.last);
    auto const& targets = made.with.heads;
    if (targets.size() != 3 || made.with.joined.size() != 3 || targets[0][2] != targets[1][2]
        || targets[0][2] != targets[2][2] || targets[0][3] != targets[1][3])
      continue;
    std::int64_t const width = targets[0][2] * targets[0][3];
    std::string const packed = columns_of(made.sources[0], 0, width);
    if (!packed.empty() && columns_of(made.sources[1], width, 2 * width) == packed
        && columns_of(made.sources[2], 2 * width, 3 * width) == packed) {
      made.sources = {packed};
      made.with.is_packed = true;
    }
    if (!triangle.empty()) {
      extents const& dims = find.constant(triangle)->dims;
      made.with.mask = {dims.end() - 2, dims.end()};
    }
    if (!padding.empty()) made.with.masked_by = use_mask(padding);
    made.scale = times ? *factor : 1 / *factor;
    matches.push_back(std::move(made));
  }
  auto const whole = [](char const* attribute, std::int64_t number) {
    return onnx_attribute{.name = attribute, .type = onnx_attribute::integer, .i = number};
  };
  for (match& one : matches) {
    std::int64_t const count = one.with.heads[0][2];
    one.last->op = "Attention";
    one.last->inputs = std::move(one.sources);
    one.last->attributes = {whole("q_num_heads", count),
                            whole("kv_num_heads", count),
                            whole("is_causal", one.with.mask.empty() ? 0 : 1),
                            {.name = "scale", .type = onnx_attribute::real, .f = one.scale}};
    fusions_[one.last] = std::move(one.with);
  }
}

/// Fuses Reshape to one axis, and Gather of its elements in their order, into one Reshape: as_strided of
/// PyTorch's exporter. With a batch of any size the indices are n·C + c, for Range(0, N).
void onnx_importer::fuse_strides() {
  onnx_patterns find(model_.nodes, values_);
  auto const is_zero = [&](std::string const& name) { return find.integers(name) == extents{0}; };
  // Returns whether a value is the batch size: the first extent of an input of the graph.
  auto const is_batch = [&](std::string const& name) {
    onnx_node const* const squeezed = find.producer(name, "Squeeze", 1);
    onnx_node const* const dims =
        squeezed ? find.producer(squeezed->inputs[0], "Shape", 1, {"start", "end"}) : nullptr;
    onnx_attribute const* const start = dims ? dims->find("start") : nullptr;
    onnx_attribute const* const end = dims ? dims->find("end") : nullptr;
    return end && end->i == 1 && (!start || start->i == 0)
           && std::ranges::find(model_.inputs, dims->inputs[0], &onnx_value_info::name)
                  != model_.inputs.end();
  };
  // Returns the extents of the indices, −1 for the batch; an empty list for other indices.
  auto const extents_of_indices = [&](std::string name) -> extents {
    if (onnx_tensor const* const known = find.constant(name))
      return known->dims.size() > 1 && find.is_range(name) ? known->dims : extents{};
    onnx_node const* sum = find.producer(name, "Add", 2);
    constexpr int most_zeros = 16;  // as_strided adds at most an offset and a term for each axis
    for (int zeros = 0; zeros < most_zeros && sum && is_zero(sum->inputs[1]); ++zeros) {
      name = sum->inputs[0];
      sum = find.producer(name, "Add", 2);
    }
    onnx_tensor const* const each = sum ? find.constant(sum->inputs[1]) : nullptr;
    onnx_node const* const rows = each ? find.producer(sum->inputs[0], "Unsqueeze", 2) : nullptr;
    onnx_node const* const product = rows ? find.producer(rows->inputs[0], "Mul", 2) : nullptr;
    onnx_node const* const range = product ? find.producer(product->inputs[0], "Range", 3) : nullptr;
    if (!range || each->dims.empty() || each->dims[0] != 1 || !is_zero(range->inputs[0])
        || !is_batch(range->inputs[1]) || find.integers(range->inputs[2]) != extents{1}
        || find.integers(product->inputs[1]) != extents{each->elements()} || !find.is_range(sum->inputs[1]))
      return {};
    extents axes, dims = each->dims;
    for (std::size_t axis = 1; axis < dims.size(); ++axis) axes.push_back(static_cast<std::int64_t>(axis));
    dims[0] = -1;
    return find.integers(rows->inputs[1]) == axes ? dims : extents{};
  };
  for (onnx_node& gather : model_.nodes) {
    onnx_attribute const* const axis = gather.find("axis");
    if (!onnx_patterns::is(gather, "Gather", 2, {"axis"}) || (axis && axis->i != 0)) continue;
    onnx_node const* const flat = find.producer(gather.inputs[0], "Reshape", 2, {"allowzero"});
    if (!flat || find.constant(flat->inputs[0]) || find.integers(flat->inputs[1]) != extents{-1}) continue;
    extents dims = extents_of_indices(gather.inputs[1]);
    if (dims.size() < 2) continue;
    gather.op = "Reshape";
    gather.inputs = {flat->inputs[0]};
    gather.attributes.clear();
    fusions_[&gather].result = std::move(dims);
  }
}

/// Fuses MatMul with a constant matrix and Add of a constant vector into one MatMul with a third input.
void onnx_importer::fuse_bias() {
  onnx_patterns const find(model_.nodes, values_);
  std::set<std::string_view> outputs;
  for (onnx_value_info const& one : model_.outputs) outputs.insert(one.name);
  std::vector<std::pair<onnx_node*, onnx_node*>> matches;
  for (onnx_node& product : model_.nodes) {
    if (!onnx_patterns::is(product, "MatMul", 2) || outputs.contains(product.outputs[0])) continue;
    onnx_tensor const* const weights = find.constant(product.inputs[1]);
    onnx_node* const sum = find.only_reader(product, "Add", 2, {"broadcast"});
    if (!weights || weights->dims.size() != 2 || !sum) continue;
    onnx_tensor const* const bias = find.constant(sum->inputs[sum->inputs[0] == product.outputs[0] ? 1 : 0]);
    if (!bias || bias->dims.empty() || bias->dims.size() > 2 || bias->elements() != weights->dims[1]
        || bias->dims.back() != weights->dims[1])
      continue;
    matches.emplace_back(&product, sum);
  }
  for (auto const& [product, sum] : matches) {
    product->inputs.push_back(sum->inputs[sum->inputs[0] == product->outputs[0] ? 1 : 0]);
    product->outputs = std::move(sum->outputs);
    product->name = std::move(sum->name);
    fusions_[product].has_bias = true;
    sum->outputs.clear();  // so that mark_live skips it
  }
}

}  // namespace cohort::detail
