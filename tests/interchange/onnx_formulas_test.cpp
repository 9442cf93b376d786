// SPDX-License-Identifier: Apache-2.0
// ONNX operators and formulas that become several layers, or one layer in place of several nodes.
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <cohort/backend/reference.hpp>
#include <cohort/interchange/detail/onnx_importer.hpp>
#include <cohort/layer/rms_norm.hpp>
#include <iterator>
#include <limits>

#include "onnx_models.hpp"

namespace onnx_formulas_test {

using namespace onnx_models;

using numbers = std::vector<float>;
using extents = std::vector<std::int64_t>;
using nodes = std::vector<detail::onnx_node>;

onnx_tensor ints(char const* name, extents const& values) { return onnx_tensor::of(name, values); }
onnx_attribute real(char const* name, float value) {
  return {.name = name, .type = onnx_attribute::real, .f = value};
}
numbers output_of(onnx_model const& model, numbers const& x) {
  imported_model const model_read = imported(write_onnx_model(model));
  shape const each = model_read.network().view()[0].output;
  training const run = load_imported<reference<float>>(model_read);
  return run.predict(tensor_view(x.data(), each.batched(static_cast<int>(x.size()) / each.elements())))
      .values;
}
/// The output of one operator with an input x of N examples of these extents.
numbers output_of(char const* name, std::vector<onnx_attribute> with, extents const& dims, numbers const& x,
                  std::vector<onnx_tensor> constants = {}, std::int64_t set = 17) {
  std::vector<std::string> inputs{"x"};
  for (onnx_tensor const& constant : constants) inputs.push_back(constant.name);
  return output_of(model_of(dims, {op(name, inputs, {"y"}, std::move(with))}, std::move(constants), set), x);
}
void expect_near(numbers const& got, numbers const& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 2e-6F) << i;
}

// ---- normalisation ----
/// A tensor whose first axis is the batch.
struct array {
  extents dims;
  numbers values;

  /// The index of element i of another tensor that is broadcast to this one.
  std::size_t index_in(extents const& other, std::size_t i) const {
    std::size_t index = 0, stride = 1, rest = i;
    for (std::size_t axis = dims.size(); axis-- > 0; rest /= static_cast<std::size_t>(dims[axis])) {
      std::size_t const more = dims.size() - other.size();
      if (axis < more) break;
      auto const extent = static_cast<std::size_t>(other[axis - more]);
      if (extent > 1) index += rest % static_cast<std::size_t>(dims[axis]) * stride;
      stride *= extent;
    }
    return index;
  }
  /// Means over axes, by the index of index_in.
  std::vector<double> means(extents const& kept, bool of_squares, std::vector<double> const& offsets) const {
    std::vector<double> sums(values.size()), counts(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::size_t const index = index_in(kept, i);
      double const d = static_cast<double>(values[i]) - (offsets.empty() ? 0 : offsets[index]);
      sums[index] += of_squares ? d * d : d;
      ++counts[index];
    }
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] /= std::max(counts[i], 1.0);
    return sums;
  }
};

/// A normalisation of `x` over `axes`, after a Reshape to x.dims.
struct formula {
  array x{};
  extents axes{};
  array scale{}, shift{};  // without dims: none
  bool is_centred = true;

  static constexpr float epsilon = 0.01F;

