// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cmath>
#include <cohort/codec/residual_pass.hpp>
#include <cohort/layer/dropout.hpp>
#include <cohort/optimizer/update_pass.hpp>
#include <cohort/tensor/bf16.hpp>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "kernel_on_host.hpp"

namespace {

using namespace cohort;
using detail::kernels::update;

std::vector<float> normal_numbers(std::size_t n, std::uint64_t seed) {
  random_stream const from(seed, "numbers");
  std::vector<float> numbers(n);
  for (std::size_t i = 0; i < n; ++i) numbers[i] = from.normal<float>(i);
  return numbers;
}

void expect_close(std::vector<float> const& got, std::vector<float> const& wanted, char const* what) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], wanted[i], 4e-7 * (1 + std::abs(wanted[i]))) << what << ' ' << i;
}

TEST(kernels, draw_the_words_of_random_streams) {
  random_stream const numbers(7, "counters");
  for (std::uint64_t i = 0; i < 1000; ++i) {
    std::uint64_t const low = numbers.bits(3 * i), high = numbers.bits(3 * i + 1),
                        key = numbers.bits(3 * i + 2);
    detail::kernels::random_words const got = detail::kernels::philox(low, high, key);
    detail::philox_words const wanted = detail::philox(low, high, key);
    for (std::size_t k = 0; k < 4; ++k) ASSERT_EQ(got.v[k], wanted[k]) << i;
  }
}

TEST(kernels, drop_what_the_layer_drops) {
  constexpr std::size_t elements = 1030, examples = 3;  // elements: no multiple of 4
  constexpr double rate = 0.3;
  std::vector<long long> const indices{5, 123456789012, 0};
  random_stream const stream(11, "dropout_1", 42);
  std::vector<float> const x = normal_numbers(elements * examples, 1);
  std::vector<float> wanted(x.size());
  auto const factor = static_cast<float>(1 / (1 - rate));
  for (std::size_t n = 0; n < examples; ++n)
    detail::each_of_mask(stream.at(static_cast<std::uint64_t>(indices[n])), rate, elements,
                         [&](std::size_t i, bool kept) {
                           std::size_t const at = n * elements + i;
                           wanted[at] = (kept ? factor : 0.F) * x[at];
                         });
  std::vector<float> got(x.size());
  auto const dropped_below = static_cast<unsigned>(rate * 0x1p32);
  run_on_host(detail::kernels::dropout{x.data(), got.data(), indices.data(), elements, stream.key(),
                                       dropped_below, factor},
              examples * ((elements + 3) / 4));
  EXPECT_EQ(got, wanted);
  EXPECT_NEAR(static_cast<double>(std::count(got.begin(), got.end(), 0.F)) / static_cast<double>(got.size()),
              rate, 0.03);
}

template <class Rule>
void take_step(updater const& rule, detail::update_constants const& k, std::vector<float>& w,
               std::vector<float> const& gradient, std::vector<std::vector<float>>& state) {
  update<Rule> step{};
  step.w = w.data();
  step.gradient = gradient.data();
  ASSERT_EQ(rule.state_arrays(), Rule::states);
  for (std::size_t s = 0; s < state.size(); ++s) step.state[s] = state[s].data();
  for (int i = 0; i < detail::update_constants::size; ++i) step.c[i] = static_cast<float>(k.c[i]);
  step.scale = static_cast<float>(k.scale);
  step.clip = static_cast<float>(k.clip);
  step.l1 = static_cast<float>(k.l1);
  step.l2 = static_cast<float>(k.l2);
  run_on_host(step, w.size());
}

using step_function = decltype(&take_step<detail::kernels::sgd>);

step_function step_of(detail::update_rule rule) {
  namespace k = detail::kernels;
  switch (rule) {
    using enum detail::update_rule;
    case sgd:
    case no_op:
      return take_step<k::sgd>;
    case momentum:
    case lars:
      return take_step<k::momentum>;
    case nesterov:
      return take_step<k::nesterov>;
    case adam:
      return take_step<k::adam>;
    case adamw:
    case lamb:
      return take_step<k::adamw>;
    case amsgrad:
      return take_step<k::amsgrad>;
    case adamax:
      return take_step<k::adamax>;
    case nadam:
      return take_step<k::nadam>;
    case adabelief:
      return take_step<k::adabelief>;
    case adagrad:
      return take_step<k::adagrad>;
    case adadelta:
      return take_step<k::adadelta>;
    case rmsprop:
      return take_step<k::rmsprop>;
    case lion:
      return take_step<k::lion>;
  }
  return nullptr;
}

