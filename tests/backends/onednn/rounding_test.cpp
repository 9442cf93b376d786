// SPDX-License-Identifier: Apache-2.0
// label: slow
#include <gtest/gtest.h>
#include <cohort/onednn.hpp>
#include <cohort/onednn/detail/rounding.hpp>

#include <bit>
#include <cohort/plan/parameter_update.hpp>
#include <cohort/random/stream.hpp>
#include <cohort/training/trainer.hpp>
#include <cstdint>
#include <vector>

#include "../../plan/trial.hpp"
#include "../../training/bright_thirds.hpp"

namespace rounding_test {

using namespace cohort;

class rounding : public testing::Test {
 protected:
  void SetUp() override {
    if (!onednn_bf16::probe().usable) GTEST_SKIP() << onednn_bf16::probe().reason;
  }
};

TEST_F(rounding, is_bitwise_equal_to_a_reorder) {
  constexpr std::uint32_t exponent = 0x7f800000, sign = 0x80000000, half = 0x8000;
  std::vector<std::uint32_t> patterns{
      0,   sign,       1,          sign + 1,   exponent, exponent + sign, exponent + 1,
      ~0U, 0x007fffff, 0x00800000, 0x7f7fffff, half,     3 * half,        half + 1};
  random_stream const chance(1, "patterns");
  constexpr std::uint64_t drawn = 100'003;  // not a multiple of a vector
  for (std::uint64_t i = 0; i < drawn; ++i) {
    auto const any = static_cast<std::uint32_t>(chance.bits(i));
    patterns.push_back(i % 5 == 0   ? any & ~exponent
                       : i % 7 == 0 ? any | exponent
                       : i % 9 == 0 ? (any & ~(2 * half - 1)) | half
                                    : any);
  }
  std::size_t const n = patterns.size();
  std::vector<float> from(n);
  for (std::size_t i = 0; i < n; ++i) from[i] = std::bit_cast<float>(patterns[i]);
  std::vector<std::uint16_t> expected(n), rounded(n);
  auto const count = static_cast<dnnl_dim_t>(n);
  onednn_bf16 const backend;
  void* const addresses[]{from.data(), expected.data()};
  onednn_bf16::bind(backend.reorder(detail::memory_layout::dense({count}),
                                    detail::memory_layout::dense({count}, dnnl_bf16)),
                    addresses)();
  backend.round(from.data(), reinterpret_cast<std::byte*>(rounded.data()), 0, n);
  EXPECT_EQ(rounded, expected);
  for (std::size_t i = 0; i < n; ++i)
    ASSERT_EQ(detail::rounded_by_processor(from[i]), expected[i]) << std::hex << patterns[i];
}

/// The first layer's weights have the same layout in oneDNN's forward and in their gradient, and no input
/// gradient is needed. Therefore the layer has one working copy, which the update writes.
constexpr auto net = network<[](builder& b) {
  return b.input({1, 28, 28}) | dense{.units = 48} | relu{} | dense{.units = 10} | softmax_cross_entropy{};
}>();

TEST_F(rounding, in_the_update_writes_the_bf16_copy_and_other_changes_invalidate_the_copy) {
  trial<onednn_bf16> t(net, {.batch = 16});
  if (!t.store->has_update_copy(0)) GTEST_SKIP() << "this oneDNN reads these weights in another order";
  EXPECT_FALSE(t.store->has_update_copy(1)) << "a bias has no copy";
  parameter_update update(*t.store, {.rule = adam{.learning_rate = 0.01}});
  std::byte* const gradient = t.run->gradients();
  auto const updated = [&] {
    t.step();
    t.store->mark_updated();
    update.run({.parts = {&gradient, 1}}, [] {});
    t.store->refresh(0, 1);
  };
  updated();
  double const along = t.forward();
  std::vector<float> const weights = t.dense(0, t.store->master());
  std::vector<float> const zeros(weights.size());
  auto const put = [&](std::vector<float> const& values) {
    t.store->write(0, reinterpret_cast<std::byte const*>(values.data()), t.store->master());
  };
  put(zeros);  // without a notification
  t.store->refresh(0, 1);
  t.store->refresh_stale();
  EXPECT_EQ(t.forward(), along) << "it was taken for fresh";
  t.store->mark_changed();
  t.store->refresh(0, 1);
  EXPECT_NE(t.forward(), along);
  put(weights);
  t.store->mark_changed();
  t.store->refresh_stale();
  EXPECT_EQ(t.forward(), along) << "a reorder gives the same bits";
  t.step();
  update.run({.parts = {&gradient, 1}, .step = 1}, [] {});
  put(zeros);
  t.store->mark_changed();  // instead of mark_updated, because put() is not an update
  t.store->refresh(0, 1);
  double const of_zeros = t.forward();
  t.store->mark_changed();
  t.store->refresh(0, 1);
  EXPECT_EQ(t.forward(), of_zeros);
}

/// Marks the parameters as changed after each step, so that every copy is refreshed.
struct renewing final : listener {
  void on_step(training& run, step_report const&) override { run.parameters().mark_changed(); }
};

TEST_F(rounding, is_bitwise_neutral_in_training) {
  cohort_test::bright_thirds const examples(96);
  constexpr auto pixels = network<[](builder& b) {
    return b.input({1, 8, 8}) | dense{.units = 70} | relu{} | dense{.units = 3} | softmax_cross_entropy{};
  }>();
  for (int workers : {1, 3})
    for (bool const bound : {false, true}) {
      training_settings settings{.optimizer = {adam{.learning_rate = 0.01}}, .workers = workers};
      if (bound) settings.optimizer.constraint = constraint::max_norm{0.5};
      auto const trained = [&](std::vector<listener*> who) {
        training made = trainer<onednn_bf16>(pixels, settings);
        made.fit(examples.data(), {.batch = 24, .epochs = 2, .listeners = std::move(who)});
        return made.checksum();
      };
      renewing all;
      EXPECT_EQ(trained({}), trained({&all})) << workers << " workers" << (bound ? ", bound" : "");
    }
}

}  // namespace rounding_test
