// SPDX-License-Identifier: Apache-2.0
// covers: layer/binary_cross_entropy layer/hinge layer/huber layer/kullback_leibler layer/mean_absolute_error
// covers: layer/mean_squared_error layer/softmax_cross_entropy
#include <gtest/gtest.h>
#include <cohort/layer/layers.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "../golden/golden_cases.hpp"

namespace loss_test {

using namespace cohort;

/// Results of a loss for some examples: the weighted mean, its output and the input gradient.
struct judgement {
  double loss = 0;
  std::vector<double> output, gradient;
};

/// `Target` is T, or std::int32_t for class indices.
template <class T = double, layer L, class Target>
judgement judge(L const& l, shape const& example, std::vector<T> const& x, std::vector<Target> const& wanted,
                std::vector<float> const& weights = {}) {
  int const batch = static_cast<int>(static_cast<std::int64_t>(x.size()) / example.elements());
  double total = weights.empty() ? batch : 0;
  for (float const w : weights) total += w;
  std::vector<T> output(x.size()), gradient(x.size());
  T const* const inputs[]{x.data()};
  T* const diff_inputs[]{gradient.data()};
  step_scalars const scalars{.gradient_scale = 1 / total,
                             .weights = weights.empty() ? nullptr : weights.data()};
  tensor_view const target(wanted.data(),
                           std::is_same_v<Target, std::int32_t> ? shape{batch} : example.batched(batch));
  loss_sum loss;
  host_arguments<T> const arguments{.batch = batch,
                                    .input_shapes = {&example, 1},
                                    .output_shape = example,
                                    .inputs = inputs,
                                    .output = output.data(),
                                    .scalars = &scalars,
                                    .target = &target,
                                    .loss = &loss,
                                    .diff_inputs = diff_inputs};
  l.forward(arguments);
  l.backward(arguments);
  return {loss.sum / total, {output.begin(), output.end()}, {gradient.begin(), gradient.end()}};
}

using numbers = std::vector<double>;
using indices = std::vector<std::int32_t>;

void expect_near(numbers const& got, numbers const& wanted, double tolerance, std::string const& what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], tolerance) << what << ' ' << i;
}

TEST(loss, of_a_regression_is_the_mean_over_outputs_and_examples) {
  numbers const x{1, 2, 0, -1}, wanted{0, 4, 0, 1};  // two examples of two outputs, off by 1, −2, 0, −2
  judgement const squared = judge(mean_squared_error{}, {2}, x, wanted);
  EXPECT_EQ(squared.loss, 2.25);
  EXPECT_EQ(squared.gradient, (numbers{0.5, -1, 0, -1}));
  EXPECT_EQ(squared.output, x);
  judgement const absolute = judge(mean_absolute_error{}, {2}, x, wanted);
  EXPECT_EQ(absolute.loss, 1.25);
  EXPECT_EQ(absolute.gradient, (numbers{0.25, -0.25, 0, -0.25}));
  EXPECT_EQ(absolute.output, x);
}

TEST(loss, huber_is_quadratic_up_to_delta_and_linear_beyond_it) {
  numbers const x{1, 2, 0, -1}, wanted{0, 4, 0, 1};
  judgement const one = judge(huber{}, {2}, x, wanted);
  EXPECT_EQ(one.loss, (0.5 + 1.5 + 0 + 1.5) / 4);
  EXPECT_EQ(one.gradient, (numbers{0.25, -0.25, 0, -0.25}));
  judgement const two = judge(huber{.delta = 2}, {2}, x, wanted);
  EXPECT_EQ(two.loss, judge(mean_squared_error{.weight = 0.5}, {2}, x, wanted).loss);
  EXPECT_EQ(two.gradient, (numbers{0.25, -0.5, 0, -0.5}));
}

