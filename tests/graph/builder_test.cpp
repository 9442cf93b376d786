// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <array>
#include <cohort/graph/graph.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../data/refused.hpp"

namespace builder_test {

using namespace cohort;

template <class F>
finding mistake_in(F describe) {
  builder net;
  describe(net);
  if (!net.problem().found()) net.sort_nodes();
  return net.problem();
}
template <class F>
std::string said(F describe) {
  std::string text(mistake_in(describe).text().view());
  std::string const file = __FILE__ ":";
  for (auto at = text.find(file); at != std::string::npos; at = text.find(file))
    text.replace(at, file.size(), "line ");
  return text;
}
std::string line(int number) { return "line " + std::to_string(number); }

TEST(builder, reports_the_users_line_and_the_shapes_of_an_error) {
  int const here = __LINE__;
  auto const describe = [](builder& net) {
    tensor const x = net.input({1, 4, 4}) | relu{};
    tensor const y = x | conv2d{.filters = 20, .kernel = 5};
    y | relu{};
  };
  EXPECT_EQ(said(describe),
            line(here + 3) + ": conv2d: the kernel is larger than its input (input 1x4x4, kernel 5x5)");
}

TEST(builder, refuses_more_inputs_than_a_layer_accepts) {
  int const here = __LINE__;
  auto const describe = [](builder& net) {
    tensor const x = net.input({4});
    join(relu{}, x, x);
  };
  EXPECT_EQ(said(describe),
            line(here + 3) + ": relu: this layer got the wrong number of inputs (inputs 2, at most 1)");
}

TEST(builder, reports_the_lines_that_create_the_operands_of_a_sum) {
  int const here = __LINE__;
  auto const describe = [](builder& net) {
    tensor const x = net.input({1, 8, 8});
    tensor const a = x | conv2d{.filters = 20, .kernel = 5};
    tensor const b = x | conv2d{.filters = 20, .kernel = 3};
    a + b;
  };
  EXPECT_EQ(said(describe), line(here + 4)
                                + ": add: tensors cannot be added: from the last axis on, their extents must be "
                                  "equal or 1 (left 20x4x4 from "
                                + line(here + 3) + ", right 20x6x6 from " + line(here + 4) + ")");
}

TEST(builder, reports_the_mismatched_operand_among_several) {
  int const here = __LINE__;
  auto const described = [](bool sum) {
    return [=](builder& net) {
      tensor const x = net.input({1, 8, 8}), a = x | conv2d{.filters = 4, .kernel = 3};
      tensor const b = x | conv2d{.filters = 4, .kernel = 1};
      tensor const c = x | conv2d{.filters = 4, .kernel = 3};
      if (sum)
        join(add{.name = "sum"}, a, b, c);
      else
        concat(a, b, c);
    };
  };
  std::string const operands =
      " (left 4x6x6 from " + line(here + 3) + ", right 4x8x8 from " + line(here + 4) + ")";
  EXPECT_EQ(
      said(described(false)),
      line(here + 5) + ": concatenate: concatenated tensors may differ in their channels only" + operands);
  EXPECT_EQ(said(described(true)),
            line(here + 7)
                + ": add: tensors cannot be added: from the last axis on, their extents must be equal or 1"
                + operands)
      << "a join that is written out has a line of its own";
}

TEST(builder, reports_the_first_of_several_errors) {
  finding const first = mistake_in([](builder& net) {
    net.input({1, 4, 4}) | conv2d{.filters = 0, .kernel = 3} | conv2d{.filters = 2, .kernel = 9}
        | softmax_cross_entropy{};
  });
  EXPECT_STREQ(first.sentence, "a convolution needs at least one filter");
}

TEST(builder, generates_names_by_kind_and_keeps_explicit_ones) {
  graph const net = graph::build([](builder& b) {
    tensor const x =
        b.input({4}, "numbers") | dense{.units = 3} | relu{} | dense{.units = 3, .name = "middle"};
    return (x + (x | dense{.units = 3})) | relu{};
  });
  std::vector<std::string> names;
  for (int id = 0; id < net.view().size(); ++id) names.push_back(net.view().name(id));
  EXPECT_EQ(names, (std::vector<std::string>{"numbers", "dense_1", "relu_1", "middle", "dense_3", "add_1",
                                             "relu_2"}));
  for (int id = 0; id < net.view().size(); ++id)
    EXPECT_EQ(net.view().find(names[static_cast<std::size_t>(id)]), id);
  EXPECT_EQ(net.view().find("dense_2"), -1) << "that one has a name";
  EXPECT_EQ(net.view().find("dense_"), -1);
  EXPECT_EQ(net.view().find(""), -1);
}

TEST(builder, refuses_a_name_that_is_taken) {
  char const* const sentence = "another layer already has this name";
  EXPECT_STREQ(mistake_in([](builder& net) {
                 net.input({4}) | dense{.units = 3, .name = "a"} | relu{.name = "a"};
               }).sentence,
               sentence);
  EXPECT_STREQ(
      mistake_in([](builder& net) { net.input({4}) | dense{.units = 3} | relu{.name = "dense_1"}; }).sentence,
      sentence)
      << "taken by a generated name";
  EXPECT_STREQ(mistake_in([](builder& net) { net.input({4}, "dense_1") | dense{.units = 3}; }).sentence,
               sentence)
      << "a generated name that is taken";
  EXPECT_FALSE(mistake_in([](builder& net) {
                 net.input({4}) | dense{.units = 3, .name = "relu_2"} | relu{};
               }).found());
}

TEST(builder, builds_a_network_with_several_inputs_and_outputs) {
  graph const net = graph::build([](builder& b) {
    tensor const picture =
        b.input({1, 6, 6}, "picture") | conv2d{.filters = 2, .kernel = 3} | dense{.units = 4};
    tensor const facts = b.input({3}, "facts");
    tensor const loss = concat(picture, facts) | dense{.units = 5} | softmax_cross_entropy{.name = "loss"};
    return std::pair(facts | dense{.units = 2, .name = "side"}, loss);
  });
  EXPECT_EQ(net.view().with_role(layer_role::input).size(), 2U);
  EXPECT_EQ(net.view().with_role(layer_role::loss), std::vector<int>{net.view().find("loss")});
  EXPECT_EQ(net.view().outputs(), (std::vector<int>{net.view().find("side"), net.view().find("loss")}));
  EXPECT_EQ(net.view()[net.view().find("concatenate_1")].output, shape{7});
}

TEST(builder, declares_the_returned_tensors_as_outputs_in_order) {
  auto const heads = [](bool swapped) {
    return graph::build([=](builder& b) {
      tensor const x = b.input({4}) | dense{.units = 3};
      std::vector<tensor> all{x | relu{.name = "a"}, x | sigmoid{.name = "b"}};
      if (swapped) std::swap(all[0], all[1]);
      return all;
    });
  };
  for (bool const swapped : {false, true}) {
    graph const net = heads(swapped);
    std::vector<int> const outputs = net.view().outputs();
    ASSERT_EQ(outputs.size(), 2U);
    EXPECT_EQ(net.view().name(outputs[0]), swapped ? "b" : "a");
    EXPECT_EQ(net.view().name(outputs[1]), swapped ? "a" : "b");
  }
}

TEST(builder, refuses_a_tensor_that_is_neither_read_nor_returned) {
  int const here = __LINE__;
  auto const forgotten = [](builder& net) {
    tensor const x = net.input({4}) | dense{.units = 5};
    x | dense{.units = 7};
    return x | dense{.units = 3} | softmax_cross_entropy{};
  };
  std::string const wrong = refused<graph_error>([&] { graph::build(forgotten); });
  EXPECT_NE(
      wrong.find("builder_test.cpp:" + std::to_string(here + 3) + ": dense: no layer reads this tensor"),
      std::string::npos)
      << wrong;
  auto const sentence = [](auto describe) { return refused<graph_error>([&] { graph::build(describe); }); };
  EXPECT_NE(sentence([](builder& net) {
              net.input({2});
              return net.input({4}) | relu{};
            }).find("input: no layer reads this tensor"),
            std::string::npos);
  EXPECT_NE(sentence([](builder& net) {
              tensor const x = net.input({4}) | relu{};
              return std::tuple(x, x | dense{.units = 2});
            }).find("relu: the network returns this tensor, but another layer reads it"),
            std::string::npos);
  EXPECT_NE(sentence([](builder& net) {
              tensor const x = net.input({4}) | relu{};
              return std::array{x, x};
            }).find("relu: the network returns this tensor twice"),
            std::string::npos);
  EXPECT_NE(sentence([](builder& net) { return net.input({4}); }).find("input: the network returns an input"),
            std::string::npos);
}

TEST(builder, accepts_nested_blocks) {
  auto const twice = [](auto block) { return [=](tensor x) { return x | block | block; }; };
  auto const layer = [](tensor x) { return x | dense{.units = 7} | relu{}; };
  graph const net = graph::build([&](builder& b) { return b.input({3}) | twice(twice(layer)); });
  EXPECT_EQ(net.view().size(), 1 + 2 * 4);
  EXPECT_EQ(net.parameter_count(), 3 * 7 + 7 + 3 * (7 * 7 + 7));
}

TEST(builder, stores_the_initialisers_of_each_layer) {
  graph const net = graph::build([](builder& b) {
    return b.input({3}) | dense{.units = 7, .settings = {.weights = init::relu{}}}
           | dense{.units = 2, .settings = {.bias = init::constant{.value = 3}}};
  });
  parameter_list const first = net.view().parameters(1), second = net.view().parameters(2);
  EXPECT_EQ(first.specs[0].initial, initialiser(init::relu{}));
  EXPECT_FALSE(first.specs[1].initial);
  EXPECT_FALSE(second.specs[0].initial);
  EXPECT_EQ(second.specs[1].initial, initialiser(init::constant{.value = 3}));
}

TEST(builder, refuses_a_name_that_sorting_generates_for_another_layer) {
  // As written, the named layer is the second dense layer. After sorting it is the third one, because another
  // layer has the name dense_2.
  EXPECT_THROW(cohort::graph::build([](cohort::builder& net) {
                 auto const a = net.input({4}) | cohort::dense{.units = 4};
                 auto const named = a | cohort::dense{.units = 4, .name = "dense_2"};
                 auto const other = a | cohort::dense{.units = 4};
                 return other + named;
               }),
               cohort::graph_error);
}

TEST(builder, refuses_a_layer_that_reads_a_loss) {
  EXPECT_THROW(cohort::graph::build([](cohort::builder& net) {
                 return net.input({4}) | cohort::softmax_cross_entropy{} | cohort::dense{.units = 4};
               }),
               cohort::graph_error);
}

}  // namespace builder_test
