// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/image/detail/zip_file.hpp>
#include <cohort/io/crc32.hpp>
#include <cohort/io/detail/mapped_file.hpp>
#include <cohort/io/detail/zip_writer.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/zlib/detail/zip_contents.hpp>
#include <utility>

namespace cohort::detail {

zip_file::zip_file(std::string path)
    : path_(std::move(path)),
      directory_(mapped_file(path_).bytes(), "zip archive", path_),
      file_(open_regular_file(path_, "cannot open the zip archive")) {}

std::vector<std::byte> zip_file::read(std::uint64_t index, std::size_t max_bytes) const {
  zip_entry const& entry = entries()[static_cast<std::size_t>(index)];
  if (std::uint64_t const largest = std::max(entry.size, entry.packed); largest > max_bytes)
    throw data_error({.what = "the file is too large",
                      .where = {path_, ", ", entry.name},
                      .expected = {"at most ", max_bytes, " bytes"},
                      .got = {largest}});
  std::vector<std::byte> packed(static_cast<std::size_t>(entry.packed)), memory;
  if (read_at(file_, path_, entry.data, packed.data(), packed.size()) < packed.size())
    directory_.refuse(entry, "ends after the end of the archive, which has become shorter");
  bool const is_stored = contents_of_entry(directory_, entry, packed, memory).data() == packed.data();
  if (is_stored) return packed;
  return memory;
}

/// Reads a file, and calls use(bytes) for each block of it.
template <class Use>
void read_blocks(std::string const& path, std::span<char> block, Use use) {
  io::file_reader file(path);
  while (std::size_t const bytes = file.read(block.data(), block.size())) use(block.first(bytes));
}

void write_zip(std::string const& path, std::string const& folder, std::span<std::string const> names) {
  io::file_writer file(path);
  zip_writer archive(file);
  std::vector<char> block(std::size_t{1} << 16);
  for (std::string const& name : names) {
    std::string const source = folder + '/' + name;
    zip_entry entry{.name = name};
    read_blocks(source, block, [&](std::span<char const> bytes) {
      entry.crc = io::crc32(std::as_bytes(bytes), entry.crc);
      entry.size += bytes.size();
    });
    entry.packed = entry.size;
    archive.begin(entry);
    zip_entry packed;
    read_blocks(source, block, [&](std::span<char const> bytes) {
      packed.crc = io::crc32(std::as_bytes(bytes), packed.crc);
      packed.size += bytes.size();
      file.write(bytes.data(), bytes.size());
    });
    if (packed.size != entry.size || packed.crc != entry.crc)
      throw file_error({.what = "the file changed while it was packed", .where = source});
  }
  archive.finish();
  file.commit();
}

}  // namespace cohort::detail