TEST(loss, hinge_requires_a_margin_of_one) {
  numbers const x{0.5, -3, 2, 1};
  judgement const signs = judge(hinge{}, {4}, x, numbers{1, 1, -1, 1});
  EXPECT_EQ(signs.loss, (0.5 + 4 + 3 + 0) / 4);
  EXPECT_EQ(signs.gradient, (numbers{-0.25, -0.25, 0.25, 0}));
  judgement const bits = judge(hinge{}, {4}, x, numbers{1, 1, 0, 1});
  EXPECT_EQ(bits.loss, signs.loss);
  EXPECT_EQ(bits.gradient, signs.gradient);
}

TEST(loss, binary_cross_entropy_outputs_probabilities) {
  judgement const sure =
      judge(binary_cross_entropy{}, {1}, numbers{0, std::log(3.0), std::log(3.0)}, numbers{1, 0, 0.5});
  expect_near(sure.output, {0.5, 0.75, 0.75}, 1e-15, "output");
  EXPECT_NEAR(sure.loss, (std::log(2.0) + std::log(4.0) - 0.5 * std::log(0.75 * 0.25)) / 3, 1e-15);
  expect_near(sure.gradient, {-0.5 / 3, 0.25, 0.25 / 3}, 1e-15, "gradient");
}

template <class T>
void expect_stable_binary_cross_entropy() {
  T const infinity = std::numeric_limits<T>::infinity();
  auto const loss = [](T x, T wanted) {
    return judge<T>(binary_cross_entropy{}, {1}, std::vector<T>{x}, std::vector<T>{wanted});
  };
  EXPECT_EQ(loss(5000, 0).loss, 5000);
  EXPECT_EQ(loss(-5000, 1).loss, 5000);
  EXPECT_EQ(loss(5000, 0).gradient[0], 1);
  EXPECT_EQ(loss(-5000, 1).gradient[0], -1);
  EXPECT_EQ(loss(-5000, T(0.25)).loss, 1250);
  EXPECT_NEAR(loss(-40, 0).loss, std::exp(-40.0), 1e-6 * std::exp(-40.0)) << "not rounded to nothing";
  for (T const x : {T(5000), infinity}) {
    EXPECT_EQ(loss(x, 1).loss, 0);
    EXPECT_EQ(loss(-x, 0).loss, 0);
    EXPECT_EQ(loss(x, 1).gradient[0], 0);
    EXPECT_EQ(loss(-x, 0).gradient[0], 0);
  }
  EXPECT_EQ(loss(infinity, 0).loss, std::numeric_limits<double>::infinity());
}

TEST(loss, binary_cross_entropy_is_exact_for_large_and_infinite_logits) {
  expect_stable_binary_cross_entropy<float>();
  expect_stable_binary_cross_entropy<double>();
}

TEST(loss, softmax_accepts_large_and_infinitely_negative_logits) {
  double const out = -std::numeric_limits<double>::infinity();
  judgement const large = judge(softmax_cross_entropy{}, {3}, numbers{1e5, 0, -1e5}, indices{1});
  EXPECT_EQ(large.loss, 1e5);
  EXPECT_EQ(large.gradient, (numbers{1, -1, 0}));
  for (auto const& ruled_out : {judge(softmax_cross_entropy{}, {3}, numbers{2, out, 2}, indices{0}),
                                judge(softmax_cross_entropy{}, {3}, numbers{2, out, 2}, numbers{1, 0, 0}),
                                judge(kullback_leibler{}, {3}, numbers{2, out, 2}, numbers{1, 0, 0})}) {
    EXPECT_DOUBLE_EQ(ruled_out.loss, std::log(2.0));
    EXPECT_EQ(ruled_out.gradient, (numbers{-0.5, 0, 0.5}));
  }
  EXPECT_EQ(judge(softmax_cross_entropy{}, {3}, numbers{2, out, 2}, indices{1}).loss, -out);
}

