// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/interchange/name_map.hpp>
#include <cohort/layer/recurrent.hpp>
#include <cohort/tensor/bf16.hpp>
#include <cohort/training/trainer.hpp>

#include <cmath>
#include <cohort/graph/network.hpp>
#include <fstream>
#include <list>
#include <string>
#include <vector>

#include "../../examples/reference_program/resnet.hpp"
#include "../checkpoint/refusals.hpp"
#include "../checkpoint/scratch_folder.hpp"
#include "../golden/golden_cases.hpp"

namespace name_map_test {

using namespace cohort;

/// Tensors of a file, with their memory.
struct tensor_file {
  std::list<std::vector<double>> memory;
  std::vector<stored_tensor> tensors;
  void add(std::string name, shape const& dims, std::vector<double> values) {
    memory.push_back(std::move(values));
    tensors.push_back({std::move(name), tensor_view(memory.back().data(), dims)});
  }
};

graph small() {
  return graph::build([](builder& b) {
    return b.input({2}) | dense{.units = 3, .name = "body"} | dense{.units = 2, .name = "head"}
           | softmax_cross_entropy{};
  });
}

std::vector<double> parameters_of(training& run) {
  std::vector<double> read(static_cast<std::size_t>(run.parameters().elements()));
  run.parameters().read_all(run.parameters().master(), reinterpret_cast<std::byte*>(read.data()));
  return read;
}

tensor_file small_file() {
  tensor_file made;
  made.add("fc1.weight", {3, 2}, {1, 2, 3, 4, 5, 6});
  made.add("fc1.bias", {3}, {7, 8, 9});
  made.add("fc2.kernel", {3, 2}, {10, 20, 30, 40, 50, 60});
  made.add("fc2.bias", {1, 2}, {70, 80});
  return made;
}

constexpr char const* small_map =
    "# a comment\n"
    "body.weights  fc1.weight\n"
    "head.weights  fc2.kernel  transpose   # another one\n"
    "\n"
    "body.bias\tfc1.bias\r\n"
    "head.bias     fc2.bias    reshape";

TEST(name_map, reads_parameters_from_renamed_tensors) {
  training run = trainer<reference<double>>(small());
  auto const version = run.parameters().version();
  tensor_file const file = small_file();
  mapping_report const done =
      read_mapped(file.tensors, "file", name_map::parse(small_map), run.network(), run.parameters());
  EXPECT_EQ(parameters_of(run),
            (std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 30, 50, 20, 40, 60, 70, 80}));
  EXPECT_GT(run.parameters().version(), version);
  EXPECT_EQ(done.loaded,
            (std::vector<std::string>{"body.weights", "body.bias", "head.weights", "head.bias"}));
  EXPECT_TRUE(done.kept.empty() && done.ignored.empty());
}

TEST(name_map, converts_element_types_and_transposes_exactly) {
  graph const net = graph::build(
      [](builder& b) { return b.input({2}) | dense{.units = 2, .name = "a"} | softmax_cross_entropy{}; });
  training run = trainer<reference<float>>(net);
  std::vector<double> const weights{-0.0, 2, 0.1, 4};
  bf16 const bias[]{bf16::nearest(1.5F), bf16::nearest(-2)};
  std::vector<stored_tensor> const file{
      {"w", tensor_view(weights.data(), {2, 2})},
      {"b", tensor_view(reinterpret_cast<std::byte const*>(bias), element_type::bf16, {2})}};
  read_mapped(file, "file", name_map::parse("a.weights w transpose\na.bias b"), run.network(),
              run.parameters());
  std::vector<float> read(6);
  run.parameters().read_all(run.parameters().master(), reinterpret_cast<std::byte*>(read.data()));
  EXPECT_EQ(read, (std::vector<float>{-0.0F, 0.1F, 2, 4, 1.5F, -2}));
  EXPECT_TRUE(std::signbit(read[0]));
}

