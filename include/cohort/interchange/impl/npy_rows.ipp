// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/detail/config.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/interchange/detail/npy_layout.hpp>
#include <cohort/interchange/npy_rows.hpp>
#include <cohort/io/file_reader.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cohort::detail {

/// Reads the header of a file whose rows are contiguous.
COHORT_CORE_INLINE npy_layout npy_layout_of_rows(std::string const& path) {
  io::file_reader file(path);
  std::vector<std::byte> begin(
      static_cast<std::size_t>(std::min<std::uint64_t>(file.size(), longest_npy_prefix)));
  file.read_exactly(begin.data(), begin.size());
  npy_layout const layout = read_npy_layout(begin, file.size(), path);
  if (layout.dims.rank == 0)
    throw data_error({.what = "the .npy file has no rows",
                      .where = path,
                      .expected = "an array with extents",
                      .got = "a single element"});
  if (layout.is_fortran)
    throw data_error({.what = "the rows of the .npy file are not contiguous",
                      .where = path,
                      .expected = "row-major order (numpy.ascontiguousarray)",
                      .got = "Fortran order"});
  return layout;
}

}  // namespace cohort::detail

namespace cohort {

COHORT_CORE_INLINE npy_row npy_row_of(std::string const& path) {
  detail::npy_layout const layout = detail::npy_layout_of_rows(path);
  return {layout.type, layout.dims.example()};
}

COHORT_CORE_INLINE record_format npy_rows() {
  return {.name = "npy_rows 1", .index = [](std::string const& path) {
            detail::npy_layout const layout = detail::npy_layout_of_rows(path);
            auto const rows = static_cast<std::uint64_t>(layout.dims[0]);
            record_index made{.fields = {"row"}};
            if (rows == 0) return made;
            std::uint64_t const bytes = layout.bytes / rows;
            // Rows without elements have no bytes, so their number is not bounded by the file's size.
            if (bytes == 0)
              throw data_error({.what = "the rows of the .npy file are empty",
                                .where = path,
                                .expected = "at least 1 element",
                                .got = to_string(layout.dims)});
            made.places.reserve(rows);
            for (std::uint64_t row = 0; row < rows; ++row)
              made.places.push_back({layout.first + row * bytes, bytes});
            return made;
          }};
}

}  // namespace cohort
