// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cohort/io/crc32c.hpp>

namespace cohort::detail {

/// The Castagnoli polynomial with reversed bits.
inline constexpr std::uint32_t castagnoli = 0x82f63b78;

/// table[j][b] is the CRC of byte b followed by j zero bytes.
inline constexpr auto crc32c_table = [] {
  std::array<std::array<std::uint32_t, 256>, 8> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? castagnoli : 0);
    table[0][byte] = crc;
  }
  for (std::size_t j = 1; j < 8; ++j)
    for (std::size_t byte = 0; byte < 256; ++byte)
      table[j][byte] = table[j - 1][byte] >> 8 ^ table[0][table[j - 1][byte] & 255];
  return table;
}();

std::uint32_t crc32c_by_table(std::byte const* at, std::size_t bytes, std::uint32_t crc) {
  auto const& table = crc32c_table;
  for (; bytes >= 8; at += 8, bytes -= 8) {
    std::uint64_t word;
    std::memcpy(&word, at, sizeof word);
    word ^= crc;
    crc = 0;
    for (std::size_t j = 0; j < 8; ++j) crc ^= table[7 - j][word >> 8 * j & 255];
  }
  for (; bytes > 0; ++at, --bytes)
    crc = crc >> 8 ^ table[0][(crc ^ std::to_integer<std::uint32_t>(*at)) & 255];
  return crc;
}

}  // namespace cohort::detail

namespace cohort::io {

std::uint32_t crc32c([[maybe_unused]] isa which, std::span<std::byte const> bytes, std::uint32_t start) {
#if defined(__x86_64__)
  if (which >= isa::avx2) return ~detail::crc32c_by_instruction(bytes.data(), bytes.size(), ~start);
#endif
  return ~detail::crc32c_by_table(bytes.data(), bytes.size(), ~start);
}

}  // namespace cohort::io
