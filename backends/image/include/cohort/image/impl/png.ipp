// SPDX-License-Identifier: Apache-2.0
#include <cohort/error/exceptions.hpp>
#include <cohort/image/detail/planes_of.hpp>
#include <cohort/image/detail/png.hpp>
#include <cstdint>

namespace cohort::detail {

png_file::png_file(std::span<std::byte const> file, std::string const& where) : where_(where) {
  png_->version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_memory(png_.get(), file.data(), file.size()) == 0) refuse();
  if ((png_->format & PNG_FORMAT_FLAG_LINEAR) != 0) refuse("8 bits per channel", "16");
  if (png_->width > 0x7fffffffU || png_->height > 0x7fffffffU)
    refuse("extents up to 2147483647", "larger ones");
}

shape png_file::size() const {
  return {coloured() ? 3 : 1, static_cast<int>(png_->height), static_cast<int>(png_->width)};
}

image png_file::read(int channels) const {
  bool const transparent = (png_->format & PNG_FORMAT_FLAG_ALPHA) != 0;
  int const step = (coloured() ? 3 : 1) + (transparent ? 1 : 0);
  shape const dims = size();
  png_->format = static_cast<png_uint_32>(coloured() ? PNG_FORMAT_FLAG_COLOR : 0)
                 | static_cast<png_uint_32>(transparent ? PNG_FORMAT_FLAG_ALPHA : 0);
  auto const rows =
      std::make_unique<std::uint8_t[]>(static_cast<std::size_t>(step) * png_->width * png_->height);
  if (png_image_finish_read(png_.get(), nullptr, rows.get(), 0, nullptr) == 0) refuse();
  switch (step) {
    case 1:
      return planes_of<1>(rows.get(), channels, dims[1], dims[2]);
    case 2:
      return planes_of<2>(rows.get(), channels, dims[1], dims[2]);
    case 3:
      return planes_of<3>(rows.get(), channels, dims[1], dims[2]);
    default:
      return planes_of<4>(rows.get(), channels, dims[1], dims[2]);
  }
}

void png_file::release::operator()(png_image* png) const {
  png_image_free(png);
  delete png;
}

void png_file::refuse(char const* expected, char const* got) const {
  throw data_error({.what = "cannot decode the PNG", .where = where_, .expected = expected, .got = got});
}

}  // namespace cohort::detail
