// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/description.hpp>
#include <cohort/tensor/view.hpp>
#include <cstdint>
#include <span>

namespace cohort::detail {

enum class direction : std::uint8_t { forth, back };
/// Rescales examples of f32 or f64, count × …, in place (forth), or reverses the rescaling (back). Does
/// nothing without maps.
///
/// Before    the number of maps divides the number of elements of an example.
void rescale(mutable_tensor_view examples, std::span<channel_scaling const> maps, direction which);

}  // namespace cohort::detail
