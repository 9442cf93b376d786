// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/io/file_reader.hpp>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace cohort {

/// Gives the whole contents of the file at a path: read_file, or gzip::read_file for .gz.
using byte_source = std::function<std::vector<std::byte>(std::string const& path)>;

/// The bytes of a regular file.
///
/// Errors    file_error as file_reader's, and if the file becomes shorter meanwhile or is larger than `max_bytes`;
///           its size is looked at before memory is taken.
inline std::vector<std::byte> read_file(std::string const& path,
                                        std::size_t max_bytes = std::size_t{1} << 36) {
  file_reader file(path);
  if (file.size() > max_bytes)
    throw file_error({.what = "the file is too large",
                      .where = path,
                      .expected = {"at most ", max_bytes, " bytes"},
                      .got = {file.size()}});
  std::vector<std::byte> bytes(static_cast<std::size_t>(file.size()));
  std::size_t const done = file.read(bytes.data(), bytes.size());
  if (done < bytes.size())
    throw file_error({.what = "the file became shorter while it was read",
                      .where = path,
                      .expected = {bytes.size(), " bytes"},
                      .got = {done}});
  return bytes;
}

}  // namespace cohort
