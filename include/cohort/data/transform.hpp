// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/description.hpp>
#include <cstddef>

namespace cohort {

/// Writes `n` elements of one example into the batch: copied, cast, or scaled, in one pass.
using row_transform = void (*)(std::byte const* source, std::byte* destination, std::size_t n, double scale,
                               double offset);

/// The pass that makes `part.type` of `part.stored`.
///
/// Errors    shape_error where there is none: labels are u8, i32 or i64 and arrive as i32; numbers are u8, f32 or
///           f64 and arrive as f32 or f64; u8 and i32 can stay what they are.
/// Exact     u8 → f32 is float(value)·scale + offset, without an offset the same bits under all compiler flags.
row_transform transform_of(tensor_description const& part);

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/data/impl/transform.ipp>
#endif
