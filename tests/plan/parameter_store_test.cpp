// SPDX-License-Identifier: Apache-2.0
// covers: plan/arena_passes
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/graph/network.hpp>

#include <numeric>
#include <string>
#include <vector>

#include "../backend/device_passes.hpp"
#include "trial.hpp"

namespace parameter_store_test {

using namespace cohort;

graph small() {
  return graph::build([](builder& net) {
    return net.input({1, 8, 8}) | conv2d{.filters = 3, .kernel = 3, .name = "eye"} | relu{}
           | dense{.units = 4, .bias = false}
           | dense{.units = 2, .settings = {.bias = init::constant{.value = 0.5}}} | softmax_cross_entropy{};
  });
}

TEST(parameter_store, lists_parameters_in_the_order_of_layers) {
  trial<reference<float>> const t(small(), {.batch = 1});
  std::vector<std::string> names;
  std::int64_t end = 0;
  std::size_t arena_end = 0;
  for (parameter const& p : t.store->table()) {
    names.push_back(p.name);
    EXPECT_EQ(p.first, end);
    end += p.spec.dims.elements();
    EXPECT_GE(p.offset, arena_end) << "no two share memory";
    EXPECT_EQ(p.offset % 16, 0U);
    arena_end = p.offset + p.room;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"eye.weights", "eye.bias", "dense_1.weights", "dense_2.weights",
                                             "dense_2.bias"}));
  EXPECT_EQ(t.store->elements(), end);
  EXPECT_EQ(t.store->arena_elements(), arena_end);
  EXPECT_EQ(t.store->copy_bytes(), 0U);
}

TEST(parameter_store, initialises_each_parameter_from_the_seed_and_the_layer_settings) {
  trial<reference<double>> const t(small(), {.batch = 1}, 5);
  std::vector<double> expected(27);
  t.store->initialise(5);
  fill<double>(init::xavier{}, expected, 9, 27, {3, 1, 3, 3},
               random_stream(5, detail::purpose_of("parameters", "eye", "weights")));
  EXPECT_EQ(t.dense(0, t.store->master()), expected);
  EXPECT_EQ(t.dense(1, t.store->master()), std::vector<double>(3, 0.0));
  EXPECT_EQ(t.dense(4, t.store->master()), std::vector<double>(2, 0.5))
      << "the layer's own setting goes first";
  t.store->initialise(5, {.weights = init::ones{}, .bias = init::constant{.value = 2}});
  EXPECT_EQ(t.dense(0, t.store->master()), std::vector<double>(27, 1.0));
  EXPECT_EQ(t.dense(1, t.store->master()), std::vector<double>(3, 2.0));
  EXPECT_EQ(t.dense(4, t.store->master()), std::vector<double>(2, 0.5));
}

TEST(parameter_store, refreshes_working_copies_of_frozen_layers_only_when_parameters_are_written) {
  trial<reference<float>> const t(small(), {.batch = 1}, 1, {}, {"eye"});
  auto& store = *t.store;
  int const frozen = store.copy(0, *store.fixed_layout(0), true),
            trained = store.copy(2, *store.fixed_layout(2), true);
  auto const first = [&](int copy) { return *reinterpret_cast<float const*>(store.copy_data(copy)); };
  auto const refresh_by_three = [&] {
    for (int worker : {2, 0, 1}) store.refresh(worker, 3);
  };
  auto const write = [&](float value) {
    for (int p : {0, 2}) *reinterpret_cast<float*>(store.parameter_data(p, store.master())) = value;
  };
  write(1);
  refresh_by_three();
  EXPECT_EQ(first(frozen), 1) << "made for the first time";
  EXPECT_EQ(first(trained), 1);
  write(2);
  store.mark_updated();
  refresh_by_three();
  EXPECT_EQ(first(frozen), 1) << "an update leaves it alone";
  EXPECT_EQ(first(trained), 2);
  store.refresh_stale();
  EXPECT_EQ(first(frozen), 1);
  store.mark_changed();
  refresh_by_three();
  EXPECT_EQ(first(frozen), 2);
  write(3);
  store.mark_changed();
  store.refresh_stale();
  EXPECT_EQ(first(frozen), 3);
  EXPECT_EQ(first(trained), 3);
}

