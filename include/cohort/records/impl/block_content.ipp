// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/detail/gzip_frame.hpp>
#include <cohort/records/detail/block_content.hpp>
#include <cstring>
#include <utility>

namespace cohort::detail {

std::optional<std::size_t> expand_lzf(std::span<std::byte const> packed, std::span<std::byte> to) {
  std::size_t from = 0, size = 0;
  auto const byte = [&] { return std::to_integer<std::size_t>(packed[from++]); };
  while (from < packed.size()) {
    std::size_t const control = byte();
    if (control < 32) {  // control + 1 literal bytes
      std::size_t const count = control + 1;
      if (count > packed.size() - from || count > to.size() - size) return {};
      std::copy_n(packed.begin() + static_cast<std::ptrdiff_t>(from), count,
                  to.begin() + static_cast<std::ptrdiff_t>(size));
      from += count;
      size += count;
      continue;
    }
    std::size_t count = control >> 5;  // of earlier bytes that are repeated, minus 2
    if (packed.size() - from < (count == 7 ? 2U : 1U)) return {};
    if (count == 7) count += byte();
    count += 2;
    std::size_t const back = ((control & 31) << 8) + byte() + 1;
    if (back > size || count > to.size() - size) return {};
    for (; count > 0; --count, ++size) to[size] = to[size - back];  // the ranges may overlap
  }
  return size;
}

std::uint32_t fletcher32(std::span<std::byte const> bytes) {
  constexpr std::size_t words = 360;  // whose sums fit in 32 bits
  std::uint32_t first = 0, second = 0;
  auto const reduce = [&] {
    first = (first & 0xffff) + (first >> 16);
    second = (second & 0xffff) + (second >> 16);
  };
  for (std::size_t i = 0; i < bytes.size();) {
    for (std::size_t const end = std::min(i + 2 * words, bytes.size()); i < end; i += 2) {
      first += std::to_integer<std::uint32_t>(bytes[i]) << 8;
      if (i + 1 < end) first += std::to_integer<std::uint32_t>(bytes[i + 1]);
      second += first;
    }
    reduce();
  }
  reduce();
  return second << 16 | first;
}

std::vector<std::byte> unpack(packed_block const& block, std::vector<std::byte> stored,
                              io::inflater const& inflate, std::function<std::string()> const& where,
                              std::uint64_t most) {
  if (block.has_fletcher32) {
    std::uint32_t wanted = 0;
    if (stored.size() >= sizeof wanted) {
      std::memcpy(&wanted, stored.data() + stored.size() - sizeof wanted, sizeof wanted);
      stored.resize(stored.size() - sizeof wanted);
    }
    if (std::uint32_t const sum = fletcher32(stored); sum != wanted)
      throw data_error({.what = "a chunk of an array is damaged",
                        .where = where(),
                        .expected = {"Fletcher-32 ", wanted},
                        .got = {sum}});
  }
  std::uint64_t bytes = stored.size();
  if (block.packing != packed_block::compression::none) {
    // No memory for a content that no stream of this size has. LibLZF compresses less than deflate.
    if (block.bytes / largest_deflate_ratio > stored.size())
      throw data_error(
          {.what = "a block is damaged: it cannot have the size that the index says",
           .where = where(),
           .expected = {"at most ", largest_deflate_ratio, " bytes from each of ", stored.size()},
           .got = {block.bytes, " bytes; write the file again"}});
    if (block.packing == packed_block::compression::deflate)
      stored = with_gzip_frame(stored, block.crc, block.bytes);
    std::vector<std::byte> inflated(static_cast<std::size_t>(std::min(block.bytes, most)));
    bytes = block.packing == packed_block::compression::lzf ? expand_lzf(stored, inflated).value_or(0)
                                                            : inflate(stored, inflated, block.bytes, where);
    stored = std::move(inflated);
  }
  if (bytes != block.bytes)
    throw data_error({.what = "a block is damaged, or has another size than the index says",
                      .where = where(),
                      .expected = {block.bytes, " bytes"},
                      .got = {bytes}});
  if (block.shuffled <= 1) return stored;
  std::vector<std::byte> content(stored.size());
  std::size_t const elements = content.size() / block.shuffled;
  for (std::size_t byte = 0; byte < block.shuffled; ++byte)
    for (std::size_t element = 0; element < elements; ++element)
      content[element * block.shuffled + byte] = stored[byte * elements + element];
  return content;
}

}  // namespace cohort::detail
