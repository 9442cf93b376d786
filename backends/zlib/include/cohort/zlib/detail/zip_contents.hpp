// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/io/detail/zip_directory.hpp>
#include <cohort/zlib/detail/implementation.hpp>
#include <cstddef>
#include <span>
#include <vector>

namespace cohort::detail {

/// Returns the contents of an entry, whose bytes in the archive are `packed`. For a stored entry, returns
/// `packed` itself; otherwise decompresses the contents into `memory`.
///
/// Errors    data_error if the entry is neither stored nor compressed by deflate, or is damaged (its CRC-32
///           is compared).
std::span<std::byte const> contents_of_entry(zip_directory const& archive, zip_entry const& entry,
                                             std::span<std::byte const> packed,
                                             std::vector<std::byte>& memory);

}  // namespace cohort::detail
