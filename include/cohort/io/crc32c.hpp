// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cohort/execution/isa.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace cohort::detail {

static_assert(std::endian::native == std::endian::little,
              "cohort: messages are little-endian; big-endian machines are not supported");

#if defined(__x86_64__)
[[gnu::target("sse4.2")]] inline std::uint32_t crc32c_by_instruction(std::byte const* at, std::size_t bytes,
                                                                     std::uint32_t crc) {
  std::uint64_t wide = crc;
  for (; bytes >= 8; at += 8, bytes -= 8) {
    std::uint64_t word;
    std::memcpy(&word, at, sizeof word);
    wide = __builtin_ia32_crc32di(wide, word);
  }
  crc = static_cast<std::uint32_t>(wide);
  for (; bytes > 0; ++at, --bytes) crc = __builtin_ia32_crc32qi(crc, std::to_integer<unsigned char>(*at));
  return crc;
}
#endif

}  // namespace cohort::detail

namespace cohort::io {

/// Returns the CRC-32C. `start` continues an earlier CRC: crc32c(w, "b", crc32c(w, "a")) == crc32c(w, "ab").
///
/// Before    `which` is at most machine_isa(). avx2 and above use the CRC-32C instruction of SSE4.2.
/// Source    Castagnoli, Bräuer and Herrmann, IEEE Trans. Comm. 41 (1993); RFC 3720, B.4.
std::uint32_t crc32c([[maybe_unused]] isa which, std::span<std::byte const> bytes, std::uint32_t start = 0);

}  // namespace cohort::io
