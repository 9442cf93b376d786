// SPDX-License-Identifier: Apache-2.0
// covers: tensor/memory_space
#include <gtest/gtest.h>
#include <cohort/error/exceptions.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cohort/tensor/memory_space.hpp>
#include <map>
#include <memory>
#include <new>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace buffer_test {

using cohort::buffer;

static_assert(cohort::round_to_alignment(0) == 0 && cohort::round_to_alignment(1) == 64
              && cohort::round_to_alignment(64) == 64 && cohort::round_to_alignment(65) == 128);

TEST(buffer, is_aligned_and_zero_initialised) {
  for (std::size_t bytes : {1, 63, 64, 1000}) {
    buffer const memory(bytes);
    EXPECT_EQ(memory.bytes(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % buffer::alignment, 0U);
    for (std::size_t i = 0; i < bytes; ++i) EXPECT_EQ(memory.as<unsigned char>()[i], 0);
  }
  EXPECT_EQ(buffer().data(), nullptr);
  EXPECT_EQ(buffer(0).data(), nullptr);
}

TEST(buffer, that_is_large_starts_on_a_huge_page_and_is_zeroed) {
  using cohort::detail::huge_page;
  for (std::size_t const bytes : {huge_page::min_buffer_bytes, huge_page::min_buffer_bytes + 5}) {
    buffer const memory(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % huge_page::bytes, 0U);
    EXPECT_EQ(std::count(memory.data(), memory.data() + bytes, std::byte{0}),
              static_cast<std::ptrdiff_t>(bytes));
  }
}

TEST(buffer, keeps_the_memory_when_moved) {
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

/// A memory space of limited size.
struct narrow_space final : cohort::memory_space {
  std::size_t room_left = 300;
  std::map<std::byte*, std::size_t> taken{};

  std::byte* allocate(std::size_t bytes) override {
    if (bytes > room_left) throw cohort::memory_error({.what = "no room"});
    room_left -= bytes;
    auto* const made = new (std::align_val_t{64}) std::byte[bytes]{};
    taken[made] = bytes;
    return made;
  }
  void deallocate(std::byte* memory) noexcept override {
    room_left += taken[memory];
    taken.erase(memory);
    ::operator delete[](memory, std::align_val_t{64});
  }
};

TEST(reusable_buffer, frees_its_memory_before_it_grows) {
  auto const where = std::make_shared<narrow_space>();
  cohort::reusable_buffer memory;
  memory.resize(200, where);
  memory.resize(250, where);
  EXPECT_EQ(memory.capacity(), 250U);
  EXPECT_THROW(memory.resize(301, where), cohort::memory_error);
  EXPECT_EQ(memory.capacity(), 250U) << "whoever uses it may go on";
  EXPECT_NE(memory.data(), nullptr);
}

}  // namespace buffer_test
