// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cohort/error/exceptions.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/io/file_writer.hpp>
#include <string>
#include <vector>

#include "../checkpoint/refusals.hpp"
#include "../checkpoint/scratch_folder.hpp"
#include "../checkpoint/small_disk.hpp"

namespace file_writer_test {

using cohort::io::file_writer;
using cohort::io::read_text;
using names = std::vector<std::string>;

mode_t mode_of(std::string const& path) {
  struct stat facts {};
  ::stat(path.c_str(), &facts);
  return facts.st_mode & 07777;
}

TEST(file_writer, publishes_nothing_before_commit_and_everything_after) {
  scratch_folder folder;
  cohort::io::write_file(folder / "model", "old");
  file_writer file(folder / "model");
  file.write("new ");
  file.write("content");
  EXPECT_EQ(read_text(folder / "model"), "old");
  file.commit();
  EXPECT_EQ(read_text(folder / "model"), "new content");
  EXPECT_EQ(folder.names(), names{"model"});
}

TEST(file_writer, keeps_only_the_old_file_without_a_commit) {
  scratch_folder folder;
  cohort::io::write_file(folder / "model", "old");
  {
    file_writer file(folder / "model");
    file.write("half");
    EXPECT_EQ(folder.names().size(), 2u);
  }
  EXPECT_EQ(read_text(folder / "model"), "old");
  EXPECT_EQ(folder.names(), names{"model"});
}

TEST(file_writer, keeps_the_old_file_if_the_disk_is_full) {
  scratch_folder folder;
  cohort::io::write_file(folder / "model", "old");
  std::string const large(100'000, 'x');
  std::string why;
  {
    small_disk disk(4096);
    why = refusal_of<cohort::file_error>([&] { cohort::io::write_file(folder / "model", large); });
  }
  EXPECT_EQ(why, "cannot write the file (" + (folder / "model") + "): File too large");
  EXPECT_EQ(read_text(folder / "model"), "old");
  EXPECT_EQ(folder.names(), names{"model"});
  cohort::io::write_file(folder / "model", large);
  EXPECT_EQ(read_text(folder / "model"), large);
}

TEST(file_writer, refuses_calls_after_a_failure_or_a_commit) {
  scratch_folder folder;
  file_writer failed(folder / "failed");
  {
    small_disk disk(10);
    EXPECT_THROW(failed.write(std::string(100, 'x')), cohort::file_error);
  }
  EXPECT_THROW(failed.write("more"), cohort::file_error);
  EXPECT_THROW(failed.commit(), cohort::file_error);
  file_writer done(folder / "done");
  done.commit();
  EXPECT_THROW(done.commit(), cohort::file_error);
  EXPECT_EQ(folder.names(), names{"done"});
}

TEST(file_writer, reports_a_target_that_cannot_be_created) {
  scratch_folder folder;
  EXPECT_EQ(refusal_of<cohort::file_error>([&] { file_writer file(folder / "no/such/model"); }),
            "cannot create the file (" + (folder / "no/such/model") + "): No such file or directory");
  EXPECT_NE(refusal_of<cohort::file_error>([&] { file_writer file(folder / "."); }).find("got a directory"),
            std::string::npos);
}

TEST(file_writer, does_not_replace_a_pipe) {
  scratch_folder folder;
  std::string const pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_NE(refusal_of<cohort::file_error>([&] { cohort::io::write_file(pipe, "x"); }).find("got a device"),
            std::string::npos);
  struct stat facts {};
  ASSERT_EQ(::stat(pipe.c_str(), &facts), 0);
  EXPECT_TRUE(S_ISFIFO(facts.st_mode));
}

TEST(file_writer, keeps_permissions_and_follows_links) {
  scratch_folder folder;
  cohort::io::write_file(folder / "model", "old");
  ::chmod((folder / "model").c_str(), 0600);
  ASSERT_EQ(::symlink("model", (folder / "latest").c_str()), 0);
  cohort::io::write_file(folder / "latest", "new");
  EXPECT_EQ(read_text(folder / "model"), "new");
  EXPECT_EQ(mode_of(folder / "model"), 0600u);
  EXPECT_EQ(folder.names(), (names{"latest", "model"}));
}

TEST(file_writer, allows_two_concurrent_writers_of_one_name) {
  scratch_folder folder;
  file_writer first(folder / "model"), second(folder / "model");
  first.write("first");
  second.write("second");
  second.commit();
  first.commit();
  EXPECT_EQ(read_text(folder / "model"), "first");
  EXPECT_EQ(folder.names(), names{"model"});
}

}  // namespace file_writer_test
