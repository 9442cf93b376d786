// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/image/image.hpp>
#include <cstddef>
#include <span>
#include <string>

namespace cohort::detail {

/// A WebP file in memory whose header has been read. Exists only if the component is built with libwebp.
class webp_file {
 public:
  webp_file(std::span<std::byte const> file, std::string const& where);

  shape size() const { return {3, height_, width_}; }

  image read(int channels) const;

 private:
  [[noreturn]] void refuse(char const* expected, char const* got) const;

  std::span<std::byte const> file_;
  std::string const& where_;
  int width_ = 0, height_ = 0;
};

}  // namespace cohort::detail
