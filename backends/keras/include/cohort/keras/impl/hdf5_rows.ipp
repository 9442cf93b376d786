// SPDX-License-Identifier: Apache-2.0
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/hdf5_rows.hpp>
#include <cohort/keras/detail/hdf5_file.hpp>
#include <cohort/records/detail/array_rows.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

namespace cohort {

namespace detail {

inline constexpr hdf5_remedies remedies_of_rows{
    .save = "write the file with h5py's defaults, or with create_dataset(..., compression='gzip')",
    .complete = "name an array of this file"};

std::optional<element_type> element_of(hdf5_type const& type) {
  bool const is_floating = type.is == hdf5_type::kind::floating;
  if (is_floating && type.bytes == 4) return element_type::f32;
  if (is_floating && type.bytes == 8) return element_type::f64;
  if (is_floating) return {};
  if (type.bytes == 1 && !type.is_signed) return element_type::u8;
  if (type.bytes == 4 && type.is_signed) return element_type::i32;
  if (type.bytes == 8) return type.is_signed ? element_type::i64 : element_type::u64;
  return {};
}

/// An array of rows in an HDF5 file. `layout.first` is beyond the file if the array is in chunks.
struct hdf5_layout {
  npy_layout layout;
  hdf5_array array;
};

hdf5_layout hdf5_layout_of_rows(hdf5_file const& file, std::string const& array) {
  std::string const where = file.name() + ", array " + quote_for_error(array);
  hdf5_array const found = file.array(array);
  std::optional<element_type> const type = element_of(found.type);
  if (!type)
    throw data_error({.what = "the array has elements of another type",
                      .where = where,
                      .expected = "f32, f64, i32, i64, u64 or u8 (numpy.asarray(a, 'f4'))",
                      .got = {found.type.is == hdf5_type::kind::floating ? "floating-point numbers"
                              : found.type.is_signed                     ? "signed integers"
                                                                         : "unsigned integers",
                              " of ", found.type.bytes, " bytes"}});
  npy_layout made{.type = *type,
                  .first = static_cast<std::size_t>(found.chunk.empty() ? found.first : file.size()),
                  .bytes = static_cast<std::size_t>(found.bytes)};
  if (found.extents.size() > shape::max_rank)
    throw data_error({.what = "the array has too many axes",
                      .where = where,
                      .expected = {"at most ", shape::max_rank},
                      .got = {found.extents.size()}});
  made.dims.rank = static_cast<int>(found.extents.size());
  for (std::size_t axis = 0; axis < found.extents.size(); ++axis) {
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<int>::max());
    if (found.extents[axis] > most)
      throw data_error({.what = "an axis of the array is too long",
                        .where = where,
                        .expected = {"at most ", most},
                        .got = {found.extents[axis]}});
    made.dims.extents[axis] = static_cast<int>(found.extents[axis]);
  }
  return {with_rows(made, where), found};
}

/// Adds the chunks of the array with the index `number` to the index of a file.
void add_chunks(hdf5_file const& file, hdf5_array const& array, std::size_t number, record_index& to) {
  std::uint64_t bytes = array.type.bytes;
  for (std::uint64_t const extent : array.chunk) bytes *= extent;
  std::uint64_t first = to.blocks.empty() ? file.size() : to.blocks.back().first + to.blocks.back().bytes;
  to.places[number].offset = first;
  to.grids.resize(to.fields.size());
  to.grids[number] = {array.extents, array.chunk, array.type.bytes, to.blocks.size(), array.fill.value_or(0)};
  using compression = packed_block::compression;
  for (hdf5_chunk const& chunk : file.chunks(to.fields[number], array)) {
    to.blocks.push_back({.first = first,
                         .bytes = bytes,
                         .offset = chunk.first,
                         .packed = chunk.bytes,
                         .packing = chunk.is_deflated ? compression::stream
                                    : chunk.is_lzf    ? compression::lzf
                                                      : compression::none,
                         .has_fletcher32 = chunk.has_fletcher32,
                         .shuffled = chunk.is_shuffled ? array.type.bytes : 0});
    first += bytes;
  }
}

}  // namespace detail

record_format hdf5_rows(std::vector<std::string> arrays, io::inflater inflate) {
  if (arrays.empty())
    throw setting_error({.what = "invalid arrays of records",
                         .where = "hdf5_rows",
                         .expected = "paths of arrays",
                         .got = "none"});
  std::string name = detail::array_format_name("hdf5_rows", arrays);
  auto index = [arrays = std::move(arrays)](std::string const& path) {
    detail::hdf5_file const file(path, path, detail::remedies_of_rows);
    std::vector<detail::hdf5_layout> found;
    std::vector<detail::npy_layout> layouts;
    for (std::string const& array : arrays) {
      found.push_back(detail::hdf5_layout_of_rows(file, array));
      layouts.push_back(found.back().layout);
    }
    record_index rows = detail::index_of_rows(arrays, layouts, path);
    for (std::size_t number = 0; number < found.size() && rows.rows > 0; ++number)
      if (!found[number].array.chunk.empty()) detail::add_chunks(file, found[number].array, number, rows);
    return rows;
  };
  return {.name = std::move(name), .index = std::move(index), .inflate = std::move(inflate)};
}

array_row hdf5_row_of(std::string const& path, std::string const& array) {
  detail::npy_layout const layout =
      detail::hdf5_layout_of_rows(detail::hdf5_file(path, path, detail::remedies_of_rows), array).layout;
  return {layout.type, layout.dims.example()};
}

}  // namespace cohort
