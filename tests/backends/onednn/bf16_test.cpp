// SPDX-License-Identifier: Apache-2.0
// suites: onednn_bf16
// label: slow
#include <gtest/gtest.h>
#include <cohort/onednn.hpp>

#include <cmath>
#include <cohort/backend/priority.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/strategy/threshold_sharing.hpp>
#include <cohort/training/checkpoints.hpp>
#include <cohort/training/trainer.hpp>
#include <limits>
#include <string>

#include "../../backend/ladder.hpp"
#include "../../checkpoint/scratch_folder.hpp"
#include "../../training/bright_thirds.hpp"
#include "../../training/parameters_of.hpp"

namespace bf16_test {

using namespace cohort;
using namespace cohort_test;

/// Each rounding has a relative error of up to 2⁻⁸, and an output has several in sequence. Backward has twice
/// as many. If a rectifier or a pool decides differently, a whole summand moves from one element of a
/// gradient to another.
constexpr ladder::tolerance in_bf16{.output = {0.1, 0.05}, .gradient = {0.8, 0.6}};

bool const usable = onednn_bf16::probe().usable;
bool const registered = !usable || ladder::register_ladder<onednn_bf16>("onednn_bf16", in_bf16);

class bf16_backend : public testing::Test {
 protected:
  void SetUp() override {
    if (!usable) GTEST_SKIP() << onednn_bf16::probe().reason;
  }
};

constexpr auto normed = network<[](builder& net) {
  return net.input({3, 12, 12}) | conv2d{.filters = 32, .kernel = 3, .bias = false} | batch_norm{} | relu{}
         | conv2d{.filters = 32, .kernel = 3} | leaky_relu{} | max_pool{.window = 2} | dense{.units = 24}
         | relu{} | dense{.units = 5} | softmax_cross_entropy{};
}>();

TEST_F(bf16_backend, keeps_activations_in_bf16_and_parameters_in_f32) {
  trial<onednn_bf16> narrow(normed, {.batch = 8});
  int checked = 0;
  for (plan_row const& row : narrow.plan->rows()) {
    bool const of_loss = row.step.starts_with("softmax") || row.implementation == "host:running_statistics";
    if (row.implementation == "reorder" || of_loss) continue;
    EXPECT_NE(row.layout.find("bf16"), std::string::npos) << row.step << ' ' << row.layout;
    ++checked;
  }
  EXPECT_GT(checked, 10);
  EXPECT_EQ(narrow.store->type(), element_type::f32);
  EXPECT_GT(narrow.store->copy_bytes(), 0U);
}

TEST_F(bf16_backend, runs_no_reference_implementation) {
  operations::each_row([](operations::row const& r) {
    for (plan_row const& row :
         trial<onednn_bf16>(operations::network_of(r, 1, true), {.batch = 8}).plan->rows())
      EXPECT_FALSE(row.implementation.starts_with("ref")) << r.name << ": " << row.step;
  });
}

/// A NaN in the lower half of a pair would be invisible to code that reads f32.
TEST_F(bf16_backend, reports_the_first_layer_with_a_non_finite_output) {
  for (int const filter : {0, 1, 7}) {
    trial<onednn_bf16> t(normed, {.batch = 3});
    int p = 0;
    while (t.parameter(p).name != "conv2d_2.weights") ++p;
    auto values = t.dense(p, t.store->master());
    values[static_cast<std::size_t>(filter) * values.size() / 32] = std::numeric_limits<float>::infinity();
    t.store->write(p, reinterpret_cast<std::byte const*>(values.data()), t.store->master());
    t.store->mark_changed();
    t.store->refresh_stale();
    t.forward();
    EXPECT_TRUE(t.run->first_non_finite().starts_with("conv2d_2")) << t.run->first_non_finite();
  }
}

/// Steps that would be rounded away in bf16 parameters accumulate in f32 parameters.
TEST_F(bf16_backend, accumulates_updates_below_bf16_precision) {
  bright_thirds const examples(64);
  training made = trainer<onednn_bf16>(small, {.optimizer = {sgd{.learning_rate = 1e-5}}, .workers = 2});
  auto const before = parameters_of<float>(made);
  made.fit(examples.data(), {.batch = 16, .epochs = 10});
  auto const after = parameters_of<float>(made);
  std::size_t moved = 0, by_little = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    double const step = std::abs(double{after[i]} - double{before[i]});
    moved += step > 0;
    by_little += step > 0 && step < 0x1p-9 * std::abs(double{before[i]});
  }
  EXPECT_GT(moved, before.size() / 2);
  EXPECT_GT(by_little, before.size() / 4);
}

