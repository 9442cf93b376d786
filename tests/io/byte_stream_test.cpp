// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/io/byte_stream.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/io/file_writer.hpp>
#include <cstddef>
#include <istream>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "../checkpoint/scratch_folder.hpp"

namespace byte_stream_test {

using namespace cohort;

/// Reads through a copy, as functions that receive the reference by value do.
std::string bytes_read(io::byte_stream_ref stream, std::size_t most) {
  std::string bytes(most, '?');
  bytes.resize(stream.read(bytes.data(), most));
  return bytes;
}

TEST(byte_stream, reads_a_standard_stream_to_its_end) {
  std::istringstream stream("abcdef");
  io::byte_stream_ref const reference(stream);
  EXPECT_EQ(bytes_read(reference, 4), "abcd");
  EXPECT_EQ(bytes_read(reference, 4), "ef");
  EXPECT_EQ(bytes_read(reference, 4), "");
}

TEST(byte_stream, reads_a_file_to_its_end) {
  scratch_folder const folder;
  std::string const path = folder / "bytes";
  io::write_file(path, "abcdef");
  io::file_reader file(path);
  EXPECT_EQ(bytes_read(file, 4), "abcd");
  EXPECT_EQ(bytes_read(file, 4), "ef");
  EXPECT_EQ(bytes_read(file, 4), "");
}

/// A stream whose read takes characters, and fails.
struct failing {
  std::size_t read(char*, std::size_t) { throw std::runtime_error("the disk has failed"); }
};

TEST(byte_stream, propagates_exceptions) {
  failing stream;
  EXPECT_THROW(bytes_read(stream, 1), std::runtime_error);
}

static_assert(
    io::byte_stream<std::istream> && io::byte_stream<io::file_reader> && !io::byte_stream<std::ostream>);

static_assert(!std::is_constructible_v<io::byte_stream_ref, io::file_reader const&>);

}  // namespace byte_stream_test