TEST(parameter_store, refreshes_working_copies_of_a_range_of_parameters) {
  trial<reference<float>> const t(small(), {.batch = 1});
  auto& store = *t.store;
  int const low = store.copy(0, *store.fixed_layout(0), true),
            high = store.copy(2, *store.fixed_layout(2), true);
  EXPECT_EQ(store.parameter_of_copy(low), 0);
  EXPECT_EQ(store.parameter_of_copy(high), 2);
  auto const first = [&](int copy) { return *reinterpret_cast<float const*>(store.copy_data(copy)); };
  auto const write = [&](float value) {
    for (int p : {0, 2}) *reinterpret_cast<float*>(store.parameter_data(p, store.master())) = value;
    store.mark_updated();
  };
  write(1);
  store.refresh(0, 1);
  write(2);
  for (int worker : {1, 0}) store.refresh(worker, 2, {.last = 2});
  EXPECT_EQ(first(low), 2);
  EXPECT_EQ(first(high), 1);
  for (int worker : {1, 0}) store.refresh(worker, 2, {.first = 2});
  EXPECT_EQ(first(high), 2);
}

TEST(parameter_store, reads_and_writes_the_flat_view) {
  trial<reference<float>> const t(small(), {.batch = 1});
  std::vector<float> numbers(static_cast<std::size_t>(t.store->elements())), back(numbers.size());
  std::iota(numbers.begin(), numbers.end(), 1.0F);
  t.store->write_all(reinterpret_cast<std::byte const*>(numbers.data()), t.store->master());
  t.store->read_all(t.store->master(), reinterpret_cast<std::byte*>(back.data()));
  EXPECT_EQ(back, numbers);
  float const* const arena = reinterpret_cast<float const*>(t.store->master());
  for (parameter const& p : t.store->table())
    for (std::size_t i = static_cast<std::size_t>(p.spec.dims.elements()); i < p.room; ++i)
      EXPECT_EQ(arena[p.offset + i], 0);
}

/// A tensor in the arenas' device memory is not copied through the processor: only kernels and copies unlock
/// the memory.
TEST(parameter_store, reads_and_writes_dense_tensors_on_the_device) {
  trial<device_passes<float>> const t(small(), {.batch = 1});
  arena_passes& passes = t.store->passes();
  for (int p = 0; p < t.parameters(); ++p) {
    auto const n = static_cast<std::size_t>(t.parameter(p).spec.dims.elements());
    std::vector<float> numbers(n), back(n);
    std::iota(numbers.begin(), numbers.end(), 1.0F);
    std::size_t const bytes = n * sizeof(float);
    buffer const beside(bytes, passes.space());
    passes.upload(reinterpret_cast<std::byte const*>(numbers.data()), beside.data(), bytes);
    t.store->write_on_device(p, beside.data(), t.store->master());
    t.store->read(p, t.store->master(), reinterpret_cast<std::byte*>(back.data()));
    EXPECT_EQ(back, numbers);
    buffer const again(bytes, passes.space());
    t.store->read_on_device(p, t.store->master(), again.data());
    passes.download(again.data(), reinterpret_cast<std::byte*>(back.data()), bytes);
    EXPECT_EQ(back, numbers);
  }
}

TEST(parameter_store, reads_gradients_of_unreached_parameters_as_zero) {
  graph const net = graph::build([](builder& b) {
    tensor const x = b.input({5}) | dense{.units = 4};
    x | dense{.units = 3, .name = "unused"};
    x | softmax_cross_entropy{};
  });
  trial<reference<double>> t(net, {.batch = 2});
  t.step();
  t.step();
  EXPECT_EQ(t.gradient(2), std::vector<double>(12, 0.0));
  EXPECT_NE(t.gradient(0), std::vector<double>(20, 0.0));
}

}  // namespace parameter_store_test
