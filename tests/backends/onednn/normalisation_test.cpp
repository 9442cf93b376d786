// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/onednn.hpp>

#include <cohort/backend/reference.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/training/trainer.hpp>
#include <string>
#include <vector>

#include "../../plan/trial.hpp"
#include "../../training/bright_thirds.hpp"

namespace onednn_normalisation_test {

using namespace cohort;
using cohort_test::bright_thirds;

/// Text such as "batch_norm: bnorm_jit:avx512_core" for every kernel of the steps whose names begin with
/// `step`.
template <class Body>
std::vector<std::string> implementations(std::string const& step, Body body, bool training = true) {
  graph const net = graph::build([&](builder& b) {
    tensor const made = body(b);
    if (training) made | dense{.units = 3} | softmax_cross_entropy{};
  });
  std::vector<std::string> found;
  for (plan_row const& row : trial<onednn>(net, {.batch = 8, .training = training}).plan->rows())
    if (row.step.starts_with(step) && row.implementation != "reorder") found.push_back(row.implementation);
  return found;
}

template <class Body>
void expect_native(std::string const& step, std::size_t kernels, Body body) {
  std::vector<std::string> const found = implementations(step, body);
  EXPECT_EQ(found.size(), kernels) << step;
  for (std::string const& one : found) {
    EXPECT_EQ(one.find("ref"), std::string::npos) << step << ": " << one;
    EXPECT_TRUE(!one.starts_with("host:") || one == "host:running_statistics") << step << ": " << one;
  }
}

tensor image(builder& b, int channels) {
  return b.input({3, 8, 8}) | conv2d{.filters = channels, .kernel = 3, .padding = 1};
}

TEST(onednn, has_native_kernels_for_windows_and_norms) {
  for (int channels : {16, 19}) {
    SCOPED_TRACE(channels);
    expect_native("batch_norm", 4, [&](builder& b) { return image(b, channels) | batch_norm{}; });
    expect_native("layer_norm", 2, [&](builder& b) { return image(b, channels) | layer_norm{.axes = 3}; });
    expect_native("avg_pool", 2, [&](builder& b) { return image(b, channels) | avg_pool{.window = 2}; });
    expect_native("global_avg_pool", 2, [&](builder& b) { return image(b, channels) | global_avg_pool{}; });
    expect_native("global_max_pool", 2, [&](builder& b) { return image(b, channels) | global_max_pool{}; });
    expect_native("conv2d_transposed", 3, [&](builder& b) {
      return image(b, channels) | conv2d_transposed{.filters = channels, .kernel = 3, .stride = 2};
    });
    expect_native("conv2d_2", 3, [&](builder& b) {
      return image(b, channels) | conv2d{.filters = channels, .kernel = 3, .groups = channels};
    });
  }
  for (int channels : {16, 19})
    expect_native("batch_norm_1 + relu_1", 4,
                  [&](builder& b) { return image(b, channels) | batch_norm{} | relu{}; });
  using texts = std::vector<std::string>;
  std::string const own = "own:" + std::string(name_of(best_isa()));
  for (int channels : {16, 19}) {
    EXPECT_EQ(implementations("batch_norm_1 + leaky_relu_1",
                              [&](builder& b) { return image(b, channels) | batch_norm{} | leaky_relu{}; }),
              (texts{own, own, "host:running_statistics"}));
    EXPECT_EQ(implementations("batch_norm_1 + add_1 + relu_2",
                              [&](builder& b) {
                                tensor const x = image(b, channels) | relu{};
                                return ((x | conv2d{.filters = channels, .kernel = 1} | batch_norm{}) + x)
                                       | relu{};
                              }),
              (texts{own, own, "host:running_statistics"}))
        << "no kernel of add, and no copy of its gradient";
  }
  if (best_isa() >= isa::avx512) expect_native("lrn", 2, [](builder& b) { return image(b, 16) | lrn{}; });
  expect_native("batch_norm", 4, [](builder& b) { return b.input({8}) | dense{.units = 5} | batch_norm{}; });
  expect_native("conv1d_2 + relu", 4, [](builder& b) {
    return b.input({20, 3}) | conv1d{.filters = 8, .kernel = 3} | conv1d{.filters = 9, .kernel = 5} | relu{};
  });
  auto const steps = [](builder& b) { return b.input({20, 3}) | dense{.units = 8}; };
  expect_native("dense_2 + relu", 4, [&](builder& b) { return steps(b) | dense{.units = 5} | relu{}; });
  expect_native("batch_norm", 4, [&](builder& b) { return steps(b) | batch_norm{}; });
  expect_native("global_avg_pool", 2, [&](builder& b) { return steps(b) | global_avg_pool{}; });
}

TEST(onednn, reports_layers_that_run_in_host_kernels) {
  EXPECT_EQ(implementations("lrn", [](builder& b) { return image(b, 19) | lrn{.n = 9}; }),
            (std::vector<std::string>{"host:lrn", "host:lrn"}));
}

TEST(onednn, updates_running_statistics_like_the_reference) {
  constexpr auto net = network<[](builder& b) {
    return b.input({1, 8, 8}) | batch_norm{} | conv2d{.filters = 5, .kernel = 3, .bias = false} | batch_norm{}
           | relu{} | dense{.units = 6, .bias = false} | relu{} | batch_norm{.epsilon = 0.1}
           | dense{.units = 3} | softmax_cross_entropy{};
  }>();
  bright_thirds const examples(44);
  auto const predicted = [&](auto tag, int workers) {
    training made = trainer<typename decltype(tag)::type>(
        net, {.optimizer = {sgd{.learning_rate = 0.05}}, .seed = 7, .workers = workers});
    made.fit(examples.data(), {.batch = 16, .epochs = 2});
    return made.predict(tensor_view(examples.pixels.data(), shape{44, 1, 8, 8})).values;
  };
  for (int workers : {1, 2}) {
    auto const oracle = predicted(std::type_identity<reference<double>>{}, workers);
    auto const other = predicted(std::type_identity<onednn>{}, workers);
    ASSERT_EQ(oracle.size(), other.size());
    for (std::size_t i = 0; i < oracle.size(); ++i)
      ASSERT_NEAR(oracle[i], other[i], 2e-4) << i << ", " << workers << " workers";  // 6 steps in f32
  }
}

TEST(onednn, frozen_norms_use_running_statistics_like_the_reference) {
  for (bool const rectified : {false, true})
    for (int const channels : {16, 19}) {
      graph const net = graph::build([&](builder& b) {
        tensor const x = image(b, channels) | batch_norm{.name = "norm"};
        (rectified ? x | relu{} : x | sigmoid{}) | conv2d{.filters = 5, .kernel = 3} | dense{.units = 3}
            | softmax_cross_entropy{};
      });
      auto const gradients = [&](auto tag) {
        using backend = typename decltype(tag)::type;
        trial<backend> run(net, {.batch = 4}, 1, {}, {"norm", "conv2d_2"});
        for (int p = 0; p < run.parameters(); ++p) {
          if (is_trained(run.parameter(p).spec.role)) continue;
          auto values = run.dense(p, run.store->master());
          for (std::size_t i = 0; i < values.size(); ++i)
            values[i] =
                run.parameter(p).spec.role == parameter_role::running_mean ? 0.125F * i : 1.5F + 0.25F * i;
          run.store->write(p, reinterpret_cast<std::byte const*>(values.data()), run.store->master());
        }
        run.store->mark_changed();
        run.store->refresh_stale();
        run.step();
        auto const all = run.all_gradients();
        return std::vector<double>(all.begin(), all.end());
      };
      auto const fast = gradients(std::type_identity<onednn>{}),
                 oracle = gradients(std::type_identity<reference<double>>{});
      double largest = 0;
      for (std::size_t i = 0; i < oracle.size(); ++i) {
        ASSERT_NEAR(fast[i], oracle[i], 1e-5) << i;
        largest = std::max(largest, std::abs(oracle[i]));
      }
      EXPECT_GT(largest, 1e-2);
      trial<onednn> const run(net, {.batch = 4}, 1, {}, {"norm", "conv2d_2"});
      for (plan_row const& row : run.plan->rows())
        if (row.step.starts_with("norm")) {
          EXPECT_EQ(row.implementation.find("host"), std::string::npos) << row.implementation;
        }
    }
}

}  // namespace onednn_normalisation_test
