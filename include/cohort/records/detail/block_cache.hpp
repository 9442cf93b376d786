// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace cohort::detail {

/// Contents of blocks of files: decompressed bytes, or parsed rows. Several threads may call `get`: a block
/// that several threads request at once is read once.
template <class Content>
class block_cache {
 public:
  using key = std::pair<std::size_t, std::size_t>;  // file and block
  using content = std::shared_ptr<Content const>;

  /// Units     `max_bytes`: of the contents that are kept. The content that was not used for the longest
  ///           time is dropped first.
  explicit block_cache(std::uint64_t max_bytes) : max_bytes_(max_bytes) {}

  /// Returns the content of a block: the result of `read` if it is not in memory.
  ///
  /// Units     `bytes`: of the content.
  /// Errors    those of `read`; the next call for this block calls it again.
  template <class Read>
  content get(key const& wanted, std::uint64_t bytes, Read read) {
    std::shared_ptr<block> const one = find(wanted, bytes);
    std::lock_guard const lock(one->reading);
    if (!one->made) one->made = std::make_shared<Content const>(read());
    return one->made;
  }

 private:
  struct block {
    std::mutex reading;
    content made;  // null: not read yet
  };
  struct entry {
    std::shared_ptr<block> one;
    std::uint64_t bytes = 0;
    typename std::list<key>::iterator used;
  };

  std::shared_ptr<block> find(key const& wanted, std::uint64_t bytes) {
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

  std::uint64_t max_bytes_;
  std::mutex mutex_;  // of the members below
  std::uint64_t bytes_ = 0;
  std::map<key, entry> entries_;
  std::list<key> order_;  // the newest use first
};

}  // namespace cohort::detail
