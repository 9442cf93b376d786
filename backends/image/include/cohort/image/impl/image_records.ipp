// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cohort/data/class_folders.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/image/detail/planes_of.hpp>
#include <cohort/image/image_records.hpp>
#include <cohort/records/caffe_on_spark.hpp>
#include <cstring>
#include <system_error>
#include <utility>

namespace cohort {

namespace detail {

/// Returns the indices of the fields `names` that the record set has. Throws if the record set has none of
/// these fields.
std::vector<std::size_t> known_fields(record_set const& records, std::vector<std::string> const& names) {
  std::vector<std::size_t> found;
  for (std::string const& name : names)
    if (std::ranges::find(records.fields(), name) != records.fields().end())
      found.push_back(records.field(name));
  if (found.empty() && !names.empty()) found.push_back(records.field(names.front()));  // throws
  return found;
}

std::size_t datum_field(record_set const& records) {
  for (char const* name : {"value", "record"})
    if (std::ranges::find(records.fields(), name) != records.fields().end()) return records.field(name);
  return records.fields().size() == 1 ? 0 : records.field("value");
}

std::span<std::byte const> bytes_in(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// Returns the pixels of a Datum that does not contain an image file, as `channels` planes.
image pixels_of(caffe_datum const& datum, int channels, std::string const& where) {
  bool const coloured = datum.channels == 3;
  if ((!coloured && datum.channels != 1) || !datum.numbers.empty())
    throw data_error(
        {.what = "a Caffe Datum is not an image",
         .where = where,
         .expected = "1 or 3 channels of bytes",
         .got = {datum.channels, datum.numbers.empty() ? " channels of bytes" : " channels of floats"}});
  image made(channels, datum.height, datum.width);
  std::size_t const plane = made.plane_bytes();
  auto const* const first = reinterpret_cast<std::uint8_t const*>(datum.data.data());
  auto const* const red = coloured ? first + 2 * plane : first;
  if (channels == 1 && coloured)
    for (std::size_t k = 0; k < plane; ++k) made.pixels[k] = luma(red[k], first[plane + k], first[k]);
  else
    for (int c = 0; c < channels; ++c)
      std::memcpy(made.plane(c), coloured ? red - static_cast<std::size_t>(c) * plane : first, plane);
  return made;
}

}  // namespace detail

image_records::image_records(record_set records, image_settings settings, image_fields const& fields)
    : image_records(records, std::move(settings), detail::known_fields(records, fields.image),
                    records.field(fields.label), source::fields) {}

image_records image_records::of_caffe(record_set records, image_settings settings) {
  std::size_t const field = detail::datum_field(records);
  return {std::move(records), std::move(settings), {field}, field, source::caffe};
}

image_records image_records::of_caffe_on_spark(record_set records, image_settings settings) {
  std::size_t const key = records.field("key"), value = records.field("value");
  return {std::move(records), std::move(settings), {value}, key, source::spark};
}

image_records image_records::of_tensorflow(record_set records, image_settings settings,
                                           image_fields const& features) {
  std::size_t const field = records.fields().size() == 1 ? 0 : records.field("record");
  return {std::move(records), std::move(settings), {field}, field, source::tensorflow, features};
}

image_records::image_records(record_set records, image_settings settings, std::vector<std::size_t> image,
                             std::size_t label, source from, image_fields features)
    : records_(std::move(records)),
      reader_(settings, settings.labels),
      image_fields_(std::move(image)),
      label_field_(label),
      from_(from),
      features_(std::move(features)) {
  detail::require_unique(settings.labels);
  if (settings.labels.empty())
    throw setting_error({.what = "the classes of the records are unknown",
                         .where = "image_settings::labels",
                         .expected = "the names of the classes 0, 1, …",
                         .got = "none"});
  if (records_.size() == 0)
    throw data_error({.what = "the files have no records",
                      .where = records_.paths().front(),
                      .expected = "at least 1 record",
                      .got = "0"});
  if (reader_.needs_size()) {
    record_view first(records_, 0);
    std::string id;
    caffe_datum datum{.encoded = true};
    std::span<std::byte const> file;
    if (from_ == source::fields || from_ == source::tensorflow) {
      file = first.bytes(image_field(first));
    } else {
      datum = datum_of(first, id);
      file = detail::bytes_in(datum.data);
    }
    if (from_ == source::tensorflow)
      file = detail::bytes_in(image_of(tf_example(file, first.where()), first));
    if (!datum.encoded)
      reader_.use_size(datum.height, datum.width);
    else
      reader_.use_size_of(file, first.where());
  }
  what_ = reader_.describe();
}

caffe_datum image_records::datum_of(record_view& record, std::string& id) const {
  std::string const where = record.where();
  std::size_t const field = image_fields_.front();
  if (from_ == source::caffe) return caffe_datum::parse(record.bytes(field), where);
  caffe_on_spark_key key = caffe_on_spark_key::parse(record.bytes(label_field_), where);
  caffe_datum made{.channels = key.channels,
                   .height = key.height,
                   .width = key.width,
                   .label = -1,
                   .encoded = key.encoded,
                   .data = record.text(field)};
  char const* const end = key.label.data() + key.label.size();
  auto const [stop, error] = std::from_chars(key.label.data(), end, made.label);
  if (error != std::errc{} || stop != end || made.label < 0)
    throw data_error({.what = "the label of a record is not a class number",
                      .where = where,
                      .expected = "0 or more",
                      .got = {"'", key.label.substr(0, 40), "'"}});
  made.require_extents(where);
  id = std::move(key.id);
  return made;
}

std::size_t image_records::image_field(record_view const& record) const {
  for (std::size_t const field : image_fields_)
    if (record.has(field)) return field;
  throw data_error({.what = "a record has no image",
                    .where = record.where(),
                    .expected = {"a field ", records_.fields()[image_fields_.front()],
                                 records_.grouping().empty() ? "" : "; ", records_.grouping()},
                    .got = "none"});
}

std::int32_t image_records::class_of(std::int64_t number, std::int64_t i) const {
  int const classes = what_.targets[0].classes;
  if (number < 0 || number >= classes)
    throw data_error({.what = "a record has an unknown class",
                      .where = records_.where(i),
                      .expected = {"0 to ", classes - 1},
                      .got = {number}});
  return static_cast<std::int32_t>(number);
}

std::string_view image_records::image_of(std::map<std::string, tf_feature, std::less<>> const& features,
                                         record_view const& record) const {
  for (std::string const& name : features_.image)
    if (auto const found = features.find(name); found != features.end() && found->second.bytes.size() == 1)
      return found->second.bytes[0];
  throw data_error(
      {.what = "a record has no image",
       .where = record.where(),
       .expected = {"a feature ", features_.image.empty() ? "" : features_.image[0], " of one byte string"},
       .got = "none"});
}

std::int32_t image_records::class_of(std::map<std::string, tf_feature, std::less<>> const& features,
                                     std::int64_t i) const {
  auto const found = features.find(features_.label);
  if (found == features.end() || found->second.integers.size() != 1)
    throw data_error({.what = "a record has no class",
                      .where = records_.where(i),
                      .expected = {"a feature ", features_.label, " of one integer"},
                      .got = found == features.end() ? "none" : "another feature of this name"});
  return class_of(found->second.integers[0], i);
}

std::int64_t image_records::label(std::int64_t i) const {
  record_view record(records_, i);
  if (from_ == source::fields) return record.integer(label_field_, 0, what_.targets[0].classes - 1);
  if (from_ == source::tensorflow) return class_of(tf_example(record.bytes(label_field_), record.where()), i);
  std::string id;
  return class_of(datum_of(record, id).label, i);
}

void image_records::get(std::int64_t i, example_view& out) const {
  record_view record(records_, i);
  std::string const where = record.where();
  if (from_ == source::fields) {
    std::span<std::byte const> const file = record.bytes(image_field(record));
    auto const number =
        static_cast<std::int32_t>(record.integer(label_field_, 0, what_.targets[0].classes - 1));
    return reader_.write(file, where, record.key(), number, out);
  }
  if (from_ == source::tensorflow) {
    auto const features = tf_example(record.bytes(image_field(record)), where);
    std::span<std::byte const> const picture = detail::bytes_in(image_of(features, record));
    return reader_.write(picture, where, record.key(), class_of(features, i), out);
  }
  thread_local std::string id;  // example_view::key refers to it
  caffe_datum const datum = datum_of(record, id);
  std::string_view const key = from_ == source::spark ? std::string_view(id) : record.key();
  std::int32_t const number = class_of(datum.label, i);
  if (datum.encoded)
    reader_.write(detail::bytes_in(datum.data), where, key, number, out);
  else
    reader_.write(detail::pixels_of(datum, static_cast<int>(what_.inputs[0].example[0]), where), where, key,
                  number, out);
}

}  // namespace cohort
