// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/error/exceptions.hpp>
#include <cohort/io/byte_sink.hpp>
#include <cstddef>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace byte_sink_test {

using cohort::io::byte_sink;
using cohort::io::byte_sink_ref;

/// Stores the written bytes; fails from byte `most` on.
struct limited_sink {
  std::size_t most = 1000;
  std::string stored{};
  void write(char const* data, std::ptrdiff_t bytes) {
    if (stored.size() + static_cast<std::size_t>(bytes) > most) throw std::runtime_error("full");
    stored.append(data, static_cast<std::size_t>(bytes));
  }
};

static_assert(byte_sink<limited_sink> && byte_sink<std::ostringstream>);
static_assert(!byte_sink<std::string> && !byte_sink<std::vector<char>>);

TEST(byte_sink, writes_to_streams_and_user_defined_sinks) {
  std::ostringstream stream;
  limited_sink own;
  for (byte_sink_ref const sink : {byte_sink_ref(stream), byte_sink_ref(own)}) {
    sink.write("abc", 3);
    sink.write("", 0);
    sink.write("defg", 2);
  }
  EXPECT_EQ(stream.str(), "abcde");
  EXPECT_EQ(own.stored, "abcde");
}

TEST(byte_sink, reports_a_failed_stream_and_propagates_exceptions) {
  std::ostringstream stream;
  stream.setstate(std::ios::badbit);
  EXPECT_THROW(byte_sink_ref(stream).write("a", 1), cohort::file_error);
  limited_sink own{.most = 2};
  EXPECT_THROW(byte_sink_ref(own).write("abc", 3), std::runtime_error);
}

}  // namespace byte_sink_test
