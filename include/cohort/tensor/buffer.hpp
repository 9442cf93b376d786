// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/tensor/detail/huge_pages.hpp>
#include <cohort/tensor/memory_space.hpp>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>

namespace cohort {

/// A zero-initialised memory block of fixed size, aligned to 64 bytes: host memory, or memory of a
/// memory_space. Memory of a memory_space is accessible only to the backend of the space. Large host
/// buffers use huge pages if available, unless they are made by of_small_pages.
class buffer {
 public:
  static constexpr std::size_t alignment = 64;

  buffer() = default;
  /// Allocates host memory; 0 bytes allocate nothing.
  explicit buffer(std::size_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    bool const large = bytes >= detail::huge_page::min_buffer_bytes;
    std::align_val_t const boundary{large ? detail::huge_page::bytes : alignment};
    data_ = {static_cast<std::byte*>(::operator new(bytes, boundary)), release{{}, boundary}};
    if (large) detail::request_huge_pages(data_.get(), bytes);
    std::memset(data_.get(), 0, bytes);
  }
  /// Allocates from `space`, or host memory if `space` is null.
  buffer(std::size_t bytes, std::shared_ptr<memory_space> const& space) {
    if (!space) {
      *this = buffer(bytes);
    } else if (bytes) {
      data_ = {space->allocate(bytes), release{space, {}}};
      bytes_ = bytes;
    }
  }

  /// Allocates host memory with small pages, parts of which detail::free_pages can free. A page that was
  /// never accessed needs no memory.
  static buffer of_small_pages(std::size_t bytes);

  buffer(buffer&&) = default;
  buffer& operator=(buffer&&) = default;
  [[gnu::noinline]] ~buffer() {}  // out of line, to reduce the code size of programs with many buffers

  std::byte* data() const { return data_.get(); }
  std::size_t bytes() const { return bytes_; }
  /// Returns the memory as elements of type T.
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data_.get());
  }

 private:
  struct release {
    std::shared_ptr<memory_space> space;  // null: host memory
    std::align_val_t boundary;            // alignment of host memory
    void operator()(std::byte* memory) const {
      space ? space->deallocate(memory) : ::operator delete(memory, boundary);
    }
  };
  std::unique_ptr<std::byte, release> data_;
  std::size_t bytes_ = 0;
};

/// A growable memory block aligned to 64 bytes.
class reusable_buffer {
 public:
  /// Ensures a capacity of at least `bytes`. If the capacity is large enough, capacity and contents are kept.
  ///
  /// After     if the capacity grew, the old block was freed first and the contents are lost.
  /// Errors    memory_error or std::bad_alloc if there is not enough memory; the capacity is then as before.
  void resize(std::size_t bytes, std::shared_ptr<memory_space> const& space = nullptr) {
    std::size_t const before = memory_.bytes();
    if (bytes <= before) return;
    memory_ = {};
    try {
      memory_ = buffer(bytes, space);
    } catch (...) {
      if (before > 0) memory_ = buffer(before, space);
      throw;
    }
  }
  std::byte* data() const { return memory_.data(); }
  std::size_t capacity() const { return memory_.bytes(); }

 private:
  buffer memory_;
};

/// Returns `bytes` rounded up to a multiple of buffer::alignment.
constexpr std::size_t round_to_alignment(std::size_t bytes) {
  return (bytes + buffer::alignment - 1) / buffer::alignment * buffer::alignment;
}

namespace detail {

inline buffer copy_of(std::span<std::byte const> from) {
  buffer copy(from.size());
  if (!from.empty()) std::memcpy(copy.data(), from.data(), from.size());
  return copy;
}

}  // namespace detail

}  // namespace cohort
