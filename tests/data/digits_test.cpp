// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cohort/data/digits.hpp>
#include <cohort/data/loader.hpp>

#include "refused.hpp"

namespace digits_test {

using image = std::array<std::uint8_t, cohort::digit_drawer::pixels>;

TEST(synthetic_digits, depend_only_on_seed_and_index) {
  cohort::digit_drawer const drawer(4);
  cohort::arrays const all = cohort::synthetic_digits(20, 4);
  cohort::arrays const later = cohort::synthetic_digits(5, 4, 15);
  for (std::size_t i = 0; i < 5; ++i) {
    image drawn;
    int const label = drawer.draw(static_cast<std::int64_t>(15 + i), drawn);
    auto const* const in_all =
        reinterpret_cast<std::uint8_t const*>(all.rows()[0].first) + (15 + i) * drawn.size();
    auto const* const in_later =
        reinterpret_cast<std::uint8_t const*>(later.rows()[0].first) + i * drawn.size();
    EXPECT_TRUE(std::equal(drawn.begin(), drawn.end(), in_all));
    EXPECT_TRUE(std::equal(drawn.begin(), drawn.end(), in_later));
    EXPECT_EQ(static_cast<int>(later.rows()[1].first[i]), label);
  }
  image other;
  image mine;
  cohort::digit_drawer(5).draw(0, other);
  drawer.draw(0, mine);
  EXPECT_NE(other, mine);
}

TEST(synthetic_digits, have_ten_classes_of_bright_strokes) {
  cohort::loader loader(cohort::synthetic_digits(500, 1), {.batch = 500});
  cohort::batch const* const b = loader.next();
  std::array<int, 10> seen{};
  for (std::int32_t const label : b->target().as<std::int32_t>()) ++seen.at(static_cast<std::size_t>(label));
  for (int const times : seen) EXPECT_NEAR(times, 50, 30);
  auto const pixels = b->input().as<float>();
  for (std::size_t i = 0; i < 500; ++i) {
    float ink = 0;
    for (float const p : pixels.subspan(i * 784, 784)) {
      ASSERT_GE(p, 0);
      ASSERT_LE(p, 1);
      ink += p;
    }
    ASSERT_GT(ink, 784 * 0.02F);
    ASSERT_LT(ink, 784 * 0.45F);
  }
  EXPECT_EQ(loader.batches(), 1);
}

/// Classified by the nearest class mean. Chance is 10 %.
TEST(synthetic_digits, are_classified_by_the_nearest_class_mean) {
  cohort::arrays const data = cohort::synthetic_digits(1200, 3);
  cohort::loader loader(std::cref(data), {.batch = 1200, .shuffle = false});
  cohort::batch const* const b = loader.next();
  auto const pixels = b->input().as<float>();
  auto const labels = b->target().as<std::int32_t>();
  std::vector<std::array<double, 784>> means(10);
  std::array<int, 10> counts{};
  for (std::size_t i = 0; i < 1000; ++i) {
    auto const label = static_cast<std::size_t>(labels[i]);
    ++counts[label];
    for (std::size_t p = 0; p < 784; ++p) means[label][p] += pixels[i * 784 + p];
  }
  int right = 0;
  for (std::size_t i = 1000; i < 1200; ++i) {
    double nearest = 1e300;
    std::size_t guess = 0;
    for (std::size_t label = 0; label < 10; ++label) {
      double distance = 0;
      for (std::size_t p = 0; p < 784; ++p) {
        double const d = pixels[i * 784 + p] - means[label][p] / counts[label];
        distance += d * d;
      }
      if (distance < nearest) {
        nearest = distance;
        guess = label;
      }
    }
    right += guess == static_cast<std::size_t>(labels[i]);
  }
  EXPECT_GT(right, 100);
}

TEST(synthetic_digits, refuse_a_count_of_zero) {
  expect_parts(refused<cohort::setting_error>([] { cohort::synthetic_digits(0, 1); }),
               {"count", "at least 1"});
}

}  // namespace digits_test