TEST(name_map, ignores_a_tensor_of_an_unsupported_type_unless_a_line_refers_to_it) {
  training run = trainer<reference<double>>(small());
  tensor_file file = small_file();
  file.tensors.push_back({"mask", {nullptr, element_type::f32, {0}}, "BOOL"});
  mapping_report const done =
      read_mapped(file.tensors, "file", name_map::parse(small_map), run.network(), run.parameters());
  EXPECT_EQ(done.ignored, std::vector<std::string>{"mask"});
  std::string map = small_map;
  map.replace(map.find("fc1.bias"), 8, "mask");
  EXPECT_NE(refusal_of<data_error>([&] {
              read_mapped(file.tensors, "file", name_map::parse(map + "\n- fc1.bias"), run.network(),
                          run.parameters());
            }).find("mask for body.bias (f32, f64, f16 or bf16 expected, got type \"BOOL\")"),
            std::string::npos);
}

TEST(name_map, keeps_parameters_and_ignores_tensors_by_rules) {
  training run = trainer<reference<double>>(small());
  std::vector<double> const before = parameters_of(run);
  tensor_file const file = small_file();
  mapping_report const done = read_mapped(
      file.tensors, "file", name_map::parse("head.* -\n*.weights -\nbody.* fc1.*\n- *.weight\n- fc2*"),
      run.network(), run.parameters());
  std::vector<double> expected = before;
  std::copy_n(std::vector<double>{7, 8, 9}.begin(), 3, expected.begin() + 6);
  EXPECT_EQ(parameters_of(run), expected);
  EXPECT_EQ(done.loaded, std::vector<std::string>{"body.bias"});
  EXPECT_EQ(done.kept, (std::vector<std::string>{"body.weights", "head.weights", "head.bias"}));
  EXPECT_EQ(done.ignored, (std::vector<std::string>{"fc1.weight", "fc2.kernel", "fc2.bias"}));
}

TEST(name_map, reports_all_mismatches_and_changes_no_parameter) {
  training run = trainer<reference<double>>(small());
  std::vector<double> const before = parameters_of(run);
  tensor_file file = small_file();
  std::int32_t const count = 3;
  file.tensors.push_back({"count", tensor_view(&count, {})});
  auto const refused = [&](char const* map) {
    return refusal_of<data_error>([&] {
      read_mapped(file.tensors, "a.safetensors", name_map::parse(map, "a.map"), run.network(),
                  run.parameters());
    });
  };
  std::string const begin =
      "the tensors do not fit the network (a.safetensors, by a.map): expected a line of the map for each "
      "parameter (NAME - keeps its value) and each tensor (- NAME ignores it), and all tensors that these "
      "lines name, got ";
  EXPECT_EQ(refused("body.weights fc1.weight\nbody.bias fc1.beta\nhead.weights fc2.kernel"),
            begin + "parameters without a rule: head.bias; missing tensors: fc1.beta for body.bias; "
                    "other shapes or types: fc2.kernel for head.weights (2x3 expected, got 3x2); "
                    "unused tensors: fc1.bias, fc2.bias, count");
  EXPECT_EQ(refused("*.weights fc1.weight*\nbody.bias count\nhead.bias fc2.bias transpose\n- fc*"),
            begin + "missing tensors: fc1.weightbody for body.weights, fc1.weighthead for head.weights; "
                    "other shapes or types: count for body.bias (f32, f64, f16 or bf16 expected, got i32), "
                    "fc2.bias for head.bias (2 expected, got 2x1 after the operations of line 3)");
  EXPECT_EQ(refused("body.weights fc1.weight axes:0\nbody.bias fc1.bias part:0/2\n"
                    "head.weights fc2.kernel gates:keras\nhead.bias fc1.bias reshape\n- count"),
            begin + "other shapes or types: "
                    "fc1.weight for body.weights (the operations of line 1 do not fit: "
                    "1 axes, but the tensor is 3x2), "
                    "fc1.bias for body.bias (the operations of line 2 do not fit: "
                    "3 cannot be divided into 2 equal parts), "
                    "fc2.kernel for head.weights (the operations of line 3 do not fit: "
                    "keras has no gate order for dense's weights), "
                    "fc1.bias for head.bias (the operations of line 4 do not fit: 3 cannot be reshaped to 2); "
                    "unused tensors: fc2.bias");
  EXPECT_EQ(parameters_of(run), before);

  tensor_file many;
  for (int i = 0; i < 25; ++i) many.add("t" + std::to_string(i), {1}, {0});
  EXPECT_EQ(
      refusal_of<data_error>([&] {
        read_mapped(many.tensors, "f", name_map::parse("* -", "m"), run.network(), run.parameters());
      }),
      "the tensors do not fit the network (f, by m): expected a line of the map for each parameter "
      "(NAME - keeps its value) and each tensor (- NAME ignores it), and all tensors that these lines name, "
      "got unused tensors: t0, t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11, t12, t13, t14, t15, t16, t17, "
      "t18, t19 and 5 more");
}

