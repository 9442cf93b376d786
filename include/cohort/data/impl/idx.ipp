// SPDX-License-Identifier: Apache-2.0
#include <cohort/data/idx.hpp>
#include <cohort/error/exceptions.hpp>
#include <cstdint>
#include <utility>

namespace cohort {

idx_array::idx_array(std::vector<std::byte> bytes, std::size_t header_bytes, shape dims)
    : bytes_(std::make_shared<std::vector<std::byte> const>(std::move(bytes))),
      header_bytes_(header_bytes),
      dims_(dims) {}

idx_array parse_idx(std::vector<std::byte> bytes, std::string const& where, int rank) {
  auto const refuse = [&](std::string what, std::size_t byte, std::string expected, std::string got) {
    throw data_error({.what = {"cannot read the IDX file: ", std::move(what)},
                      .where = {where, ", byte ", byte},
                      .expected = std::move(expected),
                      .got = std::move(got)});
  };
  auto const at = [&](std::size_t i) { return std::to_integer<unsigned>(bytes[i]); };
  auto const sized = [](std::uint64_t n) { return std::to_string(n) + " bytes"; };

  if (bytes.size() < 4)
    refuse("the header is truncated", bytes.size(), "at least 8 bytes", sized(bytes.size()));
  if (at(0) != 0 || at(1) != 0)
    refuse("the magic number is wrong", 0, "0, 0", std::to_string(at(0)) + ", " + std::to_string(at(1)));
  if (at(2) != 8) refuse("the elements are not u8", 2, "element type 8", std::to_string(at(2)));
  int const found = static_cast<int>(at(3));
  if (found < 1 || found > 4 || (rank != 0 && found != rank))
    refuse("the rank is wrong", 3, rank != 0 ? std::to_string(rank) : "1 to 4", std::to_string(found));
  std::size_t const header = 4 + 4 * static_cast<std::size_t>(found);
  if (bytes.size() < header)
    refuse("the header is truncated", bytes.size(), sized(header), sized(bytes.size()));

  shape dims;
  dims.rank = found;
  std::uint64_t elements = 1;
  std::uint64_t const present = bytes.size() - header;
  for (int axis = 0; axis < found; ++axis) {
    std::size_t const byte = 4 + 4 * static_cast<std::size_t>(axis);
    std::uint32_t const extent = at(byte) << 24 | at(byte + 1) << 16 | at(byte + 2) << 8 | at(byte + 3);
    if (extent == 0 || extent > 0x7fffffffU)
      refuse("an extent is out of range", byte, "1 to 2147483647", std::to_string(extent));
    dims[axis] = static_cast<int>(extent);
    if (elements > (std::uint64_t{1} << 62) / extent)
      refuse("the extents are too large", byte, sized(present), "more than 2^62 bytes");
    elements *= extent;
  }
  if (elements > present)
    refuse("the file is truncated", bytes.size(), sized(header + elements) + " for " + to_string(dims),
           sized(bytes.size()));
  if (elements < present)
    refuse("there are bytes after the last element", header + elements,
           sized(header + elements) + " for " + to_string(dims), sized(bytes.size()));
  return {std::move(bytes), header, dims};
}

idx_array read_idx(std::string const& path, int rank, io::byte_source const& source) {
  return parse_idx(source(path), path, rank);
}

}  // namespace cohort
