// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/safetensors_format.hpp>
#include <cohort/io/byte_sink.hpp>
#include <span>
#include <string>

namespace cohort {

/// Writes tensors and metadata in the safetensors format: equal arguments give equal bytes.
///
/// Shapes    any; also scalars and tensors without elements.
/// Order     in the file by element size, largest first, and as given among equals.
/// Errors    data_error, before anything is written, for a name given twice, empty or reserved, or for text
///           that is not UTF-8; file_error if the sink fails.
/// Source    https://huggingface.co/docs/safetensors
void write_safetensors(byte_sink_ref sink, std::span<stored_tensor const> tensors,
                       safetensors_metadata const& metadata = {});

/// Writes a safetensors file whole or not at all; see file_writer.
void save_safetensors(std::string const& path, std::span<stored_tensor const> tensors,
                      safetensors_metadata const& metadata = {});

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/checkpoint/impl/safetensors_writer.ipp>
#endif
