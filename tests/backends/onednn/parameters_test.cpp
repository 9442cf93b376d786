// SPDX-License-Identifier: Apache-2.0
// Requirements on both oneDNN backends for parameters, their gradients and working copies.
#include <gtest/gtest.h>
#include <cohort/onednn.hpp>

#include <cohort/backend/reference.hpp>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <vector>

#include "../../plan/trial.hpp"
#include "networks.hpp"

namespace onednn_parameters_test {

using namespace cohort;
using namespace onednn_test;

template <class B>
class every_onednn_backend : public testing::Test {
 protected:
  void SetUp() override {
    if (!B::probe().usable) GTEST_SKIP() << B::probe().reason;
  }
  /// Allowed distance from the oracle, for values below 1.
  double const off = std::is_same_v<B, onednn> ? 1e-5 : 0.05;
};
using both = testing::Types<onednn, onednn_bf16>;
TYPED_TEST_SUITE(every_onednn_backend, both);

TYPED_TEST(every_onednn_backend, is_deterministic) {
  auto const run = [](graph const& net, int threads) {
    int const former = TypeParam::threads(threads);
    trial<TypeParam> t(net, {.batch = 16});
    std::vector<float> gradients;
    for (int step = 0; step < 3; ++step) {
      gradients.push_back(static_cast<float>(t.step()));
      auto const all = t.all_gradients();
      gradients.insert(gradients.end(), all.begin(), all.end());
    }
    TypeParam::threads(former);
    return gradients;
  };
  for (int threads : {1, 2}) {
    for (graph const& net : {lenet(), odd()}) {
      auto const once = run(net, threads), twice = run(net, threads);
      EXPECT_EQ(std::memcmp(once.data(), twice.data(), once.size() * sizeof(float)), 0);
    }
  }
}

TYPED_TEST(every_onednn_backend, round_trips_parameters_bitwise) {
  for (graph const& net : {lenet(), odd()}) {
    trial<TypeParam> t(net, {.batch = 8});
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

TYPED_TEST(every_onednn_backend, keeps_zeros_in_the_padding) {
  trial<TypeParam> t(odd(), {.batch = 8});
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

TYPED_TEST(every_onednn_backend, refreshes_working_copies_in_parts_after_an_update) {
  trial<TypeParam> t(lenet(), {.batch = 8});
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
  t.store->mark_changed();
  for (int worker = 0; worker < 3; ++worker) t.store->refresh(worker, 3);
  t.step();
  auto const parts = t.all_gradients();
  t.store->refresh_stale();
  t.step();
  EXPECT_EQ(t.all_gradients(), parts) << "nothing was left stale";
  t.store->write_all(reinterpret_cast<std::byte const*>(start.data()), t.store->master());
  t.store->mark_changed();
  t.store->refresh_stale();
  t.step();
  EXPECT_EQ(t.all_gradients(), before);
}

TYPED_TEST(every_onednn_backend, agrees_with_the_reference_for_several_plans_on_a_shared_store) {
  graph const net = odd();
  trial<TypeParam> whole(net, {.batch = 6});
  trial<TypeParam> part(net, {.batch = 2}, 1, whole.store);
  trial<TypeParam> inferred(net, {.batch = 5, .training = false}, 1, whole.store);
  trial<reference<double>> wanted(net, {.batch = 6});
  whole.store->refresh_stale();
  double const loss = wanted.step();
  EXPECT_NEAR(whole.step(), loss, this->off);
  for (int first = 0; first < 6; first += 2) {
    part.run->forward(whole.batch.input_views[0].rows(first, 2), whole.batch.target_views[0].rows(first, 2));
    part.run->backward({.gradient_scale = 1.0 / 6, .accumulate = first > 0});
  }
  auto const a = whole.all_gradients(), b = part.all_gradients();
  auto const exact = wanted.all_gradients();
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_NEAR(a[i], exact[i], this->off);
    EXPECT_NEAR(b[i], exact[i], this->off);
  }
  trial<reference<double>> probabilities(net, {.batch = 5, .training = false}, 1, wanted.store);
  for (int count : {5, 2, 1}) {
    inferred.run->forward(inferred.batch.input_views[0].rows(0, count));
    probabilities.run->forward(probabilities.batch.input_views[0].rows(0, count));
    auto const got = inferred.output();
    auto const right = probabilities.output();
    ASSERT_EQ(got.size(), right.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], right[i], this->off);
  }
}

TYPED_TEST(every_onednn_backend, trains_in_the_layouts_of_an_inference_plan) {
  trial<TypeParam> settling(odd(), {.batch = 6, .training = false});
  trial<TypeParam> trained(odd(), {.batch = 6}, 1, settling.store);
  trial<reference<double>> wanted(odd(), {.batch = 6});
  settling.store->refresh_stale();
  EXPECT_NEAR(trained.step(), wanted.step(), this->off);
  auto const got = trained.all_gradients();
  auto const exact = wanted.all_gradients();
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], exact[i], this->off);
}

}  // namespace onednn_parameters_test
