// SPDX-License-Identifier: Apache-2.0
#include <cohort/data/batch.hpp>
#include <cohort/error/exceptions.hpp>
#include <cstdint>

#include "refused.hpp"

namespace batch_test {

TEST(named_tensor, is_64_byte_aligned_and_reuses_memory) {
  cohort::named_tensor t{.name = "input", .example = {1, 28, 28}, .type = cohort::element_type::f32};
  t.reserve(32);
  auto* const first = t.memory.data();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0u);
  EXPECT_EQ(t.memory.capacity(), 32u * 784 * 4);
  t.reserve(7);
  EXPECT_EQ(t.memory.data(), first);
  EXPECT_EQ(t.view(7).dims, cohort::shape(7, 1, 28, 28));
}

TEST(batch, reports_a_missing_tensor) {
  cohort::batch b;
  b.inputs.resize(1);
  EXPECT_EQ(b.input().dims, cohort::shape(0));
  expect_parts(refused<cohort::shape_error>([&] { b.target(2); }),
               {"target 2", "at least 3 targets", "got 0"});
}

}  // namespace batch_test
