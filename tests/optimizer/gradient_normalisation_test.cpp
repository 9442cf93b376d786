// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cohort/error/exceptions.hpp>
#include <cohort/optimizer/gradient_normalisation.hpp>
#include <limits>
#include <vector>

namespace gradient_normalisation_test {

using cohort::gradient_normalisation;
using cohort::layer_gradient;
namespace normalise = cohort::normalise;

constexpr gradient_normalisation clipped = normalise::clip_global_norm{2};
static_assert(clipped != gradient_normalisation(normalise::clip_global_norm{}));
static_assert(gradient_normalisation() == gradient_normalisation(normalise::none{}));
static_assert(clipped.factor(4) == 0.5 && clipped.factor(2) == 1 && clipped.factor(0) == 1);

std::vector<gradient_normalisation> all() {
  return {{},
          normalise::renormalize_l2_per_layer{},
          normalise::renormalize_l2_per_parameter{},
          normalise::clip_elementwise{2},
          normalise::clip_l2_per_layer{5},
          normalise::clip_l2_per_parameter{5},
          normalise::clip_global_norm{13}};
}

using values = std::vector<float>;

/// Two layers: weights (3, 4) and bias (12), then weights (0, −8).
std::vector<values> normalised(gradient_normalisation const& how,
                               std::vector<values> tensors = {{3, 4}, {12}, {0, -8}}) {
  std::vector<layer_gradient<float>> list;
  int const layers[] = {0, 0, 3};
  for (std::size_t k = 0; k < tensors.size(); ++k) list.push_back({tensors[k], layers[k]});
  cohort::apply_normalisation<float>(how, list);
  return tensors;
}

void expect(gradient_normalisation const& how, std::vector<values> const& expected) {
  auto const got = normalised(how);
  for (std::size_t k = 0; k < expected.size(); ++k)
    for (std::size_t i = 0; i < expected[k].size(); ++i)
      EXPECT_FLOAT_EQ(got[k][i], expected[k][i]) << how.name() << " tensor " << k << " element " << i;
}

// Norms: 5, 12 and 8 of the tensors, 13 and 8 of the layers, √233 of the network.
TEST(gradient_normalisation, computes_each_variant) {
  expect({}, {{3, 4}, {12}, {0, -8}});
  expect(normalise::renormalize_l2_per_layer{}, {{3.F / 13, 4.F / 13}, {12.F / 13}, {0, -1}});
  expect(normalise::renormalize_l2_per_parameter{}, {{0.6F, 0.8F}, {1}, {0, -1}});
  expect(normalise::clip_elementwise{3.5}, {{3, 3.5}, {3.5}, {0, -3.5}});
  expect(normalise::clip_l2_per_layer{6.5}, {{1.5, 2}, {6}, {0, -6.5}});
  expect(normalise::clip_l2_per_layer{8}, {{24.F / 13, 32.F / 13}, {96.F / 13}, {0, -8}});
  expect(normalise::clip_l2_per_parameter{6}, {{3, 4}, {6}, {0, -6}});
  float const scale = static_cast<float>(2 / std::sqrt(233.0));
  expect(clipped, {{3 * scale, 4 * scale}, {12 * scale}, {0, -8 * scale}});
}

TEST(gradient_normalisation, does_not_change_gradients_below_the_threshold) {
  std::vector<values> const before{{0.1F, -0.7F}, {1e-30F}, {3, 4}};
  for (gradient_normalisation const& how : {gradient_normalisation(normalise::clip_elementwise{100}),
                                            gradient_normalisation(normalise::clip_l2_per_layer{100}),
                                            gradient_normalisation(normalise::clip_l2_per_parameter{100}),
                                            gradient_normalisation(normalise::clip_global_norm{100})})
    EXPECT_EQ(normalised(how, before), before) << how.name();
}

TEST(gradient_normalisation, keeps_zeros_and_propagates_nan) {
  std::vector<values> const zeros{{0, 0}, {0}, {0, 0}};
  float const nan = std::numeric_limits<float>::quiet_NaN();
  for (gradient_normalisation const& how : all()) {
    EXPECT_EQ(normalised(how, zeros), zeros) << how.name();
    EXPECT_TRUE(std::isnan(normalised(how, {{1, nan}, {2}, {3, 4}})[0][1])) << how.name();
  }
  values const smallest{std::numeric_limits<float>::denorm_min()};
  EXPECT_EQ(normalised(normalise::renormalize_l2_per_layer{}, {smallest})[0], smallest);
}

TEST(gradient_normalisation, is_restored_from_its_name_and_threshold) {
  ASSERT_EQ(all().size(), gradient_normalisation::rows.size());
  for (std::size_t k = 0; k < all().size(); ++k) {
    EXPECT_EQ(all()[k].name(), gradient_normalisation::rows[k].name);
    EXPECT_EQ(gradient_normalisation::from(all()[k].name(), all()[k].at), all()[k]);
  }
  EXPECT_THROW(gradient_normalisation::from("clip"), cohort::setting_error);
}

TEST(gradient_normalisation, refuses_invalid_thresholds) {
  for (gradient_normalisation const& how : all()) {
    EXPECT_NO_THROW(how.check()) << how.name();
    for (double const bad : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()})
      if (how.has_threshold()) {
        EXPECT_THROW(gradient_normalisation::from(how.name(), bad).check(), cohort::setting_error);
      }
  }
}

}  // namespace gradient_normalisation_test
