// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/records/detail/array_rows.hpp>
#include <cstdint>
#include <utility>

namespace cohort::detail {

npy_layout with_rows(npy_layout const& layout, std::string const& where) {
  if (layout.dims.rank == 0)
    throw data_error({.what = "the array has no rows",
                      .where = where,
                      .expected = "an array with extents",
                      .got = "a single element"});
  if (layout.is_f16)
    throw data_error({.what = "the elements of the array are f16, which is not converted in rows",
                      .where = where,
                      .expected = "f32 (numpy.ascontiguousarray(a, dtype='<f4'))",
                      .got = "f16"});
  if (layout.is_fortran)
    throw data_error({.what = "the rows of the array are not contiguous",
                      .where = where,
                      .expected = "row-major order (numpy.ascontiguousarray)",
                      .got = "Fortran order"});
  // Rows without elements have no bytes, so their number is not bounded by the file's size.
  if (layout.dims[0] > 0 && layout.bytes == 0)
    throw data_error({.what = "the rows of the array are empty",
                      .where = where,
                      .expected = "at least 1 element",
                      .got = to_string(layout.dims)});
  return layout;
}

record_index index_of_rows(std::vector<std::string> names, std::vector<npy_layout> const& arrays,
                           std::string const& path) {
  record_index made{.fields = std::move(names)};
  if (arrays.empty())
    throw data_error({.what = "the file has no arrays",
                      .where = path,
                      .expected = "at least one array",
                      .got = "an empty archive"});
  auto const rows = static_cast<std::uint64_t>(arrays[0].dims[0]);
  for (std::size_t a = 0; a < arrays.size(); ++a)
    if (static_cast<std::uint64_t>(arrays[a].dims[0]) != rows)
      throw data_error({.what = "the arrays have different numbers of rows",
                        .where = path,
                        .expected = {rows, " rows of ", quote_for_error(made.fields[a]), ", as of ",
                                     quote_for_error(made.fields[0])},
                        .got = {arrays[a].dims[0]}});
  if (rows == 0) return made;
  made.rows = rows;
  for (npy_layout const& one : arrays) made.places.push_back({one.first, one.bytes / rows});
  return made;
}

std::string array_format_name(std::string const& function, std::vector<std::string> const& arrays) {
  std::vector<std::string> sorted = arrays;
  std::sort(sorted.begin(), sorted.end());
  auto const twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    throw setting_error({.what = "invalid arrays of records",
                         .where = function,
                         .expected = "each name once",
                         .got = quote_for_error(*twice) + " twice"});
  std::string made = function + " 1";
  for (std::string const& one : arrays) made += text_of({" ", one.size(), ":", one});
  return made;
}

}  // namespace cohort::detail