TEST(name_map, matches_stars_with_the_fewest_characters_and_at_least_one) {
  using words = std::vector<std::string_view>;
  auto const match = detail::match_pattern;
  EXPECT_EQ(match("a.b", "a.b"), words{});
  EXPECT_EQ(match("a.b", "a.bc"), std::nullopt);
  EXPECT_EQ(match("*", "a.b"), words{"a.b"});
  EXPECT_EQ(match("*", ""), std::nullopt);
  EXPECT_EQ(match("*.b", ".b"), std::nullopt);
  EXPECT_EQ(match("*.b", "a.b.b"), words{"a.b"});
  EXPECT_EQ(match("*.*", "a.b.c"), (words{"a", "b.c"}));
  EXPECT_EQ(match("s_*_c_*.w", "s_1_c_22.w"), (words{"1", "22"}));
  EXPECT_EQ(match("s_*_c_*.w", "s_1_c_.w"), std::nullopt);
  EXPECT_EQ(match("**", "ab"), (words{"a", "b"}));
  EXPECT_EQ(match("**", "a"), std::nullopt);
  EXPECT_EQ(match("*ab*ab", "xabab"), std::nullopt);
  EXPECT_EQ(match("*ab*ab", "xabyab"), (words{"x", "y"}));
  EXPECT_EQ(detail::expand_pattern("layer*.conv*.weight", {"1", "22"}), "layer1.conv22.weight");
}

TEST(name_map, refuses_malformed_lines_and_missing_files) {
  auto const refused = [](std::string const& line) {
    return refusal_of<data_error>([&] { name_map::parse("\n" + line, "a.map"); });
  };
  std::string const begin = "cannot read the name map (a.map:2): expected ";
  std::string const operations =
      begin + "transpose, axes:3,2,0,1, part:0/2, reshape, or gates: with pytorch, keras, onnx or deeplearning4j, got ";
  EXPECT_EQ(refused("a.weights"),
            begin + "a parameter, a tensor, and optionally operations, got \"a.weights\" only");
  EXPECT_EQ(refused("*.weights a.*.b*"),
            begin + "as many '*' in \"a.*.b*\" as in \"*.weights\", got 2 and 1");
  EXPECT_EQ(refused("a.bias b+"), begin + "names of tensors, joined by '+', got \"b+\"");
  EXPECT_EQ(refused("a.bias b+-"), begin + "names of tensors, joined by '+', got \"b+-\"");
  EXPECT_EQ(refused("- -"), begin + "one name of tensors after '-', got \"-\"");
  EXPECT_EQ(refused("- a+b"), begin + "one name of tensors after '-', got \"a+b\"");
  EXPECT_EQ(refused("- a transpose"), begin + "no operation on a line with '-', got \"transpose\"");
  EXPECT_EQ(refused("a.bias - reshape"), begin + "no operation on a line with '-', got \"reshape\"");
  for (std::string const wrong : {"transposed", "axes:", "axes:0,2", "axes:0,0", "axes:0,1,", "axes:-1",
                                  "axes:0,1,2,3,4,5,6", "part:2/2", "part:1", "part:0/0", "part:0/1/2",
                                  "part:x/2", "gates:", "gates:tensorflow", "reshape:2"})
    EXPECT_EQ(refused("a.bias b " + wrong), operations + '"' + wrong + '"') << wrong;
  EXPECT_EQ(refusal_of<file_error>([] { name_map::load("/no/such.map"); }),
            "cannot open the file (/no/such.map): No such file or directory");
}

