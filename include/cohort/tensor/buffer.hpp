// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>

namespace cohort {

/// Memory of a fixed size on a 64-byte boundary, zero at first.
class buffer {
 public:
  static constexpr std::size_t alignment = 64;

  buffer() = default;
  explicit buffer(std::size_t bytes)
      : data_(bytes ? static_cast<std::byte*>(::operator new (bytes, std::align_val_t{alignment})) : nullptr),
        bytes_(bytes) {
    if (bytes) std::memset(data_.get(), 0, bytes);
  }

  std::byte* data() const { return data_.get(); }
  std::size_t bytes() const { return bytes_; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data_.get());
  }

 private:
  struct release {
    void operator()(std::byte* memory) const { ::operator delete (memory, std::align_val_t{alignment}); }
  };
  std::unique_ptr<std::byte, release> data_;
  std::size_t bytes_ = 0;
};

/// Memory on a 64-byte boundary that is used again and again: it keeps what it has when it shrinks, and loses its
/// contents when it must grow.
class reusable_buffer {
 public:
  void resize(std::size_t bytes) {
    if (bytes > memory_.bytes()) memory_ = buffer(bytes);
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
