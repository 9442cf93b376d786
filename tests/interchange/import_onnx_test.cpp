// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <cohort/interchange/detail/onnx_model.hpp>
#include <cohort/interchange/import_onnx.hpp>
#include <cohort/layer/built_in_kinds.hpp>
#include <filesystem>
#include <set>
#include <sstream>

#include "../checkpoint/refusals.hpp"
#include "onnx_models.hpp"
#include "onnx_networks.hpp"

namespace import_onnx_test {

using namespace onnx_networks;
using namespace onnx_models;

std::string exported(training& run, onnx_export_settings const& how = {}) {
  std::ostringstream to;
  export_onnx(run, to, how);
  return to.str();
}

TEST(import_onnx, reproduces_the_outputs_of_the_exported_network) {
  std::mt19937 random(5);
  std::set<std::string_view> kinds;
  for (network_case const& one : all_cases()) {
    SCOPED_TRACE(one.name);
    training run = trainer<reference<float>>(graph::build(one.describe));
    fill_parameters(run, random);
    if (one.prepare) one.prepare(run);
    graph_view const net = run.network();
    for (int id = 0; id < net.size(); ++id) kinds.insert(net.kind(id).name);
    training again = load_imported<reference<float>>(imported(exported(run, one.how)));
    random_batch const batch(net, random);
    std::vector<std::string> before, after;
    for (int const id : net.outputs()) before.push_back(net.name(id));
    for (int const id : again.network().outputs()) after.push_back(again.network().name(id));
    batch_view unmasked = batch.view;  // a file has no mask that only training needs
    if (again.network().masks().empty()) unmasked.masks.clear();
    std::vector<predictions> const expected = run.outputs_of(before, batch.view),
                                   got = again.outputs_of(after, unmasked);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t o = 0; o < got.size(); ++o) {
      ASSERT_EQ(got[o].values.size(), expected[o].values.size());
      std::size_t const each = got[o].values.size() / random_batch::count;
      bool const is_masked = net[net.outputs()[o]].mask >= 0;
      auto const steps = static_cast<std::size_t>(expected[o].example[0]);
      for (std::size_t i = 0; i < got[o].values.size(); ++i) {
        std::size_t const step = i % each / (each / steps);
        if (is_masked && step >= static_cast<std::size_t>(batch.lengths[0][i / each])) continue;
        ASSERT_NEAR(got[o].values[i], expected[o].values[i],
                    1e-5F * std::max(1.0F, std::abs(expected[o].values[i])))
            << "element " << i << " of output " << o;
      }
    }
  }
  for (kind const* const one : built_in_kinds()) EXPECT_TRUE(kinds.contains(one->name)) << one->name;
}

TEST(import_onnx, recognises_rotary_positions_and_masks_of_attention) {
  for (bool const causal : {false, true}) {
    training run = trainer<reference<float>>(graph::build([&](builder& b) {
      return b.masked_input({5, 24}, "x") | attention{.heads = 2, .causal = causal, .rotary = 500};
    }));
    imported_model const made = imported(exported(run));
    graph_view const net = made.network();
    ASSERT_EQ(net.size(), 2);
    auto const layer = detail::decode<attention>(net.fields(1));
    EXPECT_EQ(layer.causal, causal);
    EXPECT_EQ(layer.rotary, 500);
  }
}

