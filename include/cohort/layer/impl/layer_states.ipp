// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/layer/detail/layer_states.hpp>
#include <utility>

namespace cohort::detail {

layer_states::layer_states(std::vector<layer> layers, int rows, std::size_t bytes_of_number)
    : layers_(std::move(layers)), rows_(rows), bytes_of_number_(bytes_of_number) {
  std::size_t numbers = 0;
  for (layer const& one : layers_) numbers += one.numbers;
  for (auto& one : memory_) one.resize(numbers * static_cast<std::size_t>(rows) * bytes_of_number);
}

std::byte* layer_states::of(std::uint64_t id, std::size_t which) const {
  std::byte* at = memory_[which].data();
  for (layer const& one : layers_) {
    if (one.id == id) return at;
    at += one.numbers * static_cast<std::size_t>(rows_) * bytes_of_number_;
  }
  return nullptr;
}

void layer_states::clear() { std::fill(memory_[present_].begin(), memory_[present_].end(), std::byte{}); }

void layer_states::clear(int row) {
  for (layer const& one : layers_) {
    std::size_t const bytes = one.numbers * bytes_of_number_;
    std::fill_n(of(one.id, present_) + static_cast<std::size_t>(row) * bytes, bytes, std::byte{});
  }
}

}  // namespace cohort::detail
