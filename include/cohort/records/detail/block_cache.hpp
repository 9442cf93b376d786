// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace cohort::detail {

/// Decompressed blocks of files. Several threads may call `get`: a block that several threads request at once
/// is decompressed once.
class block_cache {
 public:
  using key = std::pair<std::size_t, std::size_t>;  // file and block
  using content = std::shared_ptr<std::vector<std::byte> const>;

  /// Units     `max_bytes`: of the contents that are kept. The content that was not used for the longest time is
  ///           dropped first.
  explicit block_cache(std::uint64_t max_bytes) : max_bytes_(max_bytes) {}

  /// Returns the content of a block. If it is not in memory, `unpack` writes it.
  ///
  /// Units     `bytes`: of the content.
  /// Errors    those of `unpack`; the next call for this block calls it again.
  content get(key const& wanted, std::uint64_t bytes,
              std::function<void(std::vector<std::byte>&)> const& unpack);

 private:
  struct block {
    std::mutex unpacking;
    content made;  // null: not decompressed yet
  };
  struct entry {
    std::shared_ptr<block> one;
    std::uint64_t bytes = 0;
    std::list<key>::iterator used;
  };

  std::shared_ptr<block> find(key const& wanted, std::uint64_t bytes);

  std::uint64_t max_bytes_;
  std::mutex mutex_;  // of the members below
  std::uint64_t bytes_ = 0;
  std::map<key, entry> entries_;
  std::list<key> order_;  // the newest use first
};

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/records/impl/block_cache.ipp>
#endif
