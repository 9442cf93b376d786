// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <charconv>
#include <cohort/audio/audio_records.hpp>
#include <cohort/configuration/data_source.hpp>
#include <cohort/data/cache.hpp>
#include <cohort/data/dataset.hpp>
#include <cohort/data/skip_damaged.hpp>
#include <cohort/data/with_keys.hpp>
#include <cohort/documents/detail/images.hpp>
#include <cohort/documents/detail/records.hpp>
#include <cohort/documents/detail/weights.hpp>
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

namespace cohort::detail {

namespace {

using record_kind = records_source::kind;

record_format record_format_of(record_kind kind) {
  switch (kind) {
    case record_kind::webdataset:
      return webdataset();
    case record_kind::tfrecord:
      return tfrecord();
    case record_kind::lmdb:
      return lmdb();
    default:
      return sequence_file(gzip::inflate);
  }
}

std::vector<std::string> paths_of(std::vector<std::string> const& patterns, record_kind kind) {
  std::vector<std::string> paths;
  for (std::string const& pattern : patterns)
    for (std::string const& path : numbered_paths(pattern))
      paths.push_back(kind == record_kind::lmdb ? lmdb_file(path) : path);
  return paths;
}

record_set open_records(std::vector<std::string> const& patterns, records_source const& from) {
  record_settings settings;
  if (from.cache != "auto") settings.cache = from.cache == "none" ? "" : from.cache;
  return record_set(paths_of(patterns, from.format), record_format_of(from.format), settings);
}

/// Number of the classes, and their names; without names, `names` is empty.
struct named_class_list {
  int count = 0;
  std::vector<std::string> names{};
};

named_class_list classes_of(records_source const& from) {
  named_class_list classes;
  if (auto const* const ids = std::get_if<std::vector<std::string>>(&from.classes)) classes.names = *ids;
  int const* const number = std::get_if<int>(&from.classes);
  classes.count = number ? *number : static_cast<int>(classes.names.size());
  if (from.words.empty()) return classes;
#if COHORT_WITH_IMAGE
  class_word_map const words = class_words(from.words);
  if (number)
    for (auto const& [id, text] : words) classes.names.push_back(id);
  if (number && *number > 0 && classes.names.size() != static_cast<std::size_t>(*number))
    throw data_error({.what = "the file of words has another number of classes",
                      .where = from.words,
                      .expected = {*number, " ids, or a list of ids in data.records.classes"},
                      .got = {classes.names.size()}});
  classes.names = named_classes(classes.names, words);
  classes.count = static_cast<int>(classes.names.size());
  return classes;
#else
  refuse_images("data.records.words");
#endif
}

/// Decodes records of numbers and a class (number_content).
class number_decoder {
 public:
  number_decoder(record_set const& records, number_content const& content, record_kind kind, int classes)
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

  data_description describe(std::vector<std::string> const& names) const {
    return {
        .inputs = {{.name = "input", .example = extents_, .stored = content_.type, .scale = content_.scale}},
        .targets = {{.name = "label",
                     .stored = element_type::i32,
                     .type = element_type::i32,
                     .classes = classes_,
                     .label_names = names}}};
  }

  void operator()(record_view& record, example_view& out) const {
    if (kind_ == record_kind::webdataset) return decode_fields(record, out);
    if (kind_ == record_kind::tfrecord) return decode_features(record, out);
    caffe_datum const datum = caffe_datum::parse(record.bytes(values_), record.where());
    if (datum.encoded) refuse(record, "numbers", "an encoded image");
    auto const* const bytes = reinterpret_cast<std::uint8_t const*>(datum.data.data());
    if (datum.numbers.empty())
      write(record, std::span(bytes, datum.data.size()), datum.label, out);
    else
      write(record, std::span(datum.numbers), datum.label, out);
  }

 private:
  [[noreturn]] static void refuse(record_view const& record, std::string expected, std::string got) {
    throw data_error({.what = "a record does not have the numbers of an example",
                      .where = record.where(),
                      .expected = std::move(expected),
                      .got = std::move(got)});
  }

  void require_count(record_view const& record, std::size_t count) const {
    if (count != static_cast<std::size_t>(extents_.elements()))
      refuse(record, std::to_string(extents_.elements()) + " numbers", std::to_string(count));
  }

