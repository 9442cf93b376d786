// SPDX-License-Identifier: Apache-2.0
#include <cohort/training/detail/rescaled_parts.hpp>
#include <cstring>

namespace cohort::detail {

std::vector<tensor_view> rescaled_parts::of(std::span<tensor_view const> parts,
                                            std::vector<std::vector<channel_scaling>> const& maps) {
  std::vector<tensor_view> all(parts.begin(), parts.end());
  for (std::size_t p = 0; p < all.size() && p < maps.size(); ++p)
    if (!maps[p].empty()) all[p] = copy(all[p], maps[p], direction::forth);
  return all;
}

tensor_view rescaled_parts::back(tensor_view part, std::span<channel_scaling const> maps) {
  return maps.empty() ? part : copy(part, maps, direction::back);
}

tensor_view rescaled_parts::copy(tensor_view part, std::span<channel_scaling const> maps, direction which) {
  if (used_ == memory_.size()) memory_.emplace_back();
  reusable_buffer& memory = memory_[used_++];
  memory.resize(part.bytes());
  if (part.bytes() > 0) std::memcpy(memory.data(), part.data, part.bytes());
  mutable_tensor_view const made(memory.data(), part.type, part.dims);
  rescale(made, maps, which);
  return made;
}

}  // namespace cohort::detail
