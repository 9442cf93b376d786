// SPDX-License-Identifier: Apache-2.0
// uses: onednn
#include <gtest/gtest.h>
#include <cohort/training/own_backend.hpp>
#include <cohort/training/trainer.hpp>
#if __has_include(<cohort/onednn.hpp>)
#include <cohort/onednn.hpp>
#endif
#include <vector>

#include "bright_thirds.hpp"
#include "parameters_of.hpp"

namespace squeeze_and_excite_test {

using namespace cohort_test;

/// Squeeze-and-excite (Hu et al., CVPR 2018): scales each channel by a number computed from all channels.
struct squeeze_and_excite {
  int reduction = 2;

  constexpr tensor operator()(tensor x) const {
    int const channels = x.dims()[0];
    tensor const gate = x | global_avg_pool{} | dense{.units = channels / reduction} | relu{}
                        | dense{.units = channels} | sigmoid{} | reshape{.extents = {channels, 1, 1}};
    return x * gate;
  }
};

constexpr auto gated = network<[](builder& net) {
  return net.input({1, 8, 8}) | conv2d{.filters = 8, .kernel = 3, .bias = false} | batch_norm{} | relu{}
         | squeeze_and_excite{} | max_pool{.window = 2} | dense{.units = 3} | softmax_cross_entropy{};
}>();

template <class B>
std::vector<float> learned() {
  bright_thirds const examples(300), held(90, 2);
  training made = trainer<B>(gated, {.optimizer = {adam{.learning_rate = 0.01}}, .seed = 7});
  made.fit(examples.data(), {.batch = 20, .epochs = 3});
  EXPECT_GT(made.evaluate(held.data()).accuracy().value(), 0.95);
  return parameters_of<float>(made);
}

TEST(squeeze_and_excite, learns_and_agrees_between_backends) {
  std::vector<float> const wanted = learned<reference<float>>();
#if __has_include(<cohort/onednn.hpp>)
  std::vector<float> const got = learned<onednn>();
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) ASSERT_NEAR(got[i], wanted[i], 1e-3) << i;
#endif
}

}  // namespace squeeze_and_excite_test
