// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cohort/image/detail/image_reader.hpp>
#include <cohort/image/image_settings.hpp>
#include <cohort/records/caffe_datum.hpp>
#include <cohort/records/record_dataset.hpp>
#include <cohort/records/tfrecord.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// The fields of a record that contain an image and its class.
struct image_fields {
  /// A record has one of these fields.
  std::vector<std::string> image = {std::begin(detail::image_endings), std::end(detail::image_endings)};
  std::string label = "cls";  ///< the class index as a decimal text
};

/// Images in records, as an indexed data set: the records of a WebDataset, Caffe's Datums, CaffeOnSpark's
/// records, or TensorFlow's examples. get reads and decodes a record on the calling thread.
///
/// Shapes    as for image_folder.
/// Order     examples have the order of the records. settings.labels are the names of the classes 0, 1, ….
/// Errors    When constructed: setting_error without settings.labels; setting_error for a record set without
///           these fields; data_error if there are no records.
///           From get: data_error naming file and record for a record without an image, a label that is not
///           a class index, or an image that cannot be decoded; file_error.
class image_records {
 public:
  image_records(record_set records, image_settings settings, image_fields const& fields = {});

  /// Reads the Datums in the field "value" (LMDB, SequenceFile) or "record" (TFRecord), or in the only field.
  /// Pixels that are not encoded are three planes in OpenCV's order blue, green, red. They are converted to
  /// red, green, blue.
  static image_records of_caffe(record_set records, image_settings settings);

  /// Reads the records of CaffeOnSpark's SequenceFiles: the field "value" contains the image, and the field
  /// "key" is a caffe_on_spark_key. Its label is the class number, and its id becomes the example's key.
  /// Colours are converted as in of_caffe.
  static image_records of_caffe_on_spark(record_set records, image_settings settings);

  /// Reads each record as a serialised tf.train.Example (tf_example). `features`: names of its features; a
  /// record has one of the features `image`, a byte string, and the feature `label`, an integer. The default
  /// names are the names in the ImageNet files for TensorFlow's research models.
  static image_records of_tensorflow(record_set records, image_settings settings,
                                     image_fields const& features = {.image = {"image/encoded"},
                                                                     .label = "image/class/label"});

  data_description const& describe() const& { return what_; }
  data_description describe() && { return what_; }  // outlives the temporary
  std::int64_t size() const { return records_.size(); }
  void get(std::int64_t i, example_view& out) const;
  std::int64_t label(std::int64_t i) const;

  record_set const& records() const& { return records_; }
  record_set const& records() const&& = delete;  // keep the data set in a variable

 private:
  enum class source { fields, caffe, spark, tensorflow };

  image_records(record_set records, image_settings settings, std::vector<std::size_t> image,
                std::size_t label, source from, image_fields features = {});

  /// Reads a record of Caffe or CaffeOnSpark. For CaffeOnSpark, sets `id` to the record's id.
  caffe_datum datum_of(record_view& record, std::string& id) const;

  std::int32_t class_of(std::int64_t number, std::int64_t i) const;
  std::size_t image_field(record_view const& record) const;
  std::string_view image_of(std::map<std::string, tf_feature, std::less<>> const& features,
                            record_view const& record) const;
  std::int32_t class_of(std::map<std::string, tf_feature, std::less<>> const& features, std::int64_t i) const;

  record_set records_;
  detail::image_reader reader_;
  std::vector<std::size_t> image_fields_;
  std::size_t label_field_;
  source from_;
  image_fields features_;  // fields for of_tensorflow
  data_description what_;
};

}  // namespace cohort
