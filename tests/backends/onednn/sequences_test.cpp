// SPDX-License-Identifier: Apache-2.0
// Plans of transformers: memory of attention, gradients of sums without copies, threads of an update.
#include <gtest/gtest.h>
#include <omp.h>
#include <cmath>
#include <cohort/layer/attention.hpp>
#include <cohort/onednn.hpp>
#include <cohort/plan/make_plan.hpp>
#include <cohort/plan/parameter_store.hpp>
#include <cohort/training/trainer.hpp>
#include <limits>
#include <string>
#include <vector>

namespace sequences_test {

using namespace cohort;

std::shared_ptr<plan const> planned(graph const& net, int batch = 1) {
  return make_plan(std::make_shared<parameter_store<onednn>>(onednn{}, net), net, {.batch = batch});
}

graph attending(int steps, bool causal) {
  return graph::build([=](builder& net) {
    return net.input({steps, 8}) | dense{.units = 24} | attention{.heads = 2, .causal = causal}
           | dense{.units = 2} | softmax_cross_entropy{};
  });
}

TEST(attention, needs_memory_that_is_linear_in_the_steps) {
  for (bool const causal : {false, true}) {
    std::vector<double> bytes;
    for (int const steps : {1024, 2048, 4096})
      bytes.push_back(static_cast<double>(planned(attending(steps, causal))->memory().activations));
    double const first = bytes[1] - bytes[0], second = bytes[2] - bytes[1];
    EXPECT_NEAR(second / first, 2, 0.01);
    EXPECT_LT(bytes[2], 4096.0 * 4096.0);  // a quarter of one matrix of scores in f32
  }
}

TEST(attention, over_4096_steps_trains) {
  constexpr int steps = 4096;
  training net = trainer<onednn>(attending(steps, true), {.optimizer = {sgd{.learning_rate = 0.1}}});
  std::vector<float> x(std::size_t{steps} * 8);
  std::vector<std::int32_t> labels(steps);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(0.7F * static_cast<float>(i));
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = x[8 * i] > 0 ? 1 : 0;
  batch_view const data{tensor_view{x.data(), shape(1, steps, 8)},
                        tensor_view{labels.data(), shape(1, steps)}};
  double const before = net.train_on(data).loss;
  for (int k = 0; k < 5; ++k) net.train_on(data);
  EXPECT_LT(net.train_on(data).loss, before);
}

TEST(gradients_of_a_sum, are_forwarded_without_a_copy) {
  graph const net = graph::build([](builder& b) {
    tensor x = b.input({4, 8}) | dense{.units = 8};
    for (int block = 0; block < 3; ++block) x = x + (x | layer_norm{} | dense{.units = 8});
    return x | dense{.units = 2} | softmax_cross_entropy{};
  });
  int sums = 0;
  for (plan_row const& row : planned(net, 2)->rows()) {
    if (row.direction != plan_pass::backward) continue;
    EXPECT_EQ(row.step.find("add"), std::string::npos) << row.step << ' ' << row.implementation;
    sums += row.implementation == "accumulate" ? 1 : 0;
  }
  EXPECT_EQ(sums, 3);  // of both paths of each block
}

TEST(update, has_the_same_bits_with_any_number_of_threads) {
  constexpr std::size_t n = 400'000;  // several parts; the last chunk is shorter
  int const former = omp_get_max_threads();
  std::vector<std::vector<double>> sums;
  for (int const threads : {1, 2, 3}) {
    omp_set_num_threads(threads);
    auto const passes = onednn::passes();
    std::vector<float> gradient(n);
    for (std::size_t i = 0; i < n; ++i) gradient[i] = std::sin(0.1F * static_cast<float>(i));
    auto* const part = reinterpret_cast<std::byte*>(gradient.data());
    sums.emplace_back((n + arena_passes::chunk - 1) / arena_passes::chunk);
    passes->square_sums({&part, 1}, 0, n, sums.back().data());
    EXPECT_TRUE(passes->finite(element_type::f32, part, n));
    gradient[n - 1] = std::numeric_limits<float>::infinity();
    EXPECT_FALSE(passes->finite(element_type::f32, part, n));
    std::vector<int> visits(8);
    passes->in_parallel([&](int which, int parts) {
      EXPECT_LE(parts, threads);
      ++visits[static_cast<std::size_t>(which)];
    });
    EXPECT_EQ(visits[0], 1);
  }
  omp_set_num_threads(former);
  for (auto const& one : sums) EXPECT_EQ(one, sums[0]);
  double all = 0;
  for (double const one : sums[0]) all += one;
  EXPECT_NEAR(all, n / 2.0, 2);
}

TEST(transformer_training, is_bitwise_reproducible_on_two_threads) {
  auto const trained = [](int threads) {
    training net = trainer<onednn>(attending(32, true),
                                   {.optimizer = {adam{.learning_rate = 0.01}}, .threads = threads});
    std::vector<float> x(2 * 32 * 8, 0.5F);
    std::vector<std::int32_t> labels(64, 1);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(0.3F * static_cast<float>(i));
    for (int k = 0; k < 3; ++k)
      net.train_on({tensor_view{x.data(), shape(2, 32, 8)}, tensor_view{labels.data(), shape(2, 32)}});
    return net.checksum();
  };
  EXPECT_EQ(trained(1), trained(1));
  EXPECT_EQ(trained(2), trained(2));
}

}  // namespace sequences_test
