// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <turbojpeg.h>

#include <cohort/image/image.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cohort::detail {

/// A JPEG file in memory whose header has been read. TurboJPEG's warnings (truncated, damaged) are errors
/// unless `salvage`. Exceptions are warnings about bytes that are not a part of the image: a missing end
/// mark, and extraneous bytes between segments or before the end mark.
class jpeg_file {
 public:
  jpeg_file(std::span<std::byte const> file, std::string const& where, bool salvage);

  shape size() const { return {grey_ ? 1 : 3, height_, width_}; }

  image read(int channels) const;

 private:
  struct release {
    void operator()(void* codec) const { tjDestroy(codec); }
  };

  unsigned char const* data() const { return reinterpret_cast<unsigned char const*>(file_.data()); }
  unsigned long size_bytes() const { return static_cast<unsigned long>(file_.size()); }

  /// Reads the header.
  int read_header();
  /// Decodes all rows; with `stops`, up to the first warning. Returns TurboJPEG's result.
  int read_rows(std::uint8_t* rows, int step, int format, bool stops) const;
  void require(int outcome) const;
  bool has_warning() const { return tjGetErrorCode(codec_.get()) == TJERR_WARNING; }

  [[noreturn]] void refuse(char const* expected, char const* got) const;

  std::vector<std::byte> mended_{};  // file_ without extraneous bytes, with an end mark; or empty
  std::span<std::byte const> file_;
  std::string const& where_;
  bool salvage_;
  std::unique_ptr<void, release> codec_;
  int width_ = 0;
  int height_ = 0;
  bool grey_ = false, has_inks_ = false;  // has_inks_: cyan, magenta, yellow, black
};

}  // namespace cohort::detail