TEST(import_onnx, refuses_rotary_positions_of_other_steps) {
  auto const model_with = [](int steps) {
    training run = trainer<reference<float>>(graph::build([&](builder& b) {
      return b.input({steps, 24}, "x") | attention{.heads = 2, .rotary = 500, .name = "y"};
    }));
    return detail::read_onnx_model(exported(run), "a.onnx");
  };
  // Replaces the cosines and sines by those of another number of steps.
  auto const rotated_as = [&](int steps) {
    onnx_model model = model_with(5);
    int replaced = 0;
    onnx_model const other = model_with(steps);
    for (onnx_tensor const& table : other.initializers) {
      if (table.name.find("sines") == std::string::npos) continue;
      *std::ranges::find(model.initializers, table.name, &onnx_tensor::name) = table;
      ++replaced;
    }
    EXPECT_EQ(replaced, 4);
    return model;
  };
  EXPECT_EQ(refused(rotated_as(5)), "");
  std::string const refusal = refused(rotated_as(6));
  EXPECT_NE(refusal.find("the rotary positions do not have the steps of queries and keys"), std::string::npos)
      << refusal;
  EXPECT_NE(refusal.find("expected 5 x 5, got 6 x 6"), std::string::npos) << refusal;
  // The first step is not rotated. Its cosines and sines for all steps rotate nothing.
  imported_model const unrotated = imported(write_onnx_model(rotated_as(1)));
  ASSERT_EQ(unrotated.network().view().size(), 2);
  EXPECT_EQ(detail::decode<attention>(unrotated.network().view().fields(1)).rotary, 0);
}

TEST(import_onnx, keeps_names_kinds_and_parameters) {
  training run = trainer<reference<float>>(graph::build([](builder& b) {
    return b.input({1, 28, 28}, "pixels") | conv2d{.filters = 2, .kernel = 5} | batch_norm{} | relu{}
           | max_pool{.window = 2} | dense{.units = 3} | softmax{.name = "class"};
  }));
  imported_model const made = imported(exported(run));
  EXPECT_EQ(made.inputs, std::vector<std::string>{"pixels"});
  EXPECT_EQ(made.outputs, std::vector<std::string>{"class"});
  EXPECT_TRUE(made.settings.optimizer.layers.empty());
  graph_view const net = made.network();
  std::string layers;
  for (int id = 0; id < net.size(); ++id)
    layers += net.name(id) + ' ' + std::string(net.kind(id).name) + '\n';
  EXPECT_EQ(layers,
            "pixels input\nconv2d_1 conv2d\nbatch_norm_1 batch_norm\nrelu_1 relu\nmax_pool_1 max_pool\n"
            "dense_1/Flatten flatten\ndense_1 dense\nclass softmax\n");
  training again = load_imported<reference<float>>(made);
  EXPECT_EQ(again.checksum(), run.checksum());
}

TEST(import_onnx, copies_parameters_into_a_network_with_a_loss) {
  std::vector<float> const x{1, 0, 0, 1, 1, 1, -1, 1};
  std::vector<float> const y{1, -1, 0.5F, 2};
  training run = trainer<reference<float>>(graph::build([](builder& b) {
    return b.input({2}, "x") | dense{.units = 4} | tanh_activation{} | dense{.units = 1};
  }));
  imported_model const made = imported(exported(run));
  training again = trainer<reference<float>>(graph::build([](builder& b) {
                                               return b.input({2}, "x") | dense{.units = 4}
                                                      | tanh_activation{} | dense{.units = 1}
                                                      | mean_squared_error{};
                                             }),
                                             {.optimizer = {sgd{.learning_rate = 0.1}}});
  made.read_parameters(again.parameters());
  EXPECT_EQ(again.checksum(), run.checksum());
  batch_view const batch(tensor_view(x.data(), shape{4, 2}), tensor_view(y.data(), shape{4, 1}));
  double const before = again.loss_of(batch);
  for (int step = 0; step < 50; ++step) again.train_on(batch);
  EXPECT_LT(again.loss_of(batch), before / 2);
}

TEST(import_onnx, marks_layers_that_compute_with_constants_as_frozen) {
  training run = trainer<reference<float>>(
      graph::build([](builder& b) { return b.input({3}, "x") | dense{.units = 1} | mean_squared_error{}; }));
  run.normalise(normalisation{.inputs = {{{2, 1}, {3, 0}, {4, -1}}}});
  imported_model const made = imported(exported(run));
  ASSERT_EQ(made.settings.optimizer.layers.size(), 2U);
  EXPECT_EQ(made.settings.optimizer.layers[0].layer, "x/Mul");
  EXPECT_EQ(made.settings.optimizer.layers[1].layer, "x/Add");
  EXPECT_EQ(made.settings.optimizer.layers[0].frozen, true);
}

