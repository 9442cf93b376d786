// SPDX-License-Identifier: Apache-2.0
#include <cohort/data/transform.hpp>
#include <cohort/error/exceptions.hpp>
#include <cstdint>
#include <vector>

#include "refused.hpp"

namespace transform_test {

using enum cohort::element_type;

template <class To, class From>
std::vector<To> transformed(std::vector<From> const& from, double scale = 1, double offset = 0) {
  cohort::tensor_description const part{.example = {static_cast<int>(from.size())},
                                        .stored = cohort::element_of<From>,
                                        .type = cohort::element_of<To>,
                                        .scale = scale,
                                        .offset = offset};
  std::vector<To> to(from.size() + 1, To{77});
  cohort::transform_of(part)(reinterpret_cast<std::byte const*>(from.data()),
                             reinterpret_cast<std::byte*>(to.data()), from.size(), scale, offset);
  EXPECT_EQ(to.back(), To{77}) << "wrote behind the row";
  to.pop_back();
  return to;
}

TEST(transform, scales_every_u8_value_to_float_at_any_length) {
  for (std::size_t n : {1u, 15u, 16u, 17u, 256u}) {
    std::vector<std::uint8_t> bytes(n);
    std::vector<float> expected(n);
    for (std::size_t i = 0; i < n; ++i) {
      bytes[i] = static_cast<std::uint8_t>(255 - i);
      expected[i] = static_cast<float>(255 - i) * (1 / 255.0F);
    }
    EXPECT_EQ(transformed<float>(bytes, 1 / 255.0), expected);
  }
  EXPECT_EQ(transformed<float>(std::vector<std::uint8_t>{0, 255}, 1 / 255.0), (std::vector<float>{0, 1}));
}

TEST(transform, adds_the_offset_after_scaling) {
  EXPECT_EQ(transformed<float>(std::vector<std::uint8_t>{0, 2, 4}, 0.5, -1), (std::vector<float>{-1, 0, 1}));
  EXPECT_EQ(transformed<double>(std::vector<std::uint8_t>{0, 255}, 1 / 255.0, 0),
            (std::vector<double>{0, 1}));
}

TEST(transform, widens_labels_and_copies_unchanged_types) {
  EXPECT_EQ(transformed<std::int32_t>(std::vector<std::uint8_t>{9, 200}),
            (std::vector<std::int32_t>{9, 200}));
  EXPECT_EQ(transformed<std::int32_t>(std::vector<std::int64_t>{-3}), (std::vector<std::int32_t>{-3}));
  EXPECT_EQ(transformed<float>(std::vector<float>{1.5F, -2}), (std::vector<float>{1.5F, -2}));
  EXPECT_EQ(transformed<float>(std::vector<double>{0.1}), (std::vector<float>{0.1F}));
}

TEST(transform, refuses_lossy_conversions) {
  expect_parts(refused<cohort::shape_error>(
                   [] { cohort::transform_of({.name = "image", .stored = f32, .type = u8}); }),
               {"image", "f32 to u8"});
}

}  // namespace transform_test
