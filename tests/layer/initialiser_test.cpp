// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cohort/layer/initialiser.hpp>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace initialiser_test {

using cohort::fill;
using cohort::initialiser;
using cohort::random_stream;
using cohort::shape;
namespace init = cohort::init;

constexpr initialiser he = init::relu{};
static_assert(he.name() == "relu" && !he.has_parameter());
static_assert(initialiser() == initialiser(init::zeros{}));
static_assert(initialiser(init::normal{0.5}) == initialiser(init::normal{.deviation = 0.5}));
static_assert(initialiser(init::normal{0.5}) != initialiser(init::uniform{0.5}));
constexpr std::optional<initialiser> chosen = init::constant{.value = 2};
static_assert(chosen->parameter == 2);
template <initialiser I>
constexpr std::string_view name_as_template_argument = I.name();
static_assert(name_as_template_argument<initialiser(init::xavier{})> == "xavier");

template <class T = double>
std::vector<T> filled(initialiser const& how, shape const& dims, int fan_in = 1, int fan_out = 1,
                      std::uint64_t seed = 5) {
  std::vector<T> values(static_cast<std::size_t>(dims.elements()), T(-99));
  fill<T>(how, values, fan_in, fan_out, dims, random_stream(seed, "weights"));
  return values;
}

TEST(initialiser, sets_constants_exactly) {
  for (double const x : filled(init::zeros{}, {3, 4})) EXPECT_EQ(x, 0.0);
  for (float const x : filled<float>(init::ones{}, {5})) EXPECT_EQ(x, 1.0F);
  for (double const x : filled(init::constant{0.1}, {5})) EXPECT_EQ(x, 0.1);
  for (float const x : filled<float>(init::constant{0.1}, {5})) EXPECT_EQ(x, 0.1F);
}

TEST(initialiser, scales_random_numbers_by_the_documented_formula) {
  int const fi = 50, fo = 30;
  struct row {
    initialiser how;
    double spread;
    bool normal;
  };
  row const rows[] = {
      {init::normal{0.3}, 0.3, true},
      {init::uniform{0.2}, 0.2, false},
      {init::xavier{}, std::sqrt(2.0 / 80), true},
      {init::xavier_uniform{}, std::sqrt(6.0 / 80), false},
      {init::relu{}, std::sqrt(2.0 / 50), true},
      {init::relu_uniform{}, std::sqrt(6.0 / 50), false},
      {init::lecun_normal{}, std::sqrt(1.0 / 50), true},
      {init::lecun_uniform{}, std::sqrt(3.0 / 50), false},
      {init::sigmoid_uniform{}, 4 * std::sqrt(6.0 / 80), false},
  };
  random_stream const stream(5, "weights");
  for (row const& r : rows) {
    std::vector<double> const values = filled(r.how, {7, 9}, fi, fo);
    for (std::size_t i = 0; i < values.size(); ++i) {
      double const expected =
          r.spread * (r.normal ? stream.normal<double>(i) : 2 * stream.uniform01<double>(i) - 1);
      EXPECT_DOUBLE_EQ(values[i], expected) << r.how.name() << ' ' << i;
    }
  }
}

TEST(initialiser, has_its_documented_mean_variance_and_bounds) {
  shape const dims{200, 500};
  int const n = 100'000, fi = 500, fo = 200;
  struct row {
    initialiser how;
    double variance;
    double bound;
  };
  double const none = std::numeric_limits<double>::infinity();
  row const rows[] = {
      {init::normal{0.3}, 0.09, none},
      {init::uniform{0.2}, 0.04 / 3, 0.2},
      {init::xavier{}, 2.0 / 700, none},
      {init::xavier_uniform{}, 2.0 / 700, std::sqrt(6.0 / 700)},
      {init::relu{}, 2.0 / 500, none},
      {init::relu_uniform{}, 2.0 / 500, std::sqrt(6.0 / 500)},
      {init::lecun_normal{}, 1.0 / 500, none},
      {init::lecun_uniform{}, 1.0 / 500, std::sqrt(3.0 / 500)},
      {init::sigmoid_uniform{}, 32.0 / 700, 4 * std::sqrt(6.0 / 700)},
  };
  for (row const& r : rows) {
    double sum = 0, squares = 0, largest = 0;
    for (double const x : filled(r.how, dims, fi, fo)) {
      sum += x;
      squares += x * x;
      largest = std::max(largest, std::abs(x));
    }
    // Allows five standard errors: σ/√n of a mean, σ²·√(2/n) of a normal variance, and less of a uniform one.
    EXPECT_NEAR(sum / n, 0, 5 * std::sqrt(r.variance / n)) << r.how.name();
    EXPECT_NEAR(squares / n, r.variance, 5 * r.variance * std::sqrt(2.0 / n)) << r.how.name();
    EXPECT_LE(largest, r.bound) << r.how.name();
    if (r.bound < none) {
      EXPECT_GT(largest, 0.999 * r.bound) << r.how.name();
    }
  }
}

TEST(initialiser, returns_floats_equal_to_the_rounded_doubles) {
  for (initialiser const& how : {initialiser(init::relu{}), initialiser(init::xavier_uniform{}),
                                 initialiser(init::orthogonal{}), initialiser(init::normal{})}) {
    auto const wide = filled<double>(how, {6, 8}, 8, 6);
    auto const narrow = filled<float>(how, {6, 8}, 8, 6);
    for (std::size_t i = 0; i < wide.size(); ++i) EXPECT_EQ(narrow[i], static_cast<float>(wide[i]));
  }
}