TEST(import_onnx, reads_a_file_and_refuses_a_missing_file) {
  std::string const path = testing::TempDir() + "import_onnx_test.onnx";
  training run = trainer<reference<float>>(
      graph::build([](builder& b) { return b.input({3}, "x") | dense{.units = 1}; }));
  export_onnx(run, path);
  imported_model const model = import_onnx(path);
  EXPECT_EQ(model.origin(), path);
  std::filesystem::remove(path);
  EXPECT_THROW(import_onnx(path), file_error);
}

TEST(import_onnx, recognises_two_decompositions_of_gelu) {
  onnx_tensor const root = onnx_tensor::of("root", {}, {1.41421354F}), one = onnx_tensor::of("one", {}, {1}),
                    half = onnx_tensor::of("half", {}, {0.5F});
  std::vector<onnx_tensor> const constants{root, one, half};
  EXPECT_EQ(kinds_of(model_of(
                {4},
                {op("Div", {"x", "root"}, {"a"}), op("Erf", {"a"}, {"b"}), op("Add", {"b", "one"}, {"c"}),
                 op("Mul", {"x", "c"}, {"d"}), op("Mul", {"d", "half"}, {"y"})},
                constants)),
            "input gelu ");
  EXPECT_EQ(kinds_of(model_of(
                {4},
                {op("Mul", {"x", "half"}, {"h"}), op("Div", {"x", "root"}, {"a"}), op("Erf", {"a"}, {"b"}),
                 op("Add", {"one", "b"}, {"c"}), op("Mul", {"h", "c"}, {"y"})},
                constants)),
            "input gelu ");
  EXPECT_EQ(refused(model_of({4},
                             {op("Div", {"x", "root"}, {"a"}), op("Erf", {"a"}, {"b"}),
                              op("Add", {"b", "one"}, {"c"}), op("Mul", {"c", "c"}, {"y"})},
                             constants)),
            message(1, "b", "Erf", "no layer computes this operator", "an operator that docs/onnx.md lists",
                    "\"Erf\"", replace));
}

TEST(import_onnx, fuses_matmul_and_add_into_a_dense_layer) {
  onnx_tensor const w = onnx_tensor::of("w", {3, 2}, {1, 2, 3, 4, 5, 6}),
                    b = onnx_tensor::of("b", {2}, {7, 8});
  EXPECT_EQ(
      kinds_of(model_of({4, 3}, {op("MatMul", {"x", "w"}, {"a"}), op("Add", {"b", "a"}, {"y"})}, {w, b})),
      "input dense ");
  EXPECT_EQ(kinds_of(model_of(
                {4, 3},
                {op("Identity", {"b"}, {"c"}), op("MatMul", {"x", "w"}, {"a"}), op("Add", {"c", "a"}, {"y"})},
                {w, b})),
            "input dense ");
}

TEST(import_onnx, skips_nodes_that_no_output_needs) {
  EXPECT_EQ(kinds_of(model_of({4}, {op("Sqrt", {"x"}, {"a"}), op("Relu", {"x"}, {"y"})})), "input relu ");
}

