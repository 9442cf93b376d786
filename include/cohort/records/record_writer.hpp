// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/io/file_writer.hpp>
#include <cohort/records/detail/implementation.hpp>
#include <cstddef>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace cohort {

/// Writes a tar archive of a WebDataset, atomically, for webdataset() and Python's webdataset.
///
/// Shapes    ustar, with the GNU extensions for names of more than 100 bytes and sizes from 8 GiB on. Owner,
///           times and permissions are constant, so equal arguments give equal bytes.
/// Order     all fields of a record, then all fields of the next record; commit at the end.
/// Errors    data_error for a key or a field that webdataset() would read differently: the name of a key (the
///           part after the last /) is empty, contains a dot or begins with "__"; a key begins with "./"; a
///           field is empty, or contains "/" or capital letters; either contains NUL; a field occurs
///           twice in a record; the fields of a key are not consecutive. file_error as file_writer.
/// Cost      stores the keys of all records in memory.
class webdataset_writer {
 public:
  explicit webdataset_writer(std::string path);

  /// Adds one field of a record.
  void add(std::string_view key, std::string_view field, std::span<std::byte const> content);
  /// Writes the end of the archive, synchronises it with the disk, and renames it to its final path.
  void commit();

 private:
  std::string path_;
  io::file_writer file_;
  std::set<std::string, std::less<>> keys_{};  // keys of all records
  std::string key_{};                          // key of the current record
  std::set<std::string, std::less<>> fields_{};
};

/// Writes a TFRecord file, atomically.
///
/// Errors    file_error as file_writer.
class tfrecord_writer {
 public:
  explicit tfrecord_writer(std::string path) : file_(std::move(path)) {}

  void add(std::span<std::byte const> content);
  void commit() { file_.commit(); }

 private:
  io::file_writer file_;
};

}  // namespace cohort
