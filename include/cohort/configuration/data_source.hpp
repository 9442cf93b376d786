// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/audio/audio_records.hpp>
#include <cohort/audio/sound_settings.hpp>
#include <cohort/configuration/detail/implementation.hpp>
#include <cohort/data/read_table.hpp>
#include <cohort/data/table_encoder.hpp>
#include <cohort/data/windows.hpp>
#include <cohort/records/record_dataset.hpp>
#include <cohort/tensor/element.hpp>
#include <cohort/text/token_crops.hpp>
#include <cohort/transform/transform_pipeline.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace cohort {

/// Synthetic digits (synthetic_digits). Examples [0, train) of `seed` are the training set, and the next
/// `test` examples are the test set; 0: no test set.
struct digits_source {
  int train = 12'000;
  int test = 2'000;
  std::uint64_t seed = 1;
};

/// MNIST: the four files in `folder`. If `folder` is empty, $COHORT_DATA, data/ and the cache are searched;
/// if none of these folders contains the files, synthetic digits are used.
struct mnist_source {
  std::string folder{};
};

/// Images and labels in IDX files, scaled to [0, 1]. Without `test_images` there is no test set.
struct idx_source {
  std::string images{};
  std::string labels{};
  std::string test_images{};
  std::string test_labels{};
  int classes = 0;  ///< number of classes; 0: largest label + 1
};

/// A table of comma- or tab-separated values, encoded by a table_encoder that is fitted to the training rows.
/// Without `test_file`, the fraction `test_fraction` of the rows is held out. With `transform`, a pipeline is
/// first fitted to the training rows, and the encoder reads the rows that the pipeline prepares. The schema
/// of the pipeline, not `format`, then determines the columns, their types and the missing values.
struct table_source {
  std::string file{};
  std::string test_file{};
  double test_fraction = 0.25;
  std::uint64_t split_seed = 0;
  bool stratified = false;  ///< whether each class of the target is divided in the same proportion
  encoder_settings encode{};
  table_settings format{};
  std::optional<transform_pipeline> transform{};  ///< pipeline without group_by_key and windows
  bad_record bad = bad_record::stop;              ///< action for rows that do not match the schema
  std::string weight{};  ///< column with the weights of the training examples; empty: equal weights
};

/// Byte-level tokenizer of a text (tokenizer): every byte is a token.
struct byte_tokens {};
/// Character-level tokenizer of a text: every character is a token.
struct character_tokens {};
/// Byte pair encoding, trained on the text; `size` is the size of the vocabulary.
struct byte_pair_tokens {
  int size = 512;
};
/// Tokenizer of GPT-2, read from its published files.
struct gpt2_tokens {
  std::string vocabulary{};
  std::string merges{};
};
/// Tokenizer read from a file that tokenizer::save has written.
struct saved_tokens {
  std::string file{};
};
/// Tokenizer of a text.
using text_tokens = std::variant<character_tokens, byte_tokens, byte_pair_tokens, gpt2_tokens, saved_tokens>;

/// Crops of a text, for a network that predicts the next token. The last `test_fraction` of the tokens is the
/// test set.
struct text_source {
  std::string file{};
  text_tokens tokens{};
  int length = 64;     ///< number of tokens in a crop
  int vocabulary = 0;  ///< vocabulary size of the network; 0: the tokenizer's
  double test_fraction = 0.1;
};

/// Windows over the columns of a table, oldest row first. The last `test_fraction` of the rows is the test
/// set.
struct series_source {
  std::string file{};
  std::vector<std::string> columns{};  ///< columns of the series; empty: all
  window_settings window{};
  double test_fraction = 0.2;
  table_settings format{};
};

/// Conversion of image files to examples, and augmentation of the training images.
///
/// Units     `mean`, `deviation`: one number per channel, for elements in [0, 1]; or empty.
struct image_options {
  enum class fit : std::uint8_t { refuse, stretch, cover };

  /// Random changes of training images.
  ///
  /// Units     `padding`: pixels added to each side of an image before a random crop; 0: no crop. `rotation`:
  ///           degrees. `brightness`, `contrast`, `saturation`, `hue`: see colour_jitter. `erasing`:
  ///           probability of random_erasing. `mixup`, `cutmix`: see mixing; 0: none.
  struct changes {
    int padding = 0;
    bool flip = false;
    double rotation = 0;
    double brightness = 0;
    double contrast = 0;
    double saturation = 0;
    double hue = 0;
    double erasing = 0;
    double mixup = 0;
    double cutmix = 0;
  };

