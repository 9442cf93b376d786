// SPDX-License-Identifier: Apache-2.0
// covers: layer/global_pool
#include <gtest/gtest.h>
#include <cohort/layer/avg_pool.hpp>
#include <cohort/layer/global_pool.hpp>

#include <vector>

namespace avg_pool_test {

using namespace cohort;

template <layer L>
constexpr inference inferred(L const& l, shape const& input) {
  return l.infer({&input, 1});
}

/// Output of a pool for the input, and the input gradient for an output gradient.
template <layer L>
struct passed {
  std::vector<double> output, diff_input;

  passed(L const& l, shape const& dims, int batch, std::vector<double> const& input,
         std::vector<double> const& diff_output)
      : output(diff_output.size(), -1), diff_input(input.size(), -1) {
    double const* const inputs[]{input.data()};
    double* const diff_inputs[]{diff_input.data()};
    host_arguments<double> const a{.batch = batch,
                                   .input_shapes = {&dims, 1},
                                   .output_shape = inferred(l, dims).output,
                                   .inputs = inputs,
                                   .output = output.data(),
                                   .diff_output = diff_output.data(),
                                   .diff_inputs = diff_inputs};
    l.forward(a);
    l.backward(a);
  }
};

static_assert(inferred(avg_pool{.window = 2}, {3, 5, 7}).output == shape{3, 2, 3});
static_assert(inferred(avg_pool{.window = 3, .stride = 2, .padding = padding::same}, {3, 5, 8}).output
              == shape{3, 3, 4});
static_assert(inferred(global_avg_pool{}, {3, 5, 7}).output == shape{3});
static_assert(inferred(global_max_pool{}, {5, 3}).output == shape{3});
static_assert(inferred(avg_pool{.window = 2}, {3, 5}).problem.found());
static_assert(inferred(global_avg_pool{}, {3}).problem.found()
              && inferred(global_max_pool{}, {3}).problem.found());

TEST(avg_pool, does_not_count_padding) {
  passed const p(avg_pool{.window = 2, .stride = 2, .padding = 1}, {1, 2, 2}, 1, {1, 2, 3, 4},
                 {1, 10, 100, 1000});
  EXPECT_EQ(p.output, (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(p.diff_input, (std::vector<double>{1, 10, 100, 1000}));
  passed const same(avg_pool{.window = 2, .stride = 1, .padding = padding::same}, {1, 1, 3}, 1, {1, 2, 4},
                    {2, 4, 8});
  EXPECT_EQ(same.output, (std::vector<double>{1.5, 3, 4}));
  EXPECT_EQ(same.diff_input, (std::vector<double>{1, 3, 10}));
}

TEST(global_pools, pool_each_channel_of_each_example_separately) {
  std::vector<double> const input{1, 3, 5, 5, -1, -3, -5, -5};
  passed const mean(global_avg_pool{}, {2, 1, 2}, 2, input, {2, 4, 6, 8});
  EXPECT_EQ(mean.output, (std::vector<double>{2, 5, -2, -5}));
  EXPECT_EQ(mean.diff_input, (std::vector<double>{1, 1, 2, 2, 3, 3, 4, 4}));
  passed const most(global_max_pool{}, {2, 1, 2}, 2, input, {2, 4, 6, 8});
  EXPECT_EQ(most.output, (std::vector<double>{3, 5, -1, -5}));
  EXPECT_EQ(most.diff_input, (std::vector<double>{0, 2, 4, 0, 6, 0, 8, 0})) << "the first of equals";
}

TEST(global_pools, pool_the_steps_of_a_sequence) {
  std::vector<double> const input{1, 30, 3, 10, 5, 20};  // three steps of two channels
  passed const mean(global_avg_pool{}, {3, 2}, 1, input, {3, 6});
  EXPECT_EQ(mean.output, (std::vector<double>{3, 20}));
  EXPECT_EQ(mean.diff_input, (std::vector<double>{1, 2, 1, 2, 1, 2}));
  passed const most(global_max_pool{}, {3, 2}, 1, input, {3, 6});
  EXPECT_EQ(most.output, (std::vector<double>{5, 30}));
  EXPECT_EQ(most.diff_input, (std::vector<double>{0, 6, 0, 0, 3, 0}));
}

TEST(global_pools, report_why_they_refuse_an_input) {
  EXPECT_EQ(
      inferred(global_avg_pool{}, {3}).problem.text().view(),
      "graph: : global pooling needs an input of channels x height x width or steps x channels (input 3)");
  EXPECT_EQ(inferred(avg_pool{.window = 2, .padding = 2}, {1, 9, 9}).problem.text().view(),
            "graph: : the padding must be smaller than the kernel (input 1x9x9, kernel 2x2)");
}

}  // namespace avg_pool_test