  nodes statistics(bool inverts) const {
    nodes parts{op("Reshape", {"x", "dims"}, {"z"})};
    std::vector<onnx_attribute> const with{list("axes", axes), whole("keepdims", 1)};
    if (is_centred) {
      parts.push_back(op("ReduceMean", {"z"}, {"mean"}, with));
      parts.push_back(op("Sub", {"z", "mean"}, {"d"}));
    }
    std::string const d = is_centred ? "d" : "z";
    parts.push_back(op("Mul", {d, d}, {"square"}));
    parts.push_back(op("ReduceMean", {"square"}, {"variance"}, with));
    parts.push_back(op("Add", {"variance", "epsilon"}, {"sum"}));
    parts.push_back(op("Sqrt", {"sum"}, {"root"}));
    if (inverts) parts.push_back(op("Reciprocal", {"root"}, {"inverse"}));
    return parts;
  }
  onnx_model model(nodes parts) const {
    extents dims = x.dims, flat{1};
    for (std::size_t axis = 1; axis < dims.size(); ++axis) flat[0] *= dims[axis];
    dims[0] = -1;
    parts.back().outputs = {"result"};  // which may have more axes than an output
    parts.push_back(op("Reshape", {"result", "flat"}, {"y"}));
    std::vector<onnx_tensor> constants{ints("dims", dims), ints("flat", {-1, flat[0]}),
                                       onnx_tensor::of("epsilon", {}, {epsilon})};
    if (!scale.dims.empty()) constants.push_back(onnx_tensor::of("scale", scale.dims, scale.values));
    if (!shift.dims.empty()) constants.push_back(onnx_tensor::of("shift", shift.dims, shift.values));
    return model_of(flat, std::move(parts), std::move(constants));
  }
  /// As TensorFlow computes it: z·f + (shift − mean·f).
  onnx_model of_factor(bool negates = true) const {
    nodes parts = statistics(true);
    std::string const f = scale.dims.empty() ? "inverse" : "f";
    if (!scale.dims.empty()) parts.push_back(op("Mul", {"inverse", "scale"}, {"f"}));
    if (!is_centred) {
      parts.push_back(op("Mul", {"z", f}, {"y"}));
      return model(std::move(parts));
    }
    parts.push_back(op("Mul", {"z", f}, {"product"}));
    if (negates) parts.push_back(op("Neg", {"mean"}, {"minus"}));
    parts.push_back(op("Mul", {negates ? "minus" : "mean", f}, {"offset"}));
    std::string const rest = shift.dims.empty() ? "offset" : "rest";
    if (!shift.dims.empty())
      parts.push_back(negates ? op("Add", {"offset", "shift"}, {"rest"})
                              : op("Sub", {"shift", "offset"}, {"rest"}));
    parts.push_back(op(negates || !shift.dims.empty() ? "Add" : "Sub", {"product", rest}, {"y"}));
    return model(std::move(parts));
  }
  /// (z − mean) / root·scale + shift
  onnx_model of_quotient() const {
    nodes parts = statistics(false);
    parts.push_back(op("Div", {is_centred ? "d" : "z", "root"}, {"q"}));
    if (!scale.dims.empty()) parts.push_back(op("Mul", {"scale", parts.back().outputs[0]}, {"s"}));
    if (!shift.dims.empty()) parts.push_back(op("Add", {parts.back().outputs[0], "shift"}, {"t"}));
    parts.back().outputs = {"y"};
    return model(std::move(parts));
  }
  numbers expected() const {
    extents kept = x.dims;
    for (std::int64_t const axis : axes)
      kept[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(kept.size()) : axis)] = 1;
    std::vector<double> const mean = is_centred ? x.means(kept, false, {})
                                                : std::vector<double>(x.values.size()),
                              variance = x.means(kept, true, mean);
    numbers result;
    for (std::size_t i = 0; i < x.values.size(); ++i) {
      std::size_t const index = x.index_in(kept, i);
      double value = (static_cast<double>(x.values[i]) - mean[index])
                     / std::sqrt(variance[index] + static_cast<double>(epsilon));
      if (!scale.dims.empty()) value *= static_cast<double>(scale.values[x.index_in(scale.dims, i)]);
      if (!shift.dims.empty()) value += static_cast<double>(shift.values[x.index_in(shift.dims, i)]);
      result.push_back(static_cast<float>(value));
    }
    return result;
  }
  void check(std::string const& layer) const {
    for (onnx_model const& each : {of_factor(), of_factor(false), of_quotient()}) {
      std::string const kinds = kinds_of(each);
      EXPECT_NE(kinds.find(layer), std::string::npos) << kinds;
      EXPECT_EQ(kinds.find("conv"), std::string::npos) << kinds;
      expect_near(output_of(each, x.values), expected());
      if (!is_centred) break;
    }
  }
};

array sequence_of(extents const& dims, float first, float step) {
  array result{dims, {}};
  std::int64_t count = 1;
  for (std::int64_t const extent : dims) count *= extent;
  for (std::int64_t i = 0; i < count; ++i)
    result.values.push_back(first + step * static_cast<float>(i * i % 7) + 0.1F * static_cast<float>(i % 3));
  return result;
}

TEST(onnx_norms, of_the_last_axis_are_layer_norms) {
  array const x = sequence_of({2, 3, 4}, -1, 0.5F);
  formula{x, {2}, sequence_of({4}, 0.5F, 0.25F), sequence_of({4}, -1, 0.5F)}.check("layer_norm ");
  formula{x, {-1}, sequence_of({1, 1, 4}, 0.5F, 0.25F), sequence_of({1, 4}, -1, 0.5F)}.check("layer_norm ");
  formula{x, {-1}, sequence_of({4}, 0.5F, 0.25F), {}}.check("layer_norm ");
}

