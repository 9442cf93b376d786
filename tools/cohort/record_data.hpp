// SPDX-License-Identifier: Apache-2.0
#pragma once
// The records of a run document.
#include <atomic>
#include <cohort/configuration/data_source.hpp>
#include <cohort/data/dataset.hpp>
#include <cohort/data/skip_damaged.hpp>
#include <cohort/data/with_keys.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/execution/sink.hpp>
#include <cohort/records/caffe_datum.hpp>
#include <cohort/records/lmdb.hpp>
#include <cohort/records/record_dataset.hpp>
#include <cohort/records/sequence_file.hpp>
#include <cohort/records/tfrecord.hpp>
#include <cohort/records/webdataset.hpp>
#include <cohort/zlib.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>
#include "image_options.hpp"

namespace cohort_program {

/// Training and test set of records. `records`: of the training set. `skipped` counts the reads of damaged
/// records that were skipped, `ignored_orientations` the reads of images whose EXIF orientation was not
/// applied; null without images.
struct record_sets {
  cohort::dataset train;
  cohort::record_set records;
  std::optional<cohort::dataset> test{};
  std::string where{};
  std::shared_ptr<std::atomic<std::int64_t>> skipped{};
  std::shared_ptr<std::atomic<std::int64_t>> ignored_orientations{};
};

using record_kind = cohort::records_source::kind;

inline cohort::record_format format_of(record_kind kind) {
  switch (kind) {
    case record_kind::webdataset:
      return cohort::webdataset();
    case record_kind::tfrecord:
      return cohort::tfrecord();
    case record_kind::lmdb:
      return cohort::lmdb();
    default:
      return cohort::sequence_file(cohort::gzip::inflate);
  }
}

inline std::vector<std::string> paths_of(std::vector<std::string> const& patterns, record_kind kind) {
  std::vector<std::string> paths;
  for (std::string const& pattern : patterns)
    for (std::string const& path : cohort::numbered_paths(pattern))
      paths.push_back(kind == record_kind::lmdb ? cohort::lmdb_file(path) : path);
  return paths;
}

inline cohort::record_set open_records(std::vector<std::string> const& patterns,
                                       cohort::records_source const& from) {
  cohort::record_settings how;
  if (from.cache != "auto") how.cache = from.cache == "none" ? "" : from.cache;
  return cohort::record_set(paths_of(patterns, from.format), format_of(from.format), how);
}

/// Number of the classes, and their names; without names, `names` is empty.
struct named_class_list {
  int count = 0;
  std::vector<std::string> names{};
};

inline named_class_list classes_of(cohort::records_source const& from) {
  named_class_list made;
  if (auto const* const ids = std::get_if<std::vector<std::string>>(&from.classes)) made.names = *ids;
  int const* const number = std::get_if<int>(&from.classes);
  made.count = number ? *number : static_cast<int>(made.names.size());
  if (from.words.empty()) return made;
#if HAS_IMAGE
  cohort::class_word_map const words = cohort::class_words(from.words);
  if (number)
    for (auto const& [id, text] : words) made.names.push_back(id);
  if (number && *number > 0 && made.names.size() != static_cast<std::size_t>(*number))
    throw cohort::data_error({.what = "the file of words has another number of classes",
                              .where = from.words,
                              .expected = {*number, " ids, or a list of ids in data.records.classes"},
                              .got = {made.names.size()}});
  made.names = cohort::named_classes(made.names, words);
  made.count = static_cast<int>(made.names.size());
  return made;
#else
  refuse_images("data.records.words");
#endif
}

/// Decodes records of numbers and a class (number_content).
class number_decoder {
 public:
  number_decoder(cohort::record_set const& records, cohort::number_content const& content, record_kind kind,
                 int classes)
      : content_(content), kind_(kind), classes_(classes) {
    extents_.rank = static_cast<int>(content.extents.size());
    for (std::size_t axis = 0; axis < content.extents.size(); ++axis)
      extents_.extents[axis] = content.extents[axis];
    if (content_.label.empty()) content_.label = kind == record_kind::webdataset ? "cls" : "label";
    if (kind == record_kind::webdataset) {
      values_ = records.field(content_.values);
      label_ = records.field(content_.label);
    } else {
      values_ = records.field(kind == record_kind::tfrecord ? "record" : "value");
    }
  }

