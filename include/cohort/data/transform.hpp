// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/description.hpp>
#include <cstddef>

namespace cohort {

/// Function that writes `n` elements of one example to a batch: copies, casts, or scales them, in one pass.
using row_transform = void (*)(std::byte const* source, std::byte* destination, std::size_t n, double scale,
                               double offset);

/// Returns the function that converts `part.stored` to `part.type`. Supported conversions:
///
///     labels    u8, i32 or i64 to i32, unscaled
///     numbers   u8, f32 or f64 to f32 or f64
///     copies    u8 to u8, i32 to i32, unscaled
///
/// Errors    shape_error for any other conversion.
/// Exact     u8 to f32 is float(value)·scale + offset. Without offset, the bits do not depend on compiler
///           flags.
row_transform transform_of(tensor_description const& part);

}  // namespace cohort
