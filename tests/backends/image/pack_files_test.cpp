// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/image/detail/zip_file.hpp>
#include <cohort/image/pack_files.hpp>
#include <cohort/io/file.hpp>
#include <cohort/io/folder.hpp>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "../../checkpoint/scratch_folder.hpp"
#include "../../checkpoint/small_disk.hpp"
#include "../../communicator/on_ranks.hpp"
#include "../../data/refused.hpp"
#include "image_files.hpp"

namespace pack_files_test {

using cohort::pack_files;
using cohort::detail::zip_file;

file_bytes content(int i) {
  return file_bytes(static_cast<std::size_t>(100 + 13 * i), static_cast<std::byte>(i));
}

/// 23 files in folders of different depth, one of them empty.
void fill(std::string const& folder) {
  for (int i = 0; i < 22; ++i)
    put(folder + (i % 2 ? "/train/odd/" : "/even/") + std::to_string(i) + ".bin", content(i));
  put(folder + "/empty", {});
  put(folder + "/.hidden", content(1));
}

using contents = std::map<std::string, file_bytes>;

contents of_archives(std::vector<std::string> const& paths) {
  contents all;
  for (std::string const& path : paths) {
    zip_file const archive(path);
    std::uint64_t number = 0;
    for (auto const& entry : archive.entries()) all[entry.name] = archive.read(number++, 1 << 20);
  }
  return all;
}

contents of_folder(std::string const& folder) {
  contents all = {{"empty", {}}};
  for (int i = 0; i < 22; ++i)
    all[(i % 2 ? "train/odd/" : "even/") + std::to_string(i) + ".bin"] =
        cohort::io::read_file(folder + (i % 2 ? "/train/odd/" : "/even/") + std::to_string(i) + ".bin");
  return all;
}

std::vector<file_bytes> bytes_of(std::vector<std::string> const& paths) {
  std::vector<file_bytes> all;
  for (std::string const& path : paths) all.push_back(cohort::io::read_file(path));
  return all;
}

TEST(pack_files, packs_every_file_once_unchanged) {
  scratch_folder const at;
  fill(at / "in");
  std::vector<std::string> const made = pack_files(at / "in", at / "a/b/out", 5, 1);
  ASSERT_EQ(made.size(), 5U);
  EXPECT_EQ(made[4], at / "a/b/out/batch-000004.zip");
  EXPECT_EQ(zip_file(made[0]).entries().size(), 5U);
  EXPECT_EQ(zip_file(made[4]).entries().size(), 3U);
  EXPECT_EQ(of_archives(made), of_folder(at / "in"));
  std::size_t bytes = 0;
  for (auto const& [name, file] : of_folder(at / "in")) bytes += file.size();
  std::size_t archived = 0;
  for (file_bytes const& archive : bytes_of(made)) archived += archive.size();
  EXPECT_GT(archived, bytes);  // stored uncompressed: compression would shrink files of one repeated byte
}

TEST(pack_files, writes_the_same_bytes_for_the_same_seed_and_any_number_of_threads) {
  scratch_folder const at;
  fill(at / "in");
  auto const first = bytes_of(pack_files(at / "in", at / "1", 4, 7, 1));
  std::filesystem::last_write_time(at / "in/even/2.bin",
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(900));
  EXPECT_EQ(bytes_of(pack_files(at / "in", at / "2", 4, 7, 4)), first);
  EXPECT_NE(bytes_of(pack_files(at / "in", at / "3", 4, 8)), first);
}

TEST(pack_files, mixes_files_of_all_folders_in_archives) {
  scratch_folder const at;
  fill(at / "in");
  int mixed = 0;
  for (std::string const& path : pack_files(at / "in", at / "out", 6, 1)) {
    auto const entries = zip_file(path).entries();
    auto const odd = [](cohort::detail::zip_entry const& e) { return e.name.starts_with("train/"); };
    mixed +=
        std::any_of(entries.begin(), entries.end(), odd) && !std::all_of(entries.begin(), entries.end(), odd)
            ? 1
            : 0;
  }
  EXPECT_GE(mixed, 3);
}

TEST(pack_files, resumes_after_an_interruption_and_keeps_complete_archives) {
  scratch_folder const at;
  fill(at / "in");
  std::vector<std::string> const made = pack_files(at / "in", at / "out", 4, 3);
  auto const whole = bytes_of(made);
  std::filesystem::remove(made[1]);
  put(made[3] + ".partial", content(3));
  put(made[3] + ".partial-4711-0", content(4));
  auto const old = std::filesystem::file_time_type::clock::now() - std::chrono::hours(5);
  std::filesystem::last_write_time(made[0], old);
  EXPECT_EQ(pack_files(at / "in", at / "out", 4, 3), made);
  EXPECT_EQ(bytes_of(made), whole);
  EXPECT_EQ(std::filesystem::last_write_time(made[0]), old);
  EXPECT_EQ(cohort::io::list_folder(at / "out")->size(), made.size());
}

TEST(pack_files, refuses_a_folder_with_archives_of_a_different_call) {
  scratch_folder const at;
  fill(at / "in");
  std::vector<std::string> const made = pack_files(at / "in", at / "out", 4, 3);
  auto const again = [&](int n, std::uint64_t seed) {
    return refused<cohort::data_error>([&] { pack_files(at / "in", at / "out", n, seed); });
  };
  expect_parts(again(4, 4), {"/out/batch-00000", "another pack_files call", "seed"});
  expect_parts(again(12, 3), {"/out/batch-00000", "another pack_files call", "names up to batch-000001.zip"});
  put(at / "in/even/0.bin", content(9));
  expect_parts(again(4, 3), {"another pack_files call"});
}

TEST(pack_files, removes_partial_files_if_the_disk_is_full) {
  scratch_folder const at;
  put(at / "in/a/large", file_bytes(100'000, std::byte{1}));
  {
    small_disk const full(50'000);
    expect_parts(refused<cohort::file_error>([&] { pack_files(at / "in", at / "out", 4, 3, 1); }),
                 {"/out/batch-000000.zip", "cannot write the file"});
  }
  EXPECT_TRUE(std::filesystem::is_empty(at / "out"));
  EXPECT_EQ(pack_files(at / "in", at / "out", 4, 3, 1).size(), 1U);
}

TEST(pack_files, refuses_an_output_folder_inside_the_input_folder) {
  scratch_folder const at;
  fill(at / "in");
  std::filesystem::create_directory_symlink(at / "in", at / "link");
  for (std::string const out : {"/in/packed", "/in", "/link/packed", "/in/packed/new/folder"}) {
    std::string const message =
        refused<cohort::setting_error>([&] { pack_files(at / "in", at.path() + out, 4, 3); });
    EXPECT_EQ(message, "the output folder is inside the folder to pack (" + at.path() + out
                           + "): expected a folder outside " + (at / "in") + ", got " + at.path() + out);
  }
  EXPECT_FALSE(std::filesystem::exists(at / "in/packed"));
  EXPECT_FALSE(pack_files(at / "in", at / "in2", 4, 3).empty());
}

TEST(pack_files, refuses_invalid_settings_and_unsupported_files) {
  scratch_folder const at;
  expect_parts(refused<cohort::file_error>([&] { pack_files(at / "none", at / "out", 4, 3); }),
               {"/none", "No such file"});
  std::filesystem::create_directory(at / "in");
  expect_parts(refused<cohort::file_error>([&] { pack_files(at / "in", at / "out", 4, 3); }),
               {"/in", "no files"});
  expect_parts(refused<cohort::setting_error>([&] { pack_files(at / "in", at / "out", 0, 3); }),
               {"n", "got 0"});
  expect_parts(refused<cohort::setting_error>([&] { pack_files(at / "in", at / "out", 1, 3, -1); }),
               {"threads", "got -1"});
  fill(at / "in");
  std::filesystem::create_directory_symlink(at / "in/even", at / "in/link");
  expect_parts(refused<cohort::file_error>([&] { pack_files(at / "in", at / "out", 4, 3); }),
               {"/in/link", "a link to a folder"});
}

std::vector<std::string> pack_on(int ranks, std::string const& in, std::string const& out, int n = 5,
                                 std::uint64_t seed = 1, int threads = 1) {
  std::vector<std::string> made;
  on_ranks(ranks, [&](cohort::communicator& world) {
    auto const all = pack_files(in, out, n, seed, world, threads);
    if (world.rank() == 0) made = all;
  });
  return made;
}

TEST(pack_files, writes_the_same_bytes_on_any_number_of_ranks) {
  scratch_folder const at;
  fill(at / "in");
  auto const wanted = bytes_of(pack_files(at / "in", at / "one", 3, 7));
  for (int ranks = 1; ranks <= 4; ++ranks) {
    std::string const out = at / ("out" + std::to_string(ranks));
    auto const made = pack_on(ranks, at / "in", out, 3, 7, ranks == 3 ? 2 : 1);
    EXPECT_EQ(bytes_of(made), wanted) << ranks;
    std::filesystem::remove(made[2]);  // as after an interruption
    std::filesystem::remove(made[5]);
    put(out + "/batch-000005.zip.partial", content(3));
    EXPECT_EQ(bytes_of(pack_on(5 - ranks, at / "in", out, 3, 7)), wanted) << ranks;
    EXPECT_EQ(cohort::io::list_folder(out)->size(), wanted.size());
  }
}

TEST(pack_files, fails_on_all_ranks_if_any_rank_fails) {
  scratch_folder const at;
  fill(at / "in");
  EXPECT_NE(refused<cohort::file_error>([&] {
              small_disk const full(400);
              pack_on(2, at / "in", at / "out");
            }).find("cannot write the file"),
            std::string::npos);
  EXPECT_EQ(of_archives(pack_on(2, at / "in", at / "out")), of_folder(at / "in"));
  EXPECT_NE(refused<cohort::data_error>([&] {
              pack_on(2, at / "in", at / "out", 5, 2);
            }).find("contains an archive of another pack_files call"),
            std::string::npos);
  EXPECT_NE(refused<cohort::setting_error>([&] {
              on_ranks(2, [&](cohort::communicator& world) {
                pack_files(at / "in", at / "other", 5 + world.rank(), 1, world);
              });
            }).find("n"),
            std::string::npos);
  EXPECT_FALSE(cohort::io::is_folder(at / "other"));
}

}  // namespace pack_files_test
