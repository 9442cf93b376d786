// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cohort/io/byte_sink.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cohort/tensor/view.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cohort {

/// An array from a NumPy .npy file, with its memory.
///
/// Shapes    up to six extents, row-major. Types `<f4`, `<f8`, `<i4`, `<i8`, `<u8` and `|u1` are f32, f64,
///           i32, i64, u64 and u8. `|b1` is u8, 0 or 1. `<f2` is converted to f32, and Fortran order to
///           row-major order.
/// Before    the file may be untrusted. Versions 1 and 2 of the format are read. Nothing is unpickled. The
///           file's size is compared with its header before memory is allocated.
/// Errors    file_error; data_error naming the byte, or the type that is not supported.
/// Source    numpy/lib/format.py
class npy_array {
 public:
  /// Reads a file of at most `max_bytes` bytes.
  static npy_array load(std::string const& path, std::size_t max_bytes = std::size_t{1} << 36);
  /// Reads the bytes of a file; `where` is for errors.
  static npy_array parse(std::span<std::byte const> bytes, std::string const& where);

  /// Returns a view that is valid while the array exists.
  tensor_view view() const& { return {memory_.data(), type_, dims_}; }
  tensor_view view() const&& = delete;  // keep the array in a variable

 private:
  shape dims_;
  element_type type_ = element_type::f32;
  buffer memory_;
};

/// Writes an array like numpy.save. Equal arrays give equal bytes.
///
/// Errors    data_error for bf16, which NumPy does not have; nothing is written then. file_error if the sink
///           fails.
void write_npy(io::byte_sink_ref sink, tensor_view array);

/// Writes a .npy file completely or not at all; see file_writer.
void save_npy(std::string const& path, tensor_view array);

namespace detail {

/// Returns magic, version and header of a .npy file.
///
/// Errors    data_error for bf16.
std::string npy_header(element_type type, shape const& dims);
/// Like npy_header(type, dims), but for any NumPy type, such as "|S8", and any extents.
std::string npy_header(std::string_view type, std::span<std::int64_t const> dims);

/// Returns the array's type, such as "<i2", if npy_array does not read it; otherwise "".
///
/// Errors    data_error naming `where` and the byte for a damaged header.
std::string unread_npy_type(std::span<std::byte const> file, std::string const& where);

}  // namespace detail

}  // namespace cohort