  std::int32_t class_of(record_view const& record, std::int64_t number) const {
    if (number < 0 || number >= classes_)
      throw data_error({.what = "a record has an unknown class",
                        .where = record.where(),
                        .expected = {"0 to ", classes_ - 1},
                        .got = {number}});
    return static_cast<std::int32_t>(number);
  }

  template <class Number>
  void write(record_view const& record, std::span<Number const> numbers, std::int64_t label,
             example_view& out) const {
    require_count(record, numbers.size());
    std::int32_t const number = class_of(record, label);
    float* to = out.fill<float>(0);
    for (Number const value : numbers) *to++ = static_cast<float>(value);
    *out.fill<std::int32_t>(1) = number;
  }

  void decode_fields(record_view& record, example_view& out) const {
    std::span<std::byte const> const bytes = record.bytes(values_);
    std::size_t const each = bytes_of(content_.type);
    if (bytes.size() % each != 0)
      refuse(record, "a multiple of " + std::to_string(each) + " bytes", std::to_string(bytes.size()));
    require_count(record, bytes.size() / each);
    auto const number = static_cast<std::int32_t>(record.integer(label_, 0, classes_ - 1));
    std::memcpy(out.fill(0), bytes.data(), bytes.size());
    *out.fill<std::int32_t>(1) = number;
  }

  void decode_features(record_view& record, example_view& out) const {
    auto const features = tf_example(record.bytes(values_), record.where());
    auto const values = features.find(content_.values), label = features.find(content_.label);
    if (values == features.end()) refuse(record, "a feature " + content_.values, "none");
    if (label == features.end() || label->second.integers.size() != 1)
      refuse(record, "a feature " + content_.label + " of one integer", "none");
    if (values->second.floats.empty())
      write(record, std::span(std::as_const(values->second.integers)), label->second.integers[0], out);
    else
      write(record, std::span(std::as_const(values->second.floats)), label->second.integers[0], out);
  }

  number_content content_;
  record_kind kind_;
  int classes_;
  shape extents_{};
  std::size_t values_ = 0;
  std::size_t label_ = 0;
};

}  // namespace

damage_reports reports_of(std::shared_ptr<std::atomic<std::int64_t>> const& skipped) {
  constexpr std::int64_t most_lines = 20;
  // skip_damaged calls the log in one thread at a time.
  auto const lines = std::make_shared<std::int64_t>(0);
  sink const log = [lines, to = stderr_sink()](std::string_view line) {
    if (++*lines <= most_lines) to(line);
    if (*lines == most_lines) to("skipped: further damaged examples are only counted");
  };
  return {log, skipped};
}

namespace {

/// Reads the weights of records (records_source::weight).
class weight_reader {
 public:
  weight_reader(record_set records, records_source const& from)
      : records_(std::move(records)),
        name_(from.weight),
        is_tar_(from.format == record_kind::webdataset),
        field_(records_.field(is_tar_ ? name_ : "record")) {}

  float operator()(std::int64_t i) const {
    record_view record(records_, i);
    std::string const where = record.where() + ", " + name_;
    return checked_weight(is_tar_ ? number_in(record.text(field_), where) : feature_in(record, where), where);
  }

 private:
  [[noreturn]] static void refuse(std::string const& where, char const* expected, std::string got) {
    throw data_error({.what = "a record does not have the weight of an example",
                      .where = where,
                      .expected = expected,
                      .got = std::move(got)});
  }

  static double number_in(std::string_view text, std::string const& where) {
    while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == '\r'))
      text.remove_suffix(1);
    double number = 0;
    auto const [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure != std::errc() || end != text.data() + text.size())
      refuse(where, "a decimal number", "'" + std::string(text.substr(0, 40)) + "'");
    return number;
  }

  double feature_in(record_view& record, std::string const& where) const {
    auto const features = tf_example(record.bytes(field_), record.where());
    auto const found = features.find(name_);
    if (found == features.end()) refuse(where, "a feature of one number", "none");
    if (found->second.floats.size() == 1) return found->second.floats[0];
    if (found->second.integers.size() == 1) return static_cast<double>(found->second.integers[0]);
    refuse(where, "a feature of one number", "another feature");
  }

  record_set records_;
  std::string name_;
  bool is_tar_;
  std::size_t field_;
};

/// Applies to decoded records what a document states beside their content.
struct record_handling {
  records_source const& from;
  std::shared_ptr<std::atomic<std::int64_t>> skipped;

