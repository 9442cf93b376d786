// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/model_content.hpp>
#include <cohort/checkpoint/safetensors.hpp>
#include <cstddef>
#include <span>
#include <string>

/// Arrays that may have more elements than an extent counts, as tensors of at most so many: name, name/2, name/3, …
///
/// Before    a name without '/'; a piece is whole multiples of 64 bytes, but the last, so that pieces lie one behind the other
///           when they are read.
namespace cohort::detail {

inline constexpr std::size_t longest_piece = std::size_t{1} << 30;

/// The values stay where they are until they are written.
void add_pieces(model_content& to, std::string const& name, element_type type,
                std::span<std::byte const> values, std::size_t longest = longest_piece);

/// The array that begins with the tensor of that name.
///
/// Errors    data_error where a piece does not lie behind the one before, or is of another type.
std::span<std::byte const> pieces_in(safetensors const& file, std::string const& name);

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/checkpoint/impl/array_pieces.ipp>
#endif
