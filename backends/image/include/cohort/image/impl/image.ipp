// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/image/image.hpp>

namespace cohort {

COHORT_IMAGE_INLINE std::size_t image::plane_bytes() const {
  return static_cast<std::size_t>(height()) * static_cast<std::size_t>(width());
}

COHORT_IMAGE_INLINE std::uint8_t* image::plane(int channel) {
  return pixels.data() + static_cast<std::size_t>(channel) * plane_bytes();
}

COHORT_IMAGE_INLINE std::uint8_t const* image::plane(int channel) const {
  return pixels.data() + static_cast<std::size_t>(channel) * plane_bytes();
}

}  // namespace cohort
