// SPDX-License-Identifier: Apache-2.0
#include <cohort/error/exceptions.hpp>
#include <cohort/io/detail/gzip_magic.hpp>
#include <cohort/io/detail/protobuf.hpp>
#include <cohort/io/detail/tfrecord_frame.hpp>
#include <cohort/records/detail/forward_reader.hpp>
#include <cohort/records/tfrecord.hpp>
#include <cstring>

namespace cohort::detail {

std::uint32_t word_at(std::byte const* from) {
  std::uint32_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

record_index tfrecord_index(std::string const& path) {
  forward_reader file(path);
  record_index found{.fields = {"record"}};
  while (file.position() < file.size()) {
    std::uint64_t const begin = file.position();
    auto const refuse = [&](char const* what, clause expected, clause got) {
      throw data_error({.what = what,
                        .where = {path, ", byte ", begin},
                        .expected = std::move(expected),
                        .got = std::move(got)});
    };
    std::byte head[tfrecord_head];
    std::size_t const got = file.read(head, sizeof head);
    if (begin == 0 && has_gzip_magic({reinterpret_cast<char const*>(head), got}))
      refuse("the TFRecord file is compressed", "an uncompressed file: gunzip it first", "gzip");
    if (got < sizeof head)
      refuse("the TFRecord file is truncated", {sizeof head, " bytes before a record"}, {got, " bytes"});
    std::uint64_t bytes;
    std::memcpy(&bytes, head, sizeof bytes);
    if (std::uint32_t const crc = masked_crc32c(std::span(head).first<8>()); crc != word_at(head + 8)) {
      // The first two bytes of a zlib stream are a multiple of 31, and the lower half of the first one is 8.
      auto const first = std::to_integer<unsigned>(head[0]), second = std::to_integer<unsigned>(head[1]);
      if (begin == 0 && (first & 15U) == 8 && (256 * first + second) % 31 == 0)
        refuse("the TFRecord file is compressed",
               "an uncompressed file: write it without TFRecordOptions, or decompress it first", "zlib");
      refuse("the length of a record is damaged", {"checksum ", crc}, {word_at(head + 8)});
    }
    std::uint64_t const rest = file.size() - file.position();
    if (rest < tfrecord_tail || bytes > rest - tfrecord_tail)
      refuse("the TFRecord file is truncated", {bytes, " bytes of a record and its checksum"},
             {rest, " bytes"});
    found.places.push_back({file.position(), bytes + tfrecord_tail});
    file.skip(bytes + tfrecord_tail);
  }
  return found;
}

std::span<std::byte const> tfrecord_content(std::span<std::byte const> stored,
                                            std::function<std::string()> const& where) {
  std::span<std::byte const> const record = stored.first(stored.size() - tfrecord_tail);
  std::uint32_t const expected = masked_crc32c(record), got = word_at(stored.data() + record.size());
  if (expected != got)
    throw data_error(
        {.what = "a record is damaged", .where = where(), .expected = {"checksum ", expected}, .got = {got}});
  return record;
}

}  // namespace cohort::detail

namespace cohort {

record_format tfrecord() {
  return {.name = "tfrecord 1", .index = detail::tfrecord_index, .content = detail::tfrecord_content};
}

std::map<std::string, tf_feature, std::less<>> tf_example(std::span<std::byte const> message,
                                                          std::string_view where) {
  using detail::protobuf_reader;
  std::string const file(where);
  std::map<std::string, tf_feature, std::less<>> found;
  auto const read_list = [](protobuf_reader& feature, tf_feature& to) {
    while (feature.next()) {
      std::uint32_t const kind = feature.field();
      for (protobuf_reader list(feature, "list"); list.next();) {
        if (list.field() != 1) continue;
        if (kind == 1) to.bytes.push_back(list.bytes());
        if (kind == 2) list.append_to(to.floats);
        if (kind == 3) list.append_to(to.integers);
      }
    }
  };
  auto const read_entry = [&](protobuf_reader& entry) {
    std::string name;
    tf_feature feature;
    while (entry.next()) {
      if (entry.field() == 1) name = entry.bytes();
      if (entry.field() != 2) continue;
      protobuf_reader value(entry, "value");
      read_list(value, feature);
    }
    found[name] = std::move(feature);
  };
  for (protobuf_reader example({reinterpret_cast<char const*>(message.data()), message.size()}, file,
                               "cannot read the tf.train.Example");
       example.next();) {
    if (example.field() != 1) continue;
    for (protobuf_reader features(example, "features"); features.next();) {
      if (features.field() != 1) continue;
      protobuf_reader entry(features, "feature");
      read_entry(entry);
    }
  }
  return found;
}

}  // namespace cohort
