// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/io/inflater.hpp>
#include <cohort/records/record_index.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cohort::detail {

/// Returns the content of a block from its stored bytes; of a larger content, only the first `most` bytes.
/// The checksum of the whole content is verified in any case.
///
/// Before    block.packed is not 0. `inflate` is not empty for compression::stream and compression::deflate.
///           `most` is smaller than block.bytes only for these two, without `shuffled`.
/// Errors    data_error with `where` for bytes that do not have the block's format, size or checksum; those
///           of `inflate`.
std::vector<std::byte> unpack(packed_block const& block, std::vector<std::byte> stored,
                              io::inflater const& inflate, std::function<std::string()> const& where,
                              std::uint64_t most = std::numeric_limits<std::uint64_t>::max());

/// Decompresses bytes of LibLZF into `to`. Returns the number of bytes written; nullopt for bytes that are
/// damaged or do not fit.
///
/// Source    LibLZF 3.6, lzf_d.c (the format; h5py's filter lzf).
std::optional<std::size_t> expand_lzf(std::span<std::byte const> packed, std::span<std::byte> to);

/// Returns the Fletcher-32 of HDF5: 16-bit words, most significant byte first.
///
/// Source    HDF5 1.14, H5checksum.c.
std::uint32_t fletcher32(std::span<std::byte const> bytes);

}  // namespace cohort::detail
