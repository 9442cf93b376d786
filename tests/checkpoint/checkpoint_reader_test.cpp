// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/checkpoint/checkpoint_reader.hpp>
#include <cohort/io/file_reader.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "refusals.hpp"
#include "scratch_folder.hpp"
#include "small_run.hpp"

namespace checkpoint_reader_test {

using namespace cohort;
namespace fs = std::filesystem;

constexpr int ranks = 2;

/// A directory with the checkpoints of steps 8 and 812, saved by two ranks.
struct two_steps {
  small_run run;
  scratch_folder folder;
  std::string directory = folder / "runs";
  std::string newest = step_path(directory, 812);
  std::vector<std::string> lines;
  sink log = [this](std::string_view line) { lines.emplace_back(line); };

  two_steps() {
    run.save(ranks, directory, 8, 1);
    run.save(ranks, directory, 812, 2);
  }
  std::int64_t found() { return find_newest_checkpoint(directory, log)->position().step; }
};

void flip(std::string const& path, std::uint64_t byte) {
  std::string text = io::read_text(path);
  text[byte] ^= 1;
  std::ofstream(path, std::ios::binary) << text;
}

TEST(checkpoint_reader, reads_back_a_saved_checkpoint) {
  two_steps saved;
  checkpoint_reader const reader(saved.newest);
  EXPECT_EQ(reader.position(), (training_position{812, 81, 128}));
  EXPECT_EQ(reader.ranks(), 2);
  EXPECT_EQ(reader.manifest().settings_hash, 77u);
  EXPECT_EQ(reader.manifest().network_hash, saved.run.net.hash());
  EXPECT_EQ(reader.manifest().library_version, cohort::library_version);
  EXPECT_EQ(shared_value(reader), 2);
  EXPECT_EQ(own_value(reader, 0), 2000);
  EXPECT_EQ(own_value(reader, 1), 2001);
  EXPECT_EQ(reader.shared().network().hash(), saved.run.net.hash());
  reader.check();
  for (int rank : {-1, 2})
    EXPECT_NE(refusal_of<setting_error>([&] { reader.rank_file(rank); }).find("expected 0 to 1, got"),
              std::string::npos);
}

TEST(checkpoint_reader, finds_the_newest_checkpoint) {
  two_steps saved;
  EXPECT_EQ(saved.found(), 812);
  fs::remove_all(saved.newest);
  EXPECT_EQ(saved.found(), 8);
  EXPECT_TRUE(saved.lines.empty());
}

TEST(checkpoint_reader, finds_no_checkpoint_if_none_is_finished) {
  two_steps saved;
  EXPECT_FALSE(find_newest_checkpoint(saved.folder / "elsewhere"));
  fs::create_directory(saved.folder / "empty");
  EXPECT_FALSE(find_newest_checkpoint(saved.folder / "empty"));
  for (int step : {8, 812}) fs::remove(step_path(saved.directory, step) + "/manifest.json");
  EXPECT_FALSE(find_newest_checkpoint(saved.directory, saved.log));
  EXPECT_TRUE(saved.lines.empty());
  std::ofstream(saved.folder / "file") << "x";
  EXPECT_NE(
      refusal_of<file_error>([&] { find_newest_checkpoint(saved.folder / "file"); }).find("Not a directory"),
      std::string::npos);
}

TEST(checkpoint_reader, refuses_a_manifest_that_cannot_be_read) {
  two_steps saved;
  fs::remove_all(step_path(saved.directory, 8));
  std::string const manifest = saved.newest + "/manifest.json";
  auto const expect_refused = [&](std::string const& why) {
    EXPECT_TRUE(has_checkpoints(saved.directory)) << why;
    std::string const refused =
        refusal_of<data_error>([&] { find_newest_checkpoint(saved.directory, saved.log); });
    EXPECT_NE(refused.find("no checkpoint can be read"), std::string::npos) << refused;
    EXPECT_NE(refused.find(why), std::string::npos) << refused;
  };
  fs::remove(manifest);
  fs::create_directory(manifest);
  expect_refused("directory");
  fs::remove(manifest);
  fs::create_symlink("manifest.json", manifest);
  expect_refused("symbolic links");
  fs::remove(manifest);
  fs::create_symlink("removed", manifest);
  expect_refused("No such file");
}

TEST(checkpoint_reader, ignores_folders_with_other_names) {
  two_steps saved;
  for (char const* name :
       {"step-813", "step-0000000000813", "step-00000000081x", "step-", "step--00000000813",
        "step-000000000813.new", "other", "step-000000000813.old.old", "0step-000000000813"})
    fs::copy(saved.newest, saved.directory + '/' + name);
  fs::create_directory_symlink(saved.newest, step_path(saved.directory, 900));
  EXPECT_EQ(saved.found(), 812);
  EXPECT_TRUE(saved.lines.empty());
  fs::copy(saved.newest, step_path(saved.directory, 813) + ".old");  // its step differs from its name
  EXPECT_EQ(saved.found(), 812);
  EXPECT_EQ(saved.lines, std::vector<std::string>{
                             "checkpoint step-000000000813.old is skipped: the checkpoint is "
                             "damaged ("
                             + step_path(saved.directory, 813) + ".old): expected step 813, got 812"});
}

TEST(checkpoint_reader, follows_a_link_to_a_directory) {
  two_steps saved;
  std::string const link = saved.folder / "link", dangling = saved.folder / "dangling";
  fs::create_directory_symlink(saved.directory, link);
  fs::create_directory_symlink("removed", dangling);
  EXPECT_TRUE(has_checkpoints(link));
  EXPECT_EQ(find_newest_checkpoint(link)->position().step, 812);
  EXPECT_FALSE(has_checkpoints(dangling));
  EXPECT_NE(refusal_of<file_error>([&] { find_newest_checkpoint(dangling); }).find("No such file"),
            std::string::npos);
}

TEST(checkpoint_reader, sorts_steps_of_more_than_twelve_digits) {
  EXPECT_EQ(detail::checkpoint_name(812), "step-000000000812");
  EXPECT_LT(detail::checkpoint_name(99), detail::checkpoint_name(100));
  EXPECT_EQ(detail::checkpoint_name(1'234'567'890'123), "step-1234567890123");
  EXPECT_EQ(detail::parse_checkpoint_name("step-1234567890123")->step, 1'234'567'890'123);
  scratch_folder folder;
  small_run const run;
  run.save(1, folder.path(), 999'999'999'999, 1);
  run.save(1, folder.path(), 1'000'000'000'000, 2);
  EXPECT_EQ(shared_value(*find_newest_checkpoint(folder.path())), 2);
}

TEST(checkpoint_reader, skips_checkpoints_with_any_damage) {
  two_steps const whole;
  auto const damaged = [&](char const* file, auto damage, char const* why) {
    SCOPED_TRACE(std::string(file) + ", " + why);
    two_steps saved;
    damage(saved.newest + '/' + file);
    EXPECT_EQ(saved.found(), 8);
    ASSERT_EQ(saved.lines.size(), 1u);
    EXPECT_EQ(saved.lines[0].find("checkpoint step-000000000812 is skipped: "), 0u);
    EXPECT_NE(saved.lines[0].find(why), std::string::npos) << saved.lines[0];
  };
  for (char const* file : {"shared.safetensors", "rank-0.safetensors", "rank-1.safetensors"}) {
    damaged(
        file, [](std::string const& path) { fs::remove(path); }, " bytes, got no such file");
    damaged(
        file, [](std::string const& path) { fs::remove(path), fs::create_directory(path); }, "no such file");
    damaged(
        file, [](std::string const& path) { fs::resize_file(path, fs::file_size(path) - 1); },
        "a file of the checkpoint is truncated (");
    damaged(
        file, [](std::string const& path) { fs::resize_file(path, fs::file_size(path) + 1); },
        "the checkpoint is damaged (");
    damaged(
        file, [](std::string const& path) { flip(path, fs::file_size(path) - 1); }, "content_hash");
    damaged(
        file, [](std::string const& path) { flip(path, 0); }, "cannot read ");
  }
  damaged(
      "rank-0.safetensors",
      [](std::string const& path) {
        fs::copy_file(fs::path(path).parent_path() / "rank-1.safetensors", path,
                      fs::copy_options::overwrite_existing);
      },
      "the checkpoint is damaged");
  damaged(
      "shared.safetensors",  // of another step, but not damaged
      [](std::string const& path) {
        fs::copy_file(fs::path(path).parent_path().parent_path() / "step-000000000008" / "shared.safetensors",
                      path, fs::copy_options::overwrite_existing);
      },
      "expected content hash ");
  damaged(
      "manifest.json", [](std::string const& path) { flip(path, 30); }, "cannot read JSON");
  damaged(
      "manifest.json", [](std::string const& path) { fs::resize_file(path, 0); }, "cannot read JSON");
  damaged(
      "manifest.json", [](std::string const& path) { fs::resize_file(path, 20'000'000); },
      "at most 16777216 bytes");
}

TEST(checkpoint_reader, reports_all_checkpoints_if_all_are_damaged) {
  two_steps saved;
  for (int step : {8, 812}) fs::resize_file(step_path(saved.directory, step) + "/rank-1.safetensors", 5);
  std::string const why = refusal_of<data_error>([&] { find_newest_checkpoint(saved.directory); });
  EXPECT_EQ(why.find("no checkpoint can be read (" + saved.directory
                     + "): expected at least one undamaged checkpoint, got step-000000000812: a file of the "
                       "checkpoint is truncated ("),
            0u)
      << why;
  EXPECT_NE(why.find("; step-000000000008: a file of the checkpoint is truncated ("), std::string::npos)
      << why;
}

TEST(checkpoint_reader, finds_the_same_checkpoint_on_all_ranks) {
  two_steps saved;
  auto const steps = [&](int world_size) {
    std::vector<std::int64_t> found(static_cast<std::size_t>(world_size));
    launch<threads>(world_size, {.log = saved.log}, [&](communicator& world) {
      auto const newest = find_newest_checkpoint(world, saved.directory);
      found[static_cast<std::size_t>(world.rank())] = newest ? newest->position().step : -1;
    });
    return found;
  };
  for (int world_size : {1, 2, 5})
    EXPECT_EQ(steps(world_size), std::vector<std::int64_t>(static_cast<std::size_t>(world_size), 812));
  flip(saved.newest + "/rank-1.safetensors", 300);  // read by rank 2 of 3 only
  EXPECT_EQ(steps(3), (std::vector<std::int64_t>{8, 8, 8}));
  ASSERT_EQ(saved.lines.size(), 1u);
  EXPECT_EQ(saved.lines[0].find("checkpoint step-000000000812 is skipped: rank 2: "), 0u) << saved.lines[0];
  fs::remove_all(saved.directory);
  EXPECT_EQ(steps(3), (std::vector<std::int64_t>{-1, -1, -1}));
}

TEST(checkpoint_reader, fails_on_all_ranks_if_any_rank_cannot_see_the_checkpoint) {
  two_steps saved;
  std::vector<std::string> why(3);
  launch<threads>(3, [&](communicator& world) {
    std::string const seen = world.rank() == 1 ? saved.folder / "elsewhere" : saved.directory;
    why[static_cast<std::size_t>(world.rank())] =
        refusal_of<data_error>([&] { find_newest_checkpoint(world, seen); });
  });
  for (std::string const& one : why)
    EXPECT_NE(one.find("step-000000000812: rank 1: cannot open the file ("), std::string::npos) << one;
}

}  // namespace checkpoint_reader_test
