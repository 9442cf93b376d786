// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/safetensors_format.hpp>
#include <cohort/io/byte_stream.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

namespace detail {

/// Header entry of one tensor, checked for internal consistency.
struct safetensors_entry {
  std::string name;
  element_type type;
  shape dims;
  std::uint64_t begin, end;   // byte range in the data part
  bool is_f16 = false;        // whether f16 is converted to `type`, f32
  std::string unread_type{};  // not empty: the data are skipped
};

}  // namespace detail

/// A safetensors file or stream in memory: tensors by name, and metadata.
///
/// Shapes    up to six extents, each at most the largest int; types F32, F64, BF16, U8, I32, I64, U64. F16 is
///           converted to f32. A tensor of any other type is listed without its data; `at` refuses it.
/// Before    the source is untrusted: sizes are checked against each other and against the file size before
///           memory is allocated. For a stream, memory grows with the bytes received.
/// After     the data of every tensor is aligned to 64 bytes, for any offset in the file.
/// Errors    file_error if the source cannot be read; data_error naming file, tensor or line of the header.
///           If the source is truncated, the error contains the expected and the present number of bytes.
/// Source    https://huggingface.co/docs/safetensors
class safetensors {
 public:
  /// Reads a file.
  static safetensors load(std::string const& path, safetensors_limits limits = {});

  /// Reads a file except the data of tensors for whose names `on_demand` returns true; their views have no
  /// data, and `read` reads them. f16 is always read.
  static safetensors load(std::string const& path, std::function<bool(std::string_view)> const& on_demand,
                          safetensors_limits limits = {});

  /// Reads exactly the bytes of one file from a stream; later bytes remain in the stream.
  static safetensors read(io::byte_stream_ref in, std::string const& name = "stream",
                          safetensors_limits limits = {});

  std::string const& name() const& { return name_; }
  std::string const& name() const&& = delete;  // keep the file in a variable
  safetensors_metadata const& metadata() const& { return metadata_; }
  safetensors_metadata const& metadata() const&& = delete;  // keep the file in a variable

  /// Returns the tensors in the order of their data in the file, also those of a type that is not read.
  std::span<stored_tensor const> tensors() const&;
  std::span<stored_tensor const> tensors() const&& = delete;  // keep the file in a variable

  /// Returns one of the tensors(); if it is read on demand, its elements are in `memory`.
  ///
  /// Errors    data_error if the file has become shorter, file_error if it cannot be read.
  tensor_view read(stored_tensor const& tensor, reusable_buffer& memory) const;

  /// Returns the tensor of this name; nullopt if there is none.
  ///
  /// Errors    data_error if its type is not read.
  std::optional<tensor_view> find(std::string_view tensor) const&;
  std::optional<tensor_view> find(std::string_view tensor) const&& = delete;  // keep the file in a variable

  /// Returns the tensor of this name.
  ///
  /// Errors    data_error if there is none, or if its type is not read.
  tensor_view at(std::string_view tensor) const&;
  tensor_view at(std::string_view tensor) const&& = delete;  // keep the file in a variable

  /// Returns the tensor of this name.
  ///
  /// Errors    data_error if there is none, or if its type or extents differ.
  tensor_view at(std::string_view tensor, element_type type, shape const& dims) const&;
  // keep the file in a variable
  tensor_view at(std::string_view tensor, element_type type, shape const& dims) const&& = delete;

  /// Throws data_error about one of the tensors.
  [[noreturn]] void refuse(std::string_view tensor, std::string expected, std::string got) const;

 private:
  /// A file that stays open.
  struct open_file;

  /// `total`: the size of the source in bytes, if it is known. `file`: the source if it stays open, for
  /// tensors on demand.
  safetensors(io::byte_stream_ref source, std::optional<std::uint64_t> total, std::string name,
              safetensors_limits limits, std::shared_ptr<open_file> file = nullptr);
  std::string read_header(io::byte_stream_ref source, std::size_t length,
                          std::optional<std::uint64_t> total) const;
  std::vector<detail::safetensors_entry> read_entries(std::string const& header, safetensors_limits limits);
  /// `data`: bytes before the tensors' data.
  void read_data(io::byte_stream_ref source, std::vector<detail::safetensors_entry> const& entries,
                 std::uint64_t data, bool size_is_known);
  void grow(std::size_t bytes);

  std::string name_;
  safetensors_metadata metadata_;
  std::vector<stored_tensor> tensors_;
  std::vector<std::size_t> by_name_;
  buffer data_;
  std::shared_ptr<open_file> file_;
};

}  // namespace cohort
