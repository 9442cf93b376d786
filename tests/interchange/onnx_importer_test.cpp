// SPDX-License-Identifier: Apache-2.0
// covers: interchange/onnx_import_settings
// Patterns of several nodes that almost match, and files that are malformed or need excessive memory.
#include <gtest/gtest.h>
#include <cmath>
#include <cohort/backend/reference.hpp>
#include <cohort/interchange/detail/onnx_importer.hpp>
#include <cohort/io/detail/protobuf.hpp>
#include <cohort/layer/attention.hpp>
#include <limits>
#include <set>

#include "onnx_models.hpp"

namespace onnx_importer_test {

using namespace onnx_models;

/// Attention of x, N×2×4, to itself with two heads, as separate nodes.
struct separate_attention {
  std::vector<std::int64_t> x{2, 4}, split{0, 0, 2, 2}, joined{0, 0, 4}, mask{2, 2};
  bool masks_before = false, masks_after = false;
  std::int64_t allowzero = 0;

  onnx_model model() const {
    onnx_tensor allowed{"mask", onnx_type::boolean, mask, ""};
    for (std::int64_t i = 0; i < mask[0]; ++i)
      for (std::int64_t j = 0; j < mask[1]; ++j) allowed.raw += static_cast<char>(j <= i);
    std::vector<onnx_attribute> const zeros{whole("allowzero", allowzero)};
    std::vector<detail::onnx_node> nodes;
    for (char const* const part : {"q", "k", "v"}) {
      std::string const name = part;
      nodes.push_back(op("Reshape", {"x", "split"}, {name + "s"}, zeros));
      nodes.push_back(op("Transpose", {name + "s"}, {name},
                         {list("perm", name == "k" ? std::vector<std::int64_t>{0, 2, 3, 1}
                                                   : std::vector<std::int64_t>{0, 2, 1, 3})}));
    }
    nodes.push_back(op("MatMul", {"q", "k"}, {"s"}));
    nodes.push_back(op("Mul", {"s", "factor"}, {"m"}));
    if (masks_before) nodes.push_back(op("Where", {"mask", "m", "low"}, {"w"}));
    nodes.push_back(op("Softmax", {masks_before ? "w" : "m"}, {"p"}, {whole("axis", -1)}));
    if (masks_after) nodes.push_back(op("Where", {"mask", "p", "zero"}, {"z"}));
    nodes.push_back(op("MatMul", {masks_after ? "z" : "p", "v"}, {"o"}));
    nodes.push_back(op("Transpose", {"o"}, {"t"}, {list("perm", {0, 2, 1, 3})}));
    nodes.push_back(op("Reshape", {"t", "joined"}, {"y"}, zeros));
    return model_of(x, std::move(nodes),
                    {onnx_tensor::of("split", split), onnx_tensor::of("joined", joined),
                     onnx_tensor::of("factor", {}, {0.70710677F}), onnx_tensor::of("zero", {}, {0}),
                     onnx_tensor::of("low", {}, {std::numeric_limits<float>::lowest()}), allowed});
  }
};

bool is_causal(onnx_model const& model) {
  imported_model const made = imported(write_onnx_model(model));
  graph_view const net = made.network();
  for (field_info const& one : net.kind(1).fields)
    if (one.name == "causal") return net.fields(1)[one.first_slot] != 0;
  return false;
}

TEST(onnx_attention, is_recognised_with_masked_scores_and_masked_weights) {
  EXPECT_EQ(kinds_of(separate_attention().model()), "input attention ");
  EXPECT_FALSE(is_causal(separate_attention().model()));
  EXPECT_TRUE(is_causal(separate_attention{.masks_before = true}.model()));
  EXPECT_TRUE(is_causal(separate_attention{.masks_before = true, .masks_after = true}.model()));
  EXPECT_EQ(kinds_of(separate_attention{.split = {-1, 2, 2, 2}, .joined = {0, -1, 4}}.model()),
            "input attention ");
  EXPECT_EQ(kinds_of(separate_attention{.joined = {0, 0, -1}}.model()), "input attention ");
}

TEST(onnx_attention, is_not_recognised_if_only_the_weights_are_masked) {
  EXPECT_EQ(refused(separate_attention{.masks_after = true}.model()),
            message(9, "z", "Where", "no layer computes this operator", "an operator that docs/onnx.md lists",
                    "\"Where\"", replace));
}

TEST(onnx_attention, is_recognised_only_if_examples_and_steps_stay_separate) {
  auto const of = [](std::string const& what, std::string const& expected, std::string const& got) {
    return message(11, "y", "Attention", what, expected, got, "replace windowed attention before the export");
  };
  std::string const split = "the heads are split across examples or steps",
                    keeps = "a Reshape that keeps N and T",
                    joined = "the heads are joined across examples or steps", to = "a Reshape to N x T x 4";
  // Windows of two of the four steps.
  EXPECT_EQ(refused(separate_attention{.x = {4, 4}, .split = {-1, 2, 2, 2}, .joined = {-1, 4, 4}}.model()),
            of(split, keeps, "N x 4 x 4 to N x 2 x 2 x 2"));
  EXPECT_EQ(refused(separate_attention{.split = {3, 0, 2, 2}}.model()),
            of(split, keeps, "N x 2 x 4 to 3 x 0 x 2 x 2"));
  EXPECT_EQ(refused(separate_attention{.joined = {-1, 1, 4}}.model()), of(joined, to, "N x 1 x 4"));
  EXPECT_EQ(refused(separate_attention{.joined = {0, 0, 8}}.model()), of(joined, to, "0 x 0 x 8"));
  EXPECT_EQ(refused(separate_attention{.joined = {-1, 0, -1}}.model()), of(joined, to, "N x 0 x N"));
  EXPECT_EQ(refused(separate_attention{.x = {2, 8}}.model()),
            message(11, "y", "Attention", "the heads do not have all columns of an input", "8 columns", "4",
                    check));
  EXPECT_EQ(refused(separate_attention{.allowzero = 1}.model()),
            message(0, "qs", "Reshape", "the node mixes examples of the batch",
                    "a shape that keeps the batch", "0 x 0 x 2 x 2 from N x 2 x 4", batch_first));
}

TEST(onnx_attention, requires_a_mask_with_the_extents_of_the_scores) {
  EXPECT_EQ(refused(separate_attention{.mask = {1, 1}, .masks_before = true}.model()),
            message(12, "y", "Attention", "the mask does not have the extents of the scores", "2 x 2",
                    "1 x 1", replace));
}

TEST(onnx_attention, requires_two_inputs_and_known_attributes) {
  std::vector<onnx_attribute> with{whole("q_num_heads", 2), whole("kv_num_heads", 2)};
  EXPECT_EQ(refused(model_of({2, 12}, {op("Attention", {"x"}, {"y"}, with)}, {}, 23)),
            message(0, "y", "Attention", "input 1 is missing", "at least 2 inputs", "1", check));
  EXPECT_EQ(kinds_of(model_of({2, 4}, {op("Attention", {"x", "x", "x"}, {"y"}, with)}, {}, 23)),
            "input attention ");
  with.push_back(whole("columns", 4));
  EXPECT_EQ(refused(model_of({2, 4}, {op("Attention", {"x", "x", "x"}, {"y"}, with)}, {}, 23)),
            message(0, "y", "Attention", "attribute \"columns\" is unknown",
                    "an attribute of Attention in operator set 23", "INT", replace));
}

onnx_tensor const w = onnx_tensor::of("w", {3, 2}, {1, 2, 3, 4, 5, 6}), b = onnx_tensor::of("b", {2}, {7, 8});

TEST(onnx_bias, is_fused_only_with_operators_of_the_onnx_domain) {
  onnx_model foreign =
      model_of({4, 3}, {op("MatMul", {"x", "w"}, {"a"}), op("Add", {"b", "a"}, {"y"})}, {w, b});
  EXPECT_EQ(kinds_of(foreign), "input dense ");
  foreign.nodes[1].domain = "com.x";
  EXPECT_EQ(refused(foreign), message(1, "y", "Add", "no layer computes operators of this domain", "ai.onnx",
                                      "\"com.x\"", replace));
  onnx_model product =
      model_of({4, 3}, {op("MatMul", {"x", "w"}, {"a"}), op("Add", {"b", "a"}, {"y"})}, {w, b});
  product.nodes[0].domain = "com.x";
  EXPECT_EQ(refused(product), message(0, "a", "MatMul", "no layer computes operators of this domain",
                                      "ai.onnx", "\"com.x\"", replace));
  EXPECT_EQ(refused(model_of({4, 3},
                             {op("MatMul", {"x", "w"}, {"a"}),
                              op("Add", {"a", "b"}, {"y"}, {whole("axis", 0), whole("broadcast", 1)})},
                             {w, b}, 6)),
            message(1, "y", "Add", "attribute \"axis\" is unknown", "an attribute of Add in operator set 6",
                    "INT", replace));
  EXPECT_EQ(
      kinds_of(model_of(
          {4, 3}, {op("MatMul", {"x", "w"}, {"a"}), op("Add", {"a", "b"}, {"y"}, {whole("broadcast", 1)})},
          {w, b}, 6)),
      "input dense ");
}

TEST(onnx_bias, is_refused_as_a_third_input) {
  EXPECT_EQ(refused(model_of({4, 3}, {op("MatMul", {"x", "w", "b"}, {"y"})}, {w, b})),
            message(0, "y", "MatMul", "the node has too many inputs", "at most 2", "3", check));
}

TEST(onnx_gelu, is_recognised_only_from_onnx_operators_with_known_attributes) {
  for (std::size_t foreign = 0; foreign < 5; ++foreign) {
    onnx_model made =
        model_of({4},
                 {op("Div", {"x", "root"}, {"a"}), op("Erf", {"a"}, {"e"}), op("Add", {"e", "one"}, {"c"}),
                  op("Mul", {"x", "c"}, {"d"}), op("Mul", {"d", "half"}, {"y"})},
                 {onnx_tensor::of("root", {}, {1.41421354F}), onnx_tensor::of("one", {}, {1}),
                  onnx_tensor::of("half", {}, {0.5F})});
    EXPECT_EQ(kinds_of(made), "input gelu ");
    made.nodes[foreign].domain = "com.x";
    EXPECT_NE(refused(made), "") << foreign;
    made.nodes[foreign].domain.clear();
    made.nodes[foreign].attributes = {whole("axis", 0)};
    EXPECT_NE(refused(made), "") << foreign;
  }
}

TEST(onnx_selu, has_the_defaults_of_its_operator_set) {
  onnx_model const now = model_of({4}, {op("Selu", {"x"}, {"y"})}),
                   old = model_of({4}, {op("Selu", {"x"}, {"y"})}, {}, 5);
  EXPECT_EQ(kinds_of(now), "input selu ");
  EXPECT_EQ(kinds_of(old), "input elu scale ");
  imported_model const made = imported(write_onnx_model(old));
  EXPECT_EQ(made.network().view().fields(1)[0], static_cast<double>(1.6732F));
  EXPECT_EQ(made.network().view().fields(2)[0], static_cast<double>(1.0507F));
}

TEST(onnx_names, are_refused_if_repeated_or_too_many) {
  onnx_model twice = model_of({4}, {op("Relu", {"x"}, {"y"})});
  twice.outputs.push_back(twice.outputs[0]);
  EXPECT_EQ(refused(twice), message_at("", "two outputs have the name \"y\"", "unique names", "two", check));
  twice = model_of({4}, {op("Relu", {"x"}, {"y"})});
  twice.inputs.push_back(twice.inputs[0]);
  EXPECT_EQ(refused(twice), message_at("", "two inputs have the name \"x\"", "unique names", "two", check));
  EXPECT_EQ(refused(model_of({4}, {op("Relu", {"x"}, {"x"}), op("Relu", {"x"}, {"y"})})),
            message(0, "x", "Relu", "the value \"x\" is computed a second time", "one node", "two", check));
  onnx_model many = model_of({4}, {op("Relu", {"x"}, {"y"})});
  for (int i = 0; i < 10'000; ++i)
    many.outputs.push_back({"y" + std::to_string(i), onnx_type::f32, false, {}});
  EXPECT_EQ(refused(many),
            message_at("", "the graph has too many outputs", "at most 10000", "10001", reduce));
}

TEST(onnx_constants, of_text_are_refused_when_a_node_reads_them) {
  onnx_attribute const text{.name = "value_string", .type = onnx_attribute::text, .s = "a"};
  EXPECT_EQ(kinds_of(model_of({4}, {op("Constant", {}, {"c"}, {text}), op("Relu", {"x"}, {"y"})})),
            "input relu ");
  std::string const numbers = "value, value_float, value_floats, value_int or value_ints";
  std::string const wanted = message(0, "c", "Constant", "the constant is not a tensor of numbers", numbers,
                                     "\"value_string\"", replace);
  EXPECT_EQ(refused(model_of({4}, {op("Constant", {}, {"c"}, {text}), op("Add", {"x", "c"}, {"y"})})),
            wanted);
  EXPECT_EQ(refused(model_of({4}, {op("Constant", {}, {"y"}, {text})})),
            message(0, "y", "Constant", "the constant is not a tensor of numbers", numbers,
                    "\"value_string\"", replace));
}

TEST(onnx_functions, are_refused) {
  detail::protobuf_writer function;
  function.bytes(25, "");
  std::string const bytes = write_onnx_model(model_of({4}, {op("Relu", {"x"}, {"y"})})) + function.text();
  EXPECT_EQ(refusal_of<graph_error>([&] { imported(bytes); }),
            message_at("", "the file defines functions", "a graph of operators", "functions",
                       "inline them by onnx.inliner.inline_local_functions"));
}

TEST(onnx_transpose, permutes_constants_of_rank_2_and_3) {
  std::vector<float> numbers(6);
  for (std::size_t i = 0; i < 6; ++i) numbers[i] = static_cast<float>(i);
  imported_model const made = imported(write_onnx_model(
      model_of({2, 3},
               {op("Transpose", {"k"}, {"t"}, {list("perm", {1, 2, 0})}), op("Squeeze", {"t", "last"}, {"m"}),
                op("Transpose", {"m"}, {"w"}, {list("perm", {1, 0})}), op("MatMul", {"x", "w"}, {"y"})},
               {onnx_tensor::of("k", {1, 2, 3}, numbers), onnx_tensor::of("last", {2})})));
  EXPECT_EQ(made.network().view()[1].output, (shape{2, 2}));
}

// ---- names ------------------------------------------------------------------------------------------------

/// The numbers of a layer for an input of waves; empty if the network has no such layer.
predictions output_of(imported_model const& model, std::string const& layer) {
  training const run = load_imported<reference<double>>(model);
  shape const dims = model.network().view()[0].output.batched(2);
  std::vector<float> waves;
  for (std::int64_t i = 0; i < dims.elements(); ++i)
    waves.push_back(static_cast<float>(std::sin(0.9 * static_cast<double>(i))));
  try {
    return run.outputs_of({layer}, tensor_view(waves.data(), dims))[0];
  } catch (setting_error const& problem) {
    EXPECT_EQ(problem.why().what, "the network has no layer with this name");
    return {};
  }
}

/// The names of the model's nodes and values that layers of the imported network have. Checks that the output
/// of each such layer is the value of this name in the file.
std::string names_of(onnx_model const& model) {
  imported_model const whole = imported(write_onnx_model(model));
  for (std::string const& one : whole.outputs) EXPECT_FALSE(output_of(whole, one).values.empty()) << one;
  std::string made;
  std::set<std::string> seen;
  auto const check = [&](std::string const& name, std::vector<std::string> const& values) {
    predictions const got = output_of(whole, name);
    if (got.values.empty()) return;
    if (seen.insert(name).second) made += name + ' ';
    EXPECT_EQ(values.size(), 1U) << name << " has several values";
    onnx_model part = model;
    part.outputs = {{values[0], onnx_type::f32, false, {}}};
    imported_model const alone = imported(write_onnx_model(part));
    EXPECT_EQ(got.values, output_of(alone, alone.outputs.at(0)).values) << name;
  };
  for (detail::onnx_node const& node : model.nodes) {
    for (std::string const& value : node.outputs)
      if (!value.empty()) check(value, {value});
    if (!node.name.empty()) check(node.name, node.outputs);
  }
  return made;
}

/// Names each node as its first value, with "n_" before it.
onnx_model with_names(onnx_model model) {
  for (detail::onnx_node& one : model.nodes) one.name = "n_" + one.outputs[0];
  return model;
}

TEST(onnx_names, come_from_nodes_and_from_the_outputs_of_the_graph) {
  onnx_tensor const kernel = onnx_tensor::of("k", {2, 1, 2, 2}, {1, 2, 3, 4, -1, 0, 1, 2});
  onnx_model const image =
      model_of({1, 4, 4},
               {op("Conv", {"x", "k"}, {"c"}), op("Relu", {"c"}, {"r"}), op("Identity", {"r"}, {"i"}),
                op("Flatten", {"i"}, {"f"}), op("Tanh", {"f"}, {"t"}), op("Sub", {"f", "t"}, {"s"}),
                op("Selu", {"s"}, {"e"}, {{.name = "gamma", .type = onnx_attribute::real, .f = 2}}),
                op("Softmax", {"e"}, {"y"})},
               {kernel});
  EXPECT_EQ(names_of(with_names(image)), "n_c n_r n_f n_t n_s n_e y ");
  EXPECT_EQ(names_of(image), "c r f t s e y ");  // nodes without names
  EXPECT_EQ(imported(write_onnx_model(with_names(image))).outputs, std::vector<std::string>{"y"});
}

TEST(onnx_names, of_fused_nodes_are_the_name_of_the_last_node) {
  onnx_model const bias = model_of(
      {4, 3}, {op("MatMul", {"x", "w"}, {"a"}), op("Add", {"a", "b"}, {"s"}), op("Tanh", {"s"}, {"y"})},
      {w, b});
  EXPECT_EQ(names_of(with_names(bias)), "n_s y ");
  EXPECT_EQ(names_of(bias), "s y ");
  onnx_model const gelu =
      model_of({5},
               {op("Div", {"x", "root"}, {"d"}), op("Erf", {"d"}, {"e"}), op("Add", {"e", "one"}, {"p"}),
                op("Mul", {"x", "p"}, {"m"}), op("Mul", {"m", "half"}, {"g"}), op("Tanh", {"g"}, {"y"})},
               {onnx_tensor::of("root", {}, {1.41421356F}), onnx_tensor::of("one", {}, {1}),
                onnx_tensor::of("half", {}, {0.5F})});
  EXPECT_EQ(kinds_of(gelu), "input gelu tanh ");
  EXPECT_EQ(names_of(with_names(gelu)), "n_g y ");
  onnx_model attention = separate_attention().model();
  attention.nodes.back().outputs = {"h"};
  attention.nodes.push_back(op("Tanh", {"h"}, {"y"}));
  EXPECT_EQ(names_of(with_names(attention)), "n_h y ");
}

TEST(onnx_names, of_transpose_and_split_nodes_are_not_used) {
  // A transposed sequence is convolved without a transposition, so the layer's output is the transposed value
  // of the file.
  onnx_tensor const kernel = onnx_tensor::of("k", {2, 3, 1}, {1, 2, 3, 4, -1, 0});
  std::vector<onnx_attribute> const swap{list("perm", {0, 2, 1})};
  EXPECT_EQ(names_of(with_names(model_of({4, 3},
                                         {op("Transpose", {"x"}, {"t"}, swap), op("Conv", {"t", "k"}, {"c"}),
                                          op("Transpose", {"c"}, {"b"}, swap), op("Relu", {"b"}, {"y"})},
                                         {kernel}))),
            "n_b y ");
  EXPECT_EQ(
      names_of(with_names(model_of(
          {6}, {op("Split", {"x"}, {"a", "c"}, {whole("axis", 1)}), op("Add", {"a", "c"}, {"y"})}, {}, 13))),
      "a c y ");
}

TEST(onnx_names, of_outputs_belong_to_the_layers_that_compute_them) {
  onnx_model model = model_of({2}, {op("Relu", {"x"}, {"y"}), op("Identity", {"y"}, {"z"})});
  model.outputs.push_back({"x", onnx_type::f32, false, {}});  // is an input, too
  model.outputs.push_back({"z", onnx_type::f32, false, {}});
  imported_model const made = imported(write_onnx_model(model));
  EXPECT_EQ(made.inputs, std::vector<std::string>{"x"});
  EXPECT_EQ(made.outputs, (std::vector<std::string>{"y", "identity", "z"}));
  training run = load_imported<reference<float>>(made);
  std::vector<float> const x{-1, 2};
  std::vector<predictions> const got = run.outputs_of(made.outputs, tensor_view(x.data(), shape{1, 2}));
  ASSERT_EQ(got.size(), 3U);
  EXPECT_EQ(got[0].values, (std::vector<float>{0, 2}));
  EXPECT_EQ(got[1].values, x);
  EXPECT_EQ(got[2].values, (std::vector<float>{0, 2}));

  model.nodes[0].name = "identity";
  EXPECT_EQ(imported(write_onnx_model(model)).outputs, (std::vector<std::string>{"y", "identity_2", "z"}));
}

TEST(onnx_names, that_belong_to_a_node_and_another_value_are_not_used) {
  onnx_model model = model_of({5}, {op("Relu", {"x"}, {"a"}), op("Tanh", {"a"}, {"b"}),
                                    op("Sigmoid", {"b"}, {"c"}), op("Elu", {"c"}, {"y"})});
  model.nodes[0].name = "b";  // computes a
  model.nodes[1].name = "a";  // computes b
  model.nodes[2].name = "y";  // the output of the graph precedes the name of this node
  EXPECT_EQ(names_of(model), "c y ");
  imported_model const made = imported(write_onnx_model(model));
  graph_view const net = made.network();
  std::string layers;
  for (int id = 1; id < net.size(); ++id) layers += net.name(id) + ' ';
  EXPECT_EQ(layers, "b/relu a/tanh c y ");
}

TEST(onnx_names, of_unused_values_are_not_used_for_nodes) {
  onnx_model model = model_of({5}, {op("Relu", {"x"}, {"a"}), op("Sigmoid", {"a"}, {"unused"}),
                                    op("Tanh", {"a"}, {"b"}), op("Elu", {"b"}, {"y"})});
  model.nodes[2].name = "unused";  // computes b
  EXPECT_EQ(names_of(model), "a b y ");
  model.nodes[2].name.clear();
  model.nodes[0].name = "unused";  // computes a, and precedes the node of the value
  EXPECT_EQ(names_of(model), "a b y ");
}

// ---- attributes that were dropped ------------------------------------------------------------------------

onnx_attribute words(std::string name, std::string value) {
  return {.name = std::move(name), .type = onnx_attribute::text, .s = std::move(value)};
}

TEST(onnx_attributes, of_pooling_whose_ceil_mode_adds_windows_to_valid_padding_are_refused) {
  auto const pool = [](std::int64_t extent, std::int64_t ceil) {
    return refused(
        model_of({1, extent, extent}, {op("MaxPool", {"x"}, {"y"},
                                          {list("kernel_shape", {3, 3}), list("strides", {2, 2}),
                                           words("auto_pad", "VALID"), whole("ceil_mode", ceil)})}));
  };
  EXPECT_EQ(pool(6, 1), message(0, "y", "MaxPool", "auto_pad is VALID, and ceil_mode adds windows",
                                "ceil_mode 0, or pads", "ceil_mode 1", replace));
  EXPECT_EQ(pool(6, 0), "");
  EXPECT_EQ(pool(7, 1), "");  // the windows fit
}

TEST(onnx_attributes, of_resize_that_crop_are_refused) {
  auto const model = [](std::string const& coordinates, std::vector<float> const& roi, float factor = 1) {
    return model_of({1, 2, 2},
                    {op("Resize", {"x", "roi", "scales"}, {"y"},
                        {words("mode", "nearest"), words("coordinate_transformation_mode", coordinates)})},
                    {onnx_tensor::of("roi", {static_cast<std::int64_t>(roi.size())}, roi),
                     onnx_tensor::of("scales", {4}, std::vector<float>{1, 1, factor, factor})});
  };
  std::vector<float> const whole_image{0, 0, 0, 0, 1, 1, 1, 1}, half{0, 0, 0, 0, 1, 1, 0.5F, 0.5F};
  auto const cropping = [](std::string const& got) {
    return message(0, "y", "Resize", "the node crops by roi", "the constant roi (0, 0, 0, 0, 1, 1, 1, 1)",
                   got, replace);
  };
  EXPECT_EQ(refused(model("tf_crop_and_resize", half)), cropping("another roi"));
  EXPECT_EQ(refused(model("tf_crop_and_resize", {})), cropping("another roi"));
  onnx_model computed = model("tf_crop_and_resize", half);
  computed.nodes[0].inputs[1] = "x";
  EXPECT_EQ(refused(computed), cropping("N x 1 x 2 x 2"));
  EXPECT_EQ(refused(model("tf_crop_and_resize", whole_image)), "");
  EXPECT_EQ(refused(model("tf_crop_and_resize", whole_image, 2)),
            message(0, "y", "Resize", "the coordinates do not repeat elements",
                    "asymmetric or tf_half_pixel_for_nn with floor, or half_pixel with round_prefer_floor or "
                    "round_prefer_ceil",
                    "\"tf_crop_and_resize\" with \"round_prefer_floor\"", replace));
  EXPECT_EQ(refused(model("align_corners", half)), "");  // the scales are 1
}

TEST(onnx_attributes, of_split_that_contradict_the_number_of_outputs_are_refused) {
  auto const split = [](std::int64_t count) {
    return refused(model_of({6},
                            {op("Split", {"x"}, {"a", "b"}, {whole("axis", 1), whole("num_outputs", count)}),
                             op("Add", {"a", "b"}, {"y"})},
                            {}, 18));
  };
  EXPECT_EQ(split(2), "");
  EXPECT_EQ(split(3),
            message(0, "a", "Split", "num_outputs differs from the number of outputs", "2", "3", check));
}

TEST(onnx_inputs, of_unknown_extents_use_the_extents_of_the_settings) {
  onnx_model const model = model_of({3, -1, -1}, {op("GlobalAveragePool", {"x"}, {"y"})});
  std::string const bytes = write_onnx_model(model);
  auto const with = [&](onnx_import_settings const& settings) {
    return import_onnx(std::as_bytes(std::span(bytes)), "a.onnx", settings);
  };
  EXPECT_EQ(with({.inputs = {{"x", {3, 4, 5}}}}).network().view()[0].output, (shape{3, 4, 5}));
  auto const refusal = [&](input_extents const& given) {
    return refusal_of<setting_error>([&] { with({.inputs = {given}}); });
  };
  std::string const start = "the extents of an input do not fit the ONNX file (a.onnx, input ";
  EXPECT_EQ(refusal({"z", {3, 4, 5}}), start + "\"z\"): expected one of the inputs x, got \"z\"");
  EXPECT_EQ(refusal({"x", {3, 4}}), start + "\"x\"): expected 3 extents, without the batch, got 3x4");
  EXPECT_EQ(refusal({"x", {1, 4, 5}}), start + "\"x\"): expected 3 at axis 1, got 1");
  EXPECT_EQ(refusal({"x", {3, 4, 0}}), start + "\"x\"): expected at least 1, got 0");
  EXPECT_NE(refused(model).find("set onnx_import_settings::inputs (cohort import: --input)"),
            std::string::npos);
}

TEST(onnx_computed_constants, of_slices_with_steps_are_correct) {
  // The last two of (0, 1, 2, 3), backwards, are the starts of a slice of x.
  auto const ints = [](char const* name, std::vector<std::int64_t> values) {
    return onnx_tensor::of(name, std::move(values));
  };
  onnx_model const model = model_of(
      {6},
      {op("Slice", {"k", "m1", "far", "zero", "m1"}, {"r"}), op("Slice", {"r", "zero", "one", "zero"}, {"s"}),
       op("Slice", {"x", "s", "five", "one"}, {"y"})},
      {ints("k", {0, 1, 2, 3}), ints("m1", {-1}), ints("far", {std::numeric_limits<std::int64_t>::min()}),
       ints("zero", {0}), ints("one", {1}), ints("five", {5})});
  training const run = load_imported<reference<float>>(imported(write_onnx_model(model)));
  std::vector<float> const x{0, 1, 2, 3, 4, 5};
  predictions const y = run.predict(tensor_view(x.data(), {1, 6}));
  EXPECT_EQ(y.values, (std::vector<float>{3, 4}));
}

TEST(onnx_computed_constants, of_powers_have_the_type_of_the_base) {
  EXPECT_EQ(refused(model_of({1}, {op("Pow", {"w", "two"}, {"square"}), op("MatMul", {"x", "square"}, {"y"})},
                             {onnx_tensor::of("w", {1, 1}, {2.5F}),
                              onnx_tensor::of("two", std::vector<std::int64_t>{2})})),
            "");
}

TEST(onnx_computed_constants, of_hostile_extents_and_indices_are_refused) {
  auto const filled = [](std::vector<std::int64_t> const& extents) {
    return refused(model_of({4}, {op("ConstantOfShape", {"extents"}, {"c"}), op("Add", {"x", "c"}, {"y"})},
                            {onnx_tensor::of("extents", extents)}));
  };
  EXPECT_EQ(filled({4}), "");
  std::int64_t const large = std::int64_t{1} << 32;
  EXPECT_NE(filled({-4}), "");
  EXPECT_NE(filled({large, large}), "");
  EXPECT_NE(filled({std::numeric_limits<std::int64_t>::min()}), "");
  auto const gathered = [](float index) {
    return refused(model_of({4}, {op("Gather", {"w", "i"}, {"c"}), op("Add", {"x", "c"}, {"y"})},
                            {onnx_tensor::of("w", {2}, {1, 2}), onnx_tensor::of("i", {1}, {index})}));
  };
  EXPECT_NE(gathered(2), "");
  EXPECT_NE(gathered(-3), "");
  EXPECT_NE(gathered(std::numeric_limits<float>::quiet_NaN()), "");
}

TEST(onnx_computed_constants, of_integers_that_doubles_do_not_contain_are_refused) {
  constexpr std::int64_t large = std::int64_t{1} << 53;
  auto const shifted = [](char const* name, std::int64_t first, std::int64_t second) {
    return refused(model_of({1},
                            {op(name, {"a", "b"}, {"c"}), op("Cast", {"c"}, {"f"}, {whole("to", 1)}),
                             op("Add", {"x", "f"}, {"y"})},
                            {onnx_tensor::of("a", {first}), onnx_tensor::of("b", {second})}));
  };
  EXPECT_NE(shifted("Less", large + 2, large + 3), "");
  EXPECT_NE(shifted("Add", large, 1), "");
  EXPECT_NE(shifted("Mul", large / 2, 3), "");
  EXPECT_EQ(shifted("Less", large + 2, 3), "");
  EXPECT_EQ(shifted("Sub", large - 1, 1), "");
  EXPECT_NE(shifted("Sub", large, 1), "");  // may have been rounded
}

TEST(onnx_filled_batches, are_refused_as_outputs) {
  EXPECT_EQ(refused(model_of({4}, {op("Shape", {"x"}, {"s"}), op("ConstantOfShape", {"s"}, {"y"})})),
            message_at(", output 0 \"y\"", "the output is the same for each example",
                       "a value that depends on the elements of an input", "N x 4", "remove this output"));
}

TEST(onnx_gather, refuses_extents_as_indices) {
  onnx_model const model = model_of({4},
                                    {op("Shape", {"x"}, {"s"}, {whole("end", 1)}),
                                     op("Gather", {"table", "s"}, {"g"}), op("Add", {"x", "g"}, {"y"})},
                                    {onnx_tensor::of("table", {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})});
  EXPECT_NE(refused(model).find("input 1 consists of extents with the batch (a.onnx, node 1 \"g\""),
            std::string::npos)
      << refused(model);
}

}  // namespace onnx_importer_test
