// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/io/file.hpp>
#include <cohort/tensor/view.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace cohort {

/// The contents of an IDX file: u8 elements. The outermost extent is the number of examples.
class idx_array {
 public:
  idx_array(std::vector<std::byte> bytes, std::size_t header_bytes, shape dims);

  /// Returns all elements.
  tensor_view view() const& { return {bytes_->data() + header_bytes_, element_type::u8, dims_}; }
  tensor_view view() const&& = delete;  // keep the array in a variable
  /// Returns an owner that keeps the elements alive.
  std::shared_ptr<void const> owner() const { return bytes_; }

 private:
  std::shared_ptr<std::vector<std::byte> const> bytes_;
  std::size_t header_bytes_;
  shape dims_;
};

/// Parses the bytes of an IDX file. The format is: two zero bytes, the element type, the rank, one big-endian
/// 32-bit extent per axis, then the elements, outermost axis first.
///
/// Shapes    rank 1 (labels) to 4; exactly `rank` if `rank` is not 0.
/// Errors    data_error with `where` and the byte's position, if the magic number, type or rank is wrong, an
///           extent is 0 or too large, or the file's size does not match its extents.
/// Source    description of the IDX format on the MNIST page (LeCun, Cortes and Burges).
idx_array parse_idx(std::vector<std::byte> bytes, std::string const& where, int rank = 0);

/// Reads an IDX file. For compressed files, pass a `source` that decompresses, such as gzip::read_file.
idx_array read_idx(
    std::string const& path, int rank = 0,
    io::byte_source const& source = [](std::string const& p) { return io::read_file(p); });

}  // namespace cohort
