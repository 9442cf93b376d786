// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/model_content.hpp>
#include <cohort/checkpoint/safetensors.hpp>
#include <cstddef>
#include <span>
#include <string>

/// Stores an array as several tensors, name, name/2, name/3, …, if it has more elements than an extent can
/// count.
///
/// Before    the name contains no '/' after its prefix (such as strategy/array/). The size of every piece
///           except the last is a multiple of 64 bytes, so that the pieces are contiguous in memory after
///           reading.
namespace cohort::detail {

inline constexpr std::size_t max_piece_elements = std::size_t{1} << 30;

/// Adds an array to a model file. The values are not copied, so they must stay valid until the file
/// is written.
void add_pieces(model_content& to, std::string const& name, element_type type,
                std::span<std::byte const> values, std::size_t max_elements = max_piece_elements);

/// Returns the array whose first piece has this name.
///
/// Errors    data_error if a piece does not directly follow the previous one in memory, or has another type.
std::span<std::byte const> pieces_in(safetensors const& file, std::string const& name);

}  // namespace cohort::detail
