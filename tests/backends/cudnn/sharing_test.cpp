// SPDX-License-Identifier: Apache-2.0
// label: slow long
#include <gtest/gtest.h>
#include <cohort/codec/threshold_compressor.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/communicator/thread_ranks.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/strategy/sharing_by.hpp>
#include <cohort/strategy/threshold_sharing.hpp>
#include <cohort/training/checkpoint_listener.hpp>
#include <cohort/training/checkpoints.hpp>
#include <cohort/training/load.hpp>
#include <cohort/training/trainer.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../../checkpoint/scratch_folder.hpp"
#include "cudnn_cases.hpp"
#include "pretended_cudnn.hpp"

// Compares threshold sharing in GPU memory with threshold sharing on the same GPU by the processor's codec.
namespace cudnn_sharing_test {

using namespace cohort;
using cohort_test::bright_thirds;

class sharing_on_a_gpu : public testing::Test {
 protected:
  sharing_on_a_gpu() { pretended_cudnn::machine = &machine; }
  ~sharing_on_a_gpu() override { EXPECT_TRUE(machine.memory.empty()) << "memory is left on the GPU"; }
  fake_dnn::settings with;
  fake_machine machine;
};

/// The same strategy with a compressor that does not support devices.
struct on_the_processor {
  threshold_sharing how;
  std::unique_ptr<strategy> on(communicator& world) const {
    threshold_compression const compression{
        .threshold = how.threshold, .residual = how.residual, .per_tensor = how.per_parameter};
    auto const make = [compression](tensor_table table) {
      return threshold_compressor(std::move(table), compression);
    };
    return sharing_by{std::string_view("by the processor"), make, how.settings}.on(world);
  }
};

struct outcome {
  std::vector<float> parameters{};
  std::vector<std::pair<std::string, double>> report{};
};

/// Rank 0's parameters after training. By default, rank 0 uses a GPU and the other ranks use processors.
template <class First = pretended_cudnn, class Strategy>
outcome trained(int ranks, graph const& net, Strategy const& how, int epochs = 2) {
  bright_thirds const examples(61);
  outcome made;
  int const status = launch<threads>(ranks, [&](communicator& world) {
    training_settings const settings{.optimizer = {momentum{.learning_rate = 0.02}}, .seed = 5};
    auto const run = [&](training&& one) {
      one.fit(examples.data(), {.batch = 6, .epochs = epochs});
      if (world.rank() > 0) return;
      made.parameters = cohort_test::parameters_of<float>(one);
      for (measurement const& m : one.exchange_report())
        if (m.name.find("seconds") == m.name.npos && m.name != "hidden")
          made.report.emplace_back(m.name, m.value);
    };
    if (world.rank() == 0)
      run(trainer<First>(net, world, how, settings));
    else
      run(trainer<reference<float>>(net, world, how, settings));
  });
  EXPECT_EQ(status, 0);
  return made;
}

void expect_the_same(int ranks, graph const& net, threshold_sharing const& how) {
  outcome const got = trained(ranks, net, how), wanted = trained(ranks, net, on_the_processor{how});
  EXPECT_TRUE(got.parameters == wanted.parameters);
  EXPECT_FALSE(got.parameters.empty());
  ASSERT_EQ(got.report.size(), wanted.report.size());
  for (std::size_t k = 0; k < got.report.size(); ++k)
    EXPECT_NEAR(got.report[k].second, wanted.report[k].second, 1e-6 * wanted.report[k].second)
        << got.report[k].first;
}

threshold_sharing often() {
  return {.threshold = threshold::quantile{.density = 0.05},
          .settings = {.route = route::to_all, .group = sharing_group::rank}};
}

TEST_F(sharing_on_a_gpu, of_gradients_equals_the_host_codec) {
  threshold_sharing how = often();
  for (int const ranks : {1, 2}) expect_the_same(ranks, graph(cudnn_cases::normed), how);
  how.per_parameter = true;
  how.residual = residual::clip{.at = 2, .every = 3};
  how.settings.warm_up = 2;
  expect_the_same(2, graph(cudnn_cases::mlp), how);
  how.settings.group = sharing_group::process;
  expect_the_same(2, graph(cudnn_cases::mlp), how);
}

/// Norms synchronised over a GPU and processors: all backends order the elements of these sums equally.
TEST_F(sharing_on_a_gpu, synchronises_batch_norms_between_a_gpu_and_cpus) {
  graph const net = graph::build([](builder& b) {
    return b.input({1, 8, 8}) | conv2d{.filters = 4, .kernel = 3} | synchronised_batch_norm{.epsilon = 0.1}
           | relu{} | dense{.units = 6} | synchronised_batch_norm{.epsilon = 0.1} | dense{.units = 3}
           | softmax_cross_entropy{};
  });
  outcome const got = trained(2, net, allreduce{}), wanted = trained<reference<float>>(2, net, allreduce{});
  ASSERT_EQ(got.parameters.size(), wanted.parameters.size());
  ASSERT_FALSE(got.parameters.empty());
  for (std::size_t i = 0; i < got.parameters.size(); ++i)
    EXPECT_NEAR(got.parameters[i], wanted.parameters[i], 1e-4) << i;
}

TEST_F(sharing_on_a_gpu, of_stale_or_merged_gradients_equals_the_host_codec) {
  threshold_sharing how = often();
  how.settings.max_staleness = 2;
  how.settings.slower_if_stale = true;
  expect_the_same(2, graph(cudnn_cases::mlp), how);
  how = often();
  how.settings.route = route::merged;
  expect_the_same(3, graph(cudnn_cases::mlp), how);
}

TEST_F(sharing_on_a_gpu, of_updates_equals_the_host_codec) {
  threshold_sharing how = often();
  how.settings.share = share::update;
  how.settings.mean = true;
  for (int const ranks : {1, 2}) expect_the_same(ranks, graph(cudnn_cases::normed), how);
  how.settings.warm_up = 2;
  expect_the_same(2, graph(cudnn_cases::mlp), how);
  how.settings.warm_up = 0;
  how.settings.max_staleness = 3;
  how.settings.slower_if_stale = true;
  expect_the_same(2, graph(cudnn_cases::mlp), how);
  how.settings.max_staleness = unbounded;
  EXPECT_FALSE(trained(1, graph(cudnn_cases::mlp), how).parameters.empty());
}

/// A run with one more epoch copies fewer bytes than its gradients from and to the GPU.
TEST_F(sharing_on_a_gpu, keeps_gradients_on_the_gpu) {
  threshold_sharing how = often();
  how.threshold = threshold::fixed{1e-2};
  graph const net = graph::build([](builder& made) {
    return made.input({1, 8, 8}) | dense{.units = 400} | relu{} | dense{.units = 3} | softmax_cross_entropy{};
  });
  for (share const what : {share::gradient, share::update}) {
    how.settings.share = what;
    auto const crossed = [&](auto const& strategy) {
      std::size_t of[2];
      for (int const epochs : {1, 2}) {
        machine.crossed = 0;
        trained(1, net, strategy, epochs);
        of[epochs - 1] = machine.crossed;
      }
      return of[1] - of[0];
    };
    std::size_t const steps = 11, dense = 4 * (65 * 400 + 401 * 3);
    EXPECT_LT(crossed(how), steps * dense / 4);
    EXPECT_GT(crossed(on_the_processor{how}), 2 * steps * dense);
  }
}

struct stop_after final : listener {
  int left;
  explicit stop_after(int steps) : left(steps) {}
  void on_step(training& run, step_report const&) override {
    if (--left == 0) run.request({.stop = true});
  }
};

/// Residuals are copied to the processor for checkpoints, and back.
TEST_F(sharing_on_a_gpu, resumes_from_a_checkpoint) {
  bright_thirds const examples(61);
  threshold_sharing late = often();
  late.settings.share = share::update;
  late.settings.max_staleness = 2;
  for (threshold_sharing const& how : {often(), late}) {
    scratch_folder const folder;
    std::string uninterrupted, resumed;
    auto const on_rank_0 = [&](auto body) {
      int const status = launch<threads>(2, [&](communicator& world) {
        training_settings const settings{.optimizer = {momentum{.learning_rate = 0.02}}, .seed = 5};
        graph const net(cudnn_cases::mlp);
        if (world.rank() == 0)
          body(world, trainer<pretended_cudnn>(net, world, how, settings));
        else
          body(world, trainer<reference<float>>(net, world, how, settings));
      });
      EXPECT_EQ(status, 0);
    };
    on_rank_0([&](communicator& world, training&& made) {
      made.fit(examples.data(), {.batch = 6, .epochs = 3});
      if (world.rank() == 0) uninterrupted = made.checksum();
    });
    on_rank_0([&](communicator&, training&& made) {
      stop_after stopping(7);
      checkpoint_listener saving(folder.path(), 1, 2, {});
      made.fit(examples.data(), {.batch = 6, .epochs = 3, .listeners = {&saving, &stopping}});
    });
    on_rank_0([&](communicator& world, training&& made) {
      ASSERT_TRUE(resume(made, folder.path()).has_value());
      made.fit(examples.data(), {.batch = 6, .epochs = 3 - static_cast<int>(made.epoch())});
      if (world.rank() == 0) resumed = made.checksum();
    });
    EXPECT_EQ(resumed, uninterrupted);
    EXPECT_FALSE(resumed.empty());
  }
}

}  // namespace cudnn_sharing_test
