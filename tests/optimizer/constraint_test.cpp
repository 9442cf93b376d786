// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cohort/optimizer/constraint.hpp>
#include <limits>
#include <vector>

namespace constraint_test {

using cohort::parameter_constraint;
namespace constraint = cohort::constraint;

constexpr parameter_constraint bounded = constraint::max_norm{.at = 5};
static_assert(bounded != parameter_constraint(constraint::max_norm{}));
static_assert(parameter_constraint() != parameter_constraint(constraint::unit_norm{}));

using values = std::vector<float>;

values constrained(parameter_constraint const& how, values w, std::size_t units) {
  cohort::apply_constraint<float>(how, w, units);
  return w;
}

TEST(parameter_constraint, max_norm_scales_only_units_above_the_maximum) {
  EXPECT_EQ(constrained(bounded, {6, 8, 3, 4, -1, 0.1F, 0, 0}, 4), (values{3, 4, 3, 4, -1, 0.1F, 0, 0}));
  EXPECT_EQ(constrained(bounded, {6, -7, 3}, 3), (values{5, -5, 3}));  // a bias
}

TEST(parameter_constraint, unit_norm_scales_units_to_norm_1_and_keeps_zeros) {
  EXPECT_EQ(constrained(constraint::unit_norm{}, {6, 8, 0, 0, 0.3F, 0.4F}, 3),
            (values{0.6F, 0.8F, 0, 0, 0.6F, 0.8F}));
}

TEST(parameter_constraint, non_negative_replaces_negative_elements_by_zero) {
  EXPECT_EQ(constrained(constraint::non_negative{}, {-1, 0, 2, -1e-40F, 3}, 2), (values{0, 0, 2, 0, 3}));
}

TEST(parameter_constraint, none_changes_nothing) {
  EXPECT_EQ(constrained({}, {-100, 0, 2}, 2), (values{-100, 0, 2}));
}

TEST(parameter_constraint, propagates_nan) {
  float const nan = std::numeric_limits<float>::quiet_NaN();
  for (parameter_constraint const& how : {bounded, parameter_constraint(constraint::unit_norm{}),
                                          parameter_constraint(constraint::non_negative{})})
    EXPECT_TRUE(std::isnan(constrained(how, {nan, 1}, 1)[0])) << how.name();
}

TEST(parameter_constraint, refuses_incomplete_units) {
  EXPECT_THROW(constrained(bounded, {1, 2, 3}, 2), cohort::shape_error);
  EXPECT_THROW(constrained(bounded, {1, 2, 3}, 0), cohort::shape_error);
}

TEST(parameter_constraint, is_restored_from_the_name_and_the_maximum) {
  for (parameter_constraint const& how :
       {parameter_constraint(), bounded, parameter_constraint(constraint::unit_norm{}),
        parameter_constraint(constraint::non_negative{})}) {
    EXPECT_EQ(parameter_constraint::from(how.name(), how.at), how);
    EXPECT_NO_THROW(how.check());
  }
  EXPECT_THROW(parameter_constraint::from("norm"), cohort::setting_error);
  EXPECT_THROW(parameter_constraint(constraint::max_norm{.at = 0}).check(), cohort::setting_error);
}

}  // namespace constraint_test
