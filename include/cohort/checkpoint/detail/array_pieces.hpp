// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/checkpoint/model_content.hpp>
#include <cohort/checkpoint/safetensors.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tensor/view.hpp>
#include <cstddef>
#include <span>
#include <string>

/// Arrays that may have more elements than an extent counts, as tensors of at most so many: name, name/2, name/3, …
///
/// Before    a name without '/'; a piece is whole multiples of 64 bytes, but the last, so that pieces lie one behind the other
///           when they are read.
namespace cohort::detail {

inline constexpr std::size_t longest_piece = std::size_t{1} << 30;

inline std::string piece_name(std::string const& name, std::size_t number) {
  return number == 1 ? name : name + '/' + std::to_string(number);
}

/// The values stay where they are until they are written.
inline void add_pieces(model_content& to, std::string const& name, element_type type,
                       std::span<std::byte const> values, std::size_t longest = longest_piece) {
  std::size_t const elements = values.size() / bytes_of(type);
  std::size_t first = 0, number = 1;
  do {
    std::size_t const count = std::min(longest, elements - first);
    to.add(piece_name(name, number++),
           tensor_view(values.data() + first * bytes_of(type), type, shape{static_cast<int>(count)}));
    first += count;
  } while (first < elements);
}

/// The array that begins with the tensor of that name.
///
/// Errors    data_error where a piece does not lie behind the one before, or is of another type.
inline std::span<std::byte const> pieces_in(safetensors const& file, std::string const& name) {
  tensor_view const head = file.at(name);
  std::size_t bytes = head.bytes();
  for (std::size_t number = 2;; ++number) {
    std::string const next = piece_name(name, number);
    auto const more = file.find(next);
    if (!more) return {head.data, bytes};
    if (more->type != head.type || more->data != head.data + bytes)
      file.refuse(next, "a piece of the same type behind the one before",
                  more->type == head.type ? "another place" : std::string(name_of(more->type)));
    bytes += more->bytes();
  }
}

}  // namespace cohort::detail
