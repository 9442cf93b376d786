// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/layer/synchronised_batch_norm.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "../strategy/rank_cases.hpp"

namespace recomputation_test_of_trainer {

using namespace cohort_test;

/// Masks, norms over a worker's part and over all parts, a residual sum, and a layer that occurs twice.
graph varied() {
  return graph::build([](builder& net) {
    tensor const x = net.input({1, 8, 8})
                     | conv2d{.filters = 4, .kernel = 3, .padding = 1, .name = "first_conv"}
                     | batch_norm{.name = "first_norm"} | gelu{.name = "first_gelu"}
                     | dropout{.rate = 0.2, .name = "first_mask"};
    tensor const y = x | conv2d{.filters = 4, .kernel = 3, .padding = 1, .name = "eye"}
                     | synchronised_batch_norm{} | relu{};
    tensor const z = (x + y) | elu{}
                     | conv2d{.filters = 4, .kernel = 3, .padding = 1, .settings = {.shares = "eye"}}
                     | batch_norm{};
    (z + x) | relu{} | max_pool{.window = 2} | dense{.units = 8} | tanh_activation{} | dropout{.rate = 0.2}
        | dense{.units = 3} | softmax_cross_entropy{};
  });
}

template <class B, class T>
std::vector<T> trained(recomputation const& how, int workers, int pieces) {
  bright_thirds const examples(52);
  training_settings settings = with_state(workers);
  settings.recompute = how;
  training made = trainer<B>(varied(), settings);
  made.fit(examples.data(), {.batch = 12, .epochs = 2, .accumulate = pieces});
  EXPECT_EQ(made.step(), 10);
  return parameters_of<T>(made);
}

TEST(recomputation, preserves_parameters_and_running_statistics_bitwise_after_many_steps) {
  for (int const workers : {1, 2})
    for (int const pieces : {1, 3}) {
      SCOPED_TRACE(std::to_string(workers) + " workers, pieces: " + std::to_string(pieces));
      std::vector<float> const kept = trained<narrow, float>({}, workers, pieces);
      EXPECT_EQ((trained<narrow, float>({.cheap = true}, workers, pieces)), kept);
      EXPECT_EQ((trained<narrow, float>({.blocks = {"first_*"}}, workers, pieces)), kept);
      EXPECT_EQ((trained<narrow, float>({.cheap = true, .blocks = {"*"}}, workers, pieces)), kept);
    }
  EXPECT_EQ((trained<wide, double>({.cheap = true}, 2, 2)), (trained<wide, double>({}, 2, 2)));
}

TEST(recomputation, is_logged_before_the_first_step) {
  bright_thirds const examples(12);
  std::vector<std::string> said;
  training_settings settings = with_state();
  settings.log = [&](std::string_view line) { said.emplace_back(line); };
  settings.recompute = {.cheap = true};
  training made = trainer<narrow>(varied(), settings);
  said.clear();
  made.fit(examples.data(), {.batch = 12});
  ASSERT_EQ(said.size(), 1U);
  EXPECT_NE(said[0].find("; recomputation: "), std::string::npos) << said[0];
  EXPECT_NE(said[0].find(" kernels run again, "), std::string::npos) << said[0];
  EXPECT_NE(made.plan_table(12).find("\nrecomputation: "), std::string::npos);
}

TEST(recomputation, of_an_unknown_block_is_refused_before_training) {
  training_settings settings = with_state();
  settings.recompute.blocks = {"second_*"};
  EXPECT_THROW(trainer<narrow>(varied(), settings), setting_error);
}

}  // namespace recomputation_test_of_trainer
