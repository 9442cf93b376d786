// SPDX-License-Identifier: Apache-2.0
// label: slow
#include <cohort/onednn.hpp>

#include <cohort/backend/reference.hpp>
#include <cohort/layer/synchronised_batch_norm.hpp>
#include <cstdio>

#include "../../strategy/merged_statistics_cases.hpp"

namespace onednn_batch_statistics_test {

using namespace merged_statistics;

TEST(batch_statistics, of_onednn_equal_a_merge_in_f64) {
  merge_like_f64<onednn, batch_norm>({1e3, 1e4, 1e6});
}

TEST(batch_statistics, of_onednn_in_bf16_equal_a_merge_in_f64) {
  if (!onednn_bf16::probe().usable) GTEST_SKIP() << onednn_bf16::probe().reason;
  merge_like_f64<onednn_bf16, batch_norm>({1e3, 1e6});
}

/// Errors of the statistics that a backend computes for one batch with a deviation of 1: error of the mean in
/// deviations, and error of the variance, which is 1. Elements are exact in the type of the tensors.
struct whole_error {
  double mean = 0, variance = 0, least = 0;
};

template <class Backend>
whole_error error_of(double offset, bool narrow, int count = 64, int width = 16) {
  constexpr int channels = 32;
  random_stream const noise(5, "pixels");
  int const area = width * width;
  std::vector<float> pixels(static_cast<std::size_t>(count * channels * area));
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = static_cast<float>(offset + noise.normal<double>(i));
    if (narrow) pixels[i] = bf16::nearest(pixels[i]).value();
  }
  std::vector<std::int32_t> const labels(static_cast<std::size_t>(count));
  dataset const data = arrays(std::span<float const>(pixels), shape{channels, width, width},
                              std::span<std::int32_t const>(labels), 2);
  training made = trainer<Backend>(graph::build([](builder& b) {
                                     return b.input({channels, 16, 16})
                                            | batch_norm{.momentum = 0, .name = "norm"} | global_avg_pool{}
                                            | dense{.units = 2} | softmax_cross_entropy{};
                                   }),
                                   {.optimizer = {sgd{.learning_rate = 0}}});
  made.fit(data, {.batch = count, .epochs = 1, .shuffle = false});
  statistics const got = statistics_of(made, channels);
  whole_error worst{.least = 1e300};
  for (std::size_t c = 0; c < channels; ++c) {
    double mean = 0, variance = 0;
    auto const n = static_cast<double>(count * area);
    auto const each = [&](auto visit) {
      for (std::size_t image = 0; image < static_cast<std::size_t>(count); ++image)
        for (std::size_t i = 0; i < static_cast<std::size_t>(area); ++i)
          visit(static_cast<double>(pixels[(image * channels + c) * static_cast<std::size_t>(area) + i]));
    };
    each([&](double x) { mean += x / n; });
    each([&](double x) { variance += (x - mean) * (x - mean) / n; });
    worst.mean = std::max(worst.mean, std::abs(got.mean[c] - mean) / std::sqrt(variance));
    worst.variance = std::max(worst.variance, std::abs(got.variance[c] - variance) / variance);
    worst.least = std::min(worst.least, got.variance[c]);
  }
  return worst;
}

/// Prints the table of benchmarks/results/numerics.md.
TEST(batch_statistics, have_errors_within_the_bound_of_each_backend) {
  std::printf(
      "| backend | offset / deviation | mean, deviations | variance, relative |\n|---|---|---|---|\n");
  auto const report = [&](char const* name, double offset, whole_error const& found, double allowed) {
    std::printf("| %s | %.0e | %.1e | %.1e |\n", name, offset, found.mean, found.variance);
    EXPECT_GE(found.least, 0) << name << ", offset " << offset;
    EXPECT_LE(found.variance, allowed) << name << ", offset " << offset;
  };
  for (double const offset : {0.0, 1e3, 1e4, 1e5, 1e6}) {
    report("reference<float>", offset, error_of<reference<float>>(offset, false), 1e-6);
    report("onednn", offset, error_of<onednn>(offset, false), 3e-6);
    if (onednn_bf16::probe().usable && offset <= 1e3)
      report("onednn_bf16", offset, error_of<onednn_bf16>(offset, true), 3e-6);
  }
}

}  // namespace onednn_batch_statistics_test
