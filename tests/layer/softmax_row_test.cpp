// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/layer/detail/softmax_row.hpp>
#include <cohort/layer/softmax_cross_entropy.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace softmax_row_test {

using namespace cohort;

constexpr float infinite = std::numeric_limits<float>::infinity();

std::vector<isa> instruction_sets() {
  std::vector<isa> found;
  for (isa const one : {isa::baseline, isa::avx2, isa::avx512})
    if (one <= machine_isa()) found.push_back(one);
  return found;
}

struct result {
  detail::softmax_sums<float> sums;
  std::vector<float> p;
};

/// The row begins at an address that is not a multiple of a vector.
result softmax_of(isa which, std::vector<float> const& logits) {
  std::vector<float> x(1), p(logits.size() + 2, 7.0F);
  x.insert(x.end(), logits.begin(), logits.end());
  result made{detail::softmax_in_vectors(which, x.data() + 1, p.data() + 1, logits.size()), {}};
  EXPECT_EQ(p.front(), 7.0F);
  EXPECT_EQ(p.back(), 7.0F) << "writes only the row";
  made.p.assign(p.begin() + 1, p.end() - 1);
  return made;
}

TEST(softmax_row, is_accurate_with_every_instruction_set) {
  std::mt19937 random(3);
  for (double const deviation : {1.0, 30.0})
    for (std::size_t const count : {1U, 2U, 5U, 15U, 16U, 17U, 63U, 64U, 65U, 1000U, 50257U}) {
      std::normal_distribution<float> numbers(0, static_cast<float>(deviation));
      std::vector<float> logits(count);
      for (float& one : logits) one = numbers(random);
      double const most = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
      double total = 0;
      for (float const one : logits) total += std::exp(static_cast<double>(one) - most);
      for (isa const which : instruction_sets()) {
        SCOPED_TRACE(std::string(name_of(which)) + ", " + std::to_string(count) + " logits");
        result const made = softmax_of(which, logits);
        EXPECT_EQ(static_cast<double>(made.sums.largest), most);
        EXPECT_NEAR(made.sums.total / total, 1, 5e-6);
        for (std::size_t i = 0; i < count; ++i) {
          double const wanted = std::exp(static_cast<double>(logits[i]) - most) / total;
          ASSERT_NEAR(made.p[i], wanted, 5e-6 * wanted + 1e-37) << i;
        }
      }
    }
}

TEST(softmax_row, gives_negative_infinity_probability_0_and_returns_nan_for_invalid_logits) {
  float const nan = std::numeric_limits<float>::quiet_NaN(), least = std::numeric_limits<float>::lowest();
  for (isa const which : instruction_sets())
    for (std::size_t const count : {3U, 16U, 70U}) {
      SCOPED_TRACE(std::string(name_of(which)) + ", " + std::to_string(count) + " logits");
      std::vector<float> logits(count, -infinite);
      logits[1] = logits[count - 1] = 2;
      result made = softmax_of(which, logits);
      EXPECT_EQ(made.sums.total, 2.0F);
      for (std::size_t i = 0; i < count; ++i)
        EXPECT_EQ(made.p[i], i == 1 || i + 1 == count ? 0.5F : 0.0F) << i;
      made = softmax_of(which, std::vector<float>(count, least));
      EXPECT_EQ(made.sums.total, static_cast<float>(count));
      for (float const invalid : {nan, -nan, infinite})
        for (std::size_t at = 0; at < count; ++at) {
          std::vector<float> one(count, 1.0F);
          one[at] = invalid;
          made = softmax_of(which, one);
          EXPECT_TRUE(std::isnan(made.sums.total)) << at;
          for (float const p : made.p) EXPECT_TRUE(std::isnan(p)) << at;
        }
      EXPECT_TRUE(std::isnan(softmax_of(which, std::vector<float>(count, -infinite)).sums.total));
    }
}

/// Loss, probabilities and gradient of a row of logits.
template <class T>
std::vector<double> judge(std::vector<T> const& logits, std::int32_t label) {
  shape const example{static_cast<int>(logits.size())};
  std::vector<T> output(logits.size()), gradient(logits.size());
  T const* const inputs[]{logits.data()};
  T* const diff_inputs[]{gradient.data()};
  step_scalars const scalars{.gradient_scale = 1};
  tensor_view const target(&label, shape{1});
  loss_sum loss;
  host_arguments<T> const a{.batch = 1,
                            .input_shapes = {&example, 1},
                            .output_shape = example,
                            .inputs = inputs,
                            .output = output.data(),
                            .scalars = &scalars,
                            .target = &target,
                            .loss = &loss,
                            .diff_inputs = diff_inputs};
  softmax_cross_entropy const l{.label_smoothing = 0.1};
  l.forward(a);
  l.backward(a);
  std::vector<double> made{loss.sum};
  made.insert(made.end(), output.begin(), output.end());
  made.insert(made.end(), gradient.begin(), gradient.end());
  return made;
}

TEST(softmax_cross_entropy, agrees_with_double_precision_below_and_above_64_classes) {
  std::mt19937 random(5);
  std::normal_distribution<float> numbers(0, 3);
  for (std::size_t const classes : {63U, 64U, 65U, 3000U}) {
    std::vector<float> logits(classes);
    for (float& one : logits) one = numbers(random);
    std::vector<double> const exact = judge(std::vector<double>(logits.begin(), logits.end()), 40),
                              made = judge(logits, 40);
    for (std::size_t i = 0; i < exact.size(); ++i)
      ASSERT_NEAR(made[i], exact[i], 2e-6 * std::max(1.0, std::abs(exact[i]))) << classes << ' ' << i;
  }
}

}  // namespace softmax_row_test
