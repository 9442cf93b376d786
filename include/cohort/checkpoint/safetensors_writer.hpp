// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/safetensors_format.hpp>
#include <cohort/io/byte_sink.hpp>
#include <span>
#include <string>

namespace cohort {

/// Writes tensors and metadata in the safetensors format. Equal arguments give equal bytes. If `read` is set,
/// it returns a tensor's elements; otherwise the views have them.
///
/// Shapes    any, including scalars and tensors without elements.
/// Order     in the file by element size, largest first; tensors of equal element size keep the given order.
/// Errors    data_error, before anything is written, for a duplicate, empty or reserved name, or for text
///           that is not UTF-8; file_error if the sink fails.
/// Source    https://huggingface.co/docs/safetensors
void write_safetensors(io::byte_sink_ref sink, std::span<stored_tensor const> tensors,
                       safetensors_metadata const& metadata = {}, detail::tensor_reader const& read = {});

namespace detail {

/// Throws the data_error of write_safetensors.
void check_safetensors(std::span<stored_tensor const> tensors, safetensors_metadata const& metadata);

}  // namespace detail

/// Writes a safetensors file completely or not at all; see file_writer.
void save_safetensors(std::string const& path, std::span<stored_tensor const> tensors,
                      safetensors_metadata const& metadata = {});

}  // namespace cohort