TEST(initialiser, depends_only_on_its_stream) {
  EXPECT_EQ(filled(init::relu{}, {4, 4}, 4, 4, 1), filled(init::relu{}, {4, 4}, 4, 4, 1));
  EXPECT_NE(filled(init::relu{}, {4, 4}, 4, 4, 1), filled(init::relu{}, {4, 4}, 4, 4, 2));
  auto const few = filled(init::normal{}, {10});
  auto const many = filled(init::normal{}, {30});
  EXPECT_EQ(few, std::vector<double>(many.begin(), many.begin() + 10));
}

TEST(initialiser, creates_orthonormal_rows_or_columns) {
  for (shape const& dims :
       {shape{5, 5}, shape{4, 9}, shape{9, 4}, shape{6, 2, 3, 3}, shape{40, 1, 3, 3}, shape{1, 7}}) {
    auto const q = filled(init::orthogonal{}, dims);
    auto const rows = static_cast<std::size_t>(dims[0]);
    std::size_t const columns = q.size() / rows;
    bool const wide = rows <= columns;
    std::size_t const count = wide ? rows : columns, length = wide ? columns : rows;
    auto const at = [&](std::size_t vector, std::size_t k) {
      return wide ? q[vector * columns + k] : q[k * columns + vector];
    };
    for (std::size_t a = 0; a < count; ++a)
      for (std::size_t b = 0; b <= a; ++b) {
        double product = 0;
        for (std::size_t k = 0; k < length; ++k) product += at(a, k) * at(b, k);
        EXPECT_NEAR(product, a == b ? 1 : 0, 1e-14) << to_string(dims) << ' ' << a << ' ' << b;
      }
  }
}

TEST(initialiser, draws_orthogonal_matrices_without_a_preferred_direction) {
  double sum = 0, diagonal_square = 0;
  int const count = 400;
  for (int seed = 0; seed < count; ++seed) {
    auto const q = filled(init::orthogonal{}, {3, 3}, 1, 1, static_cast<std::uint64_t>(seed));
    sum += q[0] + q[4] + q[8];
    diagonal_square += q[8] * q[8];
  }
  EXPECT_NEAR(
      sum / count, 0,
      5 * 1.0 / std::sqrt(count));  // the trace of a random rotation or reflection: mean 0, variance 1
  EXPECT_NEAR(diagonal_square / count, 1.0 / 3, 5 * 0.3 / std::sqrt(count));
}

TEST(initialiser, creates_the_identity_of_matrices_and_convolutions) {
  EXPECT_EQ(filled(init::identity{}, {2, 3}), (std::vector<double>{1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(filled(init::identity{}, {3, 2}), (std::vector<double>{1, 0, 0, 1, 0, 0}));
  shape const dims{2, 2, 3, 3};
  auto const kernel = filled(init::identity{}, dims);
  double const image[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  for (std::size_t k = 0; k < 2; ++k)
    for (std::size_t c = 0; c < 2; ++c) {
      double sum = 0;
      for (std::size_t i = 0; i < 9; ++i) sum += kernel[(k * 2 + c) * 9 + i] * image[i];
      EXPECT_EQ(sum, k == c ? 5 : 0);
    }
}

TEST(initialiser, is_created_from_a_name_and_a_parameter) {
  for (std::string_view const name : initialiser::names) {
    initialiser const how = initialiser::from(name, 0.25);
    EXPECT_EQ(how.name(), name);
    EXPECT_EQ(how.parameter, how.has_parameter() ? 0.25 : 0);
    EXPECT_EQ(initialiser::from(how.name(), how.parameter), how);
  }
  EXPECT_EQ(initialiser::from("lecun_uniform"), initialiser(init::lecun_uniform{}));
  try {
    initialiser::from("kaiming");
    FAIL() << "accepted";
  } catch (cohort::setting_error const& e) {
    EXPECT_EQ(e.why().got, "kaiming");
    EXPECT_NE(e.why().expected.find("relu_uniform"), std::string::npos);
  }
}

TEST(initialiser, refuses_invalid_parameters) {
  EXPECT_THROW(initialiser(init::normal{-1}).check(), cohort::setting_error);
  EXPECT_THROW(initialiser(init::uniform{-0.1}).check(), cohort::setting_error);
  EXPECT_THROW(initialiser(init::constant{__builtin_inf()}).check(), cohort::setting_error);
  EXPECT_THROW(initialiser(init::normal{__builtin_nan("")}).check(), cohort::setting_error);
  EXPECT_NO_THROW(initialiser(init::constant{-3}).check());
}

TEST(initialiser, refuses_unsuitable_shapes_and_fans_and_writes_nothing) {
  std::vector<float> values(6, 7.0F);
  random_stream const stream(1, "x");
  auto const refused = [&](initialiser const& how, int fan_in, int fan_out, shape const& dims) {
    EXPECT_THROW(fill<float>(how, values, fan_in, fan_out, dims, stream), cohort::shape_error) << how.name();
    EXPECT_EQ(values, std::vector<float>(6, 7.0F));
  };
  refused(init::zeros{}, 1, 1, {7});
  refused(init::relu{}, 0, 1, {6});
  refused(init::xavier{}, 1, 0, {6});
  refused(init::identity{}, 1, 1, {6});
  refused(init::identity{}, 1, 1, {1, 2, 3});
  refused(init::orthogonal{}, 1, 1, {6});
}

}  // namespace initialiser_test
