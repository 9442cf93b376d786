// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/io/data_folders.hpp>
#include <cohort/records/record_index.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// Settings of a record_set.
struct record_settings {
  /// Folder in which the files' indices are cached; "": each process reads all files to index them.
  std::string cache = io::cache_folder("indices");
  /// Maximum size of a field. Larger fields are rejected before memory is allocated.
  std::uint64_t max_field_bytes = std::uint64_t{1} << 30;
  /// Capacity of the cache of decompressed blocks. The least recently used block is dropped first. Blocks in
  /// use remain valid in any case. Compressed arrays of a .npz file are one block each, and must fit.
  std::uint64_t max_block_bytes = std::uint64_t{256} << 20;
};

/// The records of several files, with random access. Cheap to copy.
///
/// Order     records by file in the given order, then by place in the file.
/// Moves     constructing reads every file once from beginning to end, unless the cache holds its index. An
///           index of more than 16 GiB is not cached.
///           Keeps the index in memory: 16 bytes for each field of each record, 32 bytes and its text for
///           each key, and 48 bytes for each block (compressed, or a chunk of an HDF5 array); nothing for
///           rows of other arrays (NPY, NPZ, HDF5).
///           At most 128 unused files stay open.
/// Errors    setting_error without files. file_error or data_error naming the file if a file cannot be
///           indexed; data_error if the compressed arrays of a .npz file exceed max_block_bytes.
class record_set {
 public:
  record_set(std::vector<std::string> paths, record_format format, record_settings const& settings = {});

  std::int64_t size() const;
  /// Names of the fields: those of all files, in order of their first occurrence.
  std::vector<std::string> const& fields() const&;
  std::vector<std::string> const& fields() const&& = delete;  // keep the records in a variable
  std::vector<std::string> const& paths() const&;
  std::vector<std::string> const& paths() const&& = delete;  // keep the records in a variable

  /// record_format::grouping of the files.
  std::string const& grouping() const&;
  std::string const& grouping() const&& = delete;  // keep the records in a variable

  /// Returns the index of the field `name`.
  ///
  /// Errors    setting_error that lists the fields if no field has this name.
  std::size_t field(std::string_view name) const;

  /// Returns whether a record has a field.
  bool has(std::int64_t record, std::size_t field) const;

  /// Returns the number of stored bytes of a field, for a TFRecord including the 4 bytes of the checksum.
  /// Returns 0 if the record does not have the field.
  std::uint64_t stored_bytes(std::int64_t record, std::size_t field) const;

  /// Reads a field of a record. The result is in `memory`, which grows as necessary. Several threads may
  /// read.
  ///
  /// Cost      for a field in blocks that are not cached, these blocks are read and decompressed as a whole.
  /// Errors    data_error naming file and record if the record does not have the field, the field is larger
  ///           than max_field_bytes, its check fails, or its block is damaged. file_error if the file has
  ///           changed its size since it was indexed, or cannot be read.
  std::span<std::byte const> read(std::int64_t record, std::size_t field,
                                  std::vector<std::byte>& memory) const;

  /// Returns the key of a record; "" if the format has no keys.
  std::string_view key(std::int64_t record) const&;
  std::string_view key(std::int64_t record) const&& = delete;  // keep the records in a variable
  /// Describes a record for messages: "shard-000001.tar, record 12, cat/0012".
  std::string where(std::int64_t record) const;

 private:
  struct content;
  struct place {
    std::size_t file;
    std::int64_t record;  // index in the file
  };
  place place_of(std::int64_t record) const;
  field_place field_at(place const& record, std::size_t field) const;
  /// Copies a range of a block's content.
  void read_packed(std::int64_t record, std::size_t file, field_place const& at, std::byte* to) const;
  /// Collects a row of an array from its chunks.
  void read_chunks(std::int64_t record, place const& in_files, chunk_grid const& grid, std::byte* to) const;
  /// Returns the content of a block.
  std::shared_ptr<std::vector<std::byte> const> unpacked(std::int64_t record, std::size_t file,
                                                         std::size_t number) const;

  std::shared_ptr<content const> content_;
};

/// Returns the paths of a numbered series of files: "train-{000000..000146}.tar" gives 147 paths. A pattern
/// without braces is one path.
///
/// Errors    setting_error for a pattern that is not NAME{FIRST..LAST}NAME.
std::vector<std::string> numbered_paths(std::string const& pattern);

}  // namespace cohort
