// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/detail/mapped_file.hpp>
#include <cohort/io/detail/zip_directory.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/records/detail/array_rows.hpp>
#include <cohort/records/npy_rows.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cohort::detail {

npy_layout npy_layout_of_rows(std::string const& path) {
  io::file_reader file(path);
  std::vector<std::byte> begin(
      static_cast<std::size_t>(std::min<std::uint64_t>(file.size(), longest_npy_prefix)));
  file.read_exactly(begin.data(), begin.size());
  return with_rows(read_npy_layout(begin, file.size(), path), path);
}

/// Returns the layout of an array in a .npz file, with `first` as an offset in this file.
npy_layout npy_layout_in(zip_directory const& archive, std::string const& array, std::string const& path) {
  zip_entry const* const entry = archive.find(array + ".npy");
  if (!entry)
    throw data_error({.what = "cannot read the .npz file",
                      .where = path,
                      .expected = {"an array ", quote_for_error(array)},
                      .got = "no such array"});
  if (entry->method != 0)
    archive.refuse(*entry, "is compressed", "arrays without compression, as numpy.savez writes them",
                   "method " + std::to_string(entry->method));
  std::string const where = path + ", array " + quote_for_error(array);
  auto const bytes = archive.packed(*entry);
  npy_layout made = with_rows(
      read_npy_layout(bytes.first(std::min(bytes.size(), longest_npy_prefix)), bytes.size(), where), where);
  made.first += static_cast<std::size_t>(entry->data);
  return made;
}

}  // namespace cohort::detail

namespace cohort {

array_row npy_row_of(std::string const& path) {
  detail::npy_layout const layout = detail::npy_layout_of_rows(path);
  return {layout.type, layout.dims.example()};
}

record_format npy_rows() {
  return {.name = "npy_rows 1", .index = [](std::string const& path) {
            return detail::index_of_rows({"row"}, {detail::npy_layout_of_rows(path)}, path);
          }};
}

array_row npz_row_of(std::string const& path, std::string const& array) {
  detail::mapped_file const file(path);
  detail::npy_layout const layout =
      detail::npy_layout_in(detail::zip_directory(file.bytes(), ".npz file", path), array, path);
  return {layout.type, layout.dims.example()};
}

record_format npz_rows(std::vector<std::string> arrays) {
  std::string name = detail::array_format_name("npz_rows", arrays);
  return {.name = std::move(name), .index = [arrays = std::move(arrays)](std::string const& path) {
            detail::mapped_file const file(path);
            detail::zip_directory const archive(file.bytes(), ".npz file", path);
            std::vector<std::string> names = arrays;
            if (names.empty())
              for (detail::zip_entry const& one : archive.entries())
                names.push_back(one.name.substr(0, one.name.rfind(".npy")));
            std::vector<detail::npy_layout> layouts;
            for (std::string const& one : names) layouts.push_back(detail::npy_layout_in(archive, one, path));
            return detail::index_of_rows(std::move(names), layouts, path);
          }};
}

}  // namespace cohort