TEST(name_map, permutes_axes_and_selects_parts_of_tensors) {
  graph const net = graph::build([](builder& b) {
    return b.input({2, 2, 2}) | conv2d{.filters = 3, .kernel = {1, 2}, .bias = false, .name = "c"}
           | dense{.units = 2, .name = "d"} | softmax_cross_entropy{};
  });
  training run = trainer<reference<double>>(net);
  tensor_file file;
  std::vector<double> counted(24);
  for (std::size_t i = 0; i < 24; ++i) counted[i] = static_cast<double>(i);
  file.add("kernel", {1, 2, 2, 3}, {counted.begin(), counted.begin() + 12});  // R×S×C×K
  file.add("both", {2, 12}, counted);
  file.add("biases", {2, 2}, {1, 2, 3, 4});
  read_mapped(file.tensors, "file",
              name_map::parse(
                  "c.weights kernel axes:3,2,0,1\nd.weights both part:1/2 reshape\nd.bias biases part:1/2"),
              run.network(), run.parameters());
  EXPECT_EQ(parameters_of(run), (std::vector<double>{0,  6,  3,  9,  1,  7,  4,  10, 2,  8,  5,  11,  //
                                                     12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,  //
                                                     3,  4}));
}

/// Tensors of a case in torch_names.txt; their values are described in torch_names.py.
tensor_file tensors_of(golden_case const& from) {
  tensor_file made;
  int number = 0;
  for (auto const& [name, lines] : from) {
    if (name == "batch" || name == "output") continue;
    shape const dims = lines.at(0).dims;
    auto const count = static_cast<std::size_t>(dims.elements());
    bool const is_vector = dims.rank == 1;
    bool const around_one = is_vector && (name.ends_with(".weight") || name.ends_with(".running_var"));
    double const factor =
        is_vector ? 0.3 : 1.5 / std::sqrt(static_cast<double>(count) / (dims.rank > 0 ? dims[0] : 1));
    std::vector<double> values(count);
    for (std::size_t i = 0; i < count; ++i)
      values[i] = std::sin(1.1 * static_cast<double>(i) + number) * factor + (around_one ? 1 : 0);
    made.add(name, dims, std::move(values));
    ++number;
  }
  return made;
}