TEST(loss, label_smoothing_distributes_part_of_the_target_over_all_classes) {
  numbers const x{0, std::log(3.0)};  // probabilities ¼ and ¾
  softmax_cross_entropy const smoothed{.label_smoothing = 0.2};
  double const wanted = -0.1 * std::log(0.25) - 0.9 * std::log(0.75);
  judgement const label = judge(smoothed, {2}, x, indices{1});
  judgement const distribution = judge(smoothed, {2}, x, numbers{0, 1});
  judgement const by_hand = judge(softmax_cross_entropy{}, {2}, x, numbers{0.1, 0.9});
  for (judgement const* one : {&label, &distribution, &by_hand}) {
    EXPECT_NEAR(one->loss, wanted, 1e-15);
    expect_near(one->gradient, {0.15, -0.15}, 1e-15, "gradient");
    expect_near(one->output, {0.25, 0.75}, 1e-15, "output");
  }
}

TEST(loss, of_an_index_equals_the_loss_of_a_one_hot_distribution) {
  numbers const x{0.3, -1.2, 0.5, 2, 0, 1};
  judgement const index = judge(softmax_cross_entropy{}, {3}, x, indices{2, 0});
  judgement const sure = judge(softmax_cross_entropy{}, {3}, x, numbers{0, 0, 1, 1, 0, 0});
  EXPECT_EQ(index.loss, sure.loss);
  EXPECT_EQ(index.gradient, sure.gradient);
}

TEST(loss, kullback_leibler_is_cross_entropy_minus_entropy) {
  judgement const one = judge(kullback_leibler{}, {2}, numbers{0, 0}, numbers{0.25, 0.75});
  EXPECT_NEAR(one.loss, 0.25 * std::log(0.5) + 0.75 * std::log(1.5), 1e-15);
  expect_near(one.gradient, {0.25, -0.25}, 1e-15, "gradient");
  judgement const same = judge(kullback_leibler{}, {2}, numbers{0, std::log(3.0)}, numbers{0.25, 0.75});
  EXPECT_NEAR(same.loss, 0, 1e-15);
  expect_near(same.gradient, {0, 0}, 1e-15, "gradient");
}

template <class Check>
void for_every_loss(Check check) {
  check(softmax_cross_entropy{});
  check(softmax_cross_entropy{.label_smoothing = 0.1});
  check(kullback_leibler{});
  check(binary_cross_entropy{});
  check(mean_squared_error{});
  check(mean_absolute_error{});
  check(huber{.delta = 0.5});
  check(hinge{});
}

TEST(loss, of_weight_two_equals_the_loss_of_two_equal_examples) {
  numbers const x{0.3, -1.2, 2, 0.7}, wanted{0.9, 0.1, 0.25, 0.75};
  numbers const x_twice{0.3, -1.2, 0.3, -1.2, 2, 0.7}, wanted_twice{0.9, 0.1, 0.9, 0.1, 0.25, 0.75};
  for_every_loss([&](auto const& l) {
    judgement const weighted = judge(l, {2}, x, wanted, {2, 1}), twice = judge(l, {2}, x_twice, wanted_twice);
    EXPECT_NEAR(weighted.loss, twice.loss, 1e-15) << l.kind_name;
    auto const& g = twice.gradient;
    expect_near(weighted.gradient, {g[0] + g[2], g[1] + g[3], g[4], g[5]}, 1e-15, std::string(l.kind_name));
    judgement const without = judge(l, {2}, x, wanted, {0, 1}),
                    alone = judge(l, {2}, numbers{2, 0.7}, numbers{0.25, 0.75});
    EXPECT_NEAR(without.loss, alone.loss, 1e-15) << l.kind_name;
    expect_near(without.gradient, {0, 0, alone.gradient[0], alone.gradient[1]}, 1e-15,
                std::string(l.kind_name));
  });
}

TEST(loss, weight_scales_a_loss_and_its_gradient) {
  numbers const x{0.3, -1.2, 2, 0.7}, wanted{0.9, 0.1, 0.25, 0.75};
  for_every_loss([&](auto l) {
    judgement const plain = judge(l, {2}, x, wanted);
    l.weight = 4;
    judgement const scaled = judge(l, {2}, x, wanted);
    EXPECT_EQ(scaled.loss, 4 * plain.loss) << l.kind_name;
    for (std::size_t i = 0; i < x.size(); ++i)
      EXPECT_EQ(scaled.gradient[i], 4 * plain.gradient[i]) << l.kind_name;
    EXPECT_EQ(scaled.output, plain.output);
  });
}