  /// `weighs`: for the training set.
  dataset operator()(dataset examples, record_set const& records, bool weighs) const {
    if (weighs && !from.weight.empty()) examples = with_weights(examples, weight_reader(records, from));
    if (from.bad == bad_record::stop) return examples;
    return dataset(skip_damaged(std::move(examples), reports_of(skipped)));
  }
};

/// Loads training and test set. `decode`: returns the examples of records.
template <class Decode>
record_sets load_decoded(record_set const& records, record_handling const& handled, Decode const& decode) {
  record_sets sets{.train = handled(decode(records), records, true), .records = records};
  if (handled.from.test_files.empty()) return sets;
  record_set const test = open_records(handled.from.test_files, handled.from);
  sets.test = handled(decode(test), test, false);
  return sets;
}

/// Returns the names of the classes; numbers if they have no names.
std::vector<std::string> labels_of(named_class_list const& classes) {
  std::vector<std::string> labels = classes.names;
  if (labels.empty())
    for (int number = 0; number < classes.count; ++number) labels.push_back(std::to_string(number));
  return labels;
}

record_sets load_content(number_content const& content, record_set const& records,
                         named_class_list const& classes, record_handling const& handled, std::uint64_t) {
  return load_decoded(records, handled, [&](record_set const& files) {
    number_decoder const decode(files, content, handled.from.format, classes.count);
    return decoded_records(files, decode.describe(classes.names), decode);
  });
}

record_sets load_content(sound_content const& content, record_set const& records,
                         named_class_list const& classes, record_handling const& handled, std::uint64_t) {
  audio::sound_settings settings = content.settings;
  settings.labels = labels_of(classes);
  return load_decoded(records, handled, [&](record_set const& files) {
    return audio::audio_records(files, settings, {.sound = content.sound, .label = content.label});
  });
}

#if COHORT_WITH_IMAGE
image_records images_of(image_content const& content, record_set records, record_kind kind,
                        image_settings const& settings) {
  if (kind == record_kind::lmdb || kind == record_kind::sequence_file)
    return image_records::of_caffe(std::move(records), settings);
  bool const is_tar = kind == record_kind::webdataset;
  image_fields fields;
  if (!is_tar) fields = {.image = {"image/encoded"}, .label = "image/class/label"};
  if (!content.image.empty()) fields.image = content.image;
  if (!content.label.empty()) fields.label = content.label;
  if (is_tar) return image_records(std::move(records), settings, fields);
  return image_records::of_tensorflow(std::move(records), settings, fields);
}

record_sets load_content(image_content const& content, record_set const& records,
                         named_class_list const& classes, record_handling const& handled,
                         std::uint64_t seed) {
  image_settings settings = settings_of(content.options, handled.from);
  settings.labels = labels_of(classes);
  record_sets sets = load_decoded(records, handled, [&](record_set const& files) {
    image_records const images = images_of(content, files, handled.from.format, settings);
    shape const size = images.describe().inputs[0].example;
    settings.height = size[1];  // of the test set, too
    settings.width = size[2];
    return dataset(images);
  });
  if (content.options.cache) {
    sets.train = cache(sets.train);
    if (sets.test) sets.test = cache(*sets.test);
  }
  sets.train = augmented_images(std::move(sets.train), content.options.augment, seed);
  sets.ignored_orientations = settings.ignored_orientations;
  return sets;
}
#else
record_sets load_content(image_content const&, record_set const&, named_class_list const&,
                         record_handling const&, std::uint64_t) {
  refuse_images("data.records.content.images");
}
#endif

}  // namespace

record_sets load_records(records_source const& from, std::uint64_t seed) {
  auto const skipped = std::make_shared<std::atomic<std::int64_t>>(0);
  named_class_list const classes = classes_of(from);
  record_set const records = open_records(from.files, from);
  record_sets sets = std::visit(
      [&](auto const& content) {
        return load_content(content, records, classes, {from, skipped}, seed);
      },
      from.content);
  std::vector<std::string> const& paths = records.paths();
  sets.where = paths[0];
  if (paths.size() > 1) sets.where += " and " + std::to_string(paths.size() - 1) + " more";
  sets.skipped = skipped;
  return sets;
}

dataset with_record_keys(dataset const& examples, record_set const& records) {
  if (records.size() == 0 || records.key(0).empty()) return examples;
  return with_keys(examples, [records](std::int64_t i) { return std::string(records.key(i)); });
}

}  // namespace cohort::detail
