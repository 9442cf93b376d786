// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cstddef>
#include <cstdint>
#include <span>

namespace cohort::io {

/// Returns the CRC-32 of zip archives and PNG files. `start` continues an earlier CRC:
/// crc32("b", crc32("a")) == crc32("ab").
///
/// Source    IEEE 802.3, 3.2.9; PNG, third edition, annex D.
std::uint32_t crc32(std::span<std::byte const> bytes, std::uint32_t start = 0);

}  // namespace cohort::io
