// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <png.h>

#include <cohort/image/image.hpp>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace cohort::detail {

/// A PNG file in memory whose header has been read.
class png_file {
 public:
  png_file(std::span<std::byte const> file, std::string const& where);

  shape size() const;

  image read(int channels) const;

 private:
  struct release {
    void operator()(png_image* png) const;
  };

  bool coloured() const { return (png_->format & PNG_FORMAT_FLAG_COLOR) != 0; }

  [[noreturn]] void refuse() const { refuse("an undamaged file", png_->message); }
  [[noreturn]] void refuse(char const* expected, char const* got) const;

  std::string const& where_;
  std::unique_ptr<png_image, release> png_{new png_image{}};
};

}  // namespace cohort::detail
