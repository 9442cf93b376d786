// SPDX-License-Identifier: Apache-2.0
// Joined constants, slices with steps, Einsum and masks of padding in ONNX files.
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <cohort/backend/reference.hpp>
#include <cohort/interchange/detail/onnx_importer.hpp>
#include <iterator>
#include <limits>

#include "onnx_models.hpp"

namespace onnx_axes_test {

using namespace onnx_models;

using numbers = std::vector<float>;

onnx_tensor ints(char const* name, std::vector<std::int64_t> const& values) {
  return onnx_tensor::of(name, values);
}

/// The output of a batch of examples.
numbers output_of(onnx_model const& model, numbers const& x, int count = 1) {
  imported_model const made = imported(write_onnx_model(model));
  training const run = load_imported<reference<float>>(made);
  return run.predict(tensor_view(x.data(), made.network().view()[0].output.batched(count))).values;
}

/// Concat of constants with one row for each example, before and after x.
onnx_model joined_constants(std::vector<std::int64_t> const& x, std::int64_t axis,
                            std::vector<std::int64_t> const& extents) {
  std::vector<std::int64_t> const dims{1, extents[0], extents[1]};
  return model_of(
      x,
      {op("Shape", {"x"}, {"shape"}, {whole("end", 1)}),
       op("Concat", {"shape", "extents"}, {"all"}, {whole("axis", 0)}), op("Expand", {"front"}, {"f"}),
       op("Expand", {"back"}, {"b"}), op("Concat", {"f", "x", "b"}, {"y"}, {whole("axis", axis)})},
      {ints("extents", extents), onnx_tensor::of("front", dims, {7, 8}),
       onnx_tensor::of("back", dims, {9, 9})});
}

TEST(onnx_concat, adds_constants_of_each_example_before_and_after_a_value) {
  for (bool const rows : {true, false}) {
    onnx_model model = joined_constants(
        {2, 2}, rows ? 1 : 2, rows ? std::vector<std::int64_t>{1, 2} : std::vector<std::int64_t>{2, 1});
    for (std::size_t node : {2, 3}) model.nodes[node].inputs.push_back("all");
    EXPECT_EQ(output_of(model, {1, 2, 3, 4, -1, -2, -3, -4}, 2),
              (rows ? numbers{7, 8, 1, 2, 3, 4, 9, 9, 7, 8, -1, -2, -3, -4, 9, 9}
                    : numbers{7, 1, 2, 9, 8, 3, 4, 9, 7, -1, -2, 9, 8, -3, -4, 9}));
    if (!rows) continue;
    imported_model const made = imported(write_onnx_model(model));
    EXPECT_EQ(kinds_of(model), "input reshape zero_padding reshape learned_positions ");
    ASSERT_EQ(made.settings.optimizer.layers.size(), 0U);  // a run refuses a network without trained layers
  }
}

/// A recurrent network whose initial state is zeros, made as tf2onnx makes it: an expanded constant that gets
/// an axis. `second`: the constant of the second unit.
onnx_model with_initial_state(float second, std::vector<std::int64_t> const& axes = {0}) {
  return model_of(
      {2, 1},
      {op("Transpose", {"x"}, {"t"}, {list("perm", {1, 0, 2})}), op("Shape", {"x"}, {"n"}, {whole("end", 1)}),
       op("Concat", {"n", "one"}, {"e"}, {whole("axis", 0)}), op("Expand", {"first", "e"}, {"a"}),
       op("Expand", {"second", "e"}, {"b"}), op("Unsqueeze", {"a", "axes"}, {"c"}),
       op("Unsqueeze", {"b", "axes"}, {"d"}), op("Squeeze", {"d", "axes"}, {"f"}),
       op("Unsqueeze", {"f", "axes"}, {"g"}), op("Concat", {"c", "g"}, {"h"}, {whole("axis", 2)}),
       op("RNN", {"t", "W", "R", "", "", "h"}, {"Y"}, {whole("hidden_size", 2)}),
       op("Squeeze", {"Y", "one"}, {"q"}), op("Transpose", {"q"}, {"y"}, {list("perm", {1, 0, 2})})},
      {ints("one", {1}), ints("axes", axes), onnx_tensor::of("first", {1, 1}, {0}),
       onnx_tensor::of("second", {1, 1}, {second}), onnx_tensor::of("W", {1, 2, 1}, {1, -1}),
       onnx_tensor::of("R", {1, 2, 2}, {0.5F, 0, 0, 0.5F})});
}

TEST(onnx_filled_batches, get_and_lose_axes_and_are_joined) {
  numbers const x{1, 2, -0.5F, 0.25F};
  numbers const y = output_of(with_initial_state(0), x, 2);
  ASSERT_EQ(y.size(), 8U);
  for (std::size_t n = 0; n < 2; ++n)
    for (std::size_t unit = 0; unit < 2; ++unit) {
      float const sign = unit == 0 ? 1 : -1, first = std::tanh(sign * x[2 * n]);
      EXPECT_NEAR(y[4 * n + unit], first, 1e-6F);
      EXPECT_NEAR(y[4 * n + 2 + unit], std::tanh(sign * x[2 * n + 1] + 0.5F * first), 1e-6F);
    }
  EXPECT_NE(refused(with_initial_state(1)), "");          // two numbers
  EXPECT_NE(refused(with_initial_state(0, {0, 0})), "");  // one axis twice
}

TEST(onnx_filled_batches, have_the_extents_of_the_constant_and_of_the_target) {
  EXPECT_EQ(output_of(model_of({2},
                               {op("Shape", {"x"}, {"n"}, {whole("end", 1)}),
                                op("Concat", {"n", "one"}, {"e"}, {whole("axis", 0)}),
                                op("Expand", {"row", "e"}, {"f"}),
                                op("Concat", {"x", "f"}, {"y"}, {whole("axis", 1)})},
                               {ints("one", {1}), onnx_tensor::of("row", {1, 3}, {5, 5, 5})}),
                      {1, 2, 3, 4}, 2),
            (numbers{1, 2, 5, 5, 5, 3, 4, 5, 5, 5}));
}

TEST(onnx_filled_batches, do_not_consist_of_the_batch_size) {
  EXPECT_NE(refused(model_of(
                {2},
                {op("Shape", {"x"}, {"n"}, {whole("end", 1)}), op("Cast", {"n"}, {"f"}, {whole("to", 1)}),
                 op("Concat", {"n", "one"}, {"e"}, {whole("axis", 0)}), op("Expand", {"f", "e"}, {"g"}),
                 op("Concat", {"x", "g"}, {"y"}, {whole("axis", 1)})},
                {ints("one", {1})})),
            "");
}

TEST(onnx_concat, of_constants_and_filled_batches_has_the_default_axis_1) {
  EXPECT_EQ(
      output_of(model_of({2}, {op("Concat", {"a", "b"}, {"w"}), op("MatMul", {"x", "w"}, {"y"})},
                         {onnx_tensor::of("a", {2, 1}, {1, 3}), onnx_tensor::of("b", {2, 1}, {2, 4})}, 3),
                {1, 2}),
      (numbers{7, 10}));
  onnx_model state = with_initial_state(0);  // joins N×1 and N×1 before the other axis is inserted
  state.nodes[5] = op("Concat", {"a", "b"}, {"j"});
  state.nodes[6] = op("Unsqueeze", {"j", "axes"}, {"h"});
  state.nodes.erase(state.nodes.begin() + 7, state.nodes.begin() + 10);
  numbers const x{1, 2, -0.5F, 0.25F};
  EXPECT_EQ(output_of(state, x, 2), output_of(with_initial_state(0), x, 2));
}

TEST(onnx_shapes, are_multiplied_by_reduce_prod) {
  auto const flattened = [](std::vector<detail::onnx_node> product) {
    std::vector<detail::onnx_node> nodes{op("Shape", {"x"}, {"n"}, {whole("end", 1)}),
                                         op("Shape", {"x"}, {"rest"}, {whole("start", 1)})};
    std::ranges::copy(product, std::back_inserter(nodes));
    nodes.push_back(op("Concat", {"n", "p"}, {"wanted"}, {whole("axis", 0)}));
    nodes.push_back(op("Reshape", {"x", "wanted"}, {"y"}));
    return model_of({2, 3}, nodes, {ints("front", {0})});
  };
  numbers const x{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(output_of(flattened({op("ReduceProd", {"rest"}, {"p"})}), x), x);
  EXPECT_EQ(
      output_of(flattened({op("ReduceProd", {"rest"}, {"s"}, {list("axes", {-1}), whole("keepdims", 0)}),
                           op("Unsqueeze", {"s", "front"}, {"p"})}),
                x),
      x);
  EXPECT_NE(refused(flattened({op("ReduceProd", {"rest"}, {"p"}, {list("axes", {1})})})), "");
}

TEST(onnx_shapes, of_negative_multiples_of_the_batch_are_not_compared) {
  auto const compared = [](std::string const& factor) {  // to Max(N·k, k)·k rows
    return model_of({2},
                    {op("Shape", {"x"}, {"n"}, {whole("end", 1)}), op("Mul", {"n", factor}, {"m"}),
                     op("Max", {"m", factor}, {"most"}), op("Mul", {"most", factor}, {"rows"}),
                     op("Concat", {"rows", "two"}, {"wanted"}, {whole("axis", 0)}),
                     op("Reshape", {"x", "wanted"}, {"y"})},
                    {ints("one", {1}), ints("minus", {-1}), ints("two", {2})});
  };
  EXPECT_EQ(refused(compared("one")), "");
  EXPECT_NE(refused(compared("minus")), "");  // Max(−N, −1) is −1
}

TEST(onnx_concat, refuses_constants_of_another_batch) {
  EXPECT_EQ(refused(model_of({2, 2}, {op("Concat", {"k", "x"}, {"y"}, {whole("axis", 1)})},
                             {onnx_tensor::of("k", {2, 1, 2}, {1, 2, 1, 2})})),
            message(0, "y", "Concat", "a constant has another batch than the other inputs", "N x 2 x 2",
                    "a constant of type float, 2 x 1 x 2", batch_first));
  EXPECT_NE(refused(model_of({2, 2}, {op("Concat", {"k", "x"}, {"y"}, {whole("axis", 1)})},
                             {onnx_tensor::of("k", {2, 1, 2}, {1, 2, 3, 4})})),
            "");
}

TEST(onnx_slice, selects_every_second_or_third_element) {
  auto const sliced = [](std::int64_t first, std::int64_t last, std::int64_t step) {
    return model_of({7}, {op("Slice", {"x", "first", "last", "axes", "step"}, {"y"})},
                    {ints("first", {first}), ints("last", {last}), ints("axes", {1}), ints("step", {step})});
  };
  numbers const x{0, 1, 2, 3, 4, 5, 6};
  std::int64_t const end = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(output_of(sliced(1, end, 2), x), (numbers{1, 3, 5}));
  EXPECT_EQ(output_of(sliced(1, 5, 3), x), (numbers{1, 4}));
  EXPECT_EQ(output_of(sliced(2, end, 3), x), (numbers{2, 5}));
  EXPECT_EQ(output_of(sliced(6, end, 2), x), (numbers{6}));
  EXPECT_EQ(output_of(sliced(0, end, 2), x), (numbers{0, 2, 4, 6}));
  EXPECT_EQ(output_of(sliced(0, end, 3), x), (numbers{0, 3, 6}));
}

TEST(onnx_slice, reverses_an_axis) {
  auto const sliced = [](std::int64_t first, std::int64_t last, std::int64_t step) {
    return model_of({2, 3}, {op("Slice", {"x", "first", "last", "axes", "step"}, {"y"})},
                    {ints("first", {first}), ints("last", {last}), ints("axes", {2}), ints("step", {step})});
  };
  numbers const x{0, 1, 2, 3, 4, 5};
  std::int64_t const least = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(output_of(sliced(-1, least, -1), x), (numbers{2, 1, 0, 5, 4, 3}));
  EXPECT_EQ(output_of(sliced(2, 0, -1), x), (numbers{2, 1, 5, 4}));
  EXPECT_EQ(output_of(sliced(9, -4, -2), x), (numbers{2, 0, 5, 3}));
  EXPECT_EQ(output_of(sliced(1, least, least), x), (numbers{1, 4}));
  EXPECT_EQ(output_of(sliced(-9, least, -1), x), (numbers{0, 3}));  // the start becomes 0
  EXPECT_EQ(refused(sliced(0, 2, -1)),
            message(0, "y", "Slice", "the node selects no elements, or too many runs of consecutive elements",
                    "1 to 1024 runs", "none", replace));
  EXPECT_EQ(refused(sliced(2, 0, 0)), message(0, "y", "Slice", "a step is 0", "another step", "0", check));
}

TEST(onnx_slice, of_a_constant_begins_at_its_first_element_if_the_start_is_before_it) {
  std::int64_t const least = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(output_of(model_of({1},
                               {op("Slice", {"k", "first", "last", "axes", "step"}, {"s"}),
                                op("Add", {"x", "s"}, {"y"})},
                               {onnx_tensor::of("k", {3}, {5, 6, 7}), ints("first", {-9}),
                                ints("last", {least}), ints("axes", {0}), ints("step", {-1})}),
                      {1}),
            (numbers{6}));
}

/// Slice of x, N×2×3, along an axis, up to the batch size.
onnx_model sliced_to_the_batch_size(std::int64_t axis, std::int64_t step) {
  return model_of({2, 3},
                  {op("Shape", {"x"}, {"last"}, {whole("end", 1)}),
                   op("Slice", {"x", "first", "last", "axes", "step"}, {"y"})},
                  {ints("first", {step < 0 ? -1 : 0}), ints("axes", {axis}), ints("step", {step})});
}

TEST(onnx_slice, ends_at_the_batch_size_only_along_the_batch) {
  numbers const x{0, 1, 2, 3, 4, 5};
  EXPECT_EQ(output_of(sliced_to_the_batch_size(0, 1), x), x);
  for (std::int64_t const step : {-1, 1})
    EXPECT_EQ(refused(sliced_to_the_batch_size(2, step)),
              message(1, "y", "Slice", "the end along another axis is the batch size", "a constant",
                      "integers, 1", dynamic));
}

TEST(onnx_batch_sizes, differ_from_all_constants) {
  std::int64_t const least = std::numeric_limits<std::int64_t>::min();
  auto const of_constant = [](char const* kind, std::vector<std::int64_t> const& extents) {
    return model_of({1, 2}, {op(kind, {"x", "extents"}, {"y"})}, {ints("extents", extents)});
  };
  auto const sliced = [&](std::int64_t axis, std::int64_t step) {
    return model_of({1, 2}, {op("Slice", {"x", "first", "last", "axes", "step"}, {"y"})},
                    {ints("first", {step < 0 ? -1 : 0}), ints("last", {least + 1}), ints("axes", {axis}),
                     ints("step", {step})});
  };
  EXPECT_EQ(output_of(sliced(2, -1), {1, 2}), (numbers{2, 1}));  // as PyTorch exports flip
  EXPECT_NE(refused(sliced(0, 1)).find("the node selects a part of the batch"), std::string::npos);
  EXPECT_NE(refused(of_constant("Reshape", {least + 1, 2})), "");
  EXPECT_NE(refused(of_constant("Reshape", {least + 2, 1})), "");
  EXPECT_NE(refused(of_constant("Expand", {least + 1, 1, 2})), "");
  onnx_model older = of_constant("Reshape", {});
  older.opsets = {{"", 1}};
  older.nodes[0].inputs.pop_back();
  older.nodes[0].attributes = {list("shape", {least + 1, 2})};
  EXPECT_NE(refused(older), "");
  EXPECT_NE(refused(model_of({1, 2, 2}, {op("Resize", {"x", "", "", "sizes"}, {"y"})},
                             {ints("sizes", {least + 1, 1, 2, 2})})),
            "");
}

TEST(onnx_slice, refuses_every_second_example) {
  onnx_model const model =
      model_of({7}, {op("Slice", {"x", "first", "last", "axes", "step"}, {"y"})},
               {ints("first", {0}), ints("last", {std::numeric_limits<std::int64_t>::max()}),
                ints("axes", {0}), ints("step", {2})});
  EXPECT_NE(refused(model).find("the node selects a part of the batch"), std::string::npos) << refused(model);
}

/// Nodes between a Reshape that joins the batch with the rows of x, N×4×2, and one that separates them again.
onnx_model between_joined_rows(std::vector<detail::onnx_node> nodes, std::vector<std::int64_t> const& result,
                               std::vector<onnx_tensor> constants = {}) {
  std::vector<detail::onnx_node> all{op("Reshape", {"x", "joined"}, {"rows"})};
  all.insert(all.end(), nodes.begin(), nodes.end());
  all.push_back(op("Reshape", {"result", "separate"}, {"y"}));
  constants.push_back(ints("joined", {-1, 2, 2}));  // 2N×2×2
  constants.push_back(ints("separate", result));
  return model_of({4, 2}, std::move(all), std::move(constants));
}

TEST(onnx_joined_batches, are_not_changed_by_operators_on_other_axes) {
  numbers const x{0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(
      output_of(between_joined_rows({op("Slice", {"rows", "one", "end", "axis"}, {"result"})}, {-1, 2, 2},
                                    {ints("one", {1}), ints("end", {2}), ints("axis", {1})}),
                x),
      (numbers{2, 3, 6, 7}));
  EXPECT_EQ(output_of(between_joined_rows({op("Split", {"rows"}, {"", "last"}, {whole("axis", -1)}),
                                           op("Squeeze", {"last", "axis"}, {"flat"}),
                                           op("Unsqueeze", {"flat", "one"}, {"result"})},
                                          {-1, 2, 2}, {ints("axis", {-1}), ints("one", {1})}),
                      x),
            (numbers{1, 3, 5, 7}));
  EXPECT_EQ(output_of(between_joined_rows({op("Pad", {"rows", "pads"}, {"result"})}, {-1, 2, 3, 2},
                                          {ints("pads", {0, 1, 0, 0, 0, 0})}),
                      x),
            (numbers{0, 0, 0, 1, 2, 3, 0, 0, 4, 5, 6, 7}));
  EXPECT_EQ(output_of(between_joined_rows(
                          {op("ReduceMax", {"rows"}, {"result"}, {list("axes", {1}), whole("keepdims", 0)})},
                          {-1, 2, 2}),
                      x),
            (numbers{2, 3, 6, 7}));
  EXPECT_EQ(
      output_of(between_joined_rows({op("Flatten", {"rows"}, {"result"}, {whole("axis", 2)})}, {-1, 4, 2}),
                x),
      x);
  std::vector<onnx_tensor> norm;
  for (char const* const name : {"scale", "shift", "mean", "variance"})
    norm.push_back(onnx_tensor::of(name, {2}, {1, 4}));
  EXPECT_EQ(output_of(between_joined_rows(
                          {op("Flatten", {"rows"}, {"flat"}, {whole("axis", 2)}),
                           op("BatchNormalization", {"flat", "scale", "shift", "mean", "variance"},
                              {"result"}, {{.name = "epsilon", .type = onnx_attribute::real, .f = 1e-12F}})},
                          {-1, 4, 2}, norm),
                      x),
            (numbers{0, -2, 2, 2, 4, 6, 6, 10}));
  for (std::int64_t const axis : {0, -3})
    EXPECT_NE(
        refused(between_joined_rows({op("Slice", {"rows", "one", "end", "axis"}, {"result"})}, {-1, 2, 2},
                                    {ints("one", {1}), ints("end", {2}), ints("axis", {axis})}))
            .find("the node reads an axis that joins the batch with other axes"),
        std::string::npos);
}

TEST(onnx_joined_batches, refuse_a_matrix_of_indices) {
  onnx_tensor zero = ints("zero", {0});
  zero.dims = {1, 1};
  for (std::int64_t const axis : {1, 2})
    EXPECT_NE(refused(between_joined_rows({op("Gather", {"rows", "zero"}, {"matrix"}, {whole("axis", axis)}),
                                           op("ReduceMax", {"matrix"}, {"result"},
                                              {list("axes", {1}), whole("keepdims", 0)})},
                                          {-1, 2, 2}, {zero}))
                  .find("the node selects several elements of a value"),
              std::string::npos)
        << axis;
}

TEST(onnx_flatten, refuses_axes_before_the_batch_is_complete) {
  EXPECT_NE(refused(model_of({2, 2}, {op("Flatten", {"x"}, {"y"}, {whole("axis", 0)})})), "");
  EXPECT_NE(refused(model_of({2, 2}, {op("Flatten", {"x"}, {"y"}, {whole("axis", 2)})})), "");
}

TEST(onnx_pad, of_any_axes_is_filled_with_any_number) {
  auto const padded = [](std::vector<std::int64_t> const& x, std::vector<std::int64_t> const& pads,
                         float with) {
    return model_of(x, {op("Pad", {"x", "pads", "with"}, {"y"})},
                    {ints("pads", pads), onnx_tensor::of("with", {}, {with})});
  };
  EXPECT_EQ(output_of(padded({1, 1, 2}, {0, 1, 0, 0, 0, 0, 1, 1}, 0), {1, 2}),
            (numbers{0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0}));
  EXPECT_EQ(output_of(padded({2, 2}, {0, 0, 1, 0, 1, 0}, 9), {1, 2, 3, 4}),
            (numbers{9, 1, 2, 9, 3, 4, 9, 9, 9}));
  EXPECT_EQ(kinds_of(padded({1, 2, 2}, {0, 0, 1, 1, 0, 0, 1, 0}, 0)), "input zero_padding ");
  EXPECT_NE(refused(padded({2}, {1, 0, 0, 0}, 0)).find("the node pads the batch"), std::string::npos);
}

TEST(onnx_pad, repeats_elements) {
  auto const padded = [](char const* mode) {
    return model_of(
        {3}, {op("Pad", {"x", "pads"}, {"y"}, {{.name = "mode", .type = onnx_attribute::text, .s = mode}})},
        {ints("pads", {0, 2, 0, 3})});
  };
  numbers const x{1, 2, 3};
  EXPECT_EQ(output_of(padded("reflect"), x), (numbers{3, 2, 1, 2, 3, 2, 1, 2}));
  EXPECT_EQ(output_of(padded("edge"), x), (numbers{1, 1, 1, 2, 3, 3, 3, 3}));
  EXPECT_EQ(output_of(padded("wrap"), x), (numbers{2, 3, 1, 2, 3, 1, 2, 3}));
  EXPECT_EQ(refused(padded("none")), message(0, "y", "Pad", "the mode is unknown",
                                             "constant, reflect, edge or wrap", "\"none\"", check));
}

TEST(onnx_products, of_values_with_many_axes_are_repeated_along_neighbouring_axes) {
  onnx_model model = model_of({2, 2, 2},
                              {op("Reshape", {"x", "view"}, {"v"}),
                               op("ReduceMax", {"v"}, {"m"}, {list("axes", {4, 5}), whole("keepdims", 1)}),
                               op("Mul", {"v", "m"}, {"p"}), op("Flatten", {"p"}, {"y"})},
                              {ints("view", {0, 1, 2, 2, 1, 2})});
  EXPECT_EQ(output_of(model, {1, 2, 3, 4, 5, 6, 7, 8}), (numbers{2, 4, 12, 16, 30, 36, 56, 64}));
  model.initializers[0] = ints("view", {0, 2, 1, 2, 2, 1});
  model.nodes[1].attributes[0] = list("axes", {1, 4});
  EXPECT_EQ(output_of(model, {1, 2, 3, 4, 5, 6, 7, 8}), (numbers{6, 12, 24, 32, 30, 36, 56, 64}));
}

TEST(onnx_einsum, computes_products_of_matrices_in_any_order_of_their_axes) {
  auto const product = [](char const* equation) {
    return model_of({2, 2},
                    {op("Mul", {"x", "k"}, {"z"}),
                     op("Einsum", {"x", "z"}, {"y"},
                        {{.name = "equation", .type = onnx_attribute::text, .s = equation}})},
                    {onnx_tensor::of("k", {2, 2}, {1, 2, 0, 1})});
  };
  numbers const x{1, 2, 3, 4};  // x = (1 2; 3 4), z = (1 4; 0 4)
  EXPECT_EQ(output_of(product("nij,njk->nik"), x), (numbers{1, 12, 3, 28}));
  EXPECT_EQ(output_of(product("n i j, n k j -> n i k"), x), (numbers{9, 8, 19, 16}));
  EXPECT_EQ(output_of(product("nij,njk->nki"), x), (numbers{1, 3, 12, 28}));
  EXPECT_EQ(output_of(product("nji,njk->nik"), x), (numbers{1, 16, 2, 24}));
  for (char const* const equation : {"nij,nij->nij", "nij,njk", "nij,njk->n", "nij,mjk->nik", "ij,jk->ik",
                                     "nij,njj->nij", "jij,jjk->jik", "nii,nik->nik", "nij,njk->nii"})
    EXPECT_NE(refused(product(equation)).find("the equation is not a product of matrices"), std::string::npos)
        << equation;
}

TEST(onnx_gather, of_all_elements_in_their_order_is_a_reshape) {
  auto const strided = [](std::vector<std::int64_t> const& order, std::int64_t factor) {
    onnx_tensor each = ints("each", order);
    each.dims = {1, 4, 1};
    return model_of(
        {2, 2},
        {op("Shape", {"x"}, {"shape"}, {whole("start", 0), whole("end", 1)}), op("Squeeze", {"shape"}, {"n"}),
         op("Reshape", {"x", "all"}, {"flat"}), op("Range", {"zero", "n", "one"}, {"range"}),
         op("Mul", {"range", "factor"}, {"first"}), op("Unsqueeze", {"first", "axes"}, {"rows"}),
         op("Add", {"rows", "each"}, {"sum"}), op("Add", {"sum", "zero"}, {"indices"}),
         op("Gather", {"flat", "indices"}, {"y"}, {whole("axis", 0)})},
        {ints("all", {-1}), ints("zero", {0}), ints("one", {1}), ints("factor", {factor}),
         ints("axes", {1, 2}), each},
        20);
  };
  numbers const x{1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(output_of(strided({0, 1, 2, 3}, 4), x, 2), x);
  EXPECT_NE(refused(strided({0, 2, 1, 3}, 4)), "");
  EXPECT_NE(refused(strided({0, 1, 2, 3}, 3)), "");
}

TEST(onnx_gather, selects_the_elements_of_a_matrix_of_indices) {
  onnx_tensor indices = ints("indices", {0, 1, 1, 2});
  indices.dims = {2, 2};
  onnx_model const windows =
      model_of({3, 2}, {op("Gather", {"x", "indices"}, {"y"}, {whole("axis", 1)})}, {indices});
  EXPECT_EQ(output_of(windows, {0, 1, 2, 3, 4, 5}), (numbers{0, 1, 2, 3, 2, 3, 4, 5}));
  onnx_model const columns = model_of({2, 3},
                                      {op("Gather", {"x", "indices"}, {"z"}, {whole("axis", 2)}),
                                       op("Transpose", {"z"}, {"y"}, {list("perm", {0, 3, 1, 2})})},
                                      {indices});
  EXPECT_EQ(output_of(columns, {0, 1, 2, 3, 4, 5}), (numbers{0, 1, 3, 4, 1, 2, 4, 5}));
}

TEST(onnx_gather, refuses_indices_that_depend_on_themselves) {
  auto const gathered = [](std::vector<detail::onnx_node> sums) {
    std::vector<detail::onnx_node> nodes{op("Reshape", {"x", "all"}, {"flat"})};
    std::ranges::copy(sums, std::back_inserter(nodes));
    nodes.push_back(op("Gather", {"flat", "a"}, {"y"}));
    return model_of({2}, std::move(nodes), {ints("all", {-1}), ints("zero", {0})});
  };
  EXPECT_NE(refused(gathered({op("Add", {"a", "zero"}, {"a"})})), "");
  EXPECT_NE(refused(gathered({op("Add", {"b", "zero"}, {"a"}), op("Add", {"a", "zero"}, {"b"})})), "");
  EXPECT_NE(refused(gathered({op("Add", {"b", "zero"}, {"a"}), op("Add", {"c", "zero"}, {"b"}),
                              op("Add", {"b", "zero"}, {"c"})})),
            "");
  EXPECT_NE(refused(gathered({op("Add", {"", "zero"}, {""}), op("Add", {"", "zero"}, {"a"})})), "");
}

/// A sequence N×3×2 whose steps exist below `lengths`, and Where(mask, value, 0).
onnx_model masked(std::string const& lengths, std::string const& value) {
  onnx_tensor steps{"steps", onnx_type::i32, {1, 3}, {}};
  for (std::int32_t t = 0; t < 3; ++t) steps.raw.append(reinterpret_cast<char const*>(&t), sizeof t);
  onnx_model model =
      model_of({3, 2},
               {op("Unsqueeze", {lengths, "one"}, {"column"}), op("Less", {"steps", "column"}, {"mask"}),
                op("Unsqueeze", {"mask", "two"}, {"m"}), op("Tanh", {"z"}, {"t"}),
                op("Where", {"m", value, "zero"}, {"w"}), op("Add", {"w", "t"}, {"y"})},
               {steps, ints("one", {1}), ints("two", {2}), onnx_tensor::of("zero", {}, {0})});
  model.inputs.push_back(model.inputs[0]);
  model.inputs.back().name = "z";
  model.inputs.push_back({lengths, onnx_type::i32, true, {{-1, "N"}}});
  return model;
}

TEST(onnx_masks, belong_to_the_input_that_the_lengths_name) {
  EXPECT_EQ(refused(masked("z.lengths", "t")), "");
  EXPECT_EQ(refused(masked("z.lengths", "x")),
            message(4, "w", "Where", "the node reads the mask of another value",
                    "a value computed from input \"z\"", "a value without a mask", replace));
  EXPECT_NE(refused(masked("sizes", "t")).find("got \"Less\""), std::string::npos)
      << refused(masked("sizes", "t"));
}

TEST(onnx_masks, require_all_steps_in_their_order) {
  onnx_model model = masked("z.lengths", "t");
  onnx_tensor& steps = model.initializers[0];
  std::swap_ranges(steps.raw.begin(), steps.raw.begin() + sizeof(std::int32_t),
                   steps.raw.begin() + sizeof(std::int32_t));
  EXPECT_NE(refused(model).find("got \"Less\""), std::string::npos) << refused(model);
}

TEST(onnx_masks, are_refused_if_an_input_has_two) {
  auto const padded = [](float first, float second) {
    std::vector<detail::onnx_node> nodes;
    for (std::string const part : {"a", "b"}) {
      nodes.push_back(op("Equal", {"x", part}, {part + "e"}));
      nodes.push_back(op("Not", {part + "e"}, {part + "m"}));
      nodes.push_back(op("Cast", {part + "m"}, {part + "f"}, {whole("to", 1)}));
      nodes.push_back(op("ReduceMax", {part + "f"}, {part + "r"}, {list("axes", {2}), whole("keepdims", 0)}));
      nodes.push_back(op("Cast", {part + "r"}, {part + "c"}, {whole("to", 9)}));
      nodes.push_back(op("Unsqueeze", {part + "c", "two"}, {part + "u"}));
      nodes.push_back(op("Where", {part + "u", "x", "zero"}, {part + "w"}));
    }
    nodes.push_back(op("Add", {"aw", "bw"}, {"y"}));
    return model_of({3, 2}, std::move(nodes),
                    {onnx_tensor::of("a", {}, {first}), onnx_tensor::of("b", {}, {second}), ints("two", {2}),
                     onnx_tensor::of("zero", {}, {0})});
  };
  EXPECT_EQ(kinds_of(padded(-1, -1)), "padded_input zero_masked zero_masked add ");
  EXPECT_EQ(refused(padded(-1, 0)),
            message_at(", input \"x\"", "the nodes compute two different masks of the input", "one mask",
                       "two", replace));
}

}  // namespace onnx_axes_test
