// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/onednn.hpp>

#include <cohort/backend/reference.hpp>
#include <cohort/graph/network.hpp>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "../../backend/operations.hpp"
#include "../../data/refused.hpp"
#include "../../plan/trial.hpp"

namespace {

using namespace cohort;

graph lenet() {
  return graph::build([](builder& net) {
    net.input({1, 28, 28}) | conv2d{.filters = 20, .kernel = 5} | relu{} | max_pool{.window = 2}
        | conv2d{.filters = 50, .kernel = 5, .stride = 2} | relu{} | max_pool{.window = 2}
        | dense{.units = 200} | relu{} | dense{.units = 10} | softmax_cross_entropy{};
  });
}
/// Odd channels everywhere: padded blocks wherever oneDNN wants blocks.
graph odd() {
  return graph::build([](builder& net) {
    net.input({3, 9, 9}) | conv2d{.filters = 19, .kernel = 3} | relu{}
        | conv2d{.filters = 37, .kernel = 3, .padding = 1} | max_pool{.window = 2}
        | conv2d{.filters = 21, .kernel = 2} | leaky_relu{} | dense{.units = 7} | softmax_cross_entropy{};
  });
}

TEST(onednn, is_usable_here) {
  availability const found = onednn::probe();
  EXPECT_TRUE(found.usable) << found.reason;
}

TEST(onednn, sets_and_restores_the_threads_of_the_calling_thread) {
  int const former = onednn::threads(3);
  EXPECT_EQ(onednn::threads(2), 3);
  std::thread([] {
    onednn::threads(5);
    EXPECT_EQ(onednn::threads(1), 5);
  }).join();
  EXPECT_EQ(onednn::threads(former), 2) << "another thread's count is its own";
  EXPECT_EQ(onednn::threads(former), former);
}

TEST(onednn, gives_the_same_bits_each_time) {
  auto const run = [](graph const& net, int threads) {
    int const former = onednn::threads(threads);
    trial<onednn> t(net, {.batch = 16});
    std::vector<float> gradients;
    for (int step = 0; step < 3; ++step) {
      gradients.push_back(static_cast<float>(t.step()));
      auto const all = t.all_gradients();
      gradients.insert(gradients.end(), all.begin(), all.end());
    }
    onednn::threads(former);
    return gradients;
  };
  for (int threads : {1, 2}) {
    for (graph const& net : {lenet(), odd()}) {
      auto const once = run(net, threads), twice = run(net, threads);
      EXPECT_EQ(std::memcmp(once.data(), twice.data(), once.size() * sizeof(float)), 0);
    }
  }
}

TEST(onednn, runs_no_reference_implementation) {
  auto const expect_none = [](graph const& net, bool training) {
    for (plan_row const& row : trial<onednn>(net, {.batch = 8, .training = training}).plan->rows())
      EXPECT_FALSE(row.implementation.starts_with("ref")) << row.step;
  };
  for (graph const& net : {lenet(), odd()}) {
    expect_none(net, true);
    expect_none(net, false);
  }
  operations::each_row(
      [&](operations::row const& r) { expect_none(operations::network_of(r, 1, true), true); });
}

TEST(onednn, says_which_implementation_moves_the_gradients_of_a_join) {
  graph const net = graph::build([](builder& b) {
    tensor const x = b.input({4, 8, 8}) | conv2d{.filters = 16, .kernel = 3, .padding = padding::same};
    tensor const sum = x + (x | conv2d{.filters = 16, .kernel = 1});
    concat(sum, x | conv2d{.filters = 16, .kernel = 1}) | dense{.units = 2} | softmax_cross_entropy{};
  });
  int sums = 0, parts = 0;
  std::string const said = "reorder ";
  for (plan_row const& row : trial<onednn>(net, {.batch = 8}).plan->rows()) {
    if (row.direction != pass::backward || !row.implementation.starts_with(said)) continue;
    EXPECT_GT(row.implementation.size(), said.size()) << row.step;
    sums += row.step == "add_1";
    parts += row.step == "concatenate_1";
  }
  EXPECT_EQ(sums, 2);
  EXPECT_EQ(parts, 2);
}

std::vector<std::string> backward_steps(graph const& net, std::string const& step) {
  std::vector<std::string> made;
  for (plan_row const& row : trial<onednn>(net, {.batch = 8}).plan->rows())
    if (row.direction == pass::backward && row.step == step && row.flops > 0)
      made.push_back(row.implementation);
  return made;
}

TEST(onednn, computes_no_gradient_of_the_batch) {
  EXPECT_EQ(backward_steps(lenet(), "conv2d_1").size(), 1U) << "weights alone";
  EXPECT_EQ(backward_steps(lenet(), "conv2d_2").size(), 2U) << "weights and data";
}

TEST(onednn, runs_the_activation_in_its_layer_and_relu_behind_the_pool) {
  std::string forward;
  for (plan_row const& row : trial<onednn>(lenet(), {.batch = 8}).plan->rows())
    if (row.direction == pass::forward && row.implementation != "reorder") forward += row.step + "; ";
  EXPECT_EQ(forward,
            "conv2d_1; max_pool_1; relu_1; conv2d_2; max_pool_2; relu_2; dense_1 + relu_3; dense_2; "
            "softmax_cross_entropy_1; ");
}

TEST(onednn, gives_back_every_bit_of_a_parameter) {
  for (graph const& net : {lenet(), odd()}) {
    trial<onednn> t(net, {.batch = 8});
    std::vector<float> numbers(static_cast<std::size_t>(t.store->elements())), back(numbers.size());
    std::iota(numbers.begin(), numbers.end(), 1.0F);
    t.store->write_all(reinterpret_cast<std::byte const*>(numbers.data()), t.store->master());
    t.store->read_all(t.store->master(), reinterpret_cast<std::byte*>(back.data()));
    EXPECT_EQ(back, numbers);
    std::vector<float> const arena(
        reinterpret_cast<float const*>(t.store->master()),
        reinterpret_cast<float const*>(t.store->master()) + t.store->arena_elements());
    t.store->write_all(reinterpret_cast<std::byte const*>(back.data()), t.store->master());
    EXPECT_EQ(std::memcmp(arena.data(), t.store->master(), t.store->arena_bytes()), 0)
        << "writing what was read";
  }
}

TEST(onednn, keeps_zeros_where_no_element_lies) {
  trial<onednn> t(odd(), {.batch = 8});
  t.step();
  t.step(true);
  std::vector<float> ones(static_cast<std::size_t>(t.store->elements()), 1.0F);
  buffer marked(t.store->arena_bytes());
  t.store->write_all(reinterpret_cast<std::byte const*>(ones.data()), marked.data());
  std::size_t padding = 0;
  for (std::size_t i = 0; i < t.store->arena_elements(); ++i)
    if (marked.as<float>()[i] == 0) {
      ++padding;
      EXPECT_EQ(reinterpret_cast<float const*>(t.run->gradients())[i], 0) << i;
      EXPECT_EQ(reinterpret_cast<float const*>(t.store->master())[i], 0) << i;
    }
  EXPECT_GE(padding, t.store->arena_elements() - static_cast<std::size_t>(t.store->elements()));
}

TEST(onednn, needs_fresh_working_copies_after_an_update_and_refreshes_them_in_parts) {
  trial<onednn> t(lenet(), {.batch = 8});
  ASSERT_GT(t.store->copy_bytes(), 0U) << "backward-data reads weights in a layout of its own";
  t.step();
  auto const before = t.all_gradients();
  std::vector<float> const start = [&] {
    std::vector<float> all(before.size());
    t.store->read_all(t.store->master(), reinterpret_cast<std::byte*>(all.data()));
    return all;
  }();
  std::vector<float> halved = start;
  for (float& w : halved) w *= 0.5F;
  t.store->write_all(reinterpret_cast<std::byte const*>(halved.data()), t.store->master());
  t.store->changed();
  for (int worker = 0; worker < 3; ++worker) t.store->refresh(worker, 3);
  t.step();
  auto const parts = t.all_gradients();
  t.store->refresh_stale();
  t.step();
  EXPECT_EQ(t.all_gradients(), parts) << "nothing was left stale";
  t.store->write_all(reinterpret_cast<std::byte const*>(start.data()), t.store->master());
  t.store->changed();
  t.store->refresh_stale();
  t.step();
  EXPECT_EQ(t.all_gradients(), before);
}

TEST(onednn, agrees_for_two_batch_sizes_and_inference_on_one_store) {
  graph const net = odd();
  trial<onednn> whole(net, {.batch = 6});
  trial<onednn> part(net, {.batch = 2}, 1, whole.store);
  trial<onednn> inferred(net, {.batch = 5, .training = false}, 1, whole.store);
  trial<reference<double>> wanted(net, {.batch = 6});
  whole.store->refresh_stale();
  double const loss = wanted.step();
  EXPECT_NEAR(whole.step(), loss, 1e-5);
  for (int first = 0; first < 6; first += 2) {
    part.run->forward(whole.batch.input_views[0].rows(first, 2), whole.batch.target_views[0].rows(first, 2));
    part.run->backward({.gradient_scale = 1.0 / 6, .accumulate = first > 0});
  }
  auto const a = whole.all_gradients(), b = part.all_gradients();
  auto const exact = wanted.all_gradients();
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_NEAR(a[i], exact[i], 1e-5);
    EXPECT_NEAR(b[i], exact[i], 1e-5);
  }
  trial<reference<double>> probabilities(net, {.batch = 5, .training = false}, 1, wanted.store);
  for (int count : {5, 2, 1}) {
    inferred.run->forward(inferred.batch.input_views[0].rows(0, count));
    probabilities.run->forward(probabilities.batch.input_views[0].rows(0, count));
    auto const got = inferred.output();
    auto const right = probabilities.output();
    ASSERT_EQ(got.size(), right.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], right[i], 1e-6);
  }
}

