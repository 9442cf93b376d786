// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/graph/graph_json.hpp>
#include <cohort/graph/network.hpp>
#include <random>
#include <string>
#include <string_view>

#include "../checkpoint/refusals.hpp"

namespace graph_json_test {

using namespace cohort;

/// A user-defined kind: every type of field, a field without a default, parameters, two inputs.
struct warp {
  static constexpr std::string_view kind_name = "warp";

  required<int> count;
  required<extent2> grid;
  double strength = 0.5;
  bool mirrored = false;
  padding border = {};
  shape pattern = {3, 1};
  layer_settings settings = {};
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() {
    return field_list{field{"count", &warp::count},       field{"grid", &warp::grid},
                      field{"strength", &warp::strength}, field{"mirrored", &warp::mirrored},
                      field{"border", &warp::border},     field{"pattern", &warp::pattern}};
  }
  constexpr inference infer(std::span<shape const> inputs) const {
    if (count < 0) return {"a warp cannot count below zero", labelled_number("count", count)};
    return inputs[0];
  }
  constexpr parameter_list parameters(std::span<shape const>) const {
    parameter_list list;
    list.add({"weights", {1 + count}, parameter_role::weights, 1, 1});
    return list;
  }
};

constexpr tensor branched(builder& net) {
  tensor const image = net.input({3, 12, 10}, "image");
  tensor const left =
      image | conv2d{.filters = 4, .kernel = {3, 5}, .padding = padding::same, .name = "left"};
  tensor const right = image
                       | conv2d{.filters = 4,
                                .kernel = 3,
                                .padding = {1, 1, 1, 1},
                                .bias = false,
                                .settings = {.weights = init::normal{0.25}, .bias = init::constant{-1}}}
                       | leaky_relu{.slope = 0.1};
  tensor const both = concat(left + right, left);
  return both | max_pool{.window = 2, .stride = {2, 1}} | relu{}
         | dense{.units = 7, .settings = {.weights = init::orthogonal{}}} | softmax_cross_entropy{};
}

tensor own_kind(builder& net) {
  return net.input({2, 4, 4})
         | warp{.count = 3,
                .grid = {2, 3},
                .strength = -0.0,
                .border = {0, 1, 2, 3},
                .pattern = {},
                .name = "w → \"1\""}
         | warp{.count = 0, .grid = 1, .strength = 0.1, .mirrored = true, .border = padding::strict};
}

/// A text with one layer list, for invalid networks: input "in" of 1x8x8, then the given layers.
std::string layers(std::string const& more) {
  return R"({"format": "cohort graph", "version": 2, "layers": [
{"input": {"extents": [1, 8, 8], "name": "in"}}, )"
         + more + "]}";
}

std::string refused(std::string const& text) {
  return refusal_of<data_error>([&] { from_json(text, "net"); });
}

std::string const conv =
    R"({"conv2d": {"filters": 2, "kernel": 3, "stride": 1, "padding": "valid", "dilation": 1, "groups": 1, )"
    R"("bias": true, "name": "c", "inputs": ["in"]}})";

