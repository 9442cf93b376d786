// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cohort/data/channel_normalisation.hpp>
#include <cohort/execution/sink.hpp>
#include <cohort/image/class_words.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cohort {

/// Treatment of an image whose size differs from that of the examples.
enum class fitting {
  refuse,   ///< data_error naming the image
  stretch,  ///< resized, changing proportions if necessary
  cover     ///< resized with its proportions until it covers the size, then cropped to the centre
};

/// Conversion of files to examples. Field order: format of the examples, labels, limits, reports.
///
/// `apply_exif_orientation`: cameras store a photograph as the sensor saw it, and beside it the orientation
/// in which to show it. false: as stored, like torchvision's ImageFolder and Keras. true: as shown, like
/// Pillow's ImageOps.exif_transpose. The images of training, evaluation and prediction must be read alike.
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
  class_word_map words = {};            ///< names of the classes in descriptions, by label; empty: the labels
  bool keyed = false;                   ///< use each file's path as the example's key
  bool salvage = false;                 ///< decodes the readable part of a truncated or damaged JPEG
  bool apply_exif_orientation = false;  ///< rotates and mirrors each image accordingly
  std::int64_t max_pixels = std::int64_t{1} << 26;    ///< of an image; checked before memory is allocated
  std::size_t max_file_bytes = std::size_t{1} << 28;  ///< of a file
  /// Receives one line: about the first image whose EXIF orientation is not applied. Empty: no line.
  sink log = stderr_sink();
  /// Counts the reads of such images; an image that is read in two epochs counts twice. May be null.
  std::shared_ptr<std::atomic<std::int64_t>> ignored_orientations = {};
};

}  // namespace cohort
