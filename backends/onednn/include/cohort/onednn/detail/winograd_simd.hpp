// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/execution/isa.hpp>
#include <cstddef>

namespace cohort::detail {

/// Computes Bᵀ·d·B of a tile d of 4×4 pixels, for each channel.
///
/// Shapes    pixels: 16 addresses, row by row, of `channels` values, a multiple of 16. Element (i, j) is
///           stored at to[(4i + j)·step].
void winograd_input([[maybe_unused]] isa which, float const* const* pixels, std::size_t channels, float* to,
                    std::size_t step);

/// Computes f(Aᵀ·m·A + bias) of a tile m of 4×4 products, for each filter: f(x) = x if x > 0, otherwise
/// slope·x.
///
/// Shapes    element (i, j) of m is at from[(4i + j)·step]. pixels: Tile×Tile addresses of `filters` values,
///           a multiple of 16; null for a pixel outside the image.
template <int Tile>
void winograd_output(isa which, float const* from, std::size_t step, float const* bias, float slope,
                     std::size_t filters, float* const* pixels);

}  // namespace cohort::detail
