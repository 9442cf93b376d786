// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/tensor/detail/huge_pages.hpp>
#include <cohort/tensor/memory_space.hpp>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <utility>

namespace cohort {

/// Memory of a fixed size on a 64-byte boundary, zero at first: the processor's, or of a space, where only that space's owner
/// knows how to read it. The processor's lies on huge pages where it is large and the system has them.
class buffer {
 public:
  static constexpr std::size_t alignment = 64;

  buffer() = default;
  explicit buffer(std::size_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    bool const large = bytes >= detail::huge_page::least;
    std::align_val_t const boundary{large ? detail::huge_page::bytes : alignment};
    data_ = {static_cast<std::byte*>(::operator new(bytes, boundary)), release{{}, boundary}};
    if (large) detail::ask_for_huge_pages(data_.get(), bytes);
    std::memset(data_.get(), 0, bytes);
  }
  /// A null space is the processor's memory.
  buffer(std::size_t bytes, std::shared_ptr<memory_space> const& where) {
    if (!where) {
      *this = buffer(bytes);
    } else if (bytes) {
      data_ = {where->take(bytes), release{where, {}}};
      bytes_ = bytes;
    }
  }

  buffer(buffer&&) = default;
  buffer& operator=(buffer&&) = default;
  [[gnu::noinline]] ~buffer() {}  // in one place: programs that hold many stay small

  std::byte* data() const { return data_.get(); }
  std::size_t bytes() const { return bytes_; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data_.get());
  }

 private:
  struct release {
    std::shared_ptr<memory_space> where;
    std::align_val_t boundary;
    void operator()(std::byte* memory) const {
      where ? where->give_back(memory) : ::operator delete(memory, boundary);
    }
  };
  std::unique_ptr<std::byte, release> data_;
  std::size_t bytes_ = 0;
};

/// Memory on a 64-byte boundary that is used again and again: it keeps what it has when it shrinks, and loses its
/// contents when it must grow: what it had is given back first. Where there is no more, it has as many bytes as before.
class reusable_buffer {
 public:
  void resize(std::size_t bytes, std::shared_ptr<memory_space> const& where = nullptr) {
    std::size_t const before = memory_.bytes();
    if (bytes <= before) return;
    memory_ = {};
    try {
      memory_ = buffer(bytes, where);
    } catch (...) {
      if (before > 0) memory_ = buffer(before, where);
      throw;
    }
  }
  std::byte* data() const { return memory_.data(); }
  std::size_t capacity() const { return memory_.bytes(); }

 private:
  buffer memory_;
};

/// The next multiple of the alignment.
constexpr std::size_t round_to_alignment(std::size_t bytes) {
  return (bytes + buffer::alignment - 1) / buffer::alignment * buffer::alignment;
}

namespace detail {

inline buffer copy_of(std::span<std::byte const> from) {
  buffer made(from.size());
  if (!from.empty()) std::memcpy(made.data(), from.data(), from.size());
  return made;
}

}  // namespace detail

}  // namespace cohort
