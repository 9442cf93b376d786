// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cstdint>
#include <span>
#include <string>

namespace cohort::detail {

/// Returns a PNG file without compression: a deflate stream of stored blocks, which needs no library.
///
/// Shapes    `pixels`: height × width × channels; 1 channel (grey) or 3 (red, green, blue).
/// Source    W3C, Portable Network Graphics; RFC 1950 and RFC 1951.
std::string stored_png(int height, int width, int channels, std::span<std::uint8_t const> pixels);

}  // namespace cohort::detail
