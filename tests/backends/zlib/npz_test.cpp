// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/error/exceptions.hpp>
#include <cohort/npz.hpp>

#include <cohort/io/file.hpp>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "../../checkpoint/refusals.hpp"
#include "../../checkpoint/scratch_folder.hpp"

namespace npz_test {

using namespace cohort;
using bytes = std::vector<std::byte>;

struct arrays {
  std::vector<float> floats;
  std::vector<std::int64_t> integers;
  std::vector<stored_tensor> tensors;
  arrays() : floats(600), integers{-1, 2, 1LL << 40} {
    for (std::size_t i = 0; i < floats.size(); ++i) floats[i] = static_cast<float>(i % 7);
    tensors = {{"a/weights", tensor_view(floats.data(), {20, 30})},
               {"count", tensor_view(integers.data(), {3})},
               {"none", tensor_view(floats.data(), {0})}};
  }
};

bytes written(npz_compression how) {
  scratch_folder folder;
  save_npz(folder / "x.npz", arrays().tensors, how);
  return io::read_file(folder / "x.npz");
}
npz_file parse(bytes const& file, std::size_t max_bytes = std::size_t{1} << 20) {
  return npz_file::parse(file, "x.npz", max_bytes);
}
std::string refused(bytes const& file, std::size_t max_bytes = std::size_t{1} << 20) {
  return refusal_of<data_error>([&] { parse(file, max_bytes); });
}
void expect_arrays(npz_file const& file) {
  arrays const wanted;
  ASSERT_EQ(file.tensors().size(), wanted.tensors.size());
  for (std::size_t i = 0; i < wanted.tensors.size(); ++i) {
    EXPECT_EQ(file.tensors()[i].name, wanted.tensors[i].name);
    EXPECT_EQ(file.tensors()[i].view.dims, wanted.tensors[i].view.dims);
    EXPECT_EQ(file.tensors()[i].view.type, wanted.tensors[i].view.type);
    auto const bytes_of = [](tensor_view const& view) {
      return std::string_view(reinterpret_cast<char const*>(view.data), view.bytes());
    };
    EXPECT_EQ(bytes_of(file.tensors()[i].view), bytes_of(wanted.tensors[i].view));
  }
}

/// Position of the n-th record with this signature, from 0.
std::size_t find(bytes const& file, std::uint32_t signature, int n = 0) {
  for (std::size_t at = 0; at + 4 <= file.size(); ++at)
    if (std::memcmp(file.data() + at, &signature, 4) == 0 && n-- == 0) return at;
  ADD_FAILURE() << "no record";
  return 0;
}
constexpr std::uint32_t local = 0x04034b50, central = 0x02014b50, end = 0x06054b50;
bytes changed(bytes file, std::size_t at, std::uint32_t value, std::size_t width) {
  std::memcpy(file.data() + at, &value, width);
  return file;
}

TEST(npz, round_trips_arrays) {
  bytes const stored = written(npz_compression::none), deflated = written(npz_compression::deflate);
  expect_arrays(parse(stored));
  expect_arrays(parse(deflated));
  EXPECT_LT(deflated.size(), stored.size() / 2);
  EXPECT_EQ(written(npz_compression::deflate), deflated);
}

TEST(npz, loads_files_and_empty_archives) {
  scratch_folder folder;
  save_npz(folder / "x.npz", arrays().tensors);
  npz_file const file = npz_file::load(folder / "x.npz");
  EXPECT_EQ(file.name(), folder / "x.npz");
  expect_arrays(file);
  save_npz(folder / "empty.npz", {});
  npz_file const empty = npz_file::load(folder / "empty.npz");
  EXPECT_TRUE(empty.tensors().empty());
  EXPECT_NE(refusal_of<file_error>([&] { npz_file::load(folder / "none.npz"); }), "");
}

TEST(npz, skips_the_comment_at_the_end) {
  bytes file = written(npz_compression::none);
  file = changed(file, file.size() - 2, 3, 2);
  for (char const c : {'a', 'b', 'c'}) file.push_back(static_cast<std::byte>(c));
  expect_arrays(parse(file));
}

TEST(npz, refuses_a_file_truncated_anywhere) {
  for (auto const how : {npz_compression::none, npz_compression::deflate}) {
    bytes const whole = written(how);
    for (std::size_t n = 0; n < whole.size(); ++n)
      EXPECT_EQ(refused(bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n))),
                "cannot read the .npz file: it has no end record: it is truncated or not a zip archive "
                "(x.npz, byte "
                    + std::to_string(n)
                    + "): expected an end record, got none; copy or write the file again");
  }
}