TEST(import_onnx, reports_the_refused_node_and_a_remedy) {
  auto const of_relu = [](std::string const& what, std::string const& expected, std::string const& got,
                          std::string const& remedy) {
    return message(0, "y", "Relu", what, expected, got, remedy);
  };
  EXPECT_EQ(
      refused(model_of({4}, {op("Relu", {"x"}, {"y"}, {list("alpha", {1})})})),
      of_relu("attribute \"alpha\" is unknown", "an attribute of Relu in operator set 17", "INTS", replace));
  EXPECT_EQ(refused(model_of({4}, {op("Relu", {"z"}, {"y"})})),
            of_relu("input 0 is unknown", "an input of the graph, a constant or an output of an earlier node",
                    "\"z\"", check));
  EXPECT_EQ(refused(model_of({4}, {op("Relu", {}, {"y"})})),
            of_relu("input 0 is missing", "at least 1 inputs", "0", check));
  EXPECT_EQ(refused(model_of({4}, {op("Softplus", {"k"}, {"y"})}, {onnx_tensor::of("k", {1}, {1.0F})})),
            message(0, "y", "Softplus", "input 0 is a constant", "a value that depends on an input",
                    "a constant of type float, 1", fold));
  onnx_model old = model_of({4}, {op("Relu", {"x"}, {"y"})});
  old.opsets[0].second = 29;
  EXPECT_EQ(refused(old), message_at("", "the operator set is unknown", "sets 1 to 28", "29",
                                     "convert the file by onnx.version_converter.convert_version"));
  onnx_model other = model_of({4}, {op("Relu", {"x"}, {"y"})});
  other.nodes[0].domain = "com.example";
  EXPECT_EQ(refused(other),
            of_relu("no layer computes operators of this domain", "ai.onnx", "\"com.example\"", replace));
  EXPECT_EQ(refused(model_of({-1}, {op("Relu", {"x"}, {"y"})})),
            message_at(", input 0 \"x\"", "an extent of the input is known at run time only",
                       "a number of at least 1 for each extent but the batch", "-1 at axis 1",
                       "set onnx_import_settings::inputs (cohort import: --input)"));
  EXPECT_EQ(refused(model_of({4}, {op("Relu", {"x"}, {"y"}), op("Tanh", {"x"}, {"y"})})),
            message(1, "y", "Tanh", "the value \"y\" is computed a second time", "one node", "two", check));
  EXPECT_EQ(refused(model_of({3, 5, 5}, {op("Conv", {"x", "w"}, {"y"})},
                             {onnx_tensor::of("w", {1, 2, 1, 1}, {1, 2})})),
            message(0, "y", "Conv", "the weights do not fit the input", "1x3x1x1", "1x2x1x1", check));
  EXPECT_EQ(refused(model_of({3, 5, 5}, {op("MaxPool", {"x"}, {"y"}, {list("kernel_shape", {9, 9})})})),
            message(0, "y", "MaxPool", "the layer max_pool cannot be built", "inputs and attributes that fit",
                    "graph: max_pool: the kernel is larger than its input (input 3x5x5, kernel 9x9)", check));
  EXPECT_EQ(refused(model_of({3, 5, 5}, {op("MaxPool", {"x"}, {"y"}, {whole("kernel_shape", 9)})})),
            message(0, "y", "MaxPool", "attribute kernel_shape has another type", "INTS", "INT", check));
}

TEST(import_onnx, reports_the_refused_input_or_output_of_the_file) {
  onnx_model made = model_of({4}, {op("Relu", {"x"}, {"y"})});
  made.inputs[0].type = onnx_type::f16;
  EXPECT_EQ(refused(made),
            message_at(", input 0 \"x\"", "the input has an unsupported type",
                       "float, or int32 or int64 for indices", "float16", "convert the model to float32"));
  made.inputs[0] = {"x", onnx_type::f32, false, {}};
  EXPECT_EQ(refused(made), message_at(", input 0 \"x\"", "the input has no batch",
                                      "a shape whose first extent is the batch", "no shape", batch_first));
  made.inputs[0].has_shape = true;
  EXPECT_EQ(refused(made), message_at(", input 0 \"x\"", "the input has no batch",
                                      "a shape whose first extent is the batch", "a scalar", batch_first));
  EXPECT_EQ(refused(model_of({2, 2, 2, 2}, {op("Relu", {"x"}, {"y"})})),
            message_at(", input 0 \"x\"", "the input has too many axes", "at most 3 after the batch", "4",
                       replace));
  made = model_of({4}, {op("Relu", {"x"}, {"y"})});
  made.outputs.push_back({"z", onnx_type::f32, false, {}});
  EXPECT_EQ(refused(made), message_at(", output 1 \"z\"", "no node computes the output",
                                      "an output of a node", "none", check));
  made.outputs.clear();
  EXPECT_EQ(refused(made), message_at("", "the graph has no outputs", "at least 1", "0", check));
}

}  // namespace import_onnx_test
