// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/description.hpp>
#include <cohort/tensor/view.hpp>
#include <cstdint>
#include <span>

namespace cohort::detail {

/// Rescales examples of f32 or f64, count × …, in place, or reverses the rescaling.
///
/// Before    the number of maps divides the number of elements of an example. Without maps nothing happens.
enum class direction : std::uint8_t { forth, back };
void rescale(mutable_tensor_view examples, std::span<channel_scaling const> maps, direction which);

}  // namespace cohort::detail
