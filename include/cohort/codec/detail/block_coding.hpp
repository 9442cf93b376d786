// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <bit>
#include <cohort/codec/detail/bit_stream.hpp>
#include <cohort/codec/detail/coding_formulas.hpp>
#include <cohort/codec/message.hpp>
#include <cstddef>
#include <cstdint>
#include <span>

namespace cohort::detail {

/// A sent element: its index within the block, and its sign in the highest bit. Lists are in ascending order.
struct sent_element {
  static constexpr std::uint32_t negative = std::uint32_t{1} << 31;
  std::uint32_t word;

  constexpr std::uint32_t index() const { return word & ~negative; }
  constexpr std::uint32_t sign() const { return word & negative; }
};

/// Size of a block's codes in the bitmap format, in bits.
constexpr std::uint64_t bitmap_bits(std::uint64_t count, std::uint64_t length) { return length + count; }

/// Writes a block's codes in the gap format with Rice parameter k. The code of an element consists of its
/// sign, the k lower bits of the gap before the element, the upper bits of the gap in unary (as zeros), and a
/// one.
inline bit_cursor put_gaps(bit_cursor to, std::span<sent_element const> list, unsigned k) {
  struct code {
    std::uint64_t word;
    unsigned bits;
  };
  std::uint32_t next = 0;
  auto const code_of =
      [&](sent_element one) -> code {  // a code of more than 64 bits flips a lower bit; put() restores it
    std::uint32_t const gap = one.index() - next;
    next = one.index() + 1;
    unsigned const bits = k + 2 + (gap >> k);
    std::uint64_t const fixed = one.word >> 31 | (std::uint64_t{gap} & ((1U << k) - 1)) << 1;
    return {fixed ^ std::uint64_t{1} << ((bits - 1) & 63), bits};
  };
  auto const put = [&](code one) {
    if (one.bits <= bit_cursor::most) {
      to.put(one.word, one.bits);
      return;
    }
    std::uint64_t const fixed = one.word ^ std::uint64_t{1} << ((one.bits - 1) & 63);
    to.put(fixed & ((std::uint64_t{2} << k) - 1), k + 1);
    unsigned zeros = one.bits - k - 2;
    for (; zeros >= bit_cursor::most; zeros -= bit_cursor::most) to.put(0, bit_cursor::most);
    to.put(std::uint64_t{1} << zeros, zeros + 1);
  };
  std::size_t i = 0;
  // Four codes per put make the dependency chain four times shorter.
  for (; i + 4 <= list.size(); i += 4) {
    code const a = code_of(list[i]), b = code_of(list[i + 1]);
    code const c = code_of(list[i + 2]), d = code_of(list[i + 3]);
    unsigned const first = a.bits + b.bits;
    unsigned const second = c.bits + d.bits;
    if (first + second <= bit_cursor::most) {
      to.put(a.word | b.word << a.bits | (c.word | d.word << c.bits) << first, first + second);
    } else if (first <= bit_cursor::most && second <= bit_cursor::most) {
      to.put(a.word | b.word << a.bits, first);
      to.put(c.word | d.word << c.bits, second);
    } else {
      for (code const one : {a, b, c, d}) put(one);
    }
  }
  for (; i < list.size(); ++i) put(code_of(list[i]));
  return to;
}

/// Writes a block's codes in the bitmap format: a bit for each element of the block, then a sign for each
/// element sent.
inline bit_cursor put_bitmap(bit_cursor to, std::span<sent_element const> list, std::size_t length) {
  constexpr unsigned width = 32;
  std::array<std::uint32_t, block_elements / width> words{};
  for (sent_element const one : list) words[one.index() / width] |= 1U << one.index() % width;
  for (std::size_t i = 0; i < length; i += width)
    to.put(words[i / width], static_cast<unsigned>(std::min<std::size_t>(width, length - i)));
  for (std::size_t i = 0; i < list.size(); i += width) {
    auto const some = static_cast<unsigned>(std::min<std::size_t>(width, list.size() - i));
    std::uint64_t signs = 0;
    for (unsigned j = 0; j < some; ++j) signs |= std::uint64_t{list[i + j].word >> 31} << j;
    to.put(signs, some);
  }
  return to;
}

/// Appends a block's codes in the smaller format, gaps or bitmap, and returns the block's table entry.
inline block_entry write_block(bit_writer& to, std::span<sent_element const> list, std::size_t length) {
  std::uint64_t const bit = to.bits();
  std::uint64_t const count = list.size();
  if (count == 0) return block_entry::of(bit, 0, false);
  unsigned const k = rice_parameter(count, length);
  std::uint64_t const bitmap = bitmap_bits(count, length);
  std::uint64_t gaps = count * (k + 2) + (length >> k);  // upper bound
  if (gaps > bitmap) {
    gaps = count * (k + 2);
    std::uint32_t next = 0;
    for (sent_element const one : list) {
      gaps += (one.index() - next) >> k;
      next = one.index() + 1;
    }
  }
  bit_cursor const from = to.extend(std::min(gaps, bitmap) + 64);
  to.extended_to(gaps <= bitmap ? put_gaps(from, list, k) : put_bitmap(from, list, length));
  return block_entry::of(bit, static_cast<std::uint32_t>(count), gaps > bitmap);
}

/// Reads `count` codes of the gap format from bit `at` on. Returns false if an index is not below `length`,
/// or if the codes exceed bit `end`.
///
/// After     `at` is the position after the last code.
inline bool read_gaps(std::span<std::byte const> bytes, std::uint64_t& at, std::uint64_t end,
                      sent_element* list, std::uint32_t count, std::size_t length) {
  unsigned const k = rice_parameter(count, length);
  std::uint64_t const lower = (std::uint64_t{1} << (k + 1)) - 1;
  unsigned const group = 57 / (k + 6);  // number of codes that a word of 57 bits nearly always contains
  std::uint64_t next = 0;
  while (count > 0) {
    if (at >= end || next >= length) return false;
    std::uint64_t word = peek_bits(bytes, at);
    unsigned left = 57;
    for (unsigned code = std::min(group, count); code > 0; --code) {
      std::uint64_t const upper = word >> (k + 1);
      unsigned const bits = k + 2 + static_cast<unsigned>(std::countr_zero(upper | std::uint64_t{1} << 62));
      if (bits > left) break;
      next += (word & lower) >> 1 | std::uint64_t{bits - k - 2} << k;
      *list++ = {static_cast<std::uint32_t>(next & 0x7fffffff) | static_cast<std::uint32_t>(word << 31)};
      ++next;
      word >>= bits;
      left -= bits;
      --count;
    }
    at += 57 - left;
    if (left < 57) continue;
    std::uint64_t const fixed = peek_bits(bytes, at);  // a code of more than 57 bits
    at += k + 1;
    std::uint64_t zeros = 0;
    for (;;) {
      std::uint64_t const some = peek_bits(bytes, at);
      auto const run = static_cast<unsigned>(std::countr_zero(some | std::uint64_t{1} << 56));
      zeros += run;
      at += run;
      if (run < 56) break;
      if (at >= end) return false;
    }
    ++at;
    next += (fixed & lower) >> 1 | zeros << k;
    *list++ = {static_cast<std::uint32_t>(next & 0x7fffffff) | static_cast<std::uint32_t>(fixed << 31)};
    ++next;
    --count;
  }
  return next <= length && at <= end;
}

/// Reads codes of the bitmap format from bit `at` on. Returns false if the bitmap does not contain `count`
/// elements, or if it exceeds bit `end`.
inline bool read_bitmap(std::span<std::byte const> bytes, std::uint64_t& at, std::uint64_t end,
                        sent_element* list, std::uint32_t count, std::size_t length) {
  constexpr unsigned width = 56;
  if (end - at < bitmap_bits(count, length)) return false;
  std::uint32_t found = 0;
  for (std::size_t i = 0; i < length; i += width) {
    auto const some = static_cast<unsigned>(std::min<std::size_t>(width, length - i));
    std::uint64_t word = peek_bits(bytes, at) & ((std::uint64_t{1} << some) - 1);
    at += some;
    if (static_cast<unsigned>(std::popcount(word)) > count - found) return false;
    for (; word != 0; word &= word - 1)
      list[found++] = {static_cast<std::uint32_t>(i) + static_cast<std::uint32_t>(std::countr_zero(word))};
  }
  if (found != count) return false;
  for (std::uint32_t i = 0; i < count; i += width) {
    std::uint32_t const some = std::min(width, count - i);
    std::uint64_t const signs = peek_bits(bytes, at);
    at += some;
    for (std::uint32_t j = 0; j < some; ++j) list[i + j].word |= static_cast<std::uint32_t>(signs >> j << 31);
  }
  return true;
}

/// Reads the elements of block b of a message into `list`, which has room for block(b).count() of them.
///
/// Errors    data_error if the codes do not end where the next block begins, or contain an index outside the
///           block.
inline void read_block(message_view const& message, std::size_t b, sent_element* list) {
  block_entry const entry = message.block(b);
  std::uint64_t at = entry.bit();
  std::uint64_t const end = message.end_of_block(b);
  auto const read = entry.bitmap() ? read_bitmap : read_gaps;
  bool const whole =
      entry.count() == 0 || read(message.codes(), at, end, list, entry.count(), message.length(b));
  bool const last = b + 1 == message.header.blocks;
  if (!whole || at > end || end - at > (last ? 7 : 0))
    refuse_message({"codes of block ", b}, {entry.count(), " elements in ", end - entry.bit(), " bits"},
                   "codes that do not match");
}

}  // namespace cohort::detail
