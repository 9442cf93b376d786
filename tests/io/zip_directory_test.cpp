// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/detail/zip_directory.hpp>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "../checkpoint/refusals.hpp"

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
      made.expect_crc(*one, zip_crc32(data));
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
                    + std::to_string(n) + ')');
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

TEST(zip_directory, refuses_a_zip64_record_outside_the_archive) {
  std::string bytes = archive(true);
  std::size_t const locator = bytes.size() - 22 - 20;
  bytes.replace(locator + 8, 8, number(std::uint64_t{1} << 60, 8));
  EXPECT_EQ(refused(bytes), "cannot read the zip archive: its central directory is damaged (a.zip, byte "
                                + std::to_string(locator)
                                + "): expected the byte of a zip64 record, got 1152921504606846976");
}

}  // namespace zip_directory_test
