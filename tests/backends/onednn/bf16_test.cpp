// SPDX-License-Identifier: Apache-2.0
// label: slow
#include <gtest/gtest.h>
#include <cohort/onednn.hpp>

#include <cohort/trainer/trainer.hpp>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "../../backend/ladder.hpp"
#include "../../trainer/bright_thirds.hpp"

namespace bf16_test {

using namespace cohort;
using namespace cohort_test;

/// Each rounding is off by up to 2⁻⁹ of a number; a row has some of them in turn, and a gate or a pool that decides otherwise moves a
/// whole summand from one element to another.
constexpr ladder::tolerance in_bf16{0.5, 0.4};

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

TEST_F(bf16_backend, keeps_activations_and_working_copies_narrow_and_what_is_learned_wide) {
  trial<onednn_bf16> narrow(normed, {.batch = 8});
  trial<onednn> wide(normed, {.batch = 8});
  int checked = 0;
  for (plan_row const& row : narrow.plan->rows()) {
    bool const of_loss = row.step.starts_with("softmax") || row.implementation == "host:running_statistics";
    if (row.implementation == "reorder" || of_loss) continue;
    EXPECT_NE(row.layout.find("bf16"), std::string::npos) << row.step << ' ' << row.layout;
    ++checked;
  }
  EXPECT_GT(checked, 10);
  EXPECT_LT(narrow.plan->memory().activations, 0.7 * static_cast<double>(wide.plan->memory().activations));
  EXPECT_EQ(narrow.store->type(), element_type::f32);
  EXPECT_GT(narrow.store->copy_bytes(), 0U);
}

TEST_F(bf16_backend, gives_the_same_bits_each_time) {
  auto const run = [] {
    trial<onednn_bf16> t(normed, {.batch = 16});
    std::vector<float> gradients;
    for (int step = 0; step < 3; ++step) {
      gradients.push_back(static_cast<float>(t.step()));
      auto const all = t.all_gradients();
      gradients.insert(gradients.end(), all.begin(), all.end());
    }
    return gradients;
  };
  auto const once = run(), twice = run();
  EXPECT_EQ(std::memcmp(once.data(), twice.data(), once.size() * sizeof(float)), 0);
}

TEST_F(bf16_backend, runs_no_reference_implementation) {
  operations::each_row([](operations::row const& r) {
    for (plan_row const& row :
         trial<onednn_bf16>(operations::network_of(r, 1, true), {.batch = 8}).plan->rows())
      EXPECT_FALSE(row.implementation.starts_with("ref")) << r.name << ": " << row.step;
  });
}

/// A NaN in the lower half of a pair would be lost to who reads f32.
TEST_F(bf16_backend, names_the_first_step_that_is_not_finite) {
  for (int const filter : {0, 1, 7}) {
    trial<onednn_bf16> t(normed, {.batch = 3});
    int p = 0;
    while (t.parameter(p).name != "conv2d_2.weights") ++p;
    auto values = t.dense(p, t.store->master());
    values[static_cast<std::size_t>(filter) * values.size() / 32] = std::numeric_limits<float>::infinity();
    t.store->write(p, reinterpret_cast<std::byte const*>(values.data()), t.store->master());
    t.store->changed();
    t.store->refresh_stale();
    t.forward();
    EXPECT_TRUE(t.run->first_non_finite().starts_with("conv2d_2")) << t.run->first_non_finite();
  }
}

/// Steps that bf16 parameters would round away add up in those of f32.
TEST_F(bf16_backend, loses_no_small_step) {
  bright_thirds const examples(64);
  training made = trainer<onednn_bf16>(small, {.updater = sgd{.rate = 1e-5}, .workers = 2});
  auto const parameters = [&] {
    std::vector<float> values(static_cast<std::size_t>(made.parameters().elements()));
    made.parameters().read_all(made.parameters().master(), reinterpret_cast<std::byte*>(values.data()));
    return values;
  };
  auto const before = parameters();
  made.fit(examples.data(), {.batch = 16, .epochs = 10});
  auto const after = parameters();
  std::size_t moved = 0, by_little = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    double const step = std::abs(double{after[i]} - double{before[i]});
    moved += step > 0;
    by_little += step > 0 && step < 0x1p-9 * std::abs(double{before[i]});
  }
  EXPECT_GT(moved, before.size() / 2);
  EXPECT_GT(by_little, before.size() / 4);
}

TEST_F(bf16_backend, learns_what_f32_learns) {
  bright_thirds const examples(600), held(200, 2);
  auto const accuracy = [&]<class B>(B) {
    training made = trainer<B>(small, {.updater = adam{.rate = 5e-3}, .seed = 7, .workers = 2});
    made.fit(examples.data(), {.batch = 20, .epochs = 4});
    return made.evaluate(held.data()).accuracy().value();
  };
  double const wide = accuracy(onednn()), narrow = accuracy(onednn_bf16());
  EXPECT_GT(wide, 0.9);
  EXPECT_NEAR(narrow, wide, 0.03);
}

TEST(bf16, says_where_the_processor_cannot) {
  availability const found = onednn_bf16::probe();
  EXPECT_EQ(found.usable, found.reason.empty());
  EXPECT_TRUE(registered);
}

}  // namespace bf16_test