TEST(onnx_norms, of_several_axes_are_layer_norms_of_one_axis) {
  array const x = sequence_of({2, 3, 2, 2}, -1, 0.5F);
  formula{x, {1, 2, 3}, sequence_of({3, 2, 2}, 0.5F, 0.25F), sequence_of({3, 2, 2}, 1, 0.5F)}.check(
      "layer_norm ");
  formula{x, {3, 1}, sequence_of({3, 1, 2}, 0.5F, 0.25F), {}}.check("layer_norm ");
}

TEST(onnx_norms, of_groups_of_channels_behind_or_before_positions_are_group_norms) {
  // N×H×W×G×C/G, as Keras normalises groups of channels.
  array const behind = sequence_of({2, 2, 2, 3, 2}, -1, 0.5F);
  formula{
      behind, {1, 2, 4}, sequence_of({1, 1, 1, 3, 2}, 0.5F, 0.25F), sequence_of({1, 1, 1, 3, 2}, 1, -0.5F)}
      .check("group_norm ");
  array const before = sequence_of({2, 3, 2, 4}, -1, 0.5F);
  formula{before, {2, 3}, sequence_of({1, 3, 2, 1}, 0.5F, 0.25F), sequence_of({3, 2, 1}, 1, -0.5F)}.check(
      "group_norm ");
  formula{before, {2, 3}, {}, {}}.check("group_norm ");
  formula{before, {3}, sequence_of({3, 1, 1}, 0.5F, 0.25F), {}}.check("group_norm ");
}

TEST(onnx_norms, by_the_mean_square_are_rms_norms) {
  array const x = sequence_of({2, 3, 4}, -1, 0.5F);
  formula{x, {-1}, sequence_of({4}, 0.5F, 0.25F), {}, false}.check("rms_norm ");
  formula{x, {2}, {}, {}, false}.check("rms_norm ");
  formula{x, {1}, sequence_of({3, 1}, 0.5F, 0.25F), {}, false}.check("rms_norm ");
  formula{x, {-1}, sequence_of({1}, 0.5F, 0.25F), {}, false}.check("rms_norm ");
  formula const outside{x, {1}, sequence_of({4}, 0.5F, 0.25F), {}, false};
  EXPECT_NE(refused(outside.of_factor()).find("the scale varies along an axis that is not normalised"),
            std::string::npos);
}

TEST(onnx_norms, are_not_recognised_if_a_part_belongs_to_another_value) {
  array const x = sequence_of({2, 3, 4}, -1, 0.5F), row = sequence_of({4}, 0.5F, 0.25F);
  onnx_model const good = formula{x, {2}, row, row}.of_factor();
  for (std::size_t node = 1; node < good.nodes.size(); ++node)
    for (std::size_t input = 0; input < good.nodes[node].inputs.size(); ++input) {
      onnx_model changed = good;
      changed.nodes[node].inputs[input] = "other";
      changed.nodes.insert(changed.nodes.begin() + 1, op("Tanh", {"z"}, {"other"}));
      if (!refused(changed).empty()) continue;
      EXPECT_NE(kinds_of(changed).find("tanh"), std::string::npos) << node << ' ' << input;
    }
}

TEST(onnx_norms, along_the_batch_are_refused) {
  array const x = sequence_of({2, 3, 4}, -1, 0.5F);
  formula const of{x, {0}, {}, {}};
  EXPECT_NE(refused(of.of_quotient()).find("the node normalises along the batch"), std::string::npos)
      << refused(of.of_quotient());
}

TEST(onnx_norms, of_vectors_to_length_1_divide_by_the_length_or_by_the_bound) {
  auto const scaled = [](std::string const& bound, bool expands, float least = 1e-12F) {
    nodes parts{op("ReduceL2", {"x"}, {"length"}, {onnx_models::list("axes", {-1}), whole("keepdims", 1)}),
                op(bound, {"length", "least"}, {"bound"}), op("Shape", {"x"}, {"dims"}),
                op("Expand", {"bound", "dims"}, {"wide"}),
                op("Div", {"x", expands ? "wide" : "bound"}, {"y"})};
    return model_of({2, 2}, std::move(parts), {onnx_tensor::of("least", {}, {least})});
  };
  for (float const least : {0.0F, 1e-13F, -1.0F})
    EXPECT_NE(refused(scaled("Max", false, least)).find("no layer computes this operator"),
              std::string::npos);
  for (char const* const bound : {"Clip", "Max"})
    for (bool const expands : {false, true}) {
      expect_near(output_of(scaled(bound, expands), {3, 4, 0, 0, -6, 8, 1e-4F, 0}),
                  {0.6F, 0.8F, 0, 0, -0.6F, 0.8F, 1, 0});
      expect_near(output_of(scaled(bound, expands), {3e-12F, 4e-12F, -3e-13F, 4e-13F, 1e-15F, 0, 0, 3e30F}),
                  {0.6F, 0.8F, -0.3F, 0.4F, 1e-3F, 0, 0, 1});
      expect_near(output_of(scaled(bound, expands, 0.5F), {3, 4, 0.03F, -0.04F}),
                  {0.6F, 0.8F, 0.06F, -0.08F});
    }
}