TEST(npz, detects_every_changed_byte_of_data) {
  for (auto const how : {npz_compression::none, npz_compression::deflate}) {
    bytes const whole = written(how);
    std::size_t const first = find(whole, local) + 30 + 13, last = find(whole, local, 1);
    std::size_t unused = 0;  // codes that no symbol uses
    for (std::size_t at = first; at < last; ++at) {
      bytes const file = changed(whole, at, std::to_integer<std::uint32_t>(whole[at]) ^ 0x10, 1);
      std::string const text = refused(file);
      if (text.empty()) {
        expect_arrays(parse(file));
        ++unused;
      } else {
        EXPECT_EQ(text.rfind("cannot read the .npz file: the entry \"a/weights.npy\" is damaged (x.npz, byte "
                             "0): expected ",
                             0),
                  0U)
            << at << ": " << text;
      }
    }
    EXPECT_LE(unused, how == npz_compression::none ? 0U : 3U);
  }
}

TEST(npz, refuses_or_ignores_changed_bytes_outside_the_data) {
  bytes const whole = written(npz_compression::deflate);
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (std::uint32_t const bit : {1U, 0x10U, 0x80U}) {
      bytes const file = changed(whole, at, std::to_integer<std::uint32_t>(whole[at]) ^ bit, 1);
      if (std::string const text = refused(file); text.empty()) {
        npz_file const read = parse(file);
        EXPECT_EQ(read.tensors().size(), 3U);  // the change is in a time, a version or a name
      }
    }
}

std::string const weights_entry = "cannot read the .npz file: the entry \"a/weights.npy\" ";

TEST(npz, refuses_entries_with_false_sizes) {
  bytes const whole = written(npz_compression::deflate);
  std::size_t const entry = find(whole, central);
  std::string const at = " (x.npz, byte 0): expected ";
  std::uint32_t packed = 0;
  std::memcpy(&packed, whole.data() + entry + 20, 4);
  std::string const from = " from " + std::to_string(packed);
  EXPECT_EQ(refused(changed(whole, entry + 24, 0xfffffff0, 4)),
            weights_entry + "has a size that deflate cannot produce" + at + "at most "
                + std::to_string(packed * 1032) + " bytes" + from + ", got 4294967280");
  EXPECT_EQ(refused(whole, 2600),
            "cannot read the .npz file: the entry \"count.npy\" is too large (x.npz, byte "
                + std::to_string(find(whole, local, 1))
                + "): expected at most 2600 bytes of all arrays, or another max_bytes, got 2680");
  expect_arrays(parse(whole, 2808));
  EXPECT_EQ(refused(changed(whole, entry + 24, 2529, 4)),
            weights_entry + "is damaged" + at + "2529 bytes by deflate" + from + ", got 2528" + from);
  EXPECT_EQ(refused(changed(whole, entry + 24, 2527, 4)),
            weights_entry + "is damaged" + at + "2527 bytes by deflate" + from + ", got 2528" + from);
  EXPECT_EQ(refused(changed(whole, entry + 24, 100, 4)),
            weights_entry + "is damaged" + at + "100 bytes by deflate" + from + ", got more");
  EXPECT_EQ(refused(changed(whole, entry + 20, 0x7fffffff, 4)),
            weights_entry + "ends after the end of the archive" + at + "at most " + std::to_string(entry - 43)
                + " bytes, got 2147483647");
  bytes const stored = written(npz_compression::none);
  EXPECT_EQ(
      refused(changed(stored, find(stored, central) + 24, 5, 4)),
      weights_entry + "is stored with different compressed and uncompressed sizes" + at + "2528, got 5");
}

TEST(npz, refuses_entries_that_overlap) {
  bytes const whole = written(npz_compression::deflate);
  EXPECT_EQ(refused(changed(whole, find(whole, central, 1) + 42, 0, 4)),
            "cannot read the .npz file: two entries overlap (x.npz, byte 0): expected separate entries, got "
            "common bytes; write the archive again");
}

