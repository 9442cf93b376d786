// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cohort/data/description.hpp>
#include <cohort/data/channel_normalisation.hpp>
#include <cohort/image/decode.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// Treatment of an image whose size differs from that of the examples.
enum class fitting {
  refuse,   ///< data_error naming it
  stretch,  ///< resized, changing proportions if necessary
  cover     ///< resized with its proportions until it covers the size, then cropped to the centre
};

/// Conversion of files to examples. Field order: format of the examples, labels, limits.
///
/// Errors    of `normalise`: setting_error for lists of other lengths than the channels, a mean that is not
///           finite, or a deviation that is not a finite number above 0.
struct image_settings {
  int channels = 3;  ///< 3 (red, green, blue) or 1 (grey)
  int height = 0;    ///< of every example; both 0: size of the first file
  int width = 0;
  fitting other_sizes = fitting::refuse;
  channel_normalisation normalise = {};  ///< of the elements in the batch, which are in [0, 1] without it
  std::vector<std::string> labels = {};  ///< the classes by number; empty: the classes found, sorted
  bool keyed = false;                    ///< use each file's path as the example's key
  bool salvage = false;                  ///< decodes the readable part of a truncated or damaged JPEG
  std::int64_t max_pixels = std::int64_t{1} << 26;    ///< of an image; checked before memory is allocated
  std::size_t max_file_bytes = std::size_t{1} << 28;  ///< of a file
};

namespace detail {

/// Returns the image in the size of the examples.
///
/// Errors    data_error naming `where` for another size with fitting::refuse.
image fit_to_size(image from, int height, int width, fitting how, std::string const& where);

/// Converts files to examples, for all data sets of image files.
class image_reader {
 public:
  image_reader(image_settings settings, std::vector<std::string> labels);

  /// Whether the settings give no size: use_size_of must then be called with the first file.
  bool needs_size() const { return settings_.height == 0; }
  void use_size_of(std::span<std::byte const> file, std::string const& where);

  data_description describe() const;

  void write(std::span<std::byte const> file, std::string const& where, std::string const& path,
             std::int32_t label, example_view& out) const;

  std::size_t max_file_bytes() const { return settings_.max_file_bytes; }

 private:
  decoding how() const;

  image_settings settings_;
};

/// Returns whether a name is that of an image file; false for hidden files.
///
/// Errors    data_error for other names.
bool is_image_file(std::string_view name, std::string const& where);

/// Throws setting_error for a list with a duplicate label.
void require_unique(std::vector<std::string> labels);

}  // namespace detail
}  // namespace cohort

#ifndef COHORT_IMAGE_COMPILED
#include <cohort/image/impl/image_settings.ipp>
#endif
