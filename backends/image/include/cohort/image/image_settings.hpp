// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cohort/data/description.hpp>
#include <cohort/image/decode.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// What becomes of an image that has another size than the examples.
enum class fitting {
  refuse,   ///< data_error naming it
  stretch,  ///< resized to that size, in other proportions if need be
  cover     ///< resized in its own proportions until it covers that size, then the middle is cut out
};

/// How files become examples. Field order: what they become, which labels, which limits.
struct image_settings {
  int channels = 3;  ///< 3 (red, green, blue) or 1 (grey)
  int height = 0;    ///< of every example; 0 and 0: those of the first file
  int width = 0;
  fitting other_sizes = fitting::refuse;
  std::vector<std::string> labels =
      {};                ///< the classes in the order of their numbers; none: those found, sorted
  bool keyed = false;    ///< examples carry their path as key
  bool salvage = false;  ///< takes what can be had of a cut or damaged JPEG
  std::int64_t max_pixels = std::int64_t{1} << 26;    ///< of a file's image, refused before memory is taken
  std::size_t max_file_bytes = std::size_t{1} << 28;  ///< of a file
};

namespace detail {

/// The image in the size of the examples.
image fitted(image from, int height, int width, fitting how, std::string const& where);

/// Makes examples of files: what data sets of image files share.
class image_reader {
 public:
  image_reader(image_settings settings, std::vector<std::string> labels);

  /// The size of the examples, if the settings do not say it: that of the first file.
  bool needs_size() const { return settings_.height == 0; }
  void take_size_of(std::span<std::byte const> file, std::string const& where);

  data_description describe() const;

  void write(std::span<std::byte const> file, std::string const& where, std::string const& path,
             std::int32_t label, example_view& out) const;

  std::size_t max_file_bytes() const { return settings_.max_file_bytes; }

 private:
  decoding how() const;

  image_settings settings_;
};

/// Whether a file counts: hidden ones do not, others must be images by their names.
bool is_image_file(std::string_view name, std::string const& where);

/// Refuses a list of labels that names one twice.
void require_unique(std::vector<std::string> labels);

}  // namespace detail
}  // namespace cohort

#ifndef COHORT_IMAGE_COMPILED
#include <cohort/image/impl/image_settings.ipp>
#endif
