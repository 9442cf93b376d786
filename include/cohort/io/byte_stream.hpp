// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <concepts>
#include <cstddef>
#include <type_traits>

namespace cohort::io {

/// A type with std::istream's read(into, bytes) and gcount(), or with a read(into, bytes) that returns the
/// number of bytes read, such as file_reader. Either read delivers fewer than `bytes` bytes only at the
/// stream's end.
template <class Stream>
concept byte_stream = requires(Stream& stream, char* into, int bytes) {
  stream.read(into, bytes);
  stream.gcount();
}
|| requires(Stream& stream, char* into, std::size_t bytes) {
  { stream.read(into, bytes) } -> std::same_as<std::size_t>;
};

/// A type-erased reference to a byte stream.
///
/// Before    the stream outlives the reference.
class byte_stream_ref {
 public:
  template <byte_stream Stream>
  requires(!std::is_const_v<Stream> && !std::same_as<Stream, byte_stream_ref>) byte_stream_ref(Stream& stream)
      : stream_(&stream), read_(&read_from<Stream>) {}

  /// Reads bytes from the stream. Returns the number of bytes read, which is less than `bytes` only at the
  /// stream's end.
  ///
  /// Errors    exceptions of the stream's read are passed on.
  std::size_t read(void* into, std::size_t bytes) const { return read_(stream_, into, bytes); }

 private:
  template <class Stream>
  static std::size_t read_from(void* from, void* into, std::size_t bytes) {
    Stream& stream = *static_cast<Stream*>(from);
    if constexpr (requires { stream.gcount(); }) {
      stream.read(static_cast<char*>(into), static_cast<std::ptrdiff_t>(bytes));
      return static_cast<std::size_t>(stream.gcount());
    } else {
      return stream.read(static_cast<char*>(into), bytes);
    }
  }

  void* stream_;
  std::size_t (*read_)(void*, void*, std::size_t);
};

}  // namespace cohort::io
