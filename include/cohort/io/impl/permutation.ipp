// SPDX-License-Identifier: Apache-2.0
#include <cohort/io/detail/permutation.hpp>

namespace cohort::detail {

std::vector<float> permute_axes(std::span<float const> from, std::vector<std::int64_t> const& dims,
                                std::vector<int> const& axes) {
  std::vector<float> made;
  made.reserve(from.size());
  visit_permuted(dims, axes, [&](std::int64_t i) { made.push_back(from[static_cast<std::size_t>(i)]); });
  return made;
}

std::vector<float> reorder_blocks(std::span<float const> from, std::vector<std::size_t> const& order) {
  std::vector<float> made;
  made.reserve(from.size());
  std::size_t const size = from.size() / order.size();
  for (std::size_t const one : order) {
    std::span<float const> const block = from.subspan(one * size, size);
    made.insert(made.end(), block.begin(), block.end());
  }
  return made;
}

}  // namespace cohort::detail
