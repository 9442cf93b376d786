// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/image/detail/image_bytes.hpp>
#include <cohort/image/image.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cohort::detail {

/// A GIF file in memory whose first frame's header has been read.
///
/// Shapes    the logical screen, enlarged to contain the first frame.
/// Source    GIF89a specification, CompuServe 1990; the pixels outside the first frame as in Pillow.
class gif_file {
 public:
  gif_file(std::span<std::byte const> file, std::string const& where);

  shape size() const { return {3, height_, width_}; }

  image read(int channels) const;

 private:
  void read_colours(image_bytes& from, unsigned flags);
  static void skip_blocks(image_bytes& from);

  /// Returns the indices of the first frame in the order of the file.
  std::vector<std::uint8_t> frame_indices() const;

  image_bytes pixels_;  // at the first frame's LZW data
  colour_table colours_;
  int width_ = 0, height_ = 0;
  int left_ = 0, top_ = 0, frame_width_ = 0, frame_height_ = 0;
  bool interlaced_ = false;
  std::uint8_t outside_ = 0;  // index of the pixels outside the frame: the transparent index, or 0
};

}  // namespace cohort::detail
