// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/file.hpp>
#include <cohort/io/file_reader.hpp>

namespace cohort::io {

COHORT_CORE_INLINE std::vector<std::byte> read_file(std::string const& path, std::size_t max_bytes) {
  file_reader file(path);
  if (file.size() > max_bytes)
    throw file_error({.what = "the file is too large",
                      .where = path,
                      .expected = {"at most ", max_bytes, " bytes"},
                      .got = {file.size(), " bytes"}});
  std::vector<std::byte> bytes(static_cast<std::size_t>(file.size()));
  std::size_t const done = file.read(bytes.data(), bytes.size());
  if (done < bytes.size())
    throw file_error({.what = "the file became shorter while it was read",
                      .where = path,
                      .expected = {bytes.size(), " bytes"},
                      .got = {done, " bytes"}});
  return bytes;
}

}  // namespace cohort::io