std::string changed(std::string text, std::string const& from, std::string const& to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST(graph_json, round_trips_a_network) {
  constexpr auto net = network<branched>();
  std::string const text = to_json(net);
  graph const again = from_json(text);
  EXPECT_EQ(again.hash(), net.hash());
  EXPECT_EQ(to_json(again), text);
  ASSERT_EQ(again.view().size(), net.view().size());
  for (int id = 0; id < again.view().size(); ++id) {
    EXPECT_EQ(again.view().name(id), net.view().name(id));
    EXPECT_EQ(again.view().given_name(id), net.view().given_name(id));
    EXPECT_EQ(again.view()[id].output, net.view()[id].output);
    EXPECT_EQ(again.view()[id].settings, net.view()[id].settings);
  }
}

TEST(graph_json, round_trips_a_user_defined_kind_if_it_is_registered) {
  graph const net = graph::build(own_kind);
  std::string const text = to_json(net);
  EXPECT_EQ(from_json<warp>(text).hash(), net.hash());
  EXPECT_NE(
      refused(text).find("$.layers[1]): expected a built-in kind of layer, or a user-defined layer whose "
                         "type is passed, as in load_trained<onednn, my_layer>(path), got \"warp\""),
      std::string::npos);
  std::string const wrong = changed(text, "\"count\": 3", "\"count\": -3");
  EXPECT_EQ(refusal_of<data_error>([&] { from_json<warp>(wrong, "net"); }),
            "cannot read JSON (net:7:5, $.layers[1]): expected a layer that fits its inputs, got warp: a "
            "warp cannot count below zero (count -3)");
}

TEST(graph_json, is_readable_text) {
  graph const net = graph::build([](builder& b) {
    return b.input({1, 8, 8})
           | conv2d{.filters = 2,
                    .kernel = {3, 5},
                    .padding = {0, 1, 0, 1},
                    .settings = {.weights = init::uniform{0.5}}}
           | relu{.name = "r"};
  });
  std::string const hash = detail::hash_text(net.hash());
  EXPECT_EQ(to_json(net), R"({
  "format": "cohort graph",
  "version": 2,
  "hash": ")" + hash + R"(",
  "layers": [
    {"input": {"extents": [1, 8, 8], "name": "input_1"}},
    {"conv2d": {"filters": 2, "kernel": [3, 5], "stride": 1, "padding": [0, 1, 0, 1], "dilation": 1, "groups": 1, "bias": true, "name": "conv2d_1", "inputs": ["input_1"], "settings": {"weights": {"uniform": {"bound": 0.5}}}}},
    {"relu": {"name": "r", "inputs": ["conv2d_1"]}}
  ]
}
)");
}

TEST(graph_json, reads_layers_in_any_order_and_keeps_their_names) {
  std::string const text = R"({"format": "cohort graph", "version": 2, "layers": [
    {"add": {"name": "sum", "inputs": ["relu_1", "relu_2", "in"]}},
    {"relu": {"name": "relu_2", "inputs": ["in"]}},
    {"relu": {"name": "relu_1", "inputs": ["relu_2"]}},
    {"input": {"extents": [5], "name": "in"}}]})";
  graph const net = from_json(text);
  EXPECT_EQ(net.view().name(0), "in");
  EXPECT_EQ(net.view().name(3), "sum");
  EXPECT_EQ(net.view().inputs(3)[0], net.view().find("relu_1"));
  EXPECT_EQ(net.view().inputs(3)[1], net.view().find("relu_2"));
  EXPECT_EQ(net.view().inputs(net.view().find("relu_1"))[0], net.view().find("relu_2"));
  EXPECT_EQ(from_json(to_json(net)).hash(), net.hash());
}

/// A layer's name selects its settings and parameters, so a reader must not give it to another layer.
TEST(graph_json, keeps_names_that_would_be_generated_for_other_layers) {
  for (std::string const layers :
       {R"({"relu": {"name": "relu_1", "inputs": ["relu_2"]}}, {"relu": {"name": "relu_2", "inputs": ["in"]}},
           {"dense": {"units": 2, "inputs": ["relu_1"]}})",
        R"({"relu": {"name": "relu_1", "inputs": ["in"]}}, {"relu": {"name": "relu_2", "inputs": ["relu_1"]}},
           {"softmax": {"name": "softmax_1", "inputs": ["relu_1"]}}, {"add": {"inputs": ["relu_2", "softmax_1"]}})",
        R"({"relu": {"name": "relu_1", "inputs": ["in"]}}, {"relu": {"name": "relu_2", "inputs": ["in"]}},
           {"concatenate": {"inputs": ["relu_2", "relu_1"]}})"}) {
    graph const net = from_json(R"({"format": "cohort graph", "version": 2, "layers": [
        {"input": {"extents": [5], "name": "in"}}, )"
                                + layers + "]}");
    bool const is_chain = layers.find(R"(["relu_2"]}}, {"relu")") != std::string::npos;
    int const first = net.view().find("relu_1"), second = net.view().find("relu_2");
    ASSERT_GE(first, 0);
    ASSERT_GE(second, 0);
    EXPECT_EQ(net.view().inputs(first)[0], is_chain ? second : net.view().find("in")) << layers;
    EXPECT_EQ(from_json(to_json(net)).hash(), net.hash());
    EXPECT_EQ(from_json(to_json(net)).view().name(first), "relu_1");
    if (layers.find("concatenate") != std::string::npos) {
      EXPECT_EQ(net.view().name(net.view().inputs(net.view().size() - 1)[0]), "relu_2");
    }
  }
}

