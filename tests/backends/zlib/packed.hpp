// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <zlib.h>

#include <gtest/gtest.h>
#include <cstddef>
#include <vector>

/// Returns the bytes in gzip format.
inline std::vector<std::byte> packed(std::vector<std::byte> plain) {
  z_stream z{};
  EXPECT_EQ(deflateInit2(&z, 9, Z_DEFLATED, 16 + MAX_WBITS, 9, Z_DEFAULT_STRATEGY), Z_OK);
  std::vector<std::byte> result(deflateBound(&z, plain.size()) + 32);
  z.next_in = reinterpret_cast<Bytef*>(plain.data());
  z.avail_in = static_cast<uInt>(plain.size());
  z.next_out = reinterpret_cast<Bytef*>(result.data());
  z.avail_out = static_cast<uInt>(result.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  auto const packed_bytes =
      static_cast<std::ptrdiff_t>(result.size()) - static_cast<std::ptrdiff_t>(z.avail_out);
  deflateEnd(&z);
  return {result.begin(), result.begin() + packed_bytes};
}
