// SPDX-License-Identifier: Apache-2.0
// covers: io/inflater
#include <cohort/data/idx.hpp>
#include <cohort/data/read_table.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/inflater.hpp>
#include <cohort/zlib.hpp>

#include "../../data/refused.hpp"
#include "packed.hpp"

namespace zlib_test {

using bytes = std::vector<std::byte>;

std::string refusal_of(bytes const& file, std::size_t max_bytes = 1 << 20) {
  return refused<cohort::data_error>([&] { cohort::gzip::decompress(file, "x.gz", max_bytes); });
}

bytes some_bytes(std::size_t n) {
  bytes result(n);
  unsigned state = 1;
  for (std::byte& b : result) b = static_cast<std::byte>((state = state * 1664525 + 1013904223) >> 28);
  return result;
}

TEST(gzip, round_trips_data_of_any_size) {
  for (std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{65536}, std::size_t{1'000'000}})
    EXPECT_EQ(cohort::gzip::decompress(packed(some_bytes(n)), "x.gz"), some_bytes(n));
}

TEST(gzip, decompresses_concatenated_members) {
  bytes two = packed(some_bytes(10));
  bytes const second = packed(some_bytes(20));
  two.insert(two.end(), second.begin(), second.end());
  EXPECT_EQ(cohort::gzip::decompress(two, "x.gz").size(), 30u);
}

TEST(gzip, refuses_a_file_truncated_anywhere) {
  bytes const whole = packed(some_bytes(300));
  for (std::size_t n = 0; n < whole.size(); ++n)
    expect_parts(refusal_of(bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n))),
                 {"x.gz", "truncated"});
}

TEST(gzip, detects_changes_of_data_or_checksums) {
  bytes const whole = packed(some_bytes(300));
  std::size_t refusals = 0;
  for (std::size_t n = 10; n < whole.size(); ++n) {
    bytes changed = whole;
    changed[n] ^= std::byte{0x10};
    try {
      EXPECT_EQ(cohort::gzip::decompress(changed, "x.gz"), some_bytes(300));  // a code that no symbol uses
    } catch (cohort::data_error const& refusal) {
      expect_parts(refusal.what(), {"x.gz, byte"});
      ++refusals;
    }
  }
  EXPECT_GE(refusals, whole.size() - 10 - 3);
}

TEST(gzip, refuses_unknown_formats_and_trailing_data) {
  expect_parts(refusal_of(some_bytes(100)), {"damaged", "header"});
  bytes longer = packed(some_bytes(100));
  longer.resize(longer.size() + 20, std::byte{7});
  expect_parts(refusal_of(longer), {"damaged"});
}

TEST(gzip, refuses_results_above_the_limit) {
  bytes const bomb = packed(bytes(5'000'000));
  EXPECT_LT(bomb.size(), 6000u);
  expect_parts(refusal_of(bomb, 4'999'999), {"too large", "at most 4999999 bytes"});
  EXPECT_EQ(cohort::gzip::decompress(bomb, "x.gz", 5'000'000).size(), 5'000'000u);
}

TEST(gzip, reads_files) {
  std::string const path = fresh_path("some.gz");
  write_file(path, packed(some_bytes(1000)));
  EXPECT_EQ(cohort::gzip::read_file(path), some_bytes(1000));
  expect_parts(refused<cohort::file_error>([&] { cohort::gzip::read_file(path + "x"); }), {"No such file"});
}

TEST(gzip, reads_compressed_tables_and_arrays) {
  auto const compressed = [](std::string const& name, std::string const& text) {
    std::string path = fresh_path(name);
    auto const* const first = reinterpret_cast<std::byte const*>(text.data());
    write_file(path, packed(bytes(first, first + text.size())));
    return path;
  };
  cohort::data_table const table =
      cohort::read_table(compressed("t.tsv.gz", "a\tb\n1\tx\n"), {}, cohort::gzip::read_file);
  EXPECT_EQ(table.numbers("a")[0], 1);
  bytes const idx = idx_bytes({3, 2});
  std::string const path = fresh_path("i.gz");
  write_file(path, packed(idx));
  cohort::idx_array const read = cohort::read_idx(path, 2, cohort::gzip::read_file);
  EXPECT_EQ(read.view().dims, cohort::shape(3, 2));
  expect_parts(refused<cohort::data_error>([&] { cohort::read_table(path); }), {"gzip::read_file"});
}

/// The bytes in zlib's format.
bytes zlib_packed(bytes const& plain) {
  uLongf size = compressBound(plain.size());
  bytes made(size);
  EXPECT_EQ(compress(reinterpret_cast<Bytef*>(made.data()), &size,
                     reinterpret_cast<Bytef const*>(plain.data()), plain.size()),
            Z_OK);
  made.resize(size);
  return made;
}

TEST(inflate, decompresses_zlib_and_gzip) {
  cohort::io::inflater const inflate = cohort::gzip::inflate;
  for (std::size_t const n : {std::size_t{0}, std::size_t{1}, std::size_t{100'000}})
    for (bytes const& stream : {packed(some_bytes(n)), zlib_packed(some_bytes(n))}) {
      bytes made(n);
      EXPECT_EQ(inflate(stream, made, n, [] { return "x"; }), n);
      EXPECT_EQ(made, some_bytes(n));
      bytes begin(n / 2);  // only a part of the result
      EXPECT_EQ(inflate(stream, begin, n, [] { return "x"; }), n);
      EXPECT_TRUE(std::equal(begin.begin(), begin.end(), made.begin()));
      EXPECT_EQ(inflate(stream, {}, n + 1, [] { return "x"; }), n);
    }
}

TEST(inflate, refuses_damaged_and_concatenated_streams) {
  auto const says = [](bytes const& stream, std::uint64_t most = 1000) {
    bytes made(100);
    return refused<cohort::data_error>(
        [&] { cohort::gzip::inflate(stream, made, most, [] { return "file, record 7"; }); });
  };
  for (bytes const& whole : {packed(some_bytes(100)), zlib_packed(some_bytes(100))}) {
    for (std::size_t n = 0; n < whole.size(); ++n)
      expect_parts(says({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n)}),
                   {"cannot decompress: the stream is truncated (file, record 7)"});
    bytes longer = whole;
    longer.push_back({});
    expect_parts(says(longer), {"other bytes follow the stream", "file, record 7"});
    bytes changed = whole;
    changed[changed.size() - 1] ^= std::byte{1};
    expect_parts(says(changed), {"the stream is damaged"});
    expect_parts(says(whole, 99), {"the result is too large", "at most 99 bytes"});
  }
  expect_parts(says(some_bytes(100)), {"the stream is damaged"});
  expect_parts(says(packed(bytes(50'000'000)), 1'000'000), {"the result is too large"});
}

}  // namespace zlib_test