TEST(graph_json, assigns_numbers_to_unnamed_layers_in_the_order_of_the_text) {
  graph const net = from_json(R"({"format": "cohort graph", "version": 2, "layers": [
    {"input": {"extents": [5], "name": "in"}}, {"dense": {"units": 4}},
    {"dense": {"units": 3, "inputs": ["dense_1"], "bias": false}}, {"dense": {"units": 3, "inputs": ["dense_1"]}},
    {"add": {"inputs": ["dense_3", "dense_2"]}}]})");
  int const sum = net.view().size() - 1;
  EXPECT_EQ(net.view().name(net.view().inputs(sum)[0]), "dense_3");
  EXPECT_EQ(net.view().parameters(net.view().find("dense_2")).count, 1) << "the layer without bias";
  EXPECT_EQ(net.view().parameters(net.view().find("dense_3")).count, 2);
  graph const again = from_json(to_json(net));
  EXPECT_EQ(again.hash(), net.hash());
  EXPECT_EQ(again.view().name(again.view().inputs(sum)[0]), "dense_3");
}

TEST(graph_json, reads_an_explicit_name_equal_to_the_generated_one) {
  graph const net = graph::build([](builder& b) {
    return b.input({4}) | dense{.units = 2, .name = "dense_1"} | dense{.units = 2, .name = "fc"};
  });
  graph const again = from_json(to_json(net));
  EXPECT_EQ(again.view().name(1), "dense_1");
  EXPECT_EQ(again.view().given_name(1), "");
  EXPECT_EQ(to_json(again), to_json(net));
}

TEST(graph_json, uses_defaults_for_missing_fields) {
  graph const expected = graph::build([](builder& b) {
    return b.input({1, 8, 8}) | conv2d{.filters = 2, .kernel = 3} | leaky_relu{.slope = leaky_relu{}.slope}
           | batch_norm{} | relu{};
  });
  graph const read = from_json(R"({"format": "cohort graph", "version": 2, "layers": [
    {"input": {"extents": [1, 8, 8], "name": "input_1"}},
    {"conv2d": {"kernel": 3, "name": "conv2d_1", "inputs": ["input_1"], "filters": 2}},
    {"leaky_relu": {"name": "leaky_relu_1", "inputs": "conv2d_1"}},
    {"batch_norm": {"inputs": ["leaky_relu_1"]}},
    "relu"]})");
  EXPECT_EQ(read.hash(), expected.hash());
  EXPECT_EQ(to_json(read), to_json(expected));
}

TEST(graph_json, reports_the_path_of_an_unknown_field) {
  EXPECT_EQ(refused(layers(changed(conv, "\"stride\"", "\"strides\""))),
            "cannot read JSON (net:2:100, $.layers[1].conv2d.strides): expected one of the fields filters, "
            "kernel, stride, padding, dilation, groups, bias, name, inputs, settings; the nearest name is "
            "stride, got \"strides\"");
  auto const refuses = [](std::string const& text, std::string const& expected) {
    std::string const message = refused(text);
    EXPECT_NE(message.find(expected), std::string::npos) << message;
  };
  refuses(layers(changed(conv, "\"filters\": 2, ", "")),
          "$.layers[1].conv2d): expected a field \"filters\", got no such field");
  refuses(layers(changed(conv, "\"in\"", "\"im\"")),
          "$.layers[1].conv2d.inputs[0]): expected the name of a layer; the nearest name is in, got \"im\"");
  refuses(layers(changed(conv, "conv2d", "conv9d")), "$.layers[1]): expected a built-in kind of layer, or ");
  refuses(layers(changed(conv, "conv2d", "conv9d")), "; the nearest name is conv2d, got \"conv9d\"");
  refuses(layers(changed(conv, "\"c\"", "\"in\"")),
          "$.layers[1].conv2d.name): expected a unique name, got \"in\", the name of $.layers[0]");
  refuses(layers(changed(conv, "\"c\"", "\"\"")),
          "$.layers[1].conv2d.name): expected a name that is not empty");
  refuses(changed(layers(conv), "\"version\": 2", "\"version\": 1"),
          "$.version): expected version 2, the one that this library reads; ");
  refuses(changed(layers(conv), "cohort graph", "other"), "$.format): expected the string \"cohort graph\"");
  refuses(changed(layers(conv), "\"version\": 2", "\"version\": 2, \"hash\": \"12\""),
          "$.hash): expected the hash of these layers, \"");
}