TEST(onnx_norms, of_vectors_to_length_1_refuse_lengths_that_are_expanded_to_more) {
  auto const expanded = [](extents const& order, std::vector<std::string> const& target) {
    return model_of(
        {2, 1, 2},
        {op("Transpose", {"x"}, {"z"}, {onnx_models::list("perm", order)}),
         op("Shape", {"x"}, {"n"}, {whole("end", 1)}), op("Concat", target, {"dims"}, {whole("axis", 0)}),
         op("ReduceL2", {"z"}, {"length"}, {onnx_models::list("axes", {-1}), whole("keepdims", 1)}),
         op("Max", {"length", "least"}, {"bound"}), op("Expand", {"bound", "dims"}, {"wide"}),
         op("Div", {"z", "wide"}, {"t"}), op("Transpose", {"t"}, {"y"}, {onnx_models::list("perm", order)})},
        {ints("one", {1}), ints("two", {2}), ints("three", {3}), onnx_tensor::of("least", {}, {1e-12F})});
  };
  EXPECT_EQ(refused(expanded({0, 1, 2, 3}, {"n", "two", "one", "two"})), "");
  for (onnx_model const& model : {expanded({0, 1, 2, 3}, {"n", "two", "n", "two"}),
                                  expanded({2, 1, 0, 3}, {"three", "two", "n", "two"})})
    EXPECT_NE(refused(model).find("the lengths of the vectors are expanded to more elements"),
              std::string::npos)
        << refused(model);
}

// ---- operators that become several layers ----
TEST(onnx_tile, repeats_blocks_along_each_axis) {
  numbers const x{1, 2, 3, 4};
  EXPECT_EQ(output_of("Tile", {}, {2, 2}, x, {ints("n", {1, 2, 1})}), (numbers{1, 2, 3, 4, 1, 2, 3, 4}));
  EXPECT_EQ(output_of("Tile", {}, {2, 2}, x, {ints("n", {1, 1, 3})}),
            (numbers{1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4}));
  EXPECT_EQ(output_of("Tile", {}, {2}, x, {ints("n", {1, 2})}), (numbers{1, 2, 1, 2, 3, 4, 3, 4}));
  EXPECT_NE(refused(model_of({2}, {op("Tile", {"x", "n"}, {"y"})}, {ints("n", {2, 1})})), "");
  EXPECT_EQ(refused(model_of({2}, {op("Tile", {"x", "n"}, {"y"})}, {ints("n", {1, 0})})),
            message(0, "y", "Tile", "a number of copies is out of range", "1 to 32767", "0", replace));
  EXPECT_EQ(
      refused(model_of({2}, {op("Tile", {"x", "n"}, {"y"})}, {ints("n", {2})})),
      message(0, "y", "Tile", "repeats has another length than the axes of the input", "2", "1", check));
}

TEST(onnx_tile, of_an_added_axis_repeats_elements) {
  onnx_model const repeated = model_of({2, 2},
                                       {op("Unsqueeze", {"x", "axis"}, {"u"}), op("Tile", {"u", "n"}, {"t"}),
                                        op("Reshape", {"t", "dims"}, {"y"})},
                                       {ints("axis", {2}), ints("n", {1, 1, 3, 1}), ints("dims", {0, 6, 2})});
  EXPECT_EQ(output_of(repeated, {1, 2, 3, 4}), (numbers{1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4}));
}

TEST(onnx_expand, repeats_axes_of_extent_1) {
  EXPECT_EQ(output_of("Expand", {}, {2, 1}, {1, 2}, {ints("to", {1, 2, 3})}), (numbers{1, 1, 1, 2, 2, 2}));
  EXPECT_EQ(output_of("Expand", {}, {1, 2}, {1, 2}, {ints("to", {2, 1})}), (numbers{1, 2, 1, 2}));
  EXPECT_EQ(
      refused(model_of({2}, {op("Expand", {"x", "to"}, {"y"})}, {ints("to", {1, 3})})),
      message(0, "y", "Expand", "the node expands an axis whose extent is not 1", "N x 2", "1 x 3", check));
  EXPECT_NE(refused(model_of({2}, {op("Expand", {"x", "to"}, {"y"})}, {ints("to", {3, 1, 2})})), "");
}

