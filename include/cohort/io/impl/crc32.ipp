// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cohort/io/crc32.hpp>

namespace cohort::io {

std::uint32_t crc32(std::span<std::byte const> bytes, std::uint32_t start) {
  static constexpr std::array<std::uint32_t, 256> table = [] {
    std::array<std::uint32_t, 256> remainders{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0xedb88320U : 0U);
      remainders[i] = value;
    }
    return remainders;
  }();
  std::uint32_t crc = ~start;
  for (std::byte const byte : bytes)
    crc = (crc >> 8) ^ table[(crc ^ static_cast<std::uint32_t>(byte)) & 0xffU];
  return ~crc;
}

}  // namespace cohort::io
