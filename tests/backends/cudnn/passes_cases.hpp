// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>
#include <cmath>
#include <cohort/cudnn/detail/passes_on_gpu.hpp>
#include <cohort/random/stream.hpp>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

// Compares the passes over arenas on a GPU with those on the processor. A source that includes this header
// first defines `machine_under_test`, with `missing`, the reason why there is no GPU ("" if there is one),
// and stream().

namespace {

using namespace cohort;
using numbers = std::vector<float>;

numbers normal_numbers(std::size_t n, std::uint64_t seed) {
  random_stream const from(seed, "numbers");
  numbers made(n);
  for (std::size_t i = 0; i < n; ++i) made[i] = from.normal<float>(i);
  return made;
}

/// Arenas with equal contents on the GPU and on the processor, and the arena_passes of each device.
class passes_on_gpu : public testing::Test {
 protected:
  void SetUp() override {
    if (!machine.missing.empty()) GTEST_SKIP() << machine.missing;
    gpu = std::make_unique<detail::passes_on_gpu>(machine.stream());
  }

  static constexpr std::size_t n = 2 * arena_passes::chunk + 160, begin = 32, room = begin + n + 16;

  /// Adds equal arenas to gpu_arenas and to host_arenas.
  void add_arena(numbers const& values) {
    buffer& on_gpu = memory.emplace_back(room * sizeof(float), gpu->space());
    gpu->upload(reinterpret_cast<std::byte const*>(values.data()), on_gpu.data(), room * sizeof(float));
    gpu_arenas.push_back(on_gpu.data());
    host_values.push_back(std::make_unique<numbers>(values));
    host_arenas.push_back(reinterpret_cast<std::byte*>(host_values.back()->data()));
  }
  void add_arenas(int count, std::uint64_t seed) {
    for (int k = 0; k < count; ++k) add_arena(normal_numbers(room, seed + static_cast<std::uint64_t>(k)));
  }
  void expect_same(std::size_t arena, double allowed, std::string const& what) {
    numbers got(room);
    gpu->download(gpu_arenas[arena], reinterpret_cast<std::byte*>(got.data()), room * sizeof(float));
    numbers const& wanted = *host_values[arena];
    for (std::size_t i = 0; i < room; ++i)
      ASSERT_NEAR(got[i], wanted[i], allowed * (1 + std::abs(wanted[i]))) << what << ", element " << i;
  }
  static std::span<std::byte* const> part(std::vector<std::byte*> const& of, std::size_t first,
                                          std::size_t count) {
    return std::span(of).subspan(first, count);
  }

