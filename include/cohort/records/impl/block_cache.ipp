// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/records/detail/block_cache.hpp>

namespace cohort::detail {

COHORT_CORE_INLINE std::shared_ptr<block_cache::block> block_cache::find(key const& wanted,
                                                                         std::uint64_t bytes) {
  std::lock_guard const lock(mutex_);
  if (auto const found = entries_.find(wanted); found != entries_.end()) {
    order_.splice(order_.begin(), order_, found->second.used);
    return found->second.one;
  }
  constexpr std::uint64_t bytes_of_entry = 256;  // the memory beside its content
  std::list<key> first{wanted};
  auto const made = std::make_shared<block>();
  entries_.emplace(wanted, entry{.one = made, .bytes = bytes + bytes_of_entry, .used = first.begin()});
  order_.splice(order_.begin(), first);
  bytes_ += bytes + bytes_of_entry;
  while (bytes_ > max_bytes_ && order_.size() > 1) {
    auto const oldest = entries_.find(order_.back());
    bytes_ -= oldest->second.bytes;
    entries_.erase(oldest);
    order_.pop_back();
  }
  return made;
}

COHORT_CORE_INLINE block_cache::content block_cache::get(
    key const& wanted, std::uint64_t bytes, std::function<void(std::vector<std::byte>&)> const& unpack) {
  std::shared_ptr<block> const one = find(wanted, bytes);
  std::lock_guard const lock(one->unpacking);
  if (!one->made) {
    auto made = std::make_shared<std::vector<std::byte>>();
    unpack(*made);
    one->made = std::move(made);
  }
  return one->made;
}

}  // namespace cohort::detail
