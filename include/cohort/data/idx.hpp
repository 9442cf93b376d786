// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/io/file.hpp>
#include <cohort/tensor/view.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace cohort {

/// An IDX file in memory: u8 elements, the outermost extent counts examples.
class idx_array {
 public:
  idx_array(std::vector<std::byte> bytes, std::size_t header_bytes, shape dims);

  tensor_view view() const { return {bytes_->data() + header_bytes_, element_type::u8, dims_}; }
  /// Keeps the elements alive.
  std::shared_ptr<void const> owner() const { return bytes_; }

 private:
  std::shared_ptr<std::vector<std::byte> const> bytes_;
  std::size_t header_bytes_;
  shape dims_;
};

/// Understands the bytes of an IDX file: two zero bytes, the element type, the rank, an extent for each axis
/// as big-endian 32 bits, then the elements, outermost axis first.
///
/// Shapes    rank 1 (labels) to 4; where `rank` is given, exactly that.
/// Errors    data_error naming `where` and the byte for a wrong magic number, type or rank, extents of 0 or too
///           large, and a file that is shorter or longer than its extents say.
/// Source    The IDX format as described beside the MNIST files (LeCun, Cortes and Burges).
idx_array parse_idx(std::vector<std::byte> bytes, std::string const& where, int rank = 0);

/// Reads an IDX file, through another source than the plain file where it is compressed.
idx_array read_idx(
    std::string const& path, int rank = 0,
    byte_source const& source = [](std::string const& p) { return read_file(p); });

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/data/impl/idx.ipp>
#endif
