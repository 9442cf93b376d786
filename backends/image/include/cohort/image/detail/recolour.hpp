// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/image/colour.hpp>
#include <cohort/random/stream.hpp>
#include <cohort/tensor/shape.hpp>
#include <cstdint>

namespace cohort::detail {

/// Throws setting_error for an invalid change.
void check(colour_change const& how);

/// Changes the colours of channels × height × width bytes.
///
/// Before    1 or 3 channels; a valid change.
void recolour(std::uint8_t* pixels, shape const& dims, colour_change const& how);

/// Returns the random change for a stream, from its elements first … first + 4.
colour_change drawn(colour_jitter const& how, random_stream const& chance, std::uint64_t first);

}  // namespace cohort::detail