TEST(onnx_bounds, of_any_value_are_computed) {
  numbers const x{-3, -0.5F, 0.25F, 2};
  onnx_tensor const low = onnx_tensor::of("low", {}, {-1}), high = onnx_tensor::of("high", {}, {0.5F}),
                    each = onnx_tensor::of("each", {2}, {-1, 1});
  EXPECT_EQ(output_of("Clip", {}, {2}, x, {low, high}), (numbers{-1, -0.5F, 0.25F, 0.5F}));
  EXPECT_EQ(output_of("Clip", {}, {2}, x, {low}), (numbers{-1, -0.5F, 0.25F, 2}));
  EXPECT_EQ(output_of("Max", {}, {2}, x, {each}), (numbers{-1, 1, 0.25F, 2}));
  EXPECT_EQ(output_of("Min", {}, {2}, x, {each}), (numbers{-3, -0.5F, -1, 1}));
  EXPECT_EQ(output_of("Clip", {real("max", 0.5F)}, {2}, x, {}, 6), (numbers{-3, -0.5F, 0.25F, 0.5F}));
  EXPECT_EQ(output_of(model_of({2}, {op("Neg", {"x"}, {"z"}), op("Min", {"x", "z"}, {"y"})}), x),
            (numbers{-3, -0.5F, -0.25F, -2}));
}

TEST(onnx_bounds, of_infinite_values_are_numbers) {
  float const infinity = std::numeric_limits<float>::infinity();
  numbers const x{-infinity, infinity};
  onnx_tensor const low = onnx_tensor::of("low", {}, {-1}), high = onnx_tensor::of("high", {}, {0.5F}),
                    each = onnx_tensor::of("each", {2}, {-3, 7}),
                    none = onnx_tensor::of("none", {2}, {-infinity, infinity});
  EXPECT_EQ(output_of("Clip", {}, {2}, x, {low, high}), (numbers{-1, 0.5F}));
  EXPECT_EQ(output_of("Clip", {}, {2}, x, {low}), (numbers{-1, infinity}));
  EXPECT_EQ(output_of("Relu", {}, {2}, x), (numbers{0, infinity}));
  EXPECT_EQ(output_of("Clip", {real("min", 0), real("max", 6)}, {2}, x, {}, 6), (numbers{0, 6}));
  EXPECT_EQ(output_of("Max", {}, {2}, x, {each}), (numbers{-3, infinity}));
  EXPECT_EQ(output_of("Min", {}, {2}, x, {each}), (numbers{-infinity, 7}));
  EXPECT_EQ(output_of("Min", {}, {2}, {1, 2}, {none}), (numbers{-infinity, 2}));
}

TEST(onnx_gather, of_several_elements_keeps_infinite_neighbours_apart) {
  float const infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(output_of("Gather", {whole("axis", 1)}, {4}, {1, infinity, 3, -infinity},
                      {ints("i", {2, 0, 1, -1, 2})}),
            (numbers{3, 1, infinity, -infinity, 3}));
  EXPECT_EQ(output_of("Gather", {whole("axis", 2)}, {2, 3}, {1, 2, 3, 4, 5, 6}, {ints("i", {2, 0, 1})}),
            (numbers{3, 1, 2, 6, 4, 5}));
  EXPECT_EQ(output_of("Gather", {whole("axis", 1)}, {3, 2}, {1, 2, 3, 4, 5, 6}, {ints("i", {1, 1, 0})}),
            (numbers{3, 4, 3, 4, 1, 2}));
  extents alternating;
  for (int i = 0; i < 1025; ++i) alternating.push_back(i % 2);
  EXPECT_EQ(
      refused(model_of({2}, {op("Gather", {"x", "i"}, {"y"}, {whole("axis", 1)})}, {ints("i", alternating)})),
      "");
  for (std::int64_t& index : alternating) index = 0;
  EXPECT_EQ(
      refused(model_of({2}, {op("Gather", {"x", "i"}, {"y"}, {whole("axis", 1)})}, {ints("i", alternating)})),
      message(0, "y", "Gather", "the node selects no elements, or too many runs of consecutive elements",
              "1 to 1024 runs", "more", replace));
}

