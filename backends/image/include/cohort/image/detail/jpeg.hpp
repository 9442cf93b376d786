// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <turbojpeg.h>

#include <cohort/error/exceptions.hpp>
#include <cohort/image/image.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace cohort::detail {

/// A JPEG file in memory whose header has been read. What TurboJPEG warns of (cut, damaged) is an error, unless salvaged.
class jpeg_file {
 public:
  jpeg_file(std::span<std::byte const> file, std::string const& where, bool salvage)
      : file_(file), where_(where), salvage_(salvage), codec_(tjInitDecompress()) {
    if (!codec_)
      throw memory_error(
          {.what = "TurboJPEG does not start", .where = where_, .got = tjGetErrorStr2(nullptr)});
    int subsampling = 0;
    int space = 0;
    require(tjDecompressHeader3(codec_.get(), data(), size_bytes(), &width_, &height_, &subsampling, &space));
    if (space == TJCS_CMYK || space == TJCS_YCCK) refuse("red, green and blue, or grey", "CMYK");
    grey_ = space == TJCS_GRAY;
  }

  shape size() const { return {grey_ ? 1 : 3, height_, width_}; }

  image read(int channels) const {
    int const step = grey_ || channels == 1 ? 1 : 3;
    std::size_t const bytes =
        static_cast<std::size_t>(step) * static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_);
    auto const rows = std::make_unique<std::uint8_t[]>(bytes);
    require(tjDecompress2(codec_.get(), data(), size_bytes(), rows.get(), width_, step * width_, height_,
                          step == 1 ? TJPF_GRAY : TJPF_RGB, TJFLAG_LIMITSCANS));
    return step == 1 ? planes_of<1>(rows.get(), channels, height_, width_)
                     : planes_of<3>(rows.get(), channels, height_, width_);
  }

 private:
  struct release {
    void operator()(void* codec) const { tjDestroy(codec); }
  };

  unsigned char const* data() const { return reinterpret_cast<unsigned char const*>(file_.data()); }
  unsigned long size_bytes() const { return static_cast<unsigned long>(file_.size()); }

  void require(int outcome) const {
    if (outcome == 0 || (salvage_ && tjGetErrorCode(codec_.get()) == TJERR_WARNING && width_ > 0)) return;
    refuse("a sound file", tjGetErrorStr2(codec_.get()));
  }

  [[noreturn]] void refuse(char const* expected, char const* got) const {
    throw data_error({.what = "cannot decode the JPEG", .where = where_, .expected = expected, .got = got});
  }

  std::span<std::byte const> file_;
  std::string const& where_;
  bool salvage_;
  std::unique_ptr<void, release> codec_;
  int width_ = 0;
  int height_ = 0;
  bool grey_ = false;
};

}  // namespace cohort::detail
