// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cmath>
#include <cohort/cudnn/detail/convolution_on_gpu.hpp>
#include <cohort/layer/detail/convolution_loops.hpp>
#include <cohort/random/stream.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "fake_machine.hpp"

namespace cudnn_convolution_on_gpu_test {

using namespace cohort;
using detail::convolution_pass;
using numbers = std::vector<float>;

/// One pass on the simulated GPU, compared with the processor's loops.
class convolution_on_gpu : public testing::Test {
 protected:
  static constexpr int batch = 3;

  static numbers random(shape const& dims, char const* purpose) {
    random_stream const from(1, purpose);
    numbers made(static_cast<std::size_t>(dims.elements()));
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = from.normal<float>(i);
    return made;
  }
  /// A tensor in memory, in any layout.
  struct laid_out {
    detail::gpu_layout lies;
    buffer memory;

    laid_out(detail::gpu_layout const& as, numbers const& dense) : lies(as), memory(as.bytes()) {
      for (std::size_t i = 0; i < dense.size(); ++i) place().put(element(i), dense[i]);
    }
    detail::kernels::values place() const { return {memory.data(), lies.is_narrow()}; }
    /// Position of the i-th element, counted axis by axis.
    std::size_t element(std::size_t i) const {
      std::size_t const channels = lies.channels(), area = lies.places(), example = i / area / channels;
      return lies.channels_last ? (example * area + i % area) * channels + i / area % channels : i;
    }
    numbers values() const {
      numbers dense(lies.elements());
      for (std::size_t i = 0; i < dense.size(); ++i) dense[i] = place()[element(i)];
      return dense;
    }
  };

  void expect_each_pass(detail::sliding_window const& moving, bool transposed, int groups,
                        detail::convolution_variant const& way = {false, detail::product_precision::f32}) {
    shape const image{4, 7, 8};
    shape const map{6, detail::slide(moving, image, 6).output[1], detail::slide(moving, image, 6).output[2]};
    shape const weights{transposed ? 4 : 6, (transposed ? 6 : 4) / groups, moving.size.height,
                        moving.size.width};
    auto const lies = [&](shape const& dims) { return way.layout_of(dims); };
    bool const is_narrow = way.is_narrow();
    // unchanged and rounded
    numbers const x = laid_out(lies(image.batched(batch)), random(image.batched(batch), "image")).values(),
                  w = laid_out(lies(weights), random(weights, "weights")).values(),
                  y = laid_out(lies(map.batched(batch)), random(map.batched(batch), "map")).values();
    detail::convolution_loops const loops{image, map, moving, groups, transposed};
    for (convolution_pass const pass :
         {convolution_pass::output, convolution_pass::input, convolution_pass::weights}) {
      SCOPED_TRACE("pass " + std::to_string(static_cast<int>(pass)));
      detail::convolution_on_gpu const ours({.stream = stream, .blas = nullptr, .dnn = dnn}, pass,
                                            {image, map, moving, groups, transposed}, batch, "conv2d_1", way);
      bool const gives_weights = pass == convolution_pass::weights;
      laid_out const to_x(lies(image.batched(batch)), x),
          to_w(gives_weights ? detail::gpu_layout(weights, way.channels_last, element_type::f32)
                             : lies(weights),
               w),
          to_y(lies(map.batched(batch)), y);
      buffer const scratch(ours.scratch_bytes() + 64);
      std::memset(scratch.data(), 0x77, scratch.bytes());
      ours.run(to_x.memory.data(), to_w.memory.data(), to_y.memory.data(), scratch.data());
      stream->wait();
      numbers wanted_x = x, wanted_w = w, wanted_y = y;
      if (pass == convolution_pass::output) {
        wanted_y.assign(y.size(), 0);
        loops.gather(batch, w.data(), x.data(), wanted_y.data());
      } else if (pass == convolution_pass::input) {
        wanted_x.assign(x.size(), 0);
        loops.scatter(batch, w.data(), y.data(), wanted_x.data());
      } else {
        wanted_w.assign(w.size(), 0);
        loops.correlate(batch, y.data(), x.data(), wanted_w.data());
      }
      auto const expect_near = [&](numbers const& got, numbers const& wanted, bool rounded) {
        for (std::size_t i = 0; i < got.size(); ++i)
          ASSERT_NEAR(got[i], wanted[i], rounded ? 1e-4 + std::abs(wanted[i]) / 256 : 1e-4) << i;
      };
      expect_near(to_x.values(), wanted_x, is_narrow);
      expect_near(to_w.values(), wanted_w, is_narrow);
      expect_near(to_y.values(), wanted_y, is_narrow);
      for (std::size_t i = scratch.bytes() - 64; i < scratch.bytes(); ++i)
        ASSERT_EQ(scratch.data()[i], std::byte{0x77}) << "written behind the scratch memory";
    }
  }
  void expect_each_kind(detail::sliding_window const& moving) {
    for (bool const last : {false, true})
      for (auto const products : {detail::product_precision::f32, detail::product_precision::bf16})
        for (int const groups : {1, 2}) {
          SCOPED_TRACE(std::to_string(groups) + " groups, " + (last ? "channels last, " : "")
                       + name_of(products));
          expect_each_pass(moving, false, groups, {last, products});
          expect_each_pass(moving, true, groups, {last, products});
        }
  }

  fake_dnn::settings with;
  fake_machine machine;
  std::shared_ptr<detail::compute_stream> stream =
      std::make_shared<detail::compute_stream>(std::make_shared<detail::gpu>(machine.source()), "");
  std::shared_ptr<detail::dnn_on_gpu const> dnn = std::make_shared<detail::dnn_on_gpu>(stream);
};

TEST_F(convolution_on_gpu, agrees_with_the_host) {
  expect_each_kind({.size = {3, 2}});
  expect_each_kind({.size = {3, 2}, .stride = {2, 3}, .dilation = {1, 2}, .padding = padding(1)});
}

TEST_F(convolution_on_gpu, pads_each_side_separately) {
  fake_dnn::now.varies_with_shape = false;
  expect_each_kind({.size = {3, 4}, .stride = {1, 2}, .padding = padding(2, 0, 1, 3)});
  EXPECT_EQ(fake_dnn::runs.size(), 2U) << "one engine for f32, one for bf16";
}

TEST_F(convolution_on_gpu, pads_in_a_separate_kernel_if_no_engine_pads_sides_differently) {
  fake_dnn::now.pads_each_side = false;
  expect_each_kind({.size = {3, 4}, .stride = {1, 2}, .padding = padding(2, 0, 1, 3)});
  expect_each_kind({.size = {2, 4}, .stride = {2, 1}, .dilation = 2, .padding = padding::same});
}

TEST_F(convolution_on_gpu, reports_the_layer_if_no_engine_exists) {
  fake_dnn::now.best = fake_dnn::now.fallback = {};
  try {
    expect_each_pass({.size = 3, .padding = padding(1, 0, 0, 0)}, false, 1);
    FAIL() << "a convolution was made without an engine";
  } catch (backend_error const& why) {
    EXPECT_STREQ(why.what(),
                 "cuDNN has no engine for this convolution (conv2d_1): expected a deterministic engine in "
                 "f32, got 0 engines, 0 of them rejected");
  }
}

}  // namespace cudnn_convolution_on_gpu_test
