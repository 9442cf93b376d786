// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <turbojpeg.h>

#include <cohort/image/image.hpp>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace cohort::detail {

/// A JPEG file in memory whose header has been read. TurboJPEG's warnings (truncated, damaged) are errors
/// unless `salvage`.
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

  void require(int outcome) const;

  [[noreturn]] void refuse(char const* expected, char const* got) const;

  std::span<std::byte const> file_;
  std::string const& where_;
  bool salvage_;
  std::unique_ptr<void, release> codec_;
  int width_ = 0;
  int height_ = 0;
  bool grey_ = false;
};

}  // namespace cohort::detail
