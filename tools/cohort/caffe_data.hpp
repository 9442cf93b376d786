// SPDX-License-Identifier: Apache-2.0
#pragma once
// The data of a network of Caffe.
#include <cohort/caffe/caffe_transform.hpp>
#include <cohort/caffe/import_caffe.hpp>
#include <cohort/data/dataset.hpp>
#include <cohort/records/record_set.hpp>
#include <cohort/tensor/element.hpp>
#include <cohort/tensor/shape.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cohort_program {

/// Returns a path without the prefix of local files, `file:` or `file://`.
std::string without_file_scheme(std::string path);

/// How the data of a layer are read.
struct caffe_reading {
  bool is_training = true;  ///< phase TRAIN: random crops
  bool resizes = false;     ///< -resize of CaffeOnSpark: images get the layer's height and width
  std::uint64_t seed = 0;
  bool keyed = false;  ///< whether examples have keys
};

/// One top of a data layer. `image`: transformed pixels. `label`: the class number of a record. `numbers`: an
/// array, or a single number.
struct caffe_top {
  enum class kinds : std::uint8_t { image, label, numbers };

  std::string name{};
  kinds kind = kinds::numbers;
  cohort::shape extents{};  ///< of the result
  cohort::caffe_transform transform{};
  int channels = 0;  ///< to which image files are decoded; 0: those of the file
  int height = 0;    ///< to which images are resized; 0: not resized
  int width = 0;
  std::size_t field = 0;  ///< of records that are rows of arrays
  cohort::element_type type = cohort::element_type::f32;
  cohort::shape stored{};
};

/// A data layer, whose files are open. Cheap to copy.
///
/// Errors    when constructed: data_error naming file, line and field for a layer, a source or a format that
///           cannot be read; file_error.
class caffe_data {
 public:
  caffe_data(cohort::caffe_data_layer const& layer, caffe_reading const& reading);

  std::vector<caffe_top> const& tops() const;
  std::int64_t size() const;
  int batch() const;
  std::string const& where() const;
  /// One sentence for each field that has no effect.
  std::vector<std::string> const& notices() const;

  /// Returns the examples of a network, with one part for each of its inputs and targets.
  ///
  /// Errors    data_error if the layer has no top for an input or target; from get: data_error naming the
  ///           record for a damaged record, a label out of range, or an image of other extents.
  cohort::dataset examples(cohort::caffe_model const& net) const;

 private:
  struct content;

  std::shared_ptr<content const> content_;
};

}  // namespace cohort_program
