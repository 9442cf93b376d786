// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/cudnn/detail/channel_sums_on_gpu.hpp>
#include <memory>
#include <tuple>
#include <vector>

#include "fake_machine.hpp"

namespace cudnn_channel_sums_on_gpu_test {

using namespace cohort;

/// A tensor, and the numbers of blocks in the two steps of its sums.
struct row {
  shape dims;
  bool last;
  unsigned chunks, totals;
};

/// The second parameter is the GPU's compute capability.
class channel_sums_on_gpu : public testing::TestWithParam<std::tuple<row, int>> {
 protected:
  channel_sums_on_gpu() {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 13) - 4;
    machine.blocks.clear();
  }
  std::size_t channel_of(std::size_t i) const { return i / layout.area() % channels; }
  std::vector<double> scratch(std::size_t per_channel) const {
    return std::vector<double>(sums.scratch_bytes(per_channel) / sizeof(double) + 1, 77);
  }

  /// `allowed`: allowed error of a variance.
  void expect_statistics(double allowed) {
    std::vector<double> chunks = scratch(2), mean(channels), variance(channels);
    auto const count = static_cast<double>(sums.elements_per_channel());
    for (std::size_t i = 0; i < x.size(); ++i) mean[channel_of(i)] += static_cast<double>(x[i]) / count;
    for (std::size_t i = 0; i < x.size(); ++i) {
      double const apart = static_cast<double>(x[i]) - mean[channel_of(i)];
      variance[channel_of(i)] += apart * apart / count;
    }
    std::vector<float> means(channels), variances(channels);
    sums.find_statistics(x.data(), chunks.data(), means.data(), variances.data());
    stream->wait();
    for (std::size_t c = 0; c < channels; ++c) {
      EXPECT_FLOAT_EQ(means[c], static_cast<float>(mean[c])) << c;
      EXPECT_NEAR(variances[c], variance[c], allowed) << c;
    }
    EXPECT_EQ(chunks.back(), 77);
  }

  static detail::shared_stream stream_of(fake_machine& machine) {
    machine.major = std::get<int>(GetParam()) / 10;
    machine.minor = std::get<int>(GetParam()) % 10;
    return std::make_shared<detail::compute_stream>(std::make_shared<detail::gpu>(machine.source()), "");
  }

  row const its = std::get<row>(GetParam());
  fake_machine machine;
  detail::shared_stream const stream = stream_of(machine);
  detail::gpu_layout const layout{its.dims, its.last, element_type::f32};
  std::size_t const channels = layout.channels();
  detail::channel_sums_on_gpu const sums{stream, layout};
  std::vector<float> x = std::vector<float>(layout.elements());
};

TEST_P(channel_sums_on_gpu, add_the_elements_of_each_channel) {
  std::vector<double> wanted(channels), chunks = scratch(1);
  for (std::size_t i = 0; i < x.size(); ++i) wanted[channel_of(i)] += static_cast<double>(x[i]);
  std::vector<float> got(channels + 1, -1);
  sums.sum(x.data(), chunks.data(), got.data());
  stream->wait();
  for (std::size_t c = 0; c < channels; ++c) EXPECT_EQ(got[c], static_cast<float>(wanted[c])) << c;
  EXPECT_EQ(got.back(), -1);
  EXPECT_EQ(chunks.back(), 77);
  EXPECT_EQ(machine.blocks, (std::vector{its.chunks, its.totals}));
}

/// A variance computed from sums of squares in f32 would have no correct digits for elements near 1000.
TEST_P(channel_sums_on_gpu, compute_accurate_means_and_variances_near_1000) {
  for (float& one : x) one = 1000.1F + one / 64;
  expect_statistics(1e-8);
}

/// Sums of squares in f64 would not suffice for elements near 1e6.
TEST_P(channel_sums_on_gpu, compute_accurate_means_and_variances_near_1e6) {
  for (float& one : x) one = 1e6F + one;
  expect_statistics(1e-5);
}

TEST_P(channel_sums_on_gpu, compute_a_zero_variance_of_equal_elements) {
  std::vector<double> chunks = scratch(2);
  x.assign(x.size(), -3.5F);
  std::vector<float> means(channels), variances(channels, 5);
  sums.find_statistics(x.data(), chunks.data(), means.data(), variances.data());
  stream->wait();
  EXPECT_EQ(means, std::vector<float>(channels, -3.5F));
  EXPECT_EQ(variances, std::vector<float>(channels));
}

INSTANTIATE_TEST_SUITE_P(
    tensors, channel_sums_on_gpu,
    testing::Combine(testing::Values(row{{3, 5, 30, 100}, false, 5 * 3, 2},  // several chunks
                                     row{{2, 4, 7}, false, 4, 1},
                                     row{{9, 6}, false, 1, 2},              // a row per example
                                     row{{300, 3, 7, 7}, false, 3 * 4, 1},  // runs shorter than a block
                                     row{{3, 70, 30, 100}, true, 3 * 71, 18},
                                     row{{3, 72, 30, 100}, true, 2 * 18, 18},  // eight channels per thread
                                     row{{5, 16, 3, 3}, true, 1, 4}, row{{2, 4, 7}, true, 1, 1}),
                     testing::Values(90, 89)));  // sums in f64, and split into f32

}  // namespace cudnn_channel_sums_on_gpu_test
