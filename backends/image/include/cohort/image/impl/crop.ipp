// SPDX-License-Identifier: Apache-2.0
#include <cohort/error/exceptions.hpp>
#include <cohort/image/crop.hpp>
#include <cohort/image/detail/copy_window.hpp>

namespace cohort {

image cropped(image const& from, image_window const& window, bool flip) {
  if (window.height < 1 || window.width < 1)
    throw shape_error({.what = "the crop window is empty",
                       .where = "cropped",
                       .expected = "a window of at least 1x1",
                       .got = {window.height, 'x', window.width}});
  image to(from.channels(), window.height, window.width);
  detail::copy_window<1>(reinterpret_cast<std::byte const*>(from.pixels.data()), from.dims, window, flip,
                         reinterpret_cast<std::byte*>(to.pixels.data()));
  return to;
}

image flipped(image const& from) { return cropped(from, {0, 0, from.height(), from.width()}, true); }

}  // namespace cohort