TEST(onnx_gather, selects_a_limited_number_of_runs_in_all_nodes) {
  nodes parts;
  std::vector<std::string> sum;
  for (int node = 0; node < 17; ++node) {
    sum.push_back("g" + std::to_string(node));
    parts.push_back(op("Gather", {"x", "i"}, {sum.back()}, {whole("axis", 1)}));
  }
  parts.push_back(op("Sum", sum, {"y"}));
  EXPECT_EQ(refused(model_of({2}, parts, {ints("i", extents(1024, 0))})),
            message(16, "g16", "Gather", "the nodes select too many runs of consecutive elements",
                    "at most 16384 runs in all", "17408", replace));
}

TEST(onnx_powers, of_2_to_4_and_absolute_values_are_computed) {
  numbers const x{-3, -0.5F, 0.25F, 2};
  EXPECT_EQ(output_of("Pow", {}, {2}, x, {onnx_tensor::of("p", {}, {2})}), (numbers{9, 0.25F, 0.0625F, 4}));
  EXPECT_EQ(output_of("Pow", {}, {2}, x, {onnx_tensor::of("p", {}, {3})}),
            (numbers{-27, -0.125F, 0.015625F, 8}));
  EXPECT_EQ(output_of("Abs", {}, {2}, x), (numbers{3, 0.5F, 0.25F, 2}));
  EXPECT_EQ(refused(model_of({2}, {op("Pow", {"x", "p"}, {"y"})}, {onnx_tensor::of("p", {}, {0.5F})})),
            message(0, "y", "Pow", "no layer computes this power", "the constant exponent 2, 3 or 4", "0.5",
                    replace));
}

TEST(onnx_reductions, add_elements_and_find_the_smallest_one) {
  numbers const x{1, -2, 3, 4, 5, -6};
  EXPECT_EQ(output_of("ReduceSum", {whole("keepdims", 0)}, {2, 3}, x, {ints("axes", {2})}), (numbers{2, 3}));
  expect_near(output_of("ReduceSum", {}, {2, 3}, x, {ints("axes", {1})}), {5, 3, -3});
  EXPECT_EQ(output_of("ReduceMin", {list("axes", {1})}, {2, 3}, x), (numbers{1, -2, -6}));
  EXPECT_EQ(output_of("ReduceMin", {list("axes", {1, 2})}, {2, 3}, x), (numbers{-6}));
}

TEST(onnx_activations, of_other_slopes_and_offsets_are_computed) {
  numbers const x{-3, -0.5F, 0.25F, 2};
  numbers celu, swish, hard;
  for (float const number : x) {
    celu.push_back(std::max(number, 0.0F) + std::min(0.5F * (std::exp(number / 0.5F) - 1), 0.0F));
    swish.push_back(number / (1 + std::exp(-1.702F * number)));
    hard.push_back(std::clamp(0.5F * number + 0.25F, 0.0F, 1.0F));
  }
  expect_near(output_of("Celu", {real("alpha", 0.5F)}, {2}, x), celu);
  expect_near(output_of("Swish", {real("alpha", 1.702F)}, {2}, x, {}, 24), swish);
  expect_near(output_of("HardSigmoid", {real("alpha", 0.5F), real("beta", 0.25F)}, {2}, x), hard);
  EXPECT_NE(refused(model_of({2}, {op("Celu", {"x"}, {"y"}, {real("alpha", 0)})})), "");
  EXPECT_NE(refused(model_of({2}, {op("Swish", {"x"}, {"y"}, {real("alpha", 0)})}, {}, 24)), "");
}

// ---- constants ----
TEST(onnx_computed_constants, of_matrices_and_functions_are_correct) {
  auto const scaled = [](nodes parts) {
    parts.push_back(op("Mul", {"x", "c"}, {"y"}));
    return model_of({2}, std::move(parts),
                    {onnx_tensor::of("a", {2, 2}, {1, 2, 3, 4}), onnx_tensor::of("b", {1, 2}, {1, -2}),
                     onnx_tensor::of("low", {}, {0}), onnx_tensor::of("high", {}, {1}), ints("n", {1, 2}),
                     ints("flat", {-1}), onnx_tensor::of("k", {1, 1}, {-1})});
  };
  numbers const x{1, 1};
  EXPECT_EQ(output_of(scaled({op("MatMul", {"b", "a"}, {"c"})}), x), (numbers{-5, -6}));
  EXPECT_EQ(output_of(scaled({op("MatMul", {"b", "a"}, {"p"}), op("Add", {"p", "b"}, {"c"})}), x),
            (numbers{-4, -8}));
  EXPECT_NE(refused(scaled({op("Reshape", {"b", "flat"}, {"r"}), op("MatMul", {"r", "a"}, {"p"}),
                            op("Add", {"p", "b"}, {"c"})})),
            "");  // the bias adds an axis
  EXPECT_EQ(output_of(scaled({op("Clip", {"b", "low", "high"}, {"c"})}), x), (numbers{1, 0}));
  EXPECT_EQ(output_of(scaled({op("Tile", {"k", "n"}, {"c"})}), x), (numbers{-1, -1}));
  EXPECT_EQ(output_of(scaled({op("Relu", {"b"}, {"c"})}), x), (numbers{1, 0}));
  EXPECT_EQ(output_of(scaled({op("Abs", {"b"}, {"c"})}), x), (numbers{1, 2}));
  expect_near(output_of(scaled({op("Exp", {"b"}, {"c"})}), x), {std::exp(1.0F), std::exp(-2.0F)});
  expect_near(output_of(scaled({op("Tanh", {"b"}, {"c"})}), x), {std::tanh(1.0F), std::tanh(-2.0F)});
  expect_near(output_of(scaled({op("Sigmoid", {"b"}, {"c"})}), x),
              {1 / (1 + std::exp(-1.0F)), 1 / (1 + std::exp(2.0F))});
  expect_near(output_of(scaled({op("Reciprocal", {"b"}, {"c"})}), x), {1, -0.5F});
}