TEST(loss, computes_only_its_output_at_inference) {
  for_every_loss([&](auto const& l) {
    numbers const x{0.3, -1.2};
    numbers output(2);
    shape const example{2};
    double const* const inputs[]{x.data()};
    l.forward(host_arguments<double>{.batch = 1,
                                     .training = false,
                                     .input_shapes = {&example, 1},
                                     .output_shape = example,
                                     .inputs = inputs,
                                     .output = output.data()});
    EXPECT_EQ(output, judge(l, example, x, numbers{0, 1}).output) << l.kind_name;
  });
}

template <layer L>
std::string refused(L const& l, shape const& input) {
  inference const result = l.infer({&input, 1});
  return result.problem.found() ? std::string(result.problem.text().view()) : "";
}

TEST(loss, refuses_invalid_settings) {
  for_every_loss([](auto l) {
    EXPECT_EQ(refused(l, {3}), "") << l.kind_name;
    for (double const weight : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
      l.weight = weight;
      EXPECT_EQ(refused(l, {3}), "graph: : the weight of a loss must be a finite number above 0")
          << l.kind_name;
    }
  });
  for (double const delta : {0.0, -1.0, std::nan(""), HUGE_VAL})
    EXPECT_EQ(refused(huber{.delta = delta}, {3}),
              "graph: : the delta of a Huber loss must be a finite number above 0");
  for (double const smoothing : {-0.1, 1.0, std::nan("")})
    EXPECT_EQ(refused(softmax_cross_entropy{.label_smoothing = smoothing}, {3}),
              "graph: : label smoothing must be in [0, 1)");
  EXPECT_EQ(refused(kullback_leibler{}, {3, 4, 4}),
            "graph: : softmax needs one logit per class: put a dense layer before it (input 3x4x4)");
}

static_assert(mean_squared_error{}.infer(std::array{shape{3, 4, 5}}).output == shape{3, 4, 5});
static_assert(binary_cross_entropy{}.target(std::array{shape{3, 4}})
              == target_spec{.numbers = true, .values = {3, 4}, .lowest = 0, .highest = 1, .steps = 3});
static_assert(target_spec{}.between(0) == -1 && target_spec{}.between(1) == 1);
static_assert(target_spec{.lowest = 3}.between(1) == 5 && target_spec{.highest = -3}.between(0) == -5);
static_assert(target_spec{.lowest = 2, .highest = 10}.between(0.25) == 4);

/// A few roundings of numbers of size 1 to 10, in another order than PyTorch's.
constexpr double tolerance = 1e-14;

template <class Target = double, layer L>
void compare(L const& l, std::string const& name) {
  golden_case const wanted = read_golden_cases("losses.txt").at(name);
  numbers const target = numbers_of(wanted, "target");
  numbers const weights = wanted.contains("weights") ? numbers_of(wanted, "weights") : numbers();
  judgement const got =
      judge(l, {4}, numbers_of(wanted, "input"), std::vector<Target>(target.begin(), target.end()),
            std::vector<float>(weights.begin(), weights.end()));
  expect_near({got.loss}, numbers_of(wanted, "loss"), tolerance, name);
  expect_near(got.output, numbers_of(wanted, "output"), tolerance, name);
  expect_near(got.gradient, numbers_of(wanted, "gradient"), tolerance, name);
}

TEST(loss, agrees_with_pytorch) {
  compare<std::int32_t>(softmax_cross_entropy{}, "labels");
  compare<std::int32_t>(softmax_cross_entropy{.label_smoothing = 0.1}, "smoothed_labels");
  compare(softmax_cross_entropy{.label_smoothing = 0.2}, "distributions");
  compare(kullback_leibler{}, "kullback_leibler");
  compare(binary_cross_entropy{}, "binary_cross_entropy");
  compare(mean_squared_error{}, "mean_squared_error");
  compare(mean_absolute_error{}, "mean_absolute_error");
  compare(huber{.delta = 0.7}, "huber");
  compare(hinge{}, "hinge");
}

}  // namespace loss_test
