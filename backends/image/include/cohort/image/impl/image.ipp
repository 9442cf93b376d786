// SPDX-License-Identifier: Apache-2.0
#include <cohort/image/image.hpp>

namespace cohort {

std::size_t image::plane_bytes() const {
  return static_cast<std::size_t>(height()) * static_cast<std::size_t>(width());
}

std::uint8_t* image::plane(int channel) {
  return pixels.data() + static_cast<std::size_t>(channel) * plane_bytes();
}

std::uint8_t const* image::plane(int channel) const {
  return pixels.data() + static_cast<std::size_t>(channel) * plane_bytes();
}

}  // namespace cohort
