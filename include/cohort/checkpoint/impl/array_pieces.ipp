// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/checkpoint/detail/array_pieces.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tensor/view.hpp>

namespace cohort::detail {

std::string piece_name(std::string const& name, std::size_t number) {
  return number == 1 ? name : name + '/' + std::to_string(number);
}

void add_pieces(model_content& to, std::string const& name, element_type type,
                std::span<std::byte const> values, std::size_t max_elements) {
  std::size_t const elements = values.size() / bytes_of(type);
  std::size_t first = 0, number = 1;
  do {
    std::size_t const count = std::min(max_elements, elements - first);
    to.add(piece_name(name, number++),
           tensor_view(values.data() + first * bytes_of(type), type, shape{static_cast<int>(count)}));
    first += count;
  } while (first < elements);
}

std::span<std::byte const> pieces_in(safetensors const& file, std::string const& name) {
  tensor_view const first_piece = file.at(name);
  std::size_t bytes = first_piece.bytes();
  for (std::size_t number = 2;; ++number) {
    std::string const next = piece_name(name, number);
    auto const piece = file.find(next);
    if (!piece) return {first_piece.data, bytes};
    if (piece->type != first_piece.type || piece->data != first_piece.data + bytes)
      file.refuse(next, "a piece of the same type directly after the previous piece",
                  piece->type == first_piece.type ? "another position" : std::string(name_of(piece->type)));
    bytes += piece->bytes();
  }
}

}  // namespace cohort::detail
