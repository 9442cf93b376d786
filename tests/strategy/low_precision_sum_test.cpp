// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <cohort/backend/reference.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/layer/layers.hpp>
#include <cohort/random/stream.hpp>
#include <cohort/strategy/detail/low_precision_sum.hpp>
#include <cohort/training/trainer.hpp>
#include <limits>
#include <vector>

namespace low_precision_sum_test {

using namespace cohort;

constexpr auto net = network<[](builder& b) {
  return b.input({1, 8, 8}) | dense{.units = 100} | dense{.units = 170} | dense{.units = 3}
         | softmax_cross_entropy{};
}>();

/// Gradients of one rank in a run: of all magnitudes, decreasing as in training.
template <class T>
void fill(T* x, std::size_t n, int rank, int step) {
  random_stream const draw(static_cast<std::uint64_t>(rank), "gradient", static_cast<std::uint64_t>(step));
  for (std::size_t i = 0; i < n; ++i)
    x[i] = static_cast<T>(std::ldexp(draw.normal<double>(i), -static_cast<int>(i % 12)));
}

/// Sums over a run, in double.
struct account {
  std::vector<double> given, came;
  double largest = 0;  // magnitude of the values that were rounded or summed
};

/// Runs some steps of one rank among others, bucket by bucket as a strategy does. With `dropped`, one step is
/// skipped.
template <class T>
account run(communicator& world, detail::low_precision_sum& sum, parameter_set const& parameters, int steps,
            int dropped = -1) {
  auto const n = static_cast<std::size_t>(parameters.elements());
  account all{std::vector<double>(n), std::vector<double>(n)};
  std::vector<T> x(n);
  for (int step = 0; step < steps; ++step) {
    fill(x.data(), n, world.rank(), step);
    for (bucket const& one : parameters.buckets()) {
      std::memcpy(sum.data(one), x.data() + one.first, static_cast<std::size_t>(one.elements) * sizeof(T));
      sum.start(world, one, 1, world.size());
    }
    sum.wait();
    EXPECT_TRUE(sum.is_finite());
    if (step == dropped) continue;
    sum.keep();
    for (bucket const& one : parameters.buckets()) {
      T const* const mean = reinterpret_cast<T const*>(sum.mean(one, world.size(), world.size()));
      for (std::size_t i = 0; i < static_cast<std::size_t>(one.elements); ++i) {
        auto const at = static_cast<std::size_t>(one.first) + i;
        all.came[at] += static_cast<double>(mean[i]);
        all.given[at] += static_cast<double>(x[at]) / world.size();
        all.largest = std::max(all.largest, std::abs(static_cast<double>(mean[i])));
      }
    }
  }
  return all;
}

template <class T>
std::vector<T> kept(detail::low_precision_sum const& sum) {
  std::vector<T> all(sum.kept().size() / sizeof(T));
  std::memcpy(all.data(), sum.kept().data(), sum.kept().size());
  return all;
}

template <class T, class B>
void conserves(element_type wire, double sums_lose) {
  constexpr int steps = 100;
  double const rounding = sizeof(T) == 4 ? 0x1p-24 : 0x1p-53;
  for (int const ranks : {1, 2, 3})
    launch<threads>(ranks, [&](communicator& world) {
      training made = trainer<B>(net, training_settings{});
      parameter_set const& parameters = made.parameters();
      ASSERT_GT(parameters.buckets().size(), 1U);
      detail::low_precision_sum sum(parameters, wire);
      account all = run<T>(world, sum, parameters, steps, 77);
      auto const rest = kept<T>(sum);
      std::vector<double> gap(rest.size());
      for (std::size_t i = 0; i < gap.size(); ++i) gap[i] = static_cast<double>(rest[i]) - all.given[i];
      world.allreduce(std::span(gap));
      // Each rank's x + e is rounded to T once per step; each of the P − 1 additions of a sum is rounded to
      // the wire's type.
      double const bound = steps * 8 * (ranks * rounding + (ranks - 1) * sums_lose);
      for (std::size_t i = 0; i < gap.size(); ++i) ASSERT_LE(std::abs(all.came[i] + gap[i]), bound) << i;
      EXPECT_GT(*std::max_element(rest.begin(), rest.end()), 0) << "something is rounded away";
    });
}

TEST(low_precision_sum, stores_all_rounding_errors) {
  conserves<float, reference<float>>(element_type::bf16, 0x1p-9);
  conserves<double, reference<double>>(element_type::bf16, 0x1p-9);
  conserves<double, reference<double>>(element_type::f32, 0x1p-24);
}

TEST(low_precision_sum, keeps_the_previous_error_if_a_step_is_skipped) {
  launch<threads>(2, [](communicator& world) {
    training made = trainer<reference<float>>(net, training_settings{});
    detail::low_precision_sum sum(made.parameters(), element_type::bf16),
        again(made.parameters(), element_type::bf16);
    run<float>(world, sum, made.parameters(), 3);
    run<float>(world, again, made.parameters(), 4, 3);
    EXPECT_EQ(kept<float>(sum), kept<float>(again));
    again.restore({}, element_type::f32);
    again.restore(sum.kept(), element_type::f64);
    EXPECT_EQ(kept<float>(sum), kept<float>(again)) << "of other elements: left alone";
  });
}

TEST(low_precision_sum, reports_a_non_finite_sum_on_all_ranks) {
  launch<threads>(3, [](communicator& world) {
    training made = trainer<reference<float>>(net, training_settings{});
    for (float const bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::max()}) {
      detail::low_precision_sum sum(made.parameters(), element_type::bf16);
      for (bucket const& one : made.parameters().buckets()) {
        auto* const x = reinterpret_cast<float*>(sum.data(one));
        std::fill_n(x, one.elements, 0.0F);
        if (world.rank() == 1 && one.index == 1) x[3] = bad;
        sum.start(world, one, 3, 3);
      }
      sum.wait();
      EXPECT_FALSE(sum.is_finite());
    }
  });
}

}  // namespace low_precision_sum_test