TEST(graph_json, reports_the_path_of_a_wrong_type_or_a_number_out_of_range) {
  auto const refuses = [](std::string const& text, std::string const& expected) {
    std::string const message = refused(text);
    EXPECT_NE(message.find(expected), std::string::npos) << message;
  };
  auto const with = [&](std::string const& from, std::string const& to, std::string const& expected) {
    refuses(layers(changed(conv, from, to)), "$.layers[1].conv2d." + expected);
  };
  with("\"kernel\": 3", "\"kernel\": \"3\"",
       "kernel): expected a number, or [height, width], got the string \"3\"");
  with("\"kernel\": 3", "\"kernel\": [3]",
       "kernel): expected a number, or [height, width], got an array of 1");
  with("\"kernel\": 3", "\"kernel\": [3, 2.5]",
       "kernel[1]): expected an integer from -32767 to 32767, got 2.5");
  with("\"filters\": 2", "\"filters\": 1.5e0",
       "filters): expected an integer from -16777216 to 16777216, got 1.5");
  with("\"filters\": 2", "\"filters\": 16777217", "filters): expected an integer from");
  with("\"bias\": true", "\"bias\": 1", "bias): expected true or false, got 1");
  with("\"valid\"", "\"vaild\"",
       "padding): expected \"valid\", \"same\", \"strict\" or [top, bottom, left, right], got the string "
       "\"vaild\"");
  with("\"valid\"", "[1, 2]", "padding): expected \"valid\"");
  with("[\"in\"]", "3", "inputs): expected the name of a layer, or a list of names, got 3");
  with("[\"in\"]", "[]", "inputs): expected the name of a layer, or a list of names, got an array of 0");
  with("[\"in\"]", R"(["in"], "settings": {"weights": {"normal": {"deviation": -1}}})",
       "settings.weights): expected a finite number, at least 0, got ");
  with("[\"in\"]", R"(["in"], "settings": {"bias": "nothing"})",
       "settings.bias): expected one of the initialisers zeros, ones");
  with("[\"in\"]", R"(["in"], "settings": {"bias": {"zeros": {"value": 1}}})",
       "settings.bias.zeros.value): expected no field, got \"value\"");
  refuses(layers(R"({"input": {"extents": [1], "inputs": ["in"]}})"),
          "$.layers[1].input.inputs): expected no inputs: an input reads no layer");
  refuses(layers(R"({"input": [1, 1, 1, 1, 1, 1, 1]})"),
          "$.layers[1].input): expected a list of at most 6 extents, got an array of 7");
  refuses(R"({"format": "cohort graph", "version": 2, "layers": []})",
          "$.layers): expected a list of layers");
  refuses("[1]", "$): expected an object");
  std::string many;
  for (int i = 0; i < 1001; ++i) many += (i ? ",\"in\"" : "\"in\"");
  refuses(layers(R"({"add": {"inputs": [)" + many + "]}}"),
          "$.layers[1].add.inputs): expected at most 1000 inputs, got an array of 1001");
}

TEST(graph_json, reports_the_path_of_a_cycle) {
  std::string const cycle = layers(R"(
{"add": {"name": "a", "inputs": ["in", "c"]}},
{"relu": {"name": "b"}},
{"relu": {"name": "c", "inputs": ["b"]}})");
  EXPECT_EQ(refused(cycle),
            "cannot read JSON (net:3:1, $.layers[1]): expected layers that do not form a cycle, "
            "got a → b → c → a");
  EXPECT_NE(refused(layers(R"({"relu": {"name": "x", "inputs": ["x"]}})")).find("got x → x"),
            std::string::npos);
}

TEST(graph_json, reports_the_refused_layer) {
  std::string const misfit = "expected a layer that fits its inputs, got ";
  EXPECT_EQ(refused(layers(changed(conv, "\"kernel\": 3", "\"kernel\": [9, 3]"))),
            "cannot read JSON (net:2:50, $.layers[1]): " + misfit
                + "conv2d: the kernel is larger than its input (input 1x8x8, kernel 9x3)");
  EXPECT_EQ(refused(layers("{\"dense\": 16777216}, {\"dense\": 65}")),
            "cannot read JSON (net:2:71, $.layers[2]): expected tensors of 1 to 1073741824 elements, got "
            "65x16777216");
}

