// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/cudnn/convolution_on_gpu.hpp>
#include <cohort/layer/convolution_loops.hpp>
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

/// One pass on the pretended GPU beside the loops of the processor.
class convolution_on_gpu : public testing::Test {
 protected:
  static constexpr int batch = 3;

  static numbers random(shape const& dims, char const* purpose) {
    random_stream const from(1, purpose);
    numbers made(static_cast<std::size_t>(dims.elements()));
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = from.normal<float>(i);
    return made;
  }
  static float* place(buffer const& memory, numbers const& values) {
    std::memcpy(memory.data(), values.data(), values.size() * sizeof(float));
    return memory.as<float>();
  }

  void expect_each_pass(window const& moving, bool transposed, int groups) {
    shape const image{4, 7, 8};
    shape const map{6, slide(moving, image, 6).output[1], slide(moving, image, 6).output[2]};
    shape const weights{transposed ? 4 : 6, (transposed ? 6 : 4) / groups, moving.size.height,
                        moving.size.width};
    numbers const x = random(image.batched(batch), "image"), w = random(weights, "weights"),
                  y = random(map.batched(batch), "map");
    detail::convolution_loops const loops{image, map, moving, groups, transposed};
    for (convolution_pass const pass :
         {convolution_pass::output, convolution_pass::input, convolution_pass::weights}) {
      SCOPED_TRACE("pass " + std::to_string(static_cast<int>(pass)));
      detail::convolution_on_gpu const ours({.stream = stream, .blas = nullptr, .dnn = dnn}, pass,
                                            {image, map, moving, groups, transposed}, batch, "conv2d_1");
      buffer const memory[]{buffer(x.size() * 4), buffer(w.size() * 4), buffer(y.size() * 4)};
      buffer const scratch(ours.scratch_bytes() + 64);
      std::memset(scratch.data(), 0x77, scratch.bytes());
      float *const to_x = place(memory[0], x), *const to_w = place(memory[1], w),
                   *const to_y = place(memory[2], y);
      ours.run(to_x, to_w, to_y, scratch.data());
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
      for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(to_x[i], wanted_x[i], 1e-4) << i;
      for (std::size_t i = 0; i < w.size(); ++i) ASSERT_NEAR(to_w[i], wanted_w[i], 1e-4) << i;
      for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(to_y[i], wanted_y[i], 1e-4) << i;
      for (std::size_t i = scratch.bytes() - 64; i < scratch.bytes(); ++i)
        ASSERT_EQ(scratch.data()[i], std::byte{0x77}) << "written behind the scratch memory";
    }
  }
  void expect_each_kind(window const& moving) {
    for (int const groups : {1, 2}) {
      SCOPED_TRACE(std::to_string(groups) + " groups");
      expect_each_pass(moving, false, groups);
      expect_each_pass(moving, true, groups);
    }
  }

  fake_dnn::settings with;
  fake_machine machine;
  std::shared_ptr<detail::compute_stream> stream =
      std::make_shared<detail::compute_stream>(std::make_shared<detail::gpu>(machine.source()), "");
  std::shared_ptr<detail::dnn_on_gpu const> dnn = std::make_shared<detail::dnn_on_gpu>(stream);
};

TEST_F(convolution_on_gpu, is_the_processors) {
  expect_each_kind({.size = {3, 2}});
  expect_each_kind({.size = {3, 2}, .stride = {2, 3}, .dilation = {1, 2}, .padding = padding(1)});
}

TEST_F(convolution_on_gpu, pads_each_side_on_its_own) {
  expect_each_kind({.size = {3, 4}, .stride = {1, 2}, .padding = padding(2, 0, 1, 3)});
  EXPECT_EQ(fake_dnn::runs.size(), 1U);
}

TEST_F(convolution_on_gpu, pads_itself_where_no_engine_does) {
  fake_dnn::now.pads_each_side = false;
  expect_each_kind({.size = {3, 4}, .stride = {1, 2}, .padding = padding(2, 0, 1, 3)});
  expect_each_kind({.size = {2, 4}, .stride = {2, 1}, .dilation = 2, .padding = padding::same});
}

TEST_F(convolution_on_gpu, names_the_layer_that_no_engine_is_for) {
  fake_dnn::now.best = fake_dnn::now.fallback = {};
  try {
    expect_each_pass({.size = 3, .padding = padding(1, 0, 0, 0)}, false, 1);
    FAIL() << "a convolution was made without an engine";
  } catch (backend_error const& why) {
    EXPECT_STREQ(
        why.what(),
        "cuDNN has no engine for this convolution (conv2d_1): expected one in f32 that gives the same "
        "bits each time, got 0 engines, 0 of them not so");
  }
}

}  // namespace cudnn_convolution_on_gpu_test