  cohort::data_description describe(std::vector<std::string> const& names) const {
    return {
        .inputs = {{.name = "input", .example = extents_, .stored = content_.type, .scale = content_.scale}},
        .targets = {{.name = "label",
                     .stored = cohort::element_type::i32,
                     .type = cohort::element_type::i32,
                     .classes = classes_,
                     .label_names = names}}};
  }

  void operator()(cohort::record_view& record, cohort::example_view& out) const {
    if (kind_ == record_kind::webdataset) return decode_fields(record, out);
    if (kind_ == record_kind::tfrecord) return decode_features(record, out);
    cohort::caffe_datum const datum = cohort::caffe_datum::parse(record.bytes(values_), record.where());
    if (datum.encoded) refuse(record, "numbers", "an encoded image");
    auto const* const bytes = reinterpret_cast<std::uint8_t const*>(datum.data.data());
    if (datum.numbers.empty())
      write(record, std::span(bytes, datum.data.size()), datum.label, out);
    else
      write(record, std::span(datum.numbers), datum.label, out);
  }

 private:
  [[noreturn]] static void refuse(cohort::record_view const& record, std::string expected, std::string got) {
    throw cohort::data_error({.what = "a record does not have the numbers of an example",
                              .where = record.where(),
                              .expected = std::move(expected),
                              .got = std::move(got)});
  }

  void require_count(cohort::record_view const& record, std::size_t count) const {
    if (count != static_cast<std::size_t>(extents_.elements()))
      refuse(record, std::to_string(extents_.elements()) + " numbers", std::to_string(count));
  }

  std::int32_t class_of(cohort::record_view const& record, std::int64_t number) const {
    if (number < 0 || number >= classes_)
      throw cohort::data_error({.what = "a record has an unknown class",
                                .where = record.where(),
                                .expected = {"0 to ", classes_ - 1},
                                .got = {number}});
    return static_cast<std::int32_t>(number);
  }

  template <class Number>
  void write(cohort::record_view const& record, std::span<Number const> numbers, std::int64_t label,
             cohort::example_view& out) const {
    require_count(record, numbers.size());
    std::int32_t const number = class_of(record, label);
    float* to = out.fill<float>(0);
    for (Number const value : numbers) *to++ = static_cast<float>(value);
    *out.fill<std::int32_t>(1) = number;
  }

  void decode_fields(cohort::record_view& record, cohort::example_view& out) const {
    std::span<std::byte const> const bytes = record.bytes(values_);
    std::size_t const each = cohort::bytes_of(content_.type);
    if (bytes.size() % each != 0)
      refuse(record, "a multiple of " + std::to_string(each) + " bytes", std::to_string(bytes.size()));
    require_count(record, bytes.size() / each);
    auto const number = static_cast<std::int32_t>(record.integer(label_, 0, classes_ - 1));
    std::memcpy(out.fill(0), bytes.data(), bytes.size());
    *out.fill<std::int32_t>(1) = number;
  }

  void decode_features(cohort::record_view& record, cohort::example_view& out) const {
    auto const features = cohort::tf_example(record.bytes(values_), record.where());
    auto const values = features.find(content_.values), label = features.find(content_.label);
    if (values == features.end()) refuse(record, "a feature " + content_.values, "none");
    if (label == features.end() || label->second.integers.size() != 1)
      refuse(record, "a feature " + content_.label + " of one integer", "none");
    if (values->second.floats.empty())
      write(record, std::span(std::as_const(values->second.integers)), label->second.integers[0], out);
    else
      write(record, std::span(std::as_const(values->second.floats)), label->second.integers[0], out);
  }

