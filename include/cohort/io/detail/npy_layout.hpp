// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/tensor/element.hpp>
#include <cohort/tensor/shape.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace cohort::detail {

/// Maximum bytes of the header, and of all bytes before the data. Six extents and a type need less than 200
/// bytes.
inline constexpr std::size_t longest_npy_header = 1 << 16, longest_npy_prefix = 12 + longest_npy_header;

/// Layout of the data in a .npy file, as described by the header.
struct npy_layout {
  element_type type = element_type::f32;
  shape dims{};
  bool is_boolean = false, is_fortran = false;
  bool is_f16 = false;    // 2 bytes per element in the file; converted to `type`, f32
  std::size_t first = 0;  // position of the data in the file
  std::size_t bytes = 0;  // size of the data

  std::size_t element_bytes() const { return is_f16 ? 2 : bytes_of(type); }  // in the file
  std::size_t memory_bytes() const { return bytes / element_bytes() * bytes_of(type); }
};

/// Reads the header and checks that the file's size matches it. `begin`: the file, or its first
/// longest_npy_prefix bytes.
///
/// Errors    data_error naming `where` and the byte.
npy_layout read_npy_layout(std::span<std::byte const> begin, std::uint64_t file_bytes,
                           std::string const& where);

}  // namespace cohort::detail
