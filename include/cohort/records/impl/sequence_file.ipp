// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/detail/config.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/records/detail/forward_reader.hpp>
#include <cohort/records/sequence_file.hpp>
#include <cstring>
#include <string>
#include <utility>

namespace cohort::detail {

/// Lists the records of a SequenceFile.
class sequence_file_indexer {
 public:
  explicit sequence_file_indexer(std::string const& path) : file_(path), found_{.fields = {"key", "value"}} {}

  record_index run() {
    read_head();
    while (file_.position() < file_.size()) read_record();
    return std::move(found_);
  }

 private:
  using sync_mark = std::array<char, 16>;
  static constexpr std::uint64_t most_text = 1 << 16;  // bytes of a class name or of a text of the metadata
  static constexpr std::int64_t most_metadata = 1 << 12;

  [[noreturn]] void refuse(char const* what, clause expected, clause got) const {
    throw data_error({.what = {"cannot read the SequenceFile: ", what},
                      .where = {file_.path(), ", byte ", file_.position()},
                      .expected = std::move(expected),
                      .got = std::move(got)});
  }

  void read(void* to, std::size_t bytes) {
    std::uint64_t const rest = file_.size() - file_.position();
    if (bytes > rest) refuse("it is truncated", {bytes, " bytes"}, {rest, " bytes"});
    if (file_.read(to, bytes) < bytes) refuse("it became shorter", {bytes, " bytes"}, "fewer");
  }
  std::uint8_t byte() {
    std::uint8_t found = 0;
    read(&found, 1);
    return found;
  }
  std::int64_t big_endian(int bytes) {
    std::uint64_t found = 0;
    for (int k = 0; k < bytes; ++k) found = found << 8 | byte();
    return bytes == 4 ? static_cast<std::int32_t>(static_cast<std::uint32_t>(found))
                      : static_cast<std::int64_t>(found);
  }
  /// Reads an integer written by WritableUtils::writeVInt. A first byte of at least −112 is the integer. A
  /// lower one gives the number of bytes that follow; below −120, these are the complement of the integer.
  std::int64_t variable() {
    int const first = static_cast<std::int8_t>(byte());
    if (first >= -112) return first;
    bool const negative = first < -120;
    std::int64_t const value = big_endian(negative ? -120 - first : -112 - first);
    return negative ? ~value : value;
  }
  std::string text() {
    std::int64_t const bytes = variable();
    if (bytes < 0 || static_cast<std::uint64_t>(bytes) > most_text)
      refuse("a text is damaged", {"0 to ", most_text, " bytes"}, {bytes});
    std::string found(static_cast<std::size_t>(bytes), '\0');
    read(found.data(), found.size());
    return found;
  }

  void read_head() {
    std::array<char, 4> magic{};
    read(magic.data(), magic.size());
    if (std::memcmp(magic.data(), "SEQ", 3) != 0)
      refuse("it is not a SequenceFile", "SEQ at byte 0", "other bytes");
    if (magic[3] != 6) refuse("it has another version", "version 6", {static_cast<int>(magic[3])});
    for (std::string& one : classes_) one = text();
    bool const compressed = byte() != 0, blocks = byte() != 0;
    if (compressed || blocks) {
      std::string const codec = text();
      refuse(blocks ? "its blocks are compressed" : "its records are compressed", "no compression", codec);
    }
    std::int64_t const pairs = big_endian(4);
    if (pairs < 0 || pairs > most_metadata)
      refuse("its metadata is damaged", {"0 to ", most_metadata, " pairs"}, {pairs});
    for (std::int64_t k = 0; k < 2 * pairs; ++k) text();
    read(sync_.data(), sync_.size());
  }

  void read_record() {
    std::int64_t const bytes = big_endian(4);
    if (bytes == -1) {
      sync_mark found{};
      read(found.data(), found.size());
      if (found != sync_) refuse("a sync mark is damaged", "that of the head", "another one");
      return;
    }
    std::int64_t const of_key = big_endian(4);
    std::uint64_t const begin = file_.position(), rest = file_.size() - begin;
    if (of_key < 0 || bytes < of_key)
      refuse("the lengths of a record are damaged", {"a key of 0 to ", bytes, " bytes"}, {of_key});
    if (static_cast<std::uint64_t>(bytes) > rest)
      refuse("it is truncated", {"a record of ", bytes, " bytes"}, {rest, " bytes"});
    auto const whole = static_cast<std::uint64_t>(bytes), key = static_cast<std::uint64_t>(of_key);
    field_place const of[2]{content(classes_[0], {begin, key}),
                            content(classes_[1], {begin + key, whole - key})};
    found_.places.insert(found_.places.end(), std::begin(of), std::end(of));
    file_.seek(begin + whole);
  }

  /// Returns the content of an object. A BytesWritable or Text begins with its length, which is not content.
  field_place content(std::string const& type, field_place const& object) {
    bool const bytes = type == "org.apache.hadoop.io.BytesWritable",
               is_text = type == "org.apache.hadoop.io.Text";
    if (!bytes && !is_text) return object;
    file_.seek(object.offset);
    std::int64_t const length = bytes ? big_endian(4) : variable();
    std::uint64_t const used = file_.position() - object.offset;
    if (length < 0 || used > object.bytes || static_cast<std::uint64_t>(length) != object.bytes - used)
      refuse("the length of a key or value is damaged", {object.bytes, " bytes with the length"},
             {length, " bytes after ", used});
    return {file_.position(), static_cast<std::uint64_t>(length)};
  }

  forward_reader file_;
  record_index found_;
  std::string classes_[2];
  sync_mark sync_{};
};

}  // namespace cohort::detail

namespace cohort {

COHORT_CORE_INLINE record_format sequence_file() {
  return {.name = "sequence_file 1",
          .index = [](std::string const& path) { return detail::sequence_file_indexer(path).run(); }};
}

}  // namespace cohort
