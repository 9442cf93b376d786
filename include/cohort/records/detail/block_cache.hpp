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

/// LRU cache of blocks of files: decompressed bytes, or parsed rows. Several threads may call `get`. A block
/// that several threads request at once is read once.
template <class Content>
class block_cache {
 public:
  using key = std::pair<std::size_t, std::size_t>;  // indices of file and block
  using content = std::shared_ptr<Content const>;

  using size_function = std::uint64_t (*)(Content const&);

  /// Units     `max_bytes`: capacity of the cache; `bytes_of` returns the size of a content.
  block_cache(std::uint64_t max_bytes, size_function bytes_of) : max_bytes_(max_bytes), bytes_of_(bytes_of) {}

  /// Returns the content of a block. If the content is not cached, calls `read`.
  ///
  /// Errors    those of `read`; the next call for this block calls `read` again.
  template <class Read>
  content get(key const& wanted, Read read) {
    std::shared_ptr<block> const one = find(wanted);
    std::lock_guard const lock(one->reading);
    if (!one->made) {
      one->made = std::make_shared<Content const>(read());
      count(wanted, one, bytes_of_(*one->made));
    }
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

  std::shared_ptr<block> find(key const& wanted) {
    std::lock_guard const lock(mutex_);
    if (auto const found = entries_.find(wanted); found != entries_.end()) {
      order_.splice(order_.begin(), order_, found->second.used);
      return found->second.one;
    }
    constexpr std::uint64_t bytes_of_entry = 256;  // memory of an entry besides the content
    std::list<key> first{wanted};
    auto const made = std::make_shared<block>();
    entries_.emplace(wanted, entry{.one = made, .bytes = bytes_of_entry, .used = first.begin()});
    order_.splice(order_.begin(), first);
    bytes_ += bytes_of_entry;
    drop_oldest();
    return made;
  }

  /// Adds the size of a content that was read to the size of the cache.
  void count(key const& wanted, std::shared_ptr<block> const& one, std::uint64_t bytes) {
    std::lock_guard const lock(mutex_);
    auto const found = entries_.find(wanted);
    if (found == entries_.end() || found->second.one != one) return;  // the entry was dropped meanwhile
    found->second.bytes += bytes;
    bytes_ += bytes;
    drop_oldest();
  }

  void drop_oldest() {
    while (bytes_ > max_bytes_ && order_.size() > 1) {
      auto const oldest = entries_.find(order_.back());
      bytes_ -= oldest->second.bytes;
      entries_.erase(oldest);
      order_.pop_back();
    }
  }

  std::uint64_t max_bytes_;
  size_function bytes_of_;
  std::mutex mutex_;  // guards the members below
  std::uint64_t bytes_ = 0;
  std::map<key, entry> entries_;
  std::list<key> order_;  // the most recently used block is the first one
};

}  // namespace cohort::detail
