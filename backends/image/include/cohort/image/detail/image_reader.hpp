// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cohort/data/description.hpp>
#include <cohort/image/decode.hpp>
#include <cohort/image/image_settings.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort::detail {

/// Returns the image, converted to the size of the examples.
///
/// Errors    data_error naming `where` if the size differs and `how` is fitting::refuse.
image fit_to_size(image from, int height, int width, fitting how, std::string const& where);

/// Converts files to examples, for all data sets of image files.
class image_reader {
 public:
  image_reader(image_settings settings, std::vector<std::string> labels);

  /// Returns whether the settings contain no size; use_size_of must then be called with the first file.
  bool needs_size() const { return settings_.height == 0; }
  void use_size_of(std::span<std::byte const> file, std::string const& where);

  void use_size(int height, int width);

  data_description describe() const;

  /// Writes an example from a file, which is decoded, or from an image with the channels of the settings.
  /// `path`: the example's key, which must remain valid until the next example is requested.
  void write(std::span<std::byte const> file, std::string const& where, std::string_view path,
             std::int32_t label, example_view& out) const;
  void write(image from, std::string const& where, std::string_view path, std::int32_t label,
             example_view& out) const;

  std::vector<std::string> const& labels() const { return settings_.labels; }
  std::size_t max_file_bytes() const { return settings_.max_file_bytes; }

 private:
  decoding how() const;

  /// Counts an image whose EXIF orientation is not applied; logs the first one.
  void report_orientation(std::span<std::byte const> file, std::string const& where) const;

  image_settings settings_;
  std::vector<std::string> names_;  // names of the classes in descriptions
};

/// The endings of the names of image files, which are also the default fields of image_records.
inline constexpr char const* image_endings[] = {"jpg", "jpeg", "png", "bmp", "gif", "tif", "tiff", "webp"};

/// Returns true for the name of an image file (a dot and one of image_endings), and false for a hidden file.
///
/// Errors    data_error naming `where` for other names.
bool is_image_file(std::string_view name, std::string const& where);

}  // namespace cohort::detail
