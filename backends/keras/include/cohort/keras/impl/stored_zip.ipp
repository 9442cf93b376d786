// SPDX-License-Identifier: Apache-2.0
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/crc32.hpp>
#include <cohort/io/file.hpp>
#include <cohort/keras/detail/stored_zip.hpp>
#include <utility>

namespace cohort::detail {

stored_zip::stored_zip(std::string const& path, std::size_t max_bytes)
    : stored_zip(io::read_file(path, max_bytes), path) {}

stored_zip::stored_zip(std::vector<std::byte> bytes, std::string const& name)
    : bytes_(std::move(bytes)), name_(name), directory_(bytes_, "zip archive", name) {}

std::span<std::byte const> stored_zip::read(std::string_view name) const {
  zip_entry const* const found = directory_.find(name);
  if (!found)
    throw data_error({.what = {"cannot read the zip archive: it has no entry ", quote_for_error(name)},
                      .where = name_,
                      .expected = "a file of Keras 3"});
  if (found->method != 0)
    directory_.refuse(*found, "is compressed", "stored, as Keras writes it",
                      "method " + std::to_string(found->method));
  std::span<std::byte const> const bytes = directory_.packed(*found);
  directory_.expect_crc(*found, io::crc32(bytes));
  return bytes;
}

}  // namespace cohort::detail