  int channels = 3;
  int height = 0;  ///< in pixels; 0: height of the first file
  int width = 0;
  fit other_sizes = fit::refuse;
  std::vector<double> mean{};
  std::vector<double> deviation{};
  changes augment{};
  bool cache = false;                   ///< keeps decoded images in memory
  bool salvage = false;                 ///< decodes the readable part of a truncated or damaged JPEG
  bool apply_exif_orientation = false;  ///< rotates and mirrors images as their EXIF data state
};

/// Images in folders named after their classes; needs the component image. Without `test_folder`, the
/// fraction `test_fraction` of the images is held out. `words`: a file of class_words, which names the
/// classes in reports; or empty.
struct images_source {
  std::string folder{};
  std::string test_folder{};
  double test_fraction = 0.2;
  std::uint64_t split_seed = 0;
  std::string words{};
  bad_record bad = bad_record::stop;  ///< action for images that cannot be decoded
  image_options options{};
};

/// WAV files in folders named after their classes. Without `test_folder`, the fraction `test_fraction` of the
/// sounds is held out. `settings`: labels, keyed and max_file_bytes have no field.
struct audio_source {
  std::string folder{};
  std::string test_folder{};
  double test_fraction = 0.2;
  std::uint64_t split_seed = 0;
  bad_record bad = bad_record::stop;  ///< action for sounds that cannot be decoded
  audio::sound_settings settings{};
};

/// Records that contain an image file and its class number; needs the component image. `image`, `label`:
/// names of fields (webdataset) or features (tfrecord); a record has one of the names in `image`. Defaults:
/// those of image_fields (webdataset), image/encoded and image/class/label (tfrecord). The records of lmdb
/// and sequence_file are Datums of Caffe, which have no names.
struct image_content {
  std::vector<std::string> image{};
  std::string label{};
  image_options options{};
};

/// Records that contain numbers and a class number. `values`: name of a field of little-endian numbers of
/// type `type`, f32 or u8 (webdataset), or of a feature of floats or integers (tfrecord). `label`: as in
/// image_content; default: cls (webdataset) or label (tfrecord). The numbers of a Datum of Caffe (lmdb,
/// sequence_file) are its bytes or its floats.
///
/// Units     `scale` multiplies the numbers.
struct number_content {
  std::vector<int> extents{};  ///< extents of an example
  std::string values{};
  std::string label{};
  element_type type = element_type::f32;
  double scale = 1;
};

/// Records that contain a WAV file and its class number (webdataset). `sound`, `label`: names of fields, as
/// in sound_fields. `settings`: labels, keyed and max_file_bytes have no field.
struct sound_content {
  std::string sound = audio::sound_fields().sound;
  std::string label = audio::sound_fields().label;
  audio::sound_settings settings{};
};

/// Content of records.
using record_content = std::variant<image_content, number_content, sound_content>;

/// The number of classes, or the names of classes 0, 1, …; 0: the classes of `words`.
using record_classes = std::variant<int, std::vector<std::string>>;

/// Files of records (record_set). `files`, `test_files`: paths, or numbered series of paths (numbered_paths);
/// without `test_files` there is no test set. `words`: a file of class_words. If `classes` is a list of ids
/// in this file, the words of these ids name the classes. Otherwise the classes are all ids in the file,
/// sorted, and `classes` must be 0 or their number. `cache`: a folder for the files' indices; "auto":
/// Cohort's cache folder; "none": each process indexes the files. `weight`: the weights of the training
/// examples, a field with a decimal number (webdataset) or a feature of one number (tfrecord); or empty.
struct records_source {
  enum class kind : std::uint8_t { webdataset, tfrecord, lmdb, sequence_file };

  kind format = kind::webdataset;
  std::vector<std::string> files{};
  std::vector<std::string> test_files{};
  record_content content{};
  record_classes classes{};
  std::string words{};
  std::string cache = "auto";
  bad_record bad = bad_record::stop;
  std::string weight{};
};

/// The data set of a document. With a `test_fraction` of 0 there is no test set: all examples are used for
/// training. Paths are relative to the current directory. IDX files, tables, series and texts whose names end
/// in .gz are decompressed by the component zlib.
using data_source = std::variant<digits_source, mnist_source, idx_source, table_source, text_source,
                                 series_source, images_source, records_source, audio_source>;

}  // namespace cohort