TEST(kernels, take_the_steps_of_every_updater) {
  constexpr std::size_t n = 2048;
  for (updater const& rule : detail::default_updaters) {
    std::vector<float> w = normal_numbers(n, 2), wanted = w;
    auto const arrays = static_cast<std::size_t>(rule.state_arrays());
    std::vector<std::vector<float>> state, state_wanted;
    for (std::size_t s = 0; s < arrays; ++s)
      state.emplace_back(n, static_cast<float>(rule.initial_state(static_cast<int>(s))));
    state_wanted = state;
    for (std::int64_t step = 0; step < 5; ++step) {
      std::vector<float> const gradient = normal_numbers(n, 3 + static_cast<std::uint64_t>(step));
      update_scalars const now{.step = step,
                               .l1 = 1e-4,
                               .l2 = 5e-4,
                               .gradient_scale = 0.25,
                               .clip = 0.4,
                               .needed_norm = 1.5,
                               .parameter_norm = 2.5};
      std::vector<float*> arrays_wanted;
      for (auto& one : state_wanted) arrays_wanted.push_back(one.data());
      float const* const parts[]{gradient.data()};
      apply_update(isa::baseline, rule, now, wanted.data(), parts, 1, arrays_wanted.data(), n);
      step_of(rule.rule())(rule, detail::constants_of(rule, now), w, gradient, state);
    }
    expect_close(w, wanted, std::string(rule.name()).c_str());
    for (std::size_t s = 0; s < arrays; ++s)
      expect_close(state[s], state_wanted[s], std::string(rule.state_name(static_cast<int>(s))).c_str());
  }
}

TEST(kernels, sum_the_squares_of_lambs_step) {
  constexpr std::size_t n = 2 * detail::sum_chunk + 16;
  std::vector<float> w = normal_numbers(n, 2), mean(n), square(n);
  std::vector<float> const gradient = normal_numbers(n, 3);
  lamb const rule{};
  update_scalars const now{.l2 = 5e-4};
  float const* const parts[]{gradient.data()};
  float* const state[]{mean.data(), square.data()};
  double const wanted = step_square_sum(isa::baseline, rule, now, w.data(), parts, 1, state, n);

  update_scalars at_rate_1 = now;
  at_rate_1.needed_norm = at_rate_1.parameter_norm = 0;
  detail::update_constants const k = detail::constants_of(updater(rule).with_rate(1), at_rate_1);
  detail::kernels::step_square_sums sums{};
  sums.at_rate_1 = {w.data(), gradient.data(), {mean.data(), square.data()}, {}, 1, 0, 0, 5e-4F};
  for (int i = 0; i < detail::update_constants::size; ++i) sums.at_rate_1.c[i] = static_cast<float>(k.c[i]);
  std::vector<double> chunks(3);
  sums.sums = chunks.data();
  run_on_host(sums, n);
  EXPECT_NEAR(std::accumulate(chunks.begin(), chunks.end(), 0.0), wanted, 1e-6 * wanted);
  EXPECT_EQ(w, normal_numbers(n, 2)) << "nothing is to be written";
}

TEST(kernels, sum_squares_by_chunks) {
  constexpr std::size_t n = detail::sum_chunk + 160;
  std::vector<float> const x = normal_numbers(n, 4);
  std::vector<double> chunks(2);
  run_on_host(detail::kernels::square_sums{x.data(), chunks.data()}, n);
  float const* const first[]{x.data()};
  float const* const second[]{x.data() + detail::sum_chunk};
  EXPECT_NEAR(chunks[0], square_sum(isa::baseline, first, 1, detail::sum_chunk), 1e-9);
  EXPECT_NEAR(chunks[1], square_sum(isa::baseline, second, 1, 160), 1e-10);
}

TEST(kernels, clip_residuals_as_the_codec_does) {
  constexpr std::size_t n = 5000;
  std::vector<float> got = normal_numbers(n, 5), wanted = got;
  std::vector<double> chunks(2);
  run_on_host(detail::kernels::clip_residual{got.data(), 0.5F, chunks.data()}, n);
  double const mass = clip_residual(isa::baseline, wanted, 0.5F);
  EXPECT_EQ(got, wanted);
  EXPECT_NEAR(chunks[0] + chunks[1], mass, 1e-3);
}

TEST(kernels, round_to_bf16_and_back) {
  std::vector<float> const x{1, -2.5F, 1.00390625F, 1.01171875F, 3e38F, 3.4e38F, 1e-40F, -0.F};
  std::vector<unsigned short> narrow(x.size());
  std::vector<float> back(x.size());
  run_on_host(detail::kernels::to_bf16{x.data(), narrow.data()}, x.size());
  run_on_host(detail::kernels::from_bf16{narrow.data(), back.data()}, x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(narrow[i], bf16::nearest(x[i]).pattern) << x[i];
    EXPECT_EQ(back[i], bf16::nearest(x[i]).value()) << x[i];
  }
  EXPECT_EQ(back[2], 1.F) << "a tie goes to the even one";
  EXPECT_EQ(back[3], 1.015625F) << "a tie goes to the even one";
}

TEST(kernels, add_scale_and_fill) {
  std::vector<float> const from = normal_numbers(777, 6);
  std::vector<float> to(777, 9.F);
  run_on_host(detail::kernels::fill{to.data(), 1.5F}, to.size());
  run_on_host(detail::kernels::add_to{from.data(), to.data()}, to.size());
  run_on_host(detail::kernels::scale{to.data(), -2.F}, to.size());
  for (std::size_t i = 0; i < to.size(); ++i) ASSERT_EQ(to[i], -2.F * (1.5F + from[i]));
}

TEST(kernels, find_what_is_not_finite) {
  for (float const bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> x(300, std::numeric_limits<float>::max());
    unsigned found = 0;
    run_on_host(detail::kernels::find_not_finite{x.data(), &found}, x.size());
    EXPECT_EQ(found, 0U);
    x[299] = bad;
    run_on_host(detail::kernels::find_not_finite{x.data(), &found}, x.size());
    EXPECT_EQ(found, 1U);
  }
}

}  // namespace