  machine_under_test machine;
  std::unique_ptr<detail::passes_on_gpu> gpu;
  std::shared_ptr<arena_passes> host = detail::passes_on_processor<float>();
  std::vector<buffer> memory;
  std::vector<std::unique_ptr<numbers>> host_values;
  std::vector<std::byte*> gpu_arenas, host_arenas;
};

TEST_F(passes_on_gpu, scale_arrays_like_the_host) {
  add_arena(normal_numbers(room, 4));
  for (double const factor : {-0.25, 1.0 / 3}) {
    gpu->scale(gpu_arenas[0], n, factor);
    host->scale(host_arenas[0], n, factor);
    expect_same(0, 0, "scaled");
  }
  (*host_values[0])[5] = std::numeric_limits<float>::quiet_NaN();
  add_arena(*host_values[0]);
  gpu->scale(gpu_arenas[1], n, 0);
  host->scale(host_arenas[1], n, 0);
  EXPECT_EQ((*host_values[1])[5], 0);
  expect_same(1, 0, "scaled by 0");
}

TEST_F(passes_on_gpu, apply_the_steps_of_every_optimizer_like_the_host) {
  for (optimizer_rule const& rule : detail::default_rules) {
    memory.clear();
    host_values.clear();
    gpu_arenas.clear();
    host_arenas.clear();
    auto const states = static_cast<std::size_t>(rule.state_arrays());
    add_arenas(3, 1);  // parameters and two parts of the gradient
    for (std::size_t k = 0; k < states; ++k)
      add_arena(numbers(room, static_cast<float>(rule.initial_state(static_cast<int>(k)))));
    for (std::int64_t step = 0; step < 3; ++step) {
      update_scalars const now{.step = step,
                               .l1 = 1e-4,
                               .l2 = 5e-4,
                               .gradient_scale = 0.25,
                               .clip = 0.4,
                               .needed_norm = 1.5,
                               .parameter_norm = 2.5};
      update_range const range{&rule, now, begin, n};
      host->update({&range, 1}, host_arenas[0], part(host_arenas, 1, 2), part(host_arenas, 3, states));
      gpu->update({&range, 1}, gpu_arenas[0], part(gpu_arenas, 1, 2), part(gpu_arenas, 3, states));
    }
    expect_same(0, 1e-6, std::string(rule.name()));
    for (std::size_t k = 0; k < states; ++k)
      expect_same(3 + k, 1e-6,
                  std::string(rule.name()) + "'s " + std::string(rule.state_name(static_cast<int>(k))));
  }
}

TEST_F(passes_on_gpu, apply_steps_of_many_ranges_and_rules_like_the_host) {
  optimizer_rule const rules[]{adam{.learning_rate = 0.1}, sgd{.learning_rate = 0.5},
                               adam{.learning_rate = 0.3}};
  add_arenas(2, 1);  // parameters and a gradient
  for (std::uint64_t seed : {3, 4}) {
    numbers state = normal_numbers(room, seed);
    for (float& one : state) one = std::abs(one);
    add_arena(state);
  }
  std::vector<update_range> ranges;
  for (std::size_t k = 0, at = 0; k < 40; ++k) {
    std::size_t const count = 16 * (k % 5 + 1);
    ranges.push_back({&rules[k % 3], {.step = 1, .l2 = 0.01 * static_cast<double>(k)}, at, count});
    at += count + 16;  // elements in between stay unchanged
  }
  ASSERT_LT(ranges.back().begin + ranges.back().n, room);
  host->update(ranges, host_arenas[0], part(host_arenas, 1, 1), part(host_arenas, 2, 2));
  gpu->update(ranges, gpu_arenas[0], part(gpu_arenas, 1, 1), part(gpu_arenas, 2, 2));
  for (std::size_t arena = 0; arena < 4; ++arena) expect_same(arena, 1e-6, "arena " + std::to_string(arena));
}

TEST_F(passes_on_gpu, sum_squares_like_the_host) {
  add_arenas(3, 1);
  double wanted[3];
  buffer const sums(sizeof wanted, gpu->results());
  auto* const got = sums.as<double>();
  host->square_sums(part(host_arenas, 0, 3), begin, n, wanted);
  gpu->square_sums(part(gpu_arenas, 0, 3), begin, n, got);
  gpu->wait();
  for (int c = 0; c < 3; ++c) EXPECT_NEAR(got[c], wanted[c], 1e-6 * wanted[c]) << c;
  EXPECT_LT(wanted[2], wanted[0] / 2) << "the last chunk is shorter";
}

TEST_F(passes_on_gpu, sum_the_squares_of_lambs_step_like_the_host) {
  add_arenas(3, 1);
  add_arena(numbers(room));
  add_arena(numbers(room));
  double wanted[3];
  buffer const sums(sizeof wanted, gpu->results());
  auto* const got = sums.as<double>();
  update_scalars const now{.l2 = 5e-4, .gradient_scale = 0.5};
  host->step_square_sums(lamb{}, now, host_arenas[0], part(host_arenas, 1, 2), part(host_arenas, 3, 2), begin,
                         n, wanted);
  gpu->step_square_sums(lamb{}, now, gpu_arenas[0], part(gpu_arenas, 1, 2), part(gpu_arenas, 3, 2), begin, n,
                        got);
  gpu->wait();
  for (int c = 0; c < 3; ++c) EXPECT_NEAR(got[c], wanted[c], 1e-5 * wanted[c]) << c;
  for (std::size_t arena : {0, 3, 4}) expect_same(arena, 0, "what is not to be written");
}

TEST_F(passes_on_gpu, sum_parts_in_the_order_of_the_host) {
  add_arenas(3, 1);
  host->join(part(host_arenas, 0, 3), begin, n);
  gpu->join(part(gpu_arenas, 0, 3), begin, n);
  for (std::size_t k = 0; k < 3; ++k) expect_same(k, 0, "part " + std::to_string(k));
}

/// Two parts of a batch, of weights 3 and 2.5, and no part for the last channel.
TEST_F(passes_on_gpu, update_running_statistics_like_the_host) {
  add_arenas(3, 1);
  constexpr std::size_t channels = 5;
  for (arena_passes* passes : {static_cast<arena_passes*>(gpu.get()), host.get()}) {
    auto const& arenas = passes == gpu.get() ? gpu_arenas : host_arenas;
    auto const put = [&](void const* from, buffer& to) {
      auto const* const bytes = static_cast<std::byte const*>(from);
      passes->space() ? passes->upload(bytes, to.data(), to.bytes())
                      : static_cast<void>(std::memcpy(to.data(), bytes, to.bytes()));
    };
    buffer moments[2]{{channels * sizeof(detail::batch_moments), passes->space()},
                      {channels * sizeof(detail::batch_moments), passes->space()}};
    buffer weight(sizeof(double), passes->space());
    for (std::size_t k : {0, 1}) {
      passes->scale(moments[k].data(), moments[k].bytes() / sizeof(float), 0);
      double const weight_of_part = k == 0 ? 3 : 2.5;
      put(&weight_of_part, weight);
      passes->merge_statistics(arenas[k + 1] + 64, arenas[k + 1] + 512, weight.as<double>(),
                               moments[k].as<detail::batch_moments>(), channels - 1);
      passes->wait();
    }
    passes->merge_moments(moments[1].as<detail::batch_moments>(), moments[0].as<detail::batch_moments>(),
                          channels);
    passes->follow_statistics(arenas[0], 16, 48, moments[0].as<detail::batch_moments>(), channels, 0.9);
    passes->wait();
  }
  expect_same(0, 1e-6, "statistics");
}

TEST_F(passes_on_gpu, fill_copy_and_add_arrays_like_the_host) {
  add_arenas(2, 1);
  for (arena_passes* passes : {static_cast<arena_passes*>(gpu.get()), host.get()}) {
    auto const& arenas = passes == gpu.get() ? gpu_arenas : host_arenas;
    passes->copy(arenas[1], arenas[0], 64 * sizeof(float));
    passes->fill(arenas[0], begin, 16, 2.5);
    passes->add(arenas[1], arenas[0], n);
  }
  expect_same(0, 0, "what was written");
  expect_same(1, 0, "what was read");
}

TEST_F(passes_on_gpu, detect_non_finite_numbers) {
  add_arenas(1, 1);
  EXPECT_TRUE(gpu->finite(element_type::f32, gpu_arenas[0], room));
  float const infinite = std::numeric_limits<float>::infinity();
  gpu->upload(reinterpret_cast<std::byte const*>(&infinite), gpu_arenas[0] + 4 * (room - 1), sizeof infinite);
  EXPECT_FALSE(gpu->finite(element_type::f32, gpu_arenas[0], room));
  EXPECT_TRUE(gpu->finite(element_type::f32, gpu_arenas[0], room - 1));

  std::vector<unsigned short> narrow(room, 0x7f7f);  // the largest of bf16
  gpu->upload(reinterpret_cast<std::byte const*>(narrow.data()), gpu_arenas[0], room * sizeof narrow[0]);
  EXPECT_TRUE(gpu->finite(element_type::bf16, gpu_arenas[0], room));
  for (auto const bad : std::vector<unsigned short>{0x7f80, 0xff80, 0x7fc1}) {  // both infinities, and NaN
    gpu->upload(reinterpret_cast<std::byte const*>(&bad), gpu_arenas[0] + 2 * (room - 1), sizeof bad);
    EXPECT_FALSE(gpu->finite(element_type::bf16, gpu_arenas[0], room)) << bad;
    EXPECT_TRUE(gpu->finite(element_type::bf16, gpu_arenas[0], room - 1)) << bad;
  }
}

}  // namespace