TEST(onednn, keeps_every_output_until_the_end) {
  graph const net = graph::build([](builder& b) {
    tensor x = b.input({2, 6, 6});
    for (int i = 0; i < 5; ++i) x | conv2d{.filters = 3 + i, .kernel = 3};
  });
  trial<onednn> t(net, {.batch = 2, .training = false});
  trial<reference<double>> wanted(net, {.batch = 2, .training = false});
  t.run->forward(t.batch.input_views, {});
  wanted.run->forward(wanted.batch.input_views, {});
  for (int o = 0; o < 5; ++o) {
    auto const got = t.output(o);
    auto const right = wanted.output(o);
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], right[i], 1e-5) << o;
  }
}

TEST(onednn, gives_probabilities_to_threads_that_share_a_plan) {
  graph const net = lenet();
  int const former = onednn::threads(1);
  trial<onednn> t(net, {.batch = 4, .training = false});
  t.run->forward(t.batch.input_views, {});
  auto const wanted = t.output();
  std::vector<std::vector<float>> got(3);
  std::vector<std::thread> team;
  for (auto& one : got)
    team.emplace_back([&] {
      onednn::threads(1);
      auto const run = t.plan->make_context();
      run->forward(t.batch.input_views[0]);
      auto const values = run->output().as<float>();
      one.assign(values.begin(), values.end());
    });
  for (std::thread& one : team) one.join();
  for (auto const& one : got) EXPECT_EQ(one, wanted);
  onednn::threads(former);
}

}  // namespace
