// SPDX-License-Identifier: Apache-2.0
#include <cohort/error/exceptions.hpp>
#include <cohort/image/detail/jpeg.hpp>
#include <cohort/image/detail/planes_of.hpp>
#include <cstdint>

namespace cohort::detail {

jpeg_file::jpeg_file(std::span<std::byte const> file, std::string const& where, bool salvage)
    : file_(file), where_(where), salvage_(salvage), codec_(tjInitDecompress()) {
  if (!codec_)
    throw memory_error(
        {.what = "TurboJPEG cannot be initialised", .where = where_, .got = tjGetErrorStr2(nullptr)});
  int subsampling = 0;
  int space = 0;
  require(tjDecompressHeader3(codec_.get(), data(), size_bytes(), &width_, &height_, &subsampling, &space));
  if (space == TJCS_CMYK || space == TJCS_YCCK) refuse("RGB or grey", "CMYK");
  grey_ = space == TJCS_GRAY;
}

image jpeg_file::read(int channels) const {
  int const step = grey_ || channels == 1 ? 1 : 3;
  std::size_t const bytes =
      static_cast<std::size_t>(step) * static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_);
  auto const rows = std::make_unique<std::uint8_t[]>(bytes);
  require(tjDecompress2(codec_.get(), data(), size_bytes(), rows.get(), width_, step * width_, height_,
                        step == 1 ? TJPF_GRAY : TJPF_RGB, TJFLAG_LIMITSCANS));
  return step == 1 ? planes_of<1>(rows.get(), channels, height_, width_)
                   : planes_of<3>(rows.get(), channels, height_, width_);
}

void jpeg_file::require(int outcome) const {
  if (outcome == 0 || (salvage_ && tjGetErrorCode(codec_.get()) == TJERR_WARNING && width_ > 0)) return;
  refuse("an undamaged file", tjGetErrorStr2(codec_.get()));
}

void jpeg_file::refuse(char const* expected, char const* got) const {
  throw data_error({.what = "cannot decode the JPEG", .where = where_, .expected = expected, .got = got});
}

}  // namespace cohort::detail