/// Channels that do not fill blocks, for which oneDNN requires dense layouts in some layers.
constexpr auto odd_joins = network<[](builder& net) {
  tensor const x = net.input({3, 8, 8}) | conv2d{.filters = 19, .kernel = 3} | sigmoid{};
  tensor const y = x | conv2d{.filters = 19, .kernel = 3, .padding = padding::same} | batch_norm{};
  return concat(x + y, y) | dense{.units = 3} | softmax_cross_entropy{};
}>();

TEST_F(bf16_backend, stays_in_bf16_if_channels_do_not_fill_blocks) {
  int narrow = 0;
  for (plan_row const& row : trial<onednn_bf16>(odd_joins, {.batch = 8}).plan->rows()) {
    if (!row.step.starts_with("add") && !row.step.starts_with("concat") && !row.step.starts_with("sigmoid"))
      continue;
    EXPECT_NE(row.layout.find("bf16"), std::string::npos)
        << row.step << ' ' << row.implementation << ' ' << row.layout;
    ++narrow;
  }
  EXPECT_GE(narrow, 5);
}

/// Both backends have the same parameters: a checkpoint of f32 continues in bf16, and vice versa; a resumed
/// run equals an uninterrupted one.
TEST_F(bf16_backend, resumes_bf16_checkpoints_bitwise_and_continues_f32_checkpoints) {
  bright_thirds const examples(96);
  training_settings const settings{.optimizer = {adam{.learning_rate = 5e-3}}, .seed = 7, .workers = 2};
  scratch_folder const half, wide;
  training uninterrupted = trainer<onednn_bf16>(small, settings);
  uninterrupted.fit(examples.data(), {.batch = 16, .epochs = 1});
  save_checkpoint(uninterrupted, half.path());
  uninterrupted.fit(examples.data(), {.batch = 16, .epochs = 2});
  training resumed = trainer<onednn_bf16>(small, settings);
  ASSERT_TRUE(resume(resumed, half.path()).has_value());
  resumed.fit(examples.data(), {.batch = 16, .epochs = 2});
  EXPECT_EQ(resumed.checksum(), uninterrupted.checksum());

  training other = trainer<onednn>(small, settings);
  ASSERT_TRUE(resume(other, half.path()).has_value());
  other.fit(examples.data(), {.batch = 16, .epochs = 2});
  save_checkpoint(other, wide.path());
  training back = trainer<onednn_bf16>(small, settings);
  ASSERT_TRUE(resume(back, wide.path()).has_value());
  EXPECT_EQ(back.checksum(), other.checksum());
}

TEST_F(bf16_backend, learns_over_ranks_with_gradient_accumulation) {
  bright_thirds const examples(240), held(200, 2);
  launch<threads>(2, [&](communicator& world) {
    auto const trained_by = [&](auto how) {
      training made = trainer<priority<onednn_bf16, onednn>>(
          small, world, how, {.optimizer = {adam{.learning_rate = 5e-3}}, .seed = 7});
      made.fit(examples.data(), {.batch = 10, .epochs = 20, .accumulate = 2});
      EXPECT_GT(made.evaluate(held.data()).accuracy().value(), 0.85);
      return made.checksum();
    };
    for (std::string const& own : {trained_by(allreduce{}), trained_by(threshold_sharing{})}) {
      gathered const all = world.allgatherv(std::as_bytes(std::span(own)));
      EXPECT_TRUE(std::ranges::equal(all.of(0), all.of(1)));
    }
  });
}

TEST_F(bf16_backend, learns_like_f32) {
  bright_thirds const examples(600), held(200, 2);
  auto const accuracy = [&]<class B>(B) {
    training made = trainer<B>(small, {.optimizer = {adam{.learning_rate = 5e-3}}, .seed = 7, .workers = 2});
    made.fit(examples.data(), {.batch = 20, .epochs = 4});
    return made.evaluate(held.data()).accuracy().value();
  };
  double const wide = accuracy(onednn()), narrow = accuracy(onednn_bf16());
  EXPECT_GT(wide, 0.9);
  EXPECT_NEAR(narrow, wide, 0.03);
}

TEST(bf16, probe_returns_a_reason_only_if_the_backend_is_not_usable) {
  availability const found = onednn_bf16::probe();
  EXPECT_EQ(found.usable, found.reason.empty());
  EXPECT_TRUE(registered);
}

}  // namespace bf16_test