TEST(graph_json, refuses_extents_of_more_than_31_bits) {
  auto const expect = [&](std::string const& next, std::string const& reason) {
    EXPECT_EQ(
        refused(layers(R"({"upsampling": [32767, 1]}, )" + next)),
        "cannot read JSON (net:2:78, $.layers[2]): expected a layer that fits its inputs, got " + reason);
  };
  // Also a factor whose product has 31 bits again: 262136·16385 is 131,064 modulo 2^32.
  for (std::string const factor : {"32767", "16385"}) {
    expect(
        R"({"upsampling": [)" + factor + ", 1]}",
        "upsampling: an extent of the output is more than 2^30 (input 1x262136x8, factor " + factor + "x1)");
    expect(R"({"conv2d_transposed": {"filters": 1, "kernel": 1, "stride": [)" + factor + ", 1]}}",
           "conv2d_transposed: an extent of the output is more than 2^30 (input 1x262136x8, stride " + factor
               + "x1)");
  }
}

TEST(graph_json, refuses_products_of_fields_that_overflow) {
  // A dilated kernel of 2^32 + 1 steps, and extents whose product is 64 + 24·2^64.
  EXPECT_EQ(
      refused(layers(R"({"reshape": [64, 1]}, {"conv1d": {"filters": 1, "kernel": 65537, )"
                     R"("dilation": 65536}})")),
      "cannot read JSON (net:2:72, $.layers[2]): expected a layer that fits its inputs, got conv1d: the "
      "dilated kernel is too large (kernel 1x65537, dilation 1x65536)");
  EXPECT_EQ(refused(layers(R"({"reshape": [5135573, 8678056, 9933896]})")),
            "cannot read JSON (net:2:50, $.layers[1]): expected a layer that fits its inputs, got reshape: "
            "reshape must keep the number of elements (input 1x8x8, extents 5135573x8678056x9933896)");
}

TEST(graph_json, reads_a_long_chain_without_recursion) {
  std::string text;
  for (int i = 9'000; i > 0; --i) {
    std::string const from = i == 1 ? "in" : "r" + std::to_string(i - 1);
    text += (text.empty() ? "" : ",") + (R"({"relu": {"name": "r)" + std::to_string(i)) + R"(", "inputs": [")"
            + from + "\"]}}";
  }
  EXPECT_EQ(from_json(layers(text)).view().size(), 9'001);
}

TEST(graph_json, reads_or_refuses_any_text) {
  std::string const whole = to_json(graph::build(branched));
  constexpr std::string_view pieces[]{"-1", "0",     "99999999", "16777216",   "32767",       "null",
                                      "[]", "{}",    "\"left\"", "\"conv2d\"", ",",           "}",
                                      "\"", "1e308", "true",     "\"same\"",   "[1, 2, 3, 4]"};
  unsigned const seed = 20;
  std::mt19937 random(seed);
  auto const below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  int read = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text = whole;
    if (std::size_t const at = text.find("\"hash\""); below(4) > 0)
      text.erase(at, text.find("\"layers\"") - at);
    for (std::size_t edits = 1 + below(3); edits-- > 0;) {
      std::size_t const at = below(text.size());
      switch (below(4)) {
        case 0:
          text[at] = static_cast<char>(below(256));
          break;
        case 1:
          text.erase(at, below(30));
          break;
        case 2:
          text.insert(at, pieces[below(std::size(pieces))]);
          break;
        default: {  // another value instead of a number or word
          std::size_t const first = text.find_first_of("0123456789", at);
          if (first == std::string::npos) break;
          text.replace(first, text.find_first_not_of("0123456789", first) - first,
                       pieces[below(std::size(pieces))]);
        }
      }
    }
    try {
      graph const net = from_json(text);
      ++read;
      ASSERT_EQ(from_json(to_json(net)).hash(), net.hash()) << "seed " << seed << ", round " << round;
    } catch (data_error const&) {
    }
  }
  EXPECT_GT(read, 200);
}

}  // namespace graph_json_test
