// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohort::detail {

/// Maximum ratio of uncompressed to compressed bytes in deflate: a match of 258 bytes needs at least 2 bits,
/// one for its length and one for its distance.
inline constexpr std::uint64_t largest_deflate_ratio = 1032;

/// Returns a stream of raw deflate, as archives contain it, as a stream of gzip, so that the decompressor
/// verifies the checksum and the size. `crc`, `bytes`: of the contents.
///
/// Source    RFC 1952, 2.2.
inline std::vector<std::byte> with_gzip_frame(std::span<std::byte const> deflated, std::uint32_t crc,
                                              std::uint64_t bytes) {
  std::vector<std::byte> framed;
  framed.reserve(deflated.size() + 18);
  for (int const value : {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}) framed.push_back(std::byte(value));
  framed.insert(framed.end(), deflated.begin(), deflated.end());
  for (std::uint64_t const value : {std::uint64_t{crc}, bytes})
    for (int shift = 0; shift < 32; shift += 8) framed.push_back(static_cast<std::byte>(value >> shift));
  return framed;
}

}  // namespace cohort::detail
