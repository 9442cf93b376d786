// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/detail/mapped_file.hpp>
#include <cohort/io/detail/zip_directory.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/records/detail/array_rows.hpp>
#include <cohort/records/detail/block_content.hpp>
#include <cohort/records/npy_rows.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
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

/// An array in a .npz file. `layout.first` is an offset in the file, or in the content of `block`.
struct npz_array {
  npy_layout layout;
  std::optional<packed_block> block{};  // of a compressed array
};

/// Returns the location and layout of an array in a .npz file. A compressed array is decompressed, which
/// verifies its checksum, but only its header is stored.
npz_array find_npz_array(zip_directory const& archive, std::string const& array, std::string const& path,
                         io::inflater const& inflate) {
  zip_entry const* const entry = archive.find(array + ".npy");
  if (!entry)
    throw data_error({.what = "cannot read the .npz file",
                      .where = path,
                      .expected = {"an array ", quote_for_error(array)},
                      .got = "no such array"});
  std::string const where = path + ", array " + quote_for_error(array);
  auto const layout_of = [&](std::span<std::byte const> begin) {
    return with_rows(
        read_npy_layout(begin.first(std::min(begin.size(), longest_npy_prefix)), entry->size, where), where);
  };
  auto const bytes = archive.packed(*entry);
  if (entry->method == 0) {
    npz_array found{.layout = layout_of(bytes)};
    found.layout.first += static_cast<std::size_t>(entry->data);
    return found;
  }
  if (entry->method != 8 || !inflate)
    archive.refuse(*entry, "is compressed",
                   entry->method == 8 ? "npz_rows with gzip::inflate of cohort/zlib.hpp, or arrays without "
                                        "compression, as numpy.savez writes them"
                                      : "deflate, as numpy.savez_compressed writes it",
                   "method " + std::to_string(entry->method));
  packed_block const block{.bytes = entry->size,
                           .offset = entry->data,
                           .packed = entry->packed,
                           .packing = packed_block::compression::deflate,
                           .crc = entry->crc};
  std::vector<std::byte> const begin = unpack(
      block, {bytes.begin(), bytes.end()}, inflate, [&] { return where; }, longest_npy_prefix);
  return {layout_of(begin), block};
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

array_row npz_row_of(std::string const& path, std::string const& array, io::inflater const& inflate) {
  detail::mapped_file const file(path);
  detail::zip_directory const archive(file.bytes(), ".npz file", path);
  detail::npy_layout const layout = detail::find_npz_array(archive, array, path, inflate).layout;
  return {layout.type, layout.dims.example()};
}

record_format npz_rows(std::vector<std::string> arrays, io::inflater inflate) {
  std::string name = detail::array_format_name("npz_rows", arrays);
  auto index = [arrays = std::move(arrays), inflate](std::string const& path) {
    detail::mapped_file const file(path);
    detail::zip_directory const archive(file.bytes(), ".npz file", path);
    std::vector<std::string> names = arrays;
    if (names.empty())
      for (detail::zip_entry const& one : archive.entries())
        names.push_back(one.name.substr(0, one.name.rfind(".npy")));
    std::vector<detail::npy_layout> layouts;
    std::vector<packed_block> blocks;
    std::uint64_t first = file.bytes().size();  // of the next block
    for (std::string const& one : names) {
      detail::npz_array const found = detail::find_npz_array(archive, one, path, inflate);
      layouts.push_back(found.layout);
      if (!found.block) continue;
      layouts.back().first += static_cast<std::size_t>(first);
      blocks.push_back(*found.block);
      blocks.back().first = first;
      first += found.block->bytes;
    }
    record_index rows = detail::index_of_rows(std::move(names), layouts, path);
    if (rows.rows > 0) rows.blocks = std::move(blocks);
    return rows;
  };
  return {.name = std::move(name), .index = std::move(index), .inflate = std::move(inflate)};
}

}  // namespace cohort
