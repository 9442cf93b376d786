// SPDX-License-Identifier: Apache-2.0
// covers: layer/conv2d layer/max_pool
#include <gtest/gtest.h>
#include <cohort/layer/layers.hpp>

#include <string>

#include "inferred.hpp"

namespace sliding_window_test {

using namespace cohort;
using namespace cohort::detail;
using namespace inferred_layer;

// The four windows of LeNet, computed by hand.
static_assert(made(conv2d{.filters = 20, .kernel = 5}, {1, 28, 28}) == shape{20, 24, 24});
static_assert(made(max_pool{.window = 2}, {20, 24, 24}) == shape{20, 12, 12});
static_assert(made(conv2d{.filters = 50, .kernel = 5, .stride = 2}, {20, 12, 12}) == shape{50, 4, 4},
              "12 -> 4 truncates");
static_assert(made(max_pool{.window = 2}, {50, 4, 4}) == shape{50, 2, 2});

// valid drops window positions that do not fit; strict rejects them.
static_assert(made(max_pool{.window = 2}, {3, 5, 7}) == shape{3, 2, 3});
static_assert(made(conv2d{.filters = 4, .kernel = {3, 1}, .stride = {2, 3}}, {1, 7, 7}) == shape{4, 3, 3});
static_assert(made(conv2d{.filters = 4, .kernel = 3, .stride = 2, .padding = padding::strict}, {1, 7, 7})
              == shape{4, 3, 3});
static_assert(inferred(conv2d{.filters = 4, .kernel = 3, .stride = 2, .padding = padding::strict}, {1, 8, 7})
                  .problem.found());
static_assert(!inferred(conv2d{.filters = 4, .kernel = 3, .stride = 2}, {1, 8, 7}).problem.found());

// With padding::same the output extent is ceil(in / stride), for every kernel.
static_assert(made(conv2d{.filters = 4, .kernel = 4, .padding = padding::same}, {3, 32, 31})
              == shape{4, 32, 31});
static_assert(made(conv2d{.filters = 4, .kernel = 3, .stride = 2, .padding = padding::same}, {3, 8, 7})
              == shape{4, 4, 4});
static_assert(made(conv2d{.filters = 4, .kernel = 1, .stride = 3, .padding = padding::same}, {3, 8, 9})
              == shape{4, 3, 3});
static_assert(made(max_pool{.window = 2, .stride = 2, .padding = padding::same}, {3, 5, 5})
              == shape{3, 3, 3});

// sides
static_assert(made(conv2d{.filters = 64, .kernel = 7, .stride = 2, .padding = 3}, {3, 224, 224})
              == shape{64, 112, 112});
static_assert(made(conv2d{.filters = 1, .kernel = 3, .padding = padding(1, 2, 0, 1)}, {1, 5, 5})
              == shape{1, 6, 4});
static_assert(made(max_pool{.window = 3, .stride = 2, .padding = 1}, {64, 112, 112}) == shape{64, 56, 56});

// A dilated window covers (k - 1)*d + 1 elements.
static_assert(slide({.size = 3, .dilation = 2}, {1, 7, 7}, 4).output == shape{4, 3, 3});
static_assert(slide({.size = {3, 1}, .stride = 2, .dilation = {3, 5}}, {1, 9, 9}, 4).output
              == shape{4, 2, 5});
static_assert(slide({.size = 3, .dilation = 4}, {1, 8, 8}, 4).problem.found());
static_assert(slide({.size = 3, .dilation = 2, .padding = padding::same}, {1, 7, 6}, 4).output
              == shape{4, 7, 6});

constexpr bool is(border b, int before, int after) { return b.before == before && b.after == after; }
constexpr sliding_window same(extent2 size, extent2 stride = 1, extent2 dilation = 1) {
  return {size, stride, dilation, padding::same};
}

// As in TensorFlow, an odd element of padding is added at the end.
static_assert(is(vertical_border(same(4), 32), 1, 2) && is(horizontal_border(same(4), 7), 1, 2));
static_assert(is(vertical_border(same(2), 32), 0, 1));
static_assert(is(vertical_border(same(3), 32), 1, 1) && is(vertical_border(same(1), 32), 0, 0));
static_assert(is(vertical_border(same({3, 4}), 9), 1, 1) && is(horizontal_border(same({3, 4}), 9), 1, 2));
static_assert(is(vertical_border(same(3, 2), 8), 0, 1) && is(vertical_border(same(3, 2), 7), 1, 1));
static_assert(is(vertical_border(same(2, 3), 7), 0, 1), "a stride larger than the kernel");
static_assert(is(vertical_border(same(1, 3), 8), 0, 0), "never negative");
static_assert(is(vertical_border(same(3, 1, 2), 7), 2, 2), "dilated");
static_assert(is(vertical_border({.size = 3, .padding = padding(1, 2, 3, 4)}, 9), 1, 2));
static_assert(is(horizontal_border({.size = 3, .padding = padding(1, 2, 3, 4)}, 9), 3, 4));
static_assert(is(vertical_border({.size = 3}, 9), 0, 0));

TEST(sliding_window, agrees_with_counted_positions) {
  for (int in = 1; in <= 9; ++in)
    for (int size = 1; size <= 4; ++size)
      for (int stride = 1; stride <= 4; ++stride)
        for (padding const& pad : {padding::valid, padding::same, padding(1), padding(0, 2, 2, 0)}) {
          sliding_window const w{size, stride, 1, pad};
          border const b = vertical_border(w, in);
          int positions = 0;
          for (int at = -b.before; at + size <= in + b.after; at += stride) ++positions;
          inference const result = slide(w, {1, in, in}, 1);
          if (!result.problem.found()) {
            EXPECT_EQ(result.output[1], positions) << in << ' ' << size << ' ' << stride;
          } else {
            EXPECT_TRUE(positions == 0 || b.before >= size || b.after >= size)
                << in << ' ' << size << ' ' << stride;
          }
          if (pad == padding::same) {
            EXPECT_EQ(result.output[1], (in + stride - 1) / stride);
          }
        }
}

TEST(sliding_window, reports_why_it_refuses_a_window) {
  EXPECT_EQ(refused(conv2d{.filters = 20, .kernel = 5}, {1, 4, 4}),
            "graph: : the kernel is larger than its input (input 1x4x4, kernel 5x5)");
  EXPECT_EQ(refused(max_pool{.window = 2}, {50}),
            "graph: : this layer needs an input of channels x height x width (input 50)");
  EXPECT_EQ(refused(conv2d{.filters = 0, .kernel = 5}, {1, 9, 9}),
            "graph: : a convolution needs at least one filter (filters 0)");
  EXPECT_EQ(refused(conv2d{.filters = 1, .kernel = {0, 2}}, {1, 9, 9}),
            "graph: : the window must be at least 1 (window 0x2)");
  EXPECT_EQ(refused(conv2d{.filters = 1, .kernel = 2, .stride = {1, 0}}, {1, 9, 9}),
            "graph: : the stride must be at least 1 (stride 1x0)");
  EXPECT_EQ(refused(conv2d{.filters = 1, .kernel = 2, .padding = padding(0, -1, 0, 0)}, {1, 9, 9}),
            "graph: : padding must not be negative (padding 0x-1x0x0)");
  EXPECT_EQ(refused(max_pool{.window = 2, .padding = 2}, {1, 9, 9}),
            "graph: : the padding must be smaller than the kernel (input 1x9x9, kernel 2x2)");
  EXPECT_EQ(refused(conv2d{.filters = 1, .kernel = 2, .stride = 2, .padding = padding::strict}, {1, 9, 8}),
            "graph: : strict padding: the stride leaves a remainder (input 1x9x8, stride 2x2)");
  EXPECT_EQ(slide({.size = 2, .dilation = 0}, {1, 9, 9}, 1).problem.text().view(),
            "graph: : the dilation must be at least 1 (dilation 0x0)");
}

}  // namespace sliding_window_test
