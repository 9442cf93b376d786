// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "../golden/golden_cases.hpp"
#include "../plan/trial.hpp"

namespace sequences_golden_test {

using namespace cohort;
using B = reference<double>;

constexpr int steps = 6;

tensor tagged(tensor x, embedding const& words, bool sum) {
  return x | words | conv1d{.filters = 5, .kernel = 3, .padding = padding::same} | relu{}
         | conv1d{.filters = 3, .kernel = 2, .padding = padding::same} | tanh_activation{} | dense{.units = 3}
         | softmax_cross_entropy{.sum_steps = sum};
}
graph tagger(bool sum, bool mask_zero) {
  return graph::build([=](builder& b) {
    return tagged(mask_zero ? b.input({steps}) : b.masked_input({steps}),
                  {.vocabulary = 7, .width = 4, .mask_zero = mask_zero}, sum);
  });
}
graph language_model() {
  return graph::build([](builder& b) {
    return b.masked_input({steps}) | embedding{.vocabulary = 7, .width = 4, .name = "words"}
           | dense{.units = 4} | tanh_activation{}
           | dense{.units = 7, .bias = false, .settings = {.shares = "words"}}
           | softmax_cross_entropy{.ignore_index = 2};
  });
}
graph classifier() {
  return graph::build([](builder& b) {
    tensor const x = b.masked_input({steps, 2}) | dense{.units = 4} | relu{} | batch_norm{};
    return concat(x | global_avg_pool{}, x | global_max_pool{}) | dense{.units = 3} | softmax_cross_entropy{};
  });
}

/// Sums of at most 100 terms of size 1, in another order than PyTorch's, and a division by a deviation of
/// 0.1.
constexpr double tolerance = 2e-13;

void expect_near(std::vector<double> const& got, std::vector<double> const& wanted, std::string const& what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], tolerance) << what << ' ' << i;
}

void compare(std::string const& name, graph const& net) {
  SCOPED_TRACE(name);
  golden_case const wanted = read_golden_cases("sequences.txt")[name];
  int const batch = static_cast<int>(numbers_of(wanted, "batch").at(0));
  trial<B> trained(net, {.batch = batch});
  for (int p = 0; p < trained.parameters(); ++p) {
    parameter const& one = trained.parameter(p);
    if (!is_trained(one.spec.role)) continue;
    trained.store->write(
        p, reinterpret_cast<std::byte const*>(numbers_of(wanted, "parameter " + one.name).data()),
        trained.store->master());
  }
  trained.store->mark_changed();
  trained.store->refresh_stale();
  std::ranges::copy(numbers_of(wanted, "input"), trained.batch.inputs[0].begin());
  std::ranges::copy(numbers_of(wanted, "target"), trained.batch.indices[0].begin());
  std::vector<double> const& lengths = numbers_of(wanted, "lengths");
  for (std::size_t i = 0; !trained.batch.masks.empty() && i < trained.batch.masks.front().size(); ++i)
    trained.batch.masks.front()[i] = static_cast<double>(i % steps) < lengths[i / steps] ? 1 : 0;
  trained.batch.divisor = detail::loss_divisor(net).of(trained.batch.input_views, trained.batch.mask_views,
                                                       trained.batch.target_views, {}, batch);
  EXPECT_NEAR(trained.step(), numbers_of(wanted, "loss").at(0), tolerance);
  for (int p = 0; p < trained.parameters(); ++p)
    if (is_trained(trained.parameter(p).spec.role))
      expect_near(trained.gradient(p), numbers_of(wanted, "gradient " + trained.parameter(p).name),
                  trained.parameter(p).name);
}

TEST(sequences_golden, taggers_agree_with_pytorch) {
  compare("tagger", tagger(false, false));
  compare("tagger", tagger(false, true));
  compare("tagger_of_sums", tagger(true, true));
}

TEST(sequences_golden, norms_and_pools_of_masked_sequences_agree_with_pytorch) {
  compare("classifier", classifier());
}

TEST(sequences_golden, tied_layers_and_ignored_targets_agree_with_pytorch) {
  compare("language_model", language_model());
}

TEST(sequences_golden, has_the_expected_number_of_golden_cases) {
  EXPECT_EQ(read_golden_cases("sequences.txt").size(), 4U);
}

}  // namespace sequences_golden_test
