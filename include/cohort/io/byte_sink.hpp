// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/error/exceptions.hpp>
#include <concepts>
#include <cstddef>

namespace cohort::io {

/// A type with write(data, bytes), such as std::ostream and file_writer.
template <class Sink>
concept byte_sink = requires(Sink& sink, char const* data, int bytes) {
  sink.write(data, bytes);
};

/// A type-erased reference to a byte sink.
///
/// Before    the sink outlives the reference.
class byte_sink_ref {
 public:
  template <byte_sink Sink>
  requires(!std::same_as<Sink, byte_sink_ref>) byte_sink_ref(Sink& sink)
      : sink_(&sink), write_(&write_to<Sink>) {}

  /// Writes bytes to the sink.
  ///
  /// Errors    file_error if the sink has a member fail(), as streams do, and fail() returns true. Exceptions
  ///           of the sink's write are passed on.
  void write(char const* data, std::size_t bytes) const { write_(sink_, data, bytes); }

 private:
  template <class Sink>
  static void write_to(void* to, char const* data, std::size_t bytes) {
    Sink& sink = *static_cast<Sink*>(to);
    if (bytes > 0) sink.write(data, static_cast<std::ptrdiff_t>(bytes));
    if constexpr (requires { sink.fail(); })
      if (sink.fail())
        throw file_error({.what = "cannot write to the stream",
                          .where = "byte sink",
                          .expected = "a stream that accepts all bytes",
                          .got = "a failed stream"});
  }

  void* sink_;
  void (*write_)(void*, char const*, std::size_t);
};

}  // namespace cohort::io
