// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/image/image.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

struct tiff;  // libtiff's

namespace cohort::detail {

/// The first image of a TIFF file in memory, whose directory has been read. Exists only if the component is
/// built with libtiff.
///
/// Source    TIFF 6.0, Adobe 1992; sections 3 to 9, 14 to 16 and 18.
class tiff_file {
 public:
  /// `max_pixels`: also the limit of a tile's pixels.
  tiff_file(std::span<std::byte const> file, std::string const& where, std::int64_t max_pixels);

  shape size() const { return {kind_ == kind::grey ? 1 : 3, height_, width_}; }

  image read(int channels) const;

 private:
  enum class kind { grey, palette, colour, inks };  // inks: cyan, magenta, yellow, black
  struct release {
    void operator()(tiff* file) const;
  };
  /// What libtiff's functions receive: they read the file, and write their first message.
  struct source {
    std::span<std::byte const> bytes;
    std::size_t position = 0;
    std::string message{};
  };
  /// A strip or a tile: the place of its pixels, and its samples of all channels, or of the channel `plane`.
  struct block {
    std::vector<std::byte> const& samples;
    int left, top, width, height;  // width: that of the file's rows, which may lie outside the image
    int plane;
  };

  /// Returns a field of the directory, or its default.
  template <class Number>
  Number field(std::uint32_t tag, Number otherwise) const;
  void check_kind();
  int samples() const;  // samples of a pixel that read needs
  std::uint8_t sample(std::byte const* row, std::size_t i) const;
  void store(block const& from, std::vector<std::uint8_t>& pixels) const;
  std::vector<std::uint8_t> stored_pixels() const;
  image palette_image(std::vector<std::uint8_t> const& indices, int channels) const;

  [[noreturn]] void refuse(char const* expected, std::string const& got) const;
  void require(bool succeeded) const;

  std::string const& where_;
  std::int64_t max_pixels_;
  std::unique_ptr<source> source_;
  std::unique_ptr<tiff, release> file_;
  int width_ = 0, height_ = 0;
  int bits_ = 0, stored_samples_ = 0;  // of a sample; of a pixel
  kind kind_ = kind::grey;
  bool inverted_ = false;       // 0 is white
  bool premultiplied_ = false;  // colours are multiplied by the last sample that read needs
  bool planar_ = false;         // each channel is stored separately
};

}  // namespace cohort::detail