  cohort::number_content content_;
  record_kind kind_;
  int classes_;
  cohort::shape extents_{};
  std::size_t values_ = 0;
  std::size_t label_ = 0;
};

/// Returns reports of damaged examples: `skipped` counts the damaged examples; the first 20 are logged.
inline cohort::damage_reports reports_of(std::shared_ptr<std::atomic<std::int64_t>> const& skipped) {
  constexpr std::int64_t most_lines = 20;
  // skip_damaged calls the log in one thread at a time.
  auto const lines = std::make_shared<std::int64_t>(0);
  cohort::sink const log = [lines, to = cohort::stderr_sink()](std::string_view line) {
    if (++*lines <= most_lines) to(line);
    if (*lines == most_lines) to("skipped: further damaged examples are only counted");
  };
  return {log, skipped};
}

inline cohort::record_decoding decoding_of(cohort::records_source const& from,
                                           std::shared_ptr<std::atomic<std::int64_t>> const& skipped) {
  cohort::damage_reports const reports = reports_of(skipped);
  return {.bad = from.bad, .log = reports.log, .skipped = reports.skipped};
}

inline cohort::dataset examples_of(cohort::number_content const& content, cohort::record_set const& records,
                                   cohort::records_source const& from, named_class_list const& classes,
                                   cohort::record_decoding const& how) {
  number_decoder const decode(records, content, from.format, classes.count);
  return cohort::decoded_records(records, decode.describe(classes.names), decode, how);
}

inline record_sets load_content(cohort::number_content const& content, cohort::record_set const& records,
                                cohort::records_source const& from, named_class_list const& classes,
                                cohort::record_decoding const& how, std::uint64_t) {
  record_sets made{.train = examples_of(content, records, from, classes, how), .records = records};
  if (!from.test_files.empty())
    made.test = examples_of(content, open_records(from.test_files, from), from, classes, how);
  return made;
}

#if HAS_IMAGE
inline cohort::image_records images_of(cohort::image_content const& content, cohort::record_set records,
                                       record_kind kind, cohort::image_settings const& how) {
  if (kind == record_kind::lmdb || kind == record_kind::sequence_file)
    return cohort::image_records::of_caffe(std::move(records), how);
  bool const is_tar = kind == record_kind::webdataset;
  cohort::image_fields fields;
  if (!is_tar) fields = {.image = {"image/encoded"}, .label = "image/class/label"};
  if (!content.image.empty()) fields.image = content.image;
  if (!content.label.empty()) fields.label = content.label;
  if (is_tar) return cohort::image_records(std::move(records), how, fields);
  return cohort::image_records::of_tensorflow(std::move(records), how, fields);
}

/// Returns the images as a data set that treats damaged records as `how` states.
inline cohort::dataset decoded(cohort::image_records const& images, cohort::record_decoding const& how) {
  if (how.bad == cohort::bad_record::stop) return images;
  return cohort::skip_damaged(images, {how.log, how.skipped});
}

inline record_sets load_content(cohort::image_content const& content, cohort::record_set const& records,
                                cohort::records_source const& from, named_class_list const& classes,
                                cohort::record_decoding const& decoding, std::uint64_t seed) {
  cohort::image_settings how = settings_of(content.options, from);
  how.labels = classes.names;
  if (how.labels.empty())
    for (int number = 0; number < classes.count; ++number) how.labels.push_back(std::to_string(number));
  cohort::image_records const images = images_of(content, records, from.format, how);
  cohort::shape const size = images.describe().inputs[0].example;
  record_sets made{.train = training_part(decoded(images, decoding), content.options, seed),
                   .records = records,
                   .ignored_orientations = how.ignored_orientations};
  if (from.test_files.empty()) return made;
  how.height = size[1];
  how.width = size[2];
  made.test = decoded(images_of(content, open_records(from.test_files, from), from.format, how), decoding);
  return made;
}
#else
inline record_sets load_content(cohort::image_content const&, cohort::record_set const&,
                                cohort::records_source const&, named_class_list const&,
                                cohort::record_decoding const&, std::uint64_t) {
  refuse_images("data.records.content.images");
}
#endif

/// Opens the records that a document names. `seed`: seed of augmentations.
inline record_sets load_records(cohort::records_source const& from, std::uint64_t seed) {
  auto const skipped = std::make_shared<std::atomic<std::int64_t>>(0);
  named_class_list const classes = classes_of(from);
  cohort::record_set const records = open_records(from.files, from);
  record_sets made = std::visit(
      [&](auto const& content) {
        return load_content(content, records, from, classes, decoding_of(from, skipped), seed);
      },
      from.content);
  std::vector<std::string> const& paths = records.paths();
  made.where = paths[0];
  if (paths.size() > 1) made.where += " and " + std::to_string(paths.size() - 1) + " more";
  made.skipped = skipped;
  return made;
}

/// Returns the records' examples with the records' keys, if the records have keys.
inline cohort::dataset with_record_keys(cohort::dataset const& examples, cohort::record_set const& records) {
  if (records.size() == 0 || records.key(0).empty()) return examples;
  return cohort::with_keys(examples, [records](std::int64_t i) { return std::string(records.key(i)); });
}

}  // namespace cohort_program
