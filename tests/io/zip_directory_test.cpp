// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/crc32.hpp>
#include <cohort/io/detail/mapped_file.hpp>
#include <cohort/io/detail/zip_directory.hpp>
#include <cohort/io/detail/zip_writer.hpp>
#include <cohort/io/file.hpp>
#include <cohort/io/file_writer.hpp>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "../checkpoint/refusals.hpp"
#include "../checkpoint/scratch_folder.hpp"

namespace zip_directory_test {

using namespace cohort;
using namespace cohort::detail;

std::string number(std::uint64_t value, int bytes) {
  std::string made;
  for (int i = 0; i < bytes; ++i) made += static_cast<char>(value >> (8 * i));
  return made;
}
constexpr std::uint64_t full = 0xffffffff;

/// An archive with one stored entry "a" that contains "hello", with 64-bit fields if `wide`.
std::string archive(bool wide, std::string const& comment = {}) {
  std::string const content = "hello";
  std::uint32_t const crc = 0x3610a686;
  auto const sizes = [&](bool hidden) {
    return number(crc, 4) + number(hidden ? full : content.size(), 4)
           + number(hidden ? full : content.size(), 4);
  };
  std::string const local = number(0x04034b50, 4) + number(20, 2) + number(0, 8) + sizes(false) + number(1, 2)
                            + number(0, 2) + 'a' + content;
  std::string const extra = wide ? number(0x7777, 2) + number(1, 2) + 'x' + number(1, 2) + number(24, 2)
                                       + number(content.size(), 8) + number(content.size(), 8) + number(0, 8)
                                 : "";
  std::string const directory = number(0x02014b50, 4) + number(20, 2) + number(20, 2) + number(0, 8)
                                + sizes(wide) + number(1, 2) + number(extra.size(), 2) + number(0, 2)
                                + number(0, 8) + number(wide ? full : 0, 4) + 'a' + extra;
  std::string made = local + directory;
  if (wide)
    made += number(0x06064b50, 4) + number(44, 8) + number(45, 2) + number(45, 2) + number(0, 8)
            + number(1, 8) + number(1, 8) + number(directory.size(), 8) + number(local.size(), 8)
            + number(0x07064b50, 4) + number(0, 4) + number(local.size() + directory.size(), 8)
            + number(1, 4);
  return made + number(0x06054b50, 4) + number(0, 4) + number(1, 2) + number(1, 2)
         + number(directory.size(), 4) + number(wide ? full : local.size(), 4) + number(comment.size(), 2)
         + comment;
}
zip_directory read(std::string const& bytes) {
  return {std::as_bytes(std::span(bytes)), "zip archive", "a.zip"};
}
std::string refused(std::string const& bytes) {
  return refusal_of<data_error>([&] { read(bytes); });
}

TEST(zip_directory, finds_entries_with_and_without_zip64) {
  for (bool const wide : {false, true})
    for (char const* const comment : {"", "a comment"}) {
      std::string const bytes = archive(wide, comment);
      zip_directory const made = read(bytes);
      ASSERT_EQ(made.entries().size(), 1U);
      zip_entry const* const one = made.find("a");
      ASSERT_NE(one, nullptr);
      EXPECT_EQ(made.find("b"), nullptr);
      EXPECT_EQ(one->size, 5U);
      std::span<std::byte const> const data = made.packed(*one);
      EXPECT_EQ(std::string(reinterpret_cast<char const*>(data.data()), data.size()), "hello");
      made.expect_crc(*one, io::crc32(data));
      EXPECT_EQ(refusal_of<data_error>([&] { made.expect_crc(*one, 1); }),
                "cannot read the zip archive: the entry \"a\" is damaged (a.zip, byte 0): expected CRC-32 "
                "907060870, got "
                "CRC-32 1");
    }
}

TEST(zip_directory, refuses_an_archive_truncated_anywhere) {
  for (bool const wide : {false, true}) {
    std::string const whole = archive(wide);
    for (std::size_t n = 0; n < whole.size(); ++n)
      EXPECT_EQ(refused(whole.substr(0, n)),
                "cannot read the zip archive: it has no end record: it is truncated or not a zip archive "
                "(a.zip, byte "
                    + std::to_string(n)
                    + "): expected an end record, got none; copy or write the file again");
  }
}

TEST(zip_directory, refuses_or_reads_an_archive_with_any_changed_byte) {
  for (bool const wide : {false, true}) {
    std::string const whole = archive(wide);
    for (std::size_t at = 0; at < whole.size(); ++at)
      for (int const flip : {1, 0x10, 0x80, 0xff}) {
        std::string bytes = whole;
        bytes[at] = static_cast<char>(bytes[at] ^ flip);
        std::string const text = refused(bytes);
        if (text.empty()) {
          for (zip_directory const made = read(bytes); zip_entry const& one : made.entries())
            EXPECT_LE(made.packed(one).size(), whole.size());
        } else {
          EXPECT_NE(text.find("(a.zip, byte "), std::string::npos) << text;
        }
      }
  }
}

TEST(zip_directory, reads_what_zip_writer_writes) {
  scratch_folder const folder;
  for (int const count : {0, 3, 70'000}) {  // 70,000 entries need 64-bit fields
    {
      io::file_writer file(folder / "a.zip");
      zip_writer archive(file);
      for (int i = 0; i < count; ++i) {
        std::string const content(static_cast<std::size_t>(i % 5), 'x');
        archive.begin({.name = std::to_string(i),
                       .crc = io::crc32(std::as_bytes(std::span(content))),
                       .packed = content.size(),
                       .size = content.size()});
        file.write(content);
      }
      archive.finish();
      file.commit();
    }
    std::vector<std::byte> const bytes = io::read_file(folder / "a.zip");
    zip_directory const directory(bytes, "zip archive", "a.zip");
    ASSERT_EQ(directory.entries().size(), static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      zip_entry const& entry = directory.entries()[static_cast<std::size_t>(i)];
      EXPECT_EQ(entry.name, std::to_string(i));
      EXPECT_EQ(entry.size, static_cast<std::uint64_t>(i % 5));
      directory.expect_crc(entry, io::crc32(directory.packed(entry)));
    }
  }
}

TEST(zip_directory, zip_writer_sets_the_utf_8_flag_for_utf_8_names) {
  scratch_folder const folder;
  for (std::string const name : {"\xc3\xa4", "\xe4"}) {
    {
      io::file_writer file(folder / "a.zip");
      zip_writer archive(file);
      archive.begin({.name = name});
      archive.finish();
      file.commit();
    }
    std::string const bytes = io::read_text(folder / "a.zip");
    bool const is_utf8 = (bytes.at(7) & 8) != 0;  // bit 11 of the flags
    EXPECT_EQ(is_utf8, name.size() == 2) << name.size();
  }
}

TEST(zip_directory, finds_data_beyond_4_gib) {
  scratch_folder const folder;
  constexpr std::uint64_t large = std::uint64_t{5} << 30;
  std::string const path = folder / "a.zip";
  {
    io::file_writer file(path);
    zip_writer archive(file);
    archive.begin({.name = "large", .packed = large, .size = large});  // its data is a hole, see below
    archive.begin({.name = "small", .packed = 5, .size = 5});
    file.write("hello");
    archive.finish();
    file.commit();
  }
  std::string const written = io::read_text(path);
  std::size_t const begin = written.find("PK", 2);
  ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(begin)), 0);
  std::FILE* const file = std::fopen(path.c_str(), "r+b");
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(::fseeko(file, static_cast<off_t>(begin + large), SEEK_SET), 0);
  EXPECT_EQ(std::fwrite(written.data() + begin, 1, written.size() - begin, file), written.size() - begin);
  ASSERT_EQ(std::fclose(file), 0);
  mapped_file const mapped(path);
  zip_directory const directory(mapped.bytes(), "zip archive", "a.zip");
  ASSERT_EQ(directory.entries().size(), 2U);
  EXPECT_EQ(directory.entries()[0].size, large);
  std::span<std::byte const> const small = directory.packed(directory.entries()[1]);
  EXPECT_EQ(std::string(reinterpret_cast<char const*>(small.data()), small.size()), "hello");
}

TEST(zip_directory, refuses_a_zip64_record_outside_the_archive) {
  std::string bytes = archive(true);
  std::size_t const locator = bytes.size() - 22 - 20;
  bytes.replace(locator + 8, 8, number(std::uint64_t{1} << 60, 8));
  EXPECT_EQ(refused(bytes), "cannot read the zip archive: its central directory is damaged (a.zip, byte "
                                + std::to_string(locator)
                                + "): expected the byte of a zip64 record, got 1152921504606846976");
}

}  // namespace zip_directory_test
