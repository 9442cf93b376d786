// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cohort/detail/build_check.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>

/// Operations on eight bytes of a text at once, in one 64-bit word (SWAR). The first byte of the text is the
/// lowest byte of the word. A mark is bit 7 of a byte. Only the lowest mark is reliable, because carries may
/// set false marks above it.
namespace cohort::detail {

static_assert(std::endian::native == std::endian::little);

/// b · each_byte is a word of eight bytes b.
inline constexpr std::uint64_t each_byte = 0x0101010101010101U;
inline constexpr std::uint64_t marks_of_all = 0x80 * each_byte;

/// Returns the eight bytes at `p`.
inline std::uint64_t load_word(char const* p) {
  std::uint64_t word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

/// Returns the first `size` ≤ 8 bytes at `p`, and zeros after them. Reads no other bytes.
inline std::uint64_t load_word(char const* p, std::size_t size) {
  if (size == 8) return load_word(p);
  if (size >= 4) {
    std::uint32_t first, last;  // these two words overlap
    std::memcpy(&first, p, 4);
    std::memcpy(&last, p + size - 4, 4);
    return first | std::uint64_t{last} << (8 * (size - 4));
  }
  if (size == 0) return 0;
  auto const byte = [p](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(p[i])}; };
  return byte(0) | byte(size / 2) << (8 * (size / 2)) | byte(size - 1) << (8 * (size - 1));
}

/// Marks bytes that are 0.
constexpr std::uint64_t mark_zeros(std::uint64_t word) { return (word - each_byte) & ~word & marks_of_all; }

/// Marks bytes below `bound` ≤ 128.
constexpr std::uint64_t mark_below(std::uint64_t word, std::uint64_t bound) {
  return (word - bound * each_byte) & ~word & marks_of_all;
}

/// Returns the index of the first marked byte.  Before: a byte is marked.
constexpr int first_marked(std::uint64_t marks) { return std::countr_zero(marks) / 8; }

}  // namespace cohort::detail
