// SPDX-License-Identifier: Apache-2.0
#ifdef COHORT_IMAGE_WEBP
#include <webp/decode.h>

#include <cohort/error/exceptions.hpp>
#include <cohort/image/detail/planes_of.hpp>
#include <cohort/image/detail/webp.hpp>
#include <cstdint>
#include <memory>

namespace cohort::detail {

webp_file::webp_file(std::span<std::byte const> file, std::string const& where) : file_(file), where_(where) {
  WebPBitstreamFeatures found{};
  auto const* const data = reinterpret_cast<std::uint8_t const*>(file.data());
  if (WebPGetFeatures(data, file.size(), &found) != VP8_STATUS_OK)
    refuse("an undamaged file", "a damaged header");
  if (found.has_animation != 0) refuse("a still image", "an animation; libwebp's webpmux extracts a frame");
  width_ = found.width;
  height_ = found.height;
}

image webp_file::read(int channels) const {
  std::size_t const bytes =
      std::size_t{3} * static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_);
  auto const rows = std::make_unique<std::uint8_t[]>(bytes);
  auto const* const data = reinterpret_cast<std::uint8_t const*>(file_.data());
  if (WebPDecodeRGBInto(data, file_.size(), rows.get(), bytes, 3 * width_) == nullptr)
    refuse("an undamaged file", "damaged or missing pixels");
  return planes_of<3>(rows.get(), channels, height_, width_);
}

void webp_file::refuse(char const* expected, char const* got) const {
  throw data_error({.what = "cannot decode the WebP", .where = where_, .expected = expected, .got = got});
}

}  // namespace cohort::detail
#endif
