// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/safetensors_format.hpp>
#include <cohort/io/npy.hpp>
#include <cohort/zlib/detail/implementation.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cohort {

/// The arrays of a .npz file written by numpy.savez or numpy.savez_compressed. read_mapped copies the arrays
/// to parameters:
///
///     npz_file const file = npz_file::load("weights.npz");
///     read_mapped(file.tensors(), file.name(), name_map::load("weights.map"), run.network(),
///                 run.parameters());
///
/// The file may be untrusted. Entries that overlap are errors. Before memory is allocated, an entry's size is
/// compared with the largest size that deflate can produce from its bytes.
///
/// Shapes    as npy_array. An array of a type that npy_array does not read is listed without data
///           (stored_tensor::unread_type).
/// Units     `max_bytes`: largest size of the file, and of all its arrays together.
/// Order     `tensors` has the order of the archive. Its names omit ".npy".
/// Errors    file_error if the file cannot be read; data_error naming the entry if it is damaged (a CRC-32 is
///           checked), is encrypted, has another compression, or is an array that npy_array refuses for
///           another reason than its type.
/// Source    APPNOTE.TXT of the zip format, 6.3.
class npz_file {
 public:
  static npz_file load(std::string const& path, std::size_t max_bytes = std::size_t{1} << 34);
  static npz_file parse(std::span<std::byte const> bytes, std::string name,
                        std::size_t max_bytes = std::size_t{1} << 34);

  std::string const& name() const& { return name_; }
  std::string const& name() const&& = delete;  // keep the file in a variable
  std::span<stored_tensor const> tensors() const& { return tensors_; }
  std::span<stored_tensor const> tensors() const&& = delete;  // keep the file in a variable

 private:
  std::string name_;
  std::vector<npy_array> arrays_;
  std::vector<stored_tensor> tensors_;
};

/// Compression of a .npz file: `none` like numpy.savez, `deflate` like numpy.savez_compressed.
enum class npz_compression { none, deflate };

/// Writes tensors as a .npz file, atomically. Equal arguments give equal bytes.
///
///     save_npz("weights.npz", model_content(run.network()).add_parameters(run.parameters()).tensors());
///
/// Errors    data_error for an empty name or two tensors of one name, for bf16, for a tensor without data,
///           and for a file of 4 GiB or more; file_error if the file cannot be written. After an error, an
///           existing file of that name is unchanged.
void save_npz(std::string const& path, std::span<stored_tensor const> tensors,
              npz_compression how = npz_compression::none);

}  // namespace cohort
