// SPDX-License-Identifier: Apache-2.0
// covers: plan/plan_settings plan/plan_text
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/plan/make_plan.hpp>
#include <cohort/plan/parameter_store.hpp>
#include <cohort/plan/plan_text.hpp>

#include <string>
#include <vector>

#include "../data/refused.hpp"

namespace make_plan_test {

using namespace cohort;
using B = reference<double>;

std::shared_ptr<plan const> planned(graph_view net, plan_settings const& settings) {
  return make_plan(std::make_shared<parameter_store<B>>(B{}, net), net, settings);
}
graph small() {
  return graph::build([](builder& net) {
    return net.input({1, 8, 8}) | conv2d{.filters = 3, .kernel = 3} | relu{} | max_pool{.window = 2}
           | dense{.units = 4} | softmax_cross_entropy{};
  });
}

/// A layer without kernels.
struct unheard_of {
  static constexpr std::string_view kind_name = "unheard_of";
  std::string_view name{};
  source_line at = source_line::here();
  static constexpr auto fields() { return field_list{}; }
  constexpr inference infer(std::span<shape const> inputs) const { return inputs[0]; }
};

TEST(make_plan, lists_steps_in_order_with_the_relu_after_the_max_pool) {
  std::vector<std::string> rows;
  for (plan_row const& row : planned(small(), {.batch = 2})->rows())
    rows.push_back((row.direction == plan_pass::forward ? "+" : "-") + row.step + ' '
                   + to_string(row.output));
  EXPECT_EQ(rows, (std::vector<std::string>{"+conv2d_1 2x3x6x6", "+max_pool_1 2x3x3x3", "+relu_1 2x3x3x3",
                                            "+dense_1 2x4", "+softmax_cross_entropy_1 2x4",
                                            "-softmax_cross_entropy_1 2x4", "-dense_1 2x4", "-relu_1 2x3x3x3",
                                            "-max_pool_1 2x3x3x3", "-conv2d_1 2x3x6x6"}));
}

TEST(make_plan, needs_no_backward_and_no_gradients_for_inference) {
  auto const made = planned(small(), {.batch = 2, .training = false});
  for (plan_row const& row : made->rows()) EXPECT_EQ(row.direction, plan_pass::forward);
  EXPECT_EQ(made->memory().gradients, 0U);
  EXPECT_LT(made->memory().activations, planned(small(), {.batch = 2})->memory().activations);
  ASSERT_EQ(made->outputs().size(), 1U);
  EXPECT_EQ(made->outputs()[0], shape{4});
  EXPECT_EQ(made->inputs()[0], (shape{1, 8, 8}));
}

TEST(make_plan, counts_flops_of_the_batch) {
  for (plan_row const& row : planned(small(), {.batch = 7})->rows())
    if (row.step == "conv2d_1") {
      EXPECT_EQ(row.flops, (row.direction == plan_pass::forward ? 1 : 2) * 7 * 2.0 * 3 * 36 * 9);
    }
}

TEST(make_plan, refuses_an_empty_batch) {
  for (int batch : {0, -1})
    expect_parts(refused<setting_error>([&] { planned(small(), {.batch = batch}); }),
                 {"at least one example", std::to_string(batch).c_str()});
}

TEST(make_plan, refuses_to_train_without_a_loss) {
  graph const net = graph::build([](builder& b) { return b.input({3}) | dense{.units = 4}; });
  expect_parts(refused<graph_error>([&] { planned(net, {}); }),
               {"cannot be trained", "no loss layer", "softmax_cross_entropy"});
  EXPECT_NO_THROW(planned(net, {.training = false}));
}

TEST(make_plan, reports_a_layer_of_an_unsupported_kind) {
  graph const net = graph::build(
      [](builder& b) { return b.input({3}) | unheard_of{.name = "odd one"} | softmax_cross_entropy{}; });
  expect_parts(refused<backend_error>([&] { planned(net, {}); }),
               {"reference<double>", "odd one", "unheard_of"});
}

TEST(make_plan, refuses_excess_memory_and_reports_the_largest_batch_that_fits) {
  graph const net = small();
  std::size_t const ten = planned(net, {.batch = 10})->memory().total();
  EXPECT_NO_THROW(planned(net, {.batch = 10, .max_bytes = ten}));
  std::string const sentence =
      refused<memory_error>([&] { planned(net, {.batch = 1000, .max_bytes = ten}); });
  expect_parts(sentence, {"more memory than allowed", "max_pool_1", "plain loops", "batch 1000", "parameters",
                          std::to_string(ten).c_str(), "the largest batch that fits is "});
  int const fits = std::stoi(sentence.substr(sentence.find("that fits is ") + 13));
  EXPECT_GE(fits, 10);
  EXPECT_NO_THROW(planned(net, {.batch = fits, .max_bytes = ten}));
  EXPECT_THROW(planned(net, {.batch = fits + 1, .max_bytes = ten}), memory_error);
  expect_parts(refused<memory_error>([&] { planned(net, {.batch = 2, .max_bytes = 100}); }),
               {"no batch fits"});
}

TEST(make_plan, counts_every_context_and_the_optimizers_state) {
  graph const net = small();
  auto const memory = planned(net, {.batch = 4})->memory();
  std::size_t const two = memory.parameters * 3 + 2 * (memory.gradients + memory.activations);
  std::size_t const state = 2 * memory.parameters;
  EXPECT_NO_THROW(planned(net, {.batch = 4, .max_bytes = two, .contexts = 2, .state_bytes = state}));
  EXPECT_THROW(planned(net, {.batch = 4, .max_bytes = two - 1, .contexts = 2, .state_bytes = state}),
               memory_error);
}

TEST(make_plan, counts_accumulation_buffers_if_gradients_are_accumulated) {
  graph const net = graph::build([](builder& b) {
    return b.input({100}) | dense{.units = 16} | dense{.units = 16} | dense{.units = 2}
           | softmax_cross_entropy{};
  });
  auto const memory = planned(net, {.batch = 4})->memory();
  EXPECT_EQ(memory.accumulation, (100 * 16 + 16) * sizeof(double)) << "one layer's gradients at a time";
  std::size_t const plain = memory.parameters + memory.gradients + memory.activations;
  EXPECT_NO_THROW(planned(net, {.batch = 4, .max_bytes = plain}));
  EXPECT_THROW(planned(net, {.batch = 4, .max_bytes = plain, .accumulates = true}), memory_error);
  EXPECT_NO_THROW(planned(net, {.batch = 4, .max_bytes = plain + memory.accumulation, .accumulates = true}));
}

TEST(make_plan, refuses_outputs_that_are_not_layers) {
  graph const net = small();
  for (int id : {-1, 0, 1000})
    EXPECT_THROW(planned(net, {.training = false, .outputs = {id}}), setting_error) << id;
  EXPECT_EQ(planned(net, {.training = false, .outputs = {1}})->outputs()[0], net.view()[1].output);
}

TEST(make_plan, prints_a_table_of_steps_and_memory) {
  std::string const text = text_of(*planned(small(), {.batch = 2}));
  expect_parts(
      text, {"pass", "implementation", "MFLOP", "conv2d_1", "2x3x6x6", "batch 2: parameters ", ", total "});
  EXPECT_EQ(text.find("us/call"), std::string::npos) << "no times where none were taken";
}

}  // namespace make_plan_test
