// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <zlib.h>
#include <cohort/zlib/detail/implementation.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace cohort::gzip {

/// Decompresses bytes in the .gz format. The contents of several members are concatenated.
///
/// Units     `max_bytes` bounds the result, independent of the size stored in the file.
/// Errors    data_error naming `where` and the byte if the data is not gzip, is truncated or corrupted (zlib
///           checks a CRC-32 and the length), is followed by other data, or is larger than `max_bytes`.
std::vector<std::byte> decompress(std::vector<std::byte> const& packed, std::string const& where,
                                  std::size_t max_bytes = std::size_t{1} << 30);

/// Decompresses one stream in the format of zlib or gzip: an io::inflater, for example for sequence_file.
///
///     record_set const records(paths, sequence_file(gzip::inflate));
///
/// Errors    as io::inflater; memory_error if zlib has no memory.
std::uint64_t inflate(std::span<std::byte const> packed, std::span<std::byte> to, std::uint64_t max_bytes,
                      std::function<std::string()> const& where);

/// Type of gzip::read_file. It is an object, because a function with a default argument is not a byte_source.
struct file_source {
  std::vector<std::byte> operator()(std::string const& path,
                                    std::size_t max_bytes = std::size_t{1} << 30) const;
};

/// Reads and decompresses a .gz file; usable as a byte_source:
///
///     data_table const people = read_table("people.csv.gz", {}, gzip::read_file);
///
/// Units     `max_bytes` bounds the result, as for decompress.
/// Errors    file_error if the file cannot be read; otherwise as for decompress.
inline constexpr file_source read_file{};

}  // namespace cohort::gzip
