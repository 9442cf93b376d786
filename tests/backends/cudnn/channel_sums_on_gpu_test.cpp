// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/cudnn/detail/channel_sums_on_gpu.hpp>
#include <memory>
#include <vector>

#include "fake_machine.hpp"

namespace cudnn_channel_sums_on_gpu_test {

using namespace cohort;

TEST(channel_sums_on_gpu, are_sums_of_chunks_in_their_order) {
  fake_machine machine;
  auto const stream =
      std::make_shared<detail::compute_stream>(std::make_shared<detail::gpu>(machine.source()), "");
  struct row {
    shape dims;
    bool last;
    unsigned blocks;
  };
  for (auto const& [dims, last, blocks] : {row{{3, 5, 30, 100}, false, 15},
                                           {{2, 4, 7}, false, 4},
                                           {{9, 6}, false, 1},
                                           {{3, 70, 30, 100}, true, 3 * 71},
                                           {{2, 4, 7}, true, 1}}) {
    detail::gpu_layout const lies(dims, last, element_type::f32);
    std::vector<float> x(static_cast<std::size_t>(dims.elements()));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 13) - 4;
    auto const channels = static_cast<std::size_t>(dims[1]);
    std::vector<double> wanted(channels);
    for (std::size_t i = 0; i < x.size(); ++i)
      wanted[i / lies.area() % channels] += static_cast<double>(x[i]);
    detail::channel_sums_on_gpu const sums(stream, lies);
    std::vector<double> scratch(sums.scratch_bytes() / sizeof(double) + 1, 77);
    std::vector<float> got(channels);
    machine.blocks.clear();
    sums.run(detail::kernels::channel_sums{sums.terms(), x.data(), scratch.data()}, got.data(), 2);
    stream->wait();
    for (std::size_t c = 0; c < channels; ++c) EXPECT_EQ(got[c], static_cast<float>(wanted[c] / 2)) << c;
    EXPECT_EQ(scratch.back(), 77);
    EXPECT_EQ(machine.blocks, (std::vector{blocks, static_cast<unsigned>((dims[1] + 31) / 32)}));
  }
}

}  // namespace cudnn_channel_sums_on_gpu_test