TEST(onnx_computed_constants, of_gathered_slices_are_correct) {
  auto const gathered = [](extents const& dims, extents const& indices, std::int64_t count) {
    onnx_tensor places = ints("i", indices);
    places.dims = dims;
    return model_of(
        {count},
        {op("GatherND", {"a", "i"}, {"g"}), op("Reshape", {"g", "row"}, {"c"}), op("Add", {"x", "c"}, {"y"})},
        {onnx_tensor::of("a", {2, 3}, {1, 2, 3, 4, 5, 6}), std::move(places), ints("row", {-1})});
  };
  EXPECT_EQ(output_of(gathered({3, 2}, {1, 0, 0, -1, -2, 1}, 3), {0, 0, 0}), (numbers{4, 3, 2}));
  EXPECT_EQ(output_of(gathered({2, 1}, {1, -2}, 6), numbers(6)), (numbers{4, 5, 6, 1, 2, 3}));
  EXPECT_NE(refused(gathered({1, 2}, {1, 3}, 1)), "");
  EXPECT_NE(refused(gathered({1, 3}, {0, 0, 0}, 1)), "");
}

TEST(onnx_computed_constants, without_elements_have_extents_whose_product_is_a_number) {
  auto const gathered = [](std::int64_t extent) {
    onnx_tensor places = ints("i", {});
    places.dims = {0, 1};
    return model_of(
        {2},
        {op("GatherND", {"a", "i"}, {"g"}), op("Shape", {"g"}, {"zero"}, {whole("end", 1)}),
         op("Concat", {"zero", "two"}, {"wanted"}, {whole("axis", 0)}),
         op("Reshape", {"x", "wanted"}, {"y"})},
        {onnx_tensor::of("a", {0, extent, extent, extent}, numbers{}), std::move(places), ints("two", {2})});
  };
  EXPECT_NE(refused(gathered(std::int64_t{1} << 24)).find("no layer computes this operator"),
            std::string::npos)
      << refused(gathered(std::int64_t{1} << 24));
}

TEST(onnx_computed_constants, of_triangles_are_correct) {
  auto const masked = [](std::vector<onnx_attribute> with, extents const& diagonal) {
    std::vector<std::string> inputs{"a"};
    std::vector<onnx_tensor> constants{onnx_tensor::of("a", {2, 3}, {1, 2, 3, 4, 5, 6})};
    if (!diagonal.empty()) inputs.push_back("k"), constants.push_back(ints("k", diagonal));
    return model_of({2, 3}, {op("Trilu", inputs, {"c"}, std::move(with)), op("Mul", {"x", "c"}, {"y"})},
                    std::move(constants));
  };
  numbers const x{1, 1, 1, 1, 1, 1};
  EXPECT_EQ(output_of(masked({}, {}), x), (numbers{1, 2, 3, 0, 5, 6}));
  EXPECT_EQ(output_of(masked({whole("upper", 0)}, {}), x), (numbers{1, 0, 0, 4, 5, 0}));
  EXPECT_EQ(output_of(masked({}, {1}), x), (numbers{0, 2, 3, 0, 0, 6}));
  EXPECT_EQ(output_of(masked({whole("upper", 0)}, {-1}), x), (numbers{0, 0, 0, 4, 0, 0}));
  EXPECT_NE(refused(model_of({2, 3}, {op("Trilu", {"x"}, {"y"})})), "");
}

