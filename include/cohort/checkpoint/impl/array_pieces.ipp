// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/checkpoint/detail/array_pieces.hpp>
#include <cohort/detail/config.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tensor/view.hpp>

namespace cohort::detail {

COHORT_CORE_INLINE std::string piece_name(std::string const& name, std::size_t number) {
  return number == 1 ? name : name + '/' + std::to_string(number);
}

COHORT_CORE_INLINE void add_pieces(model_content& to, std::string const& name, element_type type,
                                   std::span<std::byte const> values, std::size_t longest) {
  std::size_t const elements = values.size() / bytes_of(type);
  std::size_t first = 0, number = 1;
  do {
    std::size_t const count = std::min(longest, elements - first);
    to.add(piece_name(name, number++),
           tensor_view(values.data() + first * bytes_of(type), type, shape{static_cast<int>(count)}));
    first += count;
  } while (first < elements);
}

COHORT_CORE_INLINE std::span<std::byte const> pieces_in(safetensors const& file, std::string const& name) {
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
