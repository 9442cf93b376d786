// SPDX-License-Identifier: Apache-2.0
#include <zlib.h>
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/zlib/detail/zip_contents.hpp>
#include <cstdint>
#include <string>

namespace cohort::detail {

/// Decompresses the bytes of an entry into `to`, which has the entry's size.
void inflate_entry(zip_directory const& archive, zip_entry const& entry, std::span<std::byte const> packed,
                   std::span<std::byte> to) {
  z_stream z{};
  if (inflateInit2(&z, -MAX_WBITS) != Z_OK)  // without zlib's header
    throw memory_error({.what = "zlib cannot be initialised", .where = entry.name});
  std::uint64_t read = 0, written = 0;
  std::byte beyond{};  // one extra byte detects a result larger than claimed
  int code = Z_OK;
  while (code == Z_OK && written <= entry.size) {
    constexpr std::uint64_t most = 1U << 30;  // zlib counts the bytes of a call in 32 bits
    auto const input = static_cast<uInt>(std::min(packed.size() - read, most));
    auto const room = static_cast<uInt>(written == entry.size ? 1 : std::min(entry.size - written, most));
    z.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data() + read));
    z.avail_in = input;
    z.next_out = reinterpret_cast<Bytef*>(written == entry.size ? &beyond : to.data() + written);
    z.avail_out = room;
    code = inflate(&z, Z_NO_FLUSH);
    read += input - z.avail_in;
    written += room - z.avail_out;
  }
  inflateEnd(&z);
  if (code != Z_STREAM_END || written != entry.size || read != entry.packed)
    archive.refuse(entry, "is damaged",
                   std::to_string(entry.size) + " bytes by deflate from " + std::to_string(entry.packed),
                   code == Z_STREAM_END   ? std::to_string(written) + " from " + std::to_string(read)
                   : written > entry.size ? "more"
                                          : "a damaged or truncated stream");
}

std::span<std::byte const> contents_of_entry(zip_directory const& archive, zip_entry const& entry,
                                             std::span<std::byte const> packed,
                                             std::vector<std::byte>& memory) {
  if (entry.method != 0 && entry.method != 8)
    archive.refuse(entry, "has an unknown compression", "stored (0) or deflate (8)",
                   "method " + std::to_string(entry.method));
  std::span<std::byte const> contents = packed;
  if (entry.method == 8) {
    memory.resize(static_cast<std::size_t>(entry.size));
    inflate_entry(archive, entry, packed, memory);
    contents = memory;
  }
  auto const* const bytes = reinterpret_cast<Bytef const*>(contents.data());
  archive.expect_crc(entry, static_cast<std::uint32_t>(crc32_z(0, bytes, contents.size())));
  return contents;
}

}  // namespace cohort::detail
