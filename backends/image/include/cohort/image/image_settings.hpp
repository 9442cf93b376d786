// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/channel_normalisation.hpp>
#include <cohort/image/class_words.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cohort {

/// Treatment of an image whose size differs from that of the examples.
enum class fitting {
  refuse,   ///< data_error naming the image
  stretch,  ///< resized, changing proportions if necessary
  cover     ///< resized with its proportions until it covers the size, then cropped to the centre
};

/// Conversion of files to examples. Field order: format of the examples, labels, limits.
///
/// Errors    for `words`: see named_classes. For `normalise`: setting_error for lists whose length is not the
///           number of channels, a mean that is not finite, or a deviation that is not a finite number above
///           0.
struct image_settings {
  int channels = 3;  ///< 3 (red, green, blue) or 1 (grey)
  int height = 0;    ///< size of the examples; both 0: size of the first file
  int width = 0;
  fitting other_sizes = fitting::refuse;
  channel_normalisation normalise = {};  ///< changes the batch's elements, which are in [0, 1] before
  std::vector<std::string> labels = {};  ///< names of the classes 0, 1, …; empty: the classes found, sorted
  class_word_map words = {};  ///< names of the classes in descriptions, by label; empty: the labels
  bool keyed = false;         ///< use each file's path as the example's key
  bool salvage = false;       ///< decodes the readable part of a truncated or damaged JPEG
  std::int64_t max_pixels = std::int64_t{1} << 26;    ///< largest image; checked before memory is allocated
  std::size_t max_file_bytes = std::size_t{1} << 28;  ///< largest file
};

}  // namespace cohort
