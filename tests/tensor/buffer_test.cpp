// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/tensor/buffer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace buffer_test {

using cohort::buffer;

static_assert(cohort::round_to_alignment(0) == 0 && cohort::round_to_alignment(1) == 64
              && cohort::round_to_alignment(64) == 64 && cohort::round_to_alignment(65) == 128);

TEST(buffer, is_aligned_and_zero_at_first) {
  for (std::size_t bytes : {1, 63, 64, 1000}) {
    buffer const memory(bytes);
    EXPECT_EQ(memory.bytes(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % buffer::alignment, 0U);
    for (std::size_t i = 0; i < bytes; ++i) EXPECT_EQ(memory.as<unsigned char>()[i], 0);
  }
  EXPECT_EQ(buffer().data(), nullptr);
  EXPECT_EQ(buffer(0).data(), nullptr);
}

TEST(buffer, that_is_large_begins_on_a_huge_page_and_is_zero_to_its_end) {
  using cohort::detail::huge_page;
  for (std::size_t const bytes : {huge_page::least, huge_page::least + 5}) {
    buffer const memory(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % huge_page::bytes, 0U);
    EXPECT_EQ(std::count(memory.data(), memory.data() + bytes, std::byte{0}),
              static_cast<std::ptrdiff_t>(bytes));
  }
}

TEST(buffer, moves_with_its_memory) {
  buffer first(64);
  std::byte* const where = first.data();
  buffer const second = std::move(first);
  EXPECT_EQ(second.data(), where);
}

TEST(reusable_buffer, keeps_its_memory_when_it_shrinks) {
  cohort::reusable_buffer memory;
  memory.resize(200);
  std::byte* const where = memory.data();
  memory.resize(100);
  EXPECT_EQ(memory.data(), where);
  EXPECT_EQ(memory.capacity(), 200U);
  memory.resize(201);
  EXPECT_EQ(memory.capacity(), 201U);
}

}  // namespace buffer_test