TEST(onnx_constants_of_each_example, may_have_the_batch_at_any_axis) {
  numbers const x{1, 2, 3, 4};
  // zeros of 1×N×2, in the states of a cell that PyTorch's exporter unrolls
  nodes const state{op("Shape", {"x"}, {"n"}, {whole("end", 1)}),
                    op("Concat", {"ones", "n", "two"}, {"dims"}, {whole("axis", 0)}),
                    op("Expand", {"zero", "dims"}, {"zeros"}),
                    op("MatMul", {"zeros", "w"}, {"p"}),
                    op("Add", {"p", "b"}, {"s"}),
                    op("Add", {"s", "x"}, {"u"}),
                    op("Squeeze", {"u", "front"}, {"y"})};
  std::vector<onnx_tensor> const constants{ints("ones", {1}),
                                           ints("two", {2}),
                                           ints("front", {0}),
                                           onnx_tensor::of("zero", {}, {0}),
                                           onnx_tensor::of("w", {2, 2}, {1, 2, 3, 4}),
                                           onnx_tensor::of("b", {2}, {10, 20})};
  EXPECT_EQ(output_of(model_of({2}, state, constants), x), (numbers{11, 22, 13, 24}));
  nodes of_a_step = state;  // another axis than the batch has the extent of the batch
  of_a_step[5].inputs = {"s", "z"};
  of_a_step.insert(of_a_step.begin(), op("Unsqueeze", {"x", "front"}, {"z"}));
  EXPECT_EQ(output_of(model_of({2}, of_a_step, constants), x), (numbers{11, 22, 13, 24}));
  of_a_step[0] = op("Unsqueeze", {"x", "two"}, {"z"});
  EXPECT_NE(refused(model_of({2}, of_a_step, constants)), "");
  EXPECT_NE(refused(model_of({1, 2}, state, constants)).find("the operands have their batches at different"),
            std::string::npos);
  std::vector<onnx_tensor> of_three_examples = constants;
  of_three_examples.back() = onnx_tensor::of("b", {1, 3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_NE(refused(model_of({2}, state, of_three_examples)), "");
}

TEST(onnx_sums, have_the_largest_number_of_axes) {
  EXPECT_EQ(output_of(model_of({2},
                               {op("Unsqueeze", {"x", "front"}, {"z"}), op("Tanh", {"x"}, {"t"}),
                                op("Add", {"z", "t"}, {"u"}), op("Sub", {"u", "t"}, {"v"}),
                                op("Squeeze", {"v", "front"}, {"y"})},
                               {ints("front", {0})}),
                      {0, 0, 0, 1}),
            (numbers{0, 0, 0, 1}));
  EXPECT_NE(refused(model_of({2}, {op("Unsqueeze", {"x", "last"}, {"z"}), op("Add", {"z", "x"}, {"y"})},
                             {ints("last", {2})})),
            "");
}

TEST(onnx_constants_of_each_example, may_have_the_extent_of_a_fixed_batch) {
  auto const sum = [](extents const& dims, numbers const& values) {
    onnx_model model = model_of({2}, {op("Add", {"c", "x"}, {"u"}), op("Reshape", {"u", "back"}, {"y"})},
                                {onnx_tensor::of("c", dims, values), ints("back", {2, 2})});
    model.inputs[0].dims[0] = {.value = 2};
    return model;
  };
  numbers const x{1, 2, 3, 4};
  EXPECT_EQ(output_of(sum({1, 2, 2}, {10, 20, 10, 20}), x), (numbers{11, 22, 13, 24}));
  EXPECT_EQ(output_of(sum({2, 2}, {10, 20, 10, 20}), x), (numbers{11, 22, 13, 24}));
  EXPECT_NE(refused(sum({2, 2}, {10, 20, 10, 21})).find("the constant has an axis for the batch"),
            std::string::npos);
  EXPECT_NE(
      refused(sum({2, 1, 2}, {10, 20, 10, 20})).find("the constant has more axes than the other operand"),
      std::string::npos);
}

TEST(onnx_computed_constants, of_products_are_bounded) {
  nodes parts;
  std::string name = "a";
  for (int i = 0; i < 8; ++i) {  // each of 2^27 products
    parts.push_back(op("MatMul", {name, "a"}, {name + "a"}));
    name += 'a';
  }
  parts.push_back(op("Reshape", {name, "row"}, {"r"}));
  parts.push_back(op("MatMul", {"x", "r"}, {"y"}));
  EXPECT_NE(
      refused(model_of({1}, std::move(parts),
                       {onnx_tensor::of("a", {512, 512}, numbers(512 * 512, 0.5F)), ints("row", {1, -1})})),
      "");
}

}  // namespace onnx_formulas_test
