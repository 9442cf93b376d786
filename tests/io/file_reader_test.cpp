// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cohort/error/exceptions.hpp>
#include <cohort/io/file_reader.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "../checkpoint/refusals.hpp"
#include "../checkpoint/scratch_folder.hpp"

namespace file_reader_test {

using cohort::io::file_reader;
using cohort::io::read_text;

TEST(file_reader, reads_to_the_end) {
  scratch_folder folder;
  std::ofstream(folder / "a") << "0123456789";
  file_reader file(folder / "a");
  EXPECT_EQ(file.size(), 10u);
  char bytes[8];
  EXPECT_EQ(file.read(bytes, 8), 8u);
  EXPECT_EQ(std::string(bytes, 8), "01234567");
  EXPECT_EQ(file.read(bytes, 8), 2u);
  EXPECT_EQ(file.read(bytes, 8), 0u);
  EXPECT_EQ(read_text(folder / "a"), "0123456789");
}

TEST(read_at, reads_at_any_offset) {
  scratch_folder folder;
  std::ofstream(folder / "a") << "0123456789";
  cohort::detail::regular_file const file = cohort::detail::open_regular_file(folder / "a", "");
  char bytes[8]{};
  EXPECT_EQ(cohort::detail::read_at(file, folder / "a", 7, bytes, 8), 3U);
  EXPECT_EQ(std::string(bytes, 3), "789");
  EXPECT_EQ(cohort::detail::read_at(file, folder / "a", 2, bytes, 3), 3U);
  EXPECT_EQ(std::string(bytes, 3), "234");
  EXPECT_EQ(cohort::detail::read_at(file, folder / "a", 100, bytes, 1), 0U);
}

TEST(regular_file, closes_its_descriptor) {
  scratch_folder folder;
  std::ofstream(folder / "a") << "content";
  int first = -1;
  for (int repeated = 0; repeated < 3; ++repeated) {
    cohort::detail::regular_file const file = cohort::detail::open_regular_file(folder / "a", "");
    if (repeated > 0) {
      EXPECT_EQ(file.descriptor(), first);
    }
    first = file.descriptor();
  }
}

TEST(file_reader, reports_the_path_of_a_missing_file) {
  scratch_folder folder;
  EXPECT_EQ(refusal_of<cohort::file_error>([&] { file_reader file(folder / "none"); }),
            "cannot open the file (" + (folder / "none") + "): No such file or directory");
  EXPECT_EQ(refusal_of<cohort::file_error>([] { file_reader file("no/such_file"); }),
            "cannot open the file (no/such_file): No such file or directory; the current folder is "
                + std::filesystem::current_path().string());
}

TEST(file_reader, refuses_files_that_are_not_regular) {
  scratch_folder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(refusal_of<cohort::file_error>([&] { file_reader file(folder / "pipe"); }),
            "cannot read the file (" + (folder / "pipe")
                + "): expected a regular file, got a device, pipe or socket");
  EXPECT_EQ(refusal_of<cohort::file_error>([&] { file_reader file(folder / "."); }),
            "cannot read the file (" + (folder / ".") + "): expected a regular file, got a directory");
  EXPECT_NE(refusal_of<cohort::file_error>([] { file_reader file("/dev/zero"); }), "");
}

TEST(file_reader, refuses_to_read_past_the_end_of_the_file) {
  scratch_folder folder;
  std::ofstream(folder / "a") << "0123456789";
  char bytes[11];
  file_reader file(folder / "a");
  file.read_exactly(bytes, 4);
  EXPECT_EQ(
      refusal_of<cohort::file_error>([&] { file.read_exactly(bytes, 7); }),
      "the file became shorter while it was read (" + (folder / "a") + "): expected 7 bytes, got 6 bytes");
}

TEST(file_reader, refuses_a_text_longer_than_allowed) {
  scratch_folder folder;
  std::ofstream(folder / "a") << "0123456789";
  EXPECT_EQ(read_text(folder / "a", 10).size(), 10u);
  EXPECT_EQ(refusal_of<cohort::data_error>([&] { read_text(folder / "a", 9); }),
            "the file is too large (" + (folder / "a") + "): expected at most 9 bytes, got 10 bytes");
}

}  // namespace file_reader_test