TEST(npz, refuses_archives_that_numpy_does_not_write) {
  bytes const whole = written(npz_compression::none);
  std::size_t const entry = find(whole, central), last = find(whole, end);
  EXPECT_EQ(refused(changed(whole, entry + 8, 1, 2)), weights_entry
                + "is encrypted (x.npz, byte 0): expected no encryption, got a password; write the archive without it");
  EXPECT_EQ(
      refused(changed(whole, entry + 10, 12, 2)),
      weights_entry
          + "has an unknown compression (x.npz, byte 0): expected stored (0) or deflate (8), got method 12");
  EXPECT_EQ(refused(changed(whole, entry + 42, 0x7fffffff, 4)),
            weights_entry + "has no local header (x.npz, byte 2147483647): expected a header, got other bytes; copy or "
                            "write the file again");
  EXPECT_EQ(refused(changed(whole, entry + 46 + 9, 'x', 1)),
            "cannot read the .npz file: the entry \"a/weightsxnpy\" is not an array (x.npz, byte 0): "
            "expected a name that "
            "ends with .npy, got another name");
  EXPECT_EQ(refused(changed(whole, last + 4, 1, 2)),
            "cannot read the .npz file: it is a part of a split archive (x.npz, byte " + std::to_string(last)
                + "): expected an archive in one file");
  std::string const begin = "cannot read the .npz file: its central directory is damaged (x.npz, byte ";
  EXPECT_EQ(refused(changed(changed(whole, last + 8, 4, 2), last + 10, 4, 2)),
            begin + std::to_string(last) + "): expected entry 4 of 4, got no entry");
  EXPECT_EQ(refused(changed(changed(whole, last + 8, 2, 2), last + 10, 2, 2)),
            begin + std::to_string(find(whole, central, 2))
                + "): expected the end of the directory, got 54 more bytes");
  EXPECT_EQ(refused(changed(whole, last + 12, 5, 4)),
            begin + std::to_string(last) + "): expected a directory that ends here, got 5 bytes from byte "
                + std::to_string(entry));
  EXPECT_EQ(refused(changed(whole, entry + 28, 0xffff, 2)),
            begin + std::to_string(entry) + "): expected an entry of at most " + std::to_string(last - entry)
                + " bytes, got 65581");
}

TEST(npz, refuses_duplicate_names) {
  arrays from;
  from.tensors = {{"a", from.tensors[1].view}, {"b", from.tensors[1].view}};
  scratch_folder folder;
  save_npz(folder / "x.npz", from.tensors);
  bytes const whole = io::read_file(folder / "x.npz");
  EXPECT_EQ(refused(changed(whole, find(whole, central, 1) + 46, 'a', 1)),
            "cannot read the .npz file: the entry \"a.npy\" exists twice (x.npz, byte "
                + std::to_string(find(whole, local, 1))
                + "): expected different names, got equal names; write the archive again");
  from.tensors[1].name = "a";
  EXPECT_EQ(refusal_of<data_error>([&] { save_npz(folder / "y.npz", from.tensors); }),
            "cannot write the .npz file (" + (folder / "y.npz")
                + ", tensor \"a\"): expected unique names of 1 to 1000 bytes, got this name");
  float const half = 0;
  from.tensors = {{"h", tensor_view(reinterpret_cast<std::byte const*>(&half), element_type::bf16, {1})}};
  EXPECT_NE(refusal_of<data_error>([&] { save_npz(folder / "y.npz", from.tensors); }), "");
  from.tensors = {
      {"large", tensor_view(reinterpret_cast<std::byte const*>(&half), element_type::u8, {2147483647, 2})}};
  EXPECT_EQ(refusal_of<data_error>([&] { save_npz(folder / "y.npz", from.tensors); }),
            "cannot write the .npz file (" + (folder / "y.npz")
                + ", tensor \"large\"): expected less than 4 GiB and 65535 tensors; a safetensors file has no such "
                  "limit, got more");
}

TEST(npz, reports_the_entry_of_a_refused_array) {
  bytes whole = written(npz_compression::none);
  std::size_t const entry = find(whole, central);
  whole[43] = std::byte{'x'};  // the magic
  std::uint32_t const crc =
      static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<Bytef const*>(whole.data()) + 43, 2528));
  EXPECT_EQ(refused(changed(whole, entry + 16, crc, 4)),
            "cannot read the .npy file (x.npz, entry a/weights.npy, byte 0): expected the magic of NumPy, "
            "got \"xNUMPY\"");
}

}  // namespace npz_test