void compare(std::string const& name, graph const& net, name_map const& map, std::size_t ignored) {
  golden_case const wanted = read_golden_cases("torch_names.txt").at(name);
  tensor_file const file = tensors_of(wanted);
  training run = trainer<reference<double>>(net);
  mapping_report const done = read_mapped(file.tensors, name, map, run.network(), run.parameters());
  EXPECT_EQ(done.loaded.size(), run.parameters().table().size());
  EXPECT_EQ(done.ignored.size(), ignored);
  shape const input = run.network()[0].output;
  std::vector<double> values(static_cast<std::size_t>(2 * input.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(0.7 * static_cast<double>(i));
  predictions const made = run.predict(tensor_view(values.data(), input.batched(2)));
  std::vector<double> const& expected = numbers_of(wanted, "output");
  ASSERT_EQ(made.values.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)  // predictions are f32
    EXPECT_NEAR(made.values[i], expected[i], 1e-7 * std::abs(expected[i]) + 1e-12) << i;
}

/// The names and outputs are from torchvision's ResNet; the map is the map of the program resnet50.
TEST(name_map, reproduces_the_outputs_of_a_torchvision_resnet) {
  compare("resnet", reference_program::resnet({32, 5, {2, 1, 1, 1}}),
          name_map::load(COHORT_SOURCE_DIR "/examples/torchvision_resnet.map"), 20);
}

TEST(name_map, reproduces_the_outputs_of_pytorchs_lstm_and_gru) {
  auto const net_of = [](auto layer) {
    return graph::build([=](builder& b) { return b.input({5, 3}) | layer | mean_squared_error{}; });
  };
  compare("lstm", net_of(lstm{.units = 4, .name = "rnn"}),
          name_map::parse(
              "rnn.weights weight_ih_l0 gates:pytorch\nrnn.recurrent_weights weight_hh_l0 gates:pytorch\n"
              "rnn.bias bias_ih_l0+bias_hh_l0 gates:pytorch"),
          0);
  compare("gru", net_of(gru{.units = 4, .name = "rnn"}),
          name_map::parse(
              "rnn.weights weight_ih_l0 gates:pytorch\nrnn.recurrent_weights weight_hh_l0 gates:pytorch\n"
              "rnn.bias bias_ih_l0 gates:pytorch\nrnn.recurrent_bias bias_hh_l0 gates:pytorch"),
          0);
}

/// layer/recurrent_orders_test.cpp compares the table of docs/sequences.md with golden numbers; here the
/// operation `gates` reads the same numbers.
TEST(name_map, reproduces_outputs_with_gates_of_onnx_keras_and_deeplearning4j) {
  auto const cases = read_golden_cases("recurrent_orders.txt");
  constexpr int batch = 2, steps = 4, features = 3, units = 3;
  auto const compare_orders = [&](std::string const& name, auto layer, int gates, bool transposed,
                                  std::string const& map) {
    SCOPED_TRACE(name);
    golden_case const& wanted = cases.at(name);
    tensor_file file;
    int const rows = gates * units;
    file.add("w", transposed ? shape{features, rows} : shape{rows, features}, numbers_of(wanted, "weights"));
    file.add("r", transposed ? shape{units, rows} : shape{rows, units}, numbers_of(wanted, "recurrent"));
    file.add("b", {rows}, numbers_of(wanted, "bias"));
    if (wanted.contains("recurrent_bias")) file.add("q", {rows}, numbers_of(wanted, "recurrent_bias"));
    if (wanted.contains("peepholes"))
      file.add("p", transposed ? shape{units, 3} : shape{3 * units}, numbers_of(wanted, "peepholes"));
    training run = trainer<reference<double>>(graph::build([=](builder& b) {
      return b.input({steps, features}) | layer | mean_squared_error{};
    }));
    read_mapped(file.tensors, name, name_map::parse(map), run.network(), run.parameters());
    predictions const made =
        run.predict(tensor_view(numbers_of(wanted, "input").data(), {batch, steps, features}));
    std::vector<double> const& expected = numbers_of(wanted, "output");
    ASSERT_EQ(made.values.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(made.values[i], expected[i], 1e-6) << i;
  };
  std::string const onnx = "a.weights w gates:onnx\na.recurrent_weights r gates:onnx\n";
  std::string const keras =
      "a.weights w transpose gates:keras\na.recurrent_weights r transpose gates:keras\n";
  std::string const dl4j =
      "a.weights w transpose gates:deeplearning4j\na.recurrent_weights r transpose gates:deeplearning4j\n"
      "a.bias b gates:deeplearning4j\n";
  compare_orders("onnx_lstm_peepholes", lstm{.units = units, .peepholes = true, .name = "a"}, 4, false,
                 onnx + "a.bias b+q gates:onnx\na.peepholes p gates:onnx");
  compare_orders("onnx_gru", gru{.units = units, .name = "a"}, 3, false,
                 onnx + "a.bias b gates:onnx\na.recurrent_bias q gates:onnx");
  compare_orders("keras_lstm", lstm{.units = units, .name = "a"}, 4, true, keras + "a.bias b gates:keras");
  compare_orders("keras_gru", gru{.units = units, .name = "a"}, 3, true,
                 keras + "a.bias b gates:keras\na.recurrent_bias q gates:keras");
  compare_orders("deeplearning4j_lstm", lstm{.units = units, .name = "a"}, 4, true, dl4j);
  compare_orders("deeplearning4j_lstm_peepholes", lstm{.units = units, .peepholes = true, .name = "a"}, 4,
                 true, dl4j + "a.peepholes p transpose reshape gates:deeplearning4j");
}

TEST(name_map, refuses_gates_that_the_library_does_not_have) {
  auto const wrong = [](char const* operation, char const* layer, char const* parameter, shape const& dims) {
    detail::element_order order{.dims = dims, .from = {}};
    return order.apply(*detail::tensor_operation::parse(operation), {layer, parameter, dims});
  };
  EXPECT_EQ(wrong("gates:deeplearning4j", "gru", "weights", {9, 3}),
            "deeplearning4j has no gate order for gru's weights");
  EXPECT_EQ(wrong("gates:keras", "lstm", "peepholes", {9}), "keras has no gate order for lstm's peepholes");
  EXPECT_EQ(wrong("gates:onnx", "lstm", "weights", {10, 3}),
            "the rows of 10x3 cannot be divided into 4 gates");
  EXPECT_EQ(wrong("gates:onnx", "lstm", "weights", {}), "the rows of scalar cannot be divided into 4 gates");
  EXPECT_EQ(wrong("gates:onnx", "lstm", "weights", {8, 3}), "");
}

}  // namespace name_map_test
