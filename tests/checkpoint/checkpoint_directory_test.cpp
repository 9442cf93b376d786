// SPDX-License-Identifier: Apache-2.0
// alone: it replaces system calls
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cohort/backend/reference.hpp>
#include <cohort/checkpoint/checkpoint_directory.hpp>
#include <cohort/checkpoint/checkpoint_reader.hpp>
#include <cohort/io/folder.hpp>
#include <cohort/plan/parameter_store.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "refusals.hpp"
#include "scratch_folder.hpp"
#include "small_disk.hpp"
#include "small_run.hpp"

// Operations that change the disk are intercepted here, so that a process can end at each operation, as in a
// power failure.
namespace {
std::atomic<int> operations{0};
int last_operation = INT_MAX;
bool clock_is_ahead = false;  // this host's, by 100 hours
constexpr int power_cut = 42, more_than_enough = 1000;

/// Exits without notifying any other library (a sanitizer would sleep first).
[[noreturn]] void end_process(int status) {
  for (;;) ::syscall(SYS_exit_group, status);
}
bool is_last() { return operations.fetch_add(1) + 1 >= last_operation; }
void operate() {
  if (is_last()) end_process(power_cut);
}
}  // namespace

extern "C" {
int clock_gettime(clockid_t clock, timespec* time) noexcept {
  long const failed = ::syscall(SYS_clock_gettime, clock, time);
  if (clock == CLOCK_REALTIME && clock_is_ahead) time->tv_sec += 360'000;
  return static_cast<int>(failed);
}
int rename(char const* from, char const* to) noexcept {
  operate();
  return ::renameat(AT_FDCWD, from, AT_FDCWD, to);
}
int mkdir(char const* path, mode_t mode) noexcept {
  operate();
  return ::mkdirat(AT_FDCWD, path, mode);
}
int unlink(char const* path) noexcept {
  operate();
  return ::unlinkat(AT_FDCWD, path, 0);
}
int rmdir(char const* path) noexcept {
  operate();
  return ::unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}
int fsync(int file) {
  operate();
  return static_cast<int>(::syscall(SYS_fsync, file));
}
ssize_t write(int file, void const* data, size_t bytes) {
  if (!is_last()) return ::syscall(SYS_write, file, data, bytes);
  ::syscall(SYS_write, file, data, bytes / 2);
  end_process(power_cut);
}
}

namespace {

using namespace cohort;
namespace fs = std::filesystem;
using names = std::vector<std::string>;

names names_of(std::string const& directory) {
  names all = io::list_folder(directory).value_or(names());
  std::sort(all.begin(), all.end());
  return all;
}

names steps(std::vector<int> const& which) {
  names all;
  for (int step : which) all.push_back(detail::checkpoint_name(step));
  return all;
}

/// Runs in a separate process, which ends at its n-th operation. Returns whether it completed.
template <class Action>
bool ended_before(int n, Action action) {
  pid_t const child = ::fork();
  if (child == 0) {
    ::alarm(60);
    last_operation = n;
    operations = 0;
    action();
    end_process(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == power_cut)) << status;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(checkpoint_directory, contains_a_shared_file_a_file_per_rank_and_a_manifest) {
  small_run const run;
  scratch_folder folder;
  std::string const directory = folder / "made/on/the/way";
  launch<threads>(3, [&](communicator& world) {
    EXPECT_EQ(run.save(world, directory, 812, 4), directory + "/step-000000000812");
  });
  EXPECT_EQ(names_of(directory), steps({812}));
  EXPECT_EQ(names_of(step_path(directory, 812)),
            (names{"manifest.json", "rank-0.safetensors", "rank-1.safetensors", "rank-2.safetensors",
                   "shared.safetensors"}));
  checkpoint_reader const saved = *find_newest_checkpoint(directory);
  EXPECT_EQ(saved.ranks(), 3);
  EXPECT_EQ(shared_value(saved), 4);
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(own_value(saved, rank), 4000 + static_cast<float>(rank));
}

TEST(checkpoint_directory, keeps_only_the_newest_checkpoints) {
  small_run const run;
  scratch_folder folder;
  for (int step : {9, 10, 99, 100, 1000}) run.save(2, folder.path(), step, 1, 2);
  EXPECT_EQ(folder.names(), steps({100, 1000}));
  run.save(2, folder.path(), 1001, 1, 1);
  EXPECT_EQ(folder.names(), steps({1001}));
  std::string const why = refusal_of<setting_error>([&] { run.save(2, folder.path(), 1002, 1, 0); });
  EXPECT_EQ(why, "no checkpoint would be kept (keep): expected at least 1, got 0");
}

/// A process that was stopped while it saved, and whose ranks have saved this step without it.
TEST(checkpoint_directory, is_not_changed_by_a_process_that_continues_too_late) {
  small_run const run;
  for (int stage = 0; stage < 3; ++stage) {
    scratch_folder folder;
    launch<self>([&](communicator& world) {
      std::vector<float> memory;
      checkpoint_content const content = run.at(5, 0, 1, memory);
      detail::checkpoint_save late(world, {.directory = folder.path()}, content);
      auto const others_save = [&] { run.save(3, folder.path(), 5, 2); };
      late.create_folder();
      late.begin(world);
      if (stage == 0) others_save();
      late.write_rank_file();
      if (stage == 1) others_save();
      if (stage == 0) {
        EXPECT_THROW(late.exchange(world), file_error);
        return;
      }
      late.exchange(world);
      if (stage == 2) others_save();
      std::string const why = refusal_of<file_error>([&] { late.finish(nullptr); });
      EXPECT_EQ(why, "another process has replaced the folder of the checkpoint ("
                         + step_path(folder.path(), 5) + ')');
    });
    EXPECT_EQ(folder.names(), steps({5}));
    EXPECT_EQ(shared_value(*find_newest_checkpoint(folder.path())), 2);
  }
}

/// Changes the time at which a checkpoint was written.
void make_older(std::string const& directory, int step, std::chrono::hours age) {
  fs::path const manifest = step_path(directory, step) + "/manifest.json";
  fs::last_write_time(manifest, fs::last_write_time(manifest) - age);
}

TEST(checkpoint_directory, removes_checkpoints_by_age_but_never_the_newest_complete_one) {
  using std::chrono::hours;
  small_run const run;
  scratch_folder folder;
  auto const save = [&](int step, std::chrono::seconds max_age) {
    launch<threads>(2, [&](communicator& world) {
      std::vector<float> memory;
      save_checkpoint(world, folder.path(), run.at(step, world.rank(), 1, memory), 9, max_age);
    });
  };
  for (int step : {1, 2, 3, 4}) save(step, {});
  for (int step : {1, 2, 3}) make_older(folder.path(), step, hours(10 * (4 - step)));
  save(5, hours(25));
  EXPECT_EQ(folder.names(), steps({2, 3, 4, 5}));
  for (int step : {3, 4, 5}) make_older(folder.path(), step, hours(100));
  save(6, {});  // any age
  EXPECT_EQ(folder.names(), steps({2, 3, 4, 5, 6}));
  fs::resize_file(step_path(folder.path(), 4) + "/shared.safetensors", 7);
  save(7, hours(50));
  EXPECT_EQ(folder.names(), steps({2, 6, 7}));
  make_older(folder.path(), 6, hours(100));
  EXPECT_EQ(refusal_of<setting_error>([&] { save(8, hours(-1)); }),
            "the age of checkpoints is negative (max_age): expected at least 0 s, got -3600 s");
  save(8, hours(1));
  EXPECT_EQ(folder.names(), steps({7, 8}));
}

TEST(checkpoint_directory, compares_ages_by_the_clock_of_the_file_system) {
  small_run const run;
  scratch_folder folder;
  for (int step : {1, 2}) run.save(1, folder.path(), step, 1);
  clock_is_ahead = true;
  std::vector<float> memory;
  launch<threads>(1, [&](communicator& world) {
    save_checkpoint(world, folder.path(), run.at(3, 0, 1, memory), 9, std::chrono::hours(1));
  });
  clock_is_ahead = false;
  EXPECT_EQ(folder.names(), steps({1, 2, 3}));
}

TEST(checkpoint_directory, drains_the_parts_of_the_ranks_if_its_folder_was_replaced) {
  small_run const run;
  scratch_folder folder;
  parameter_store<reference<float>> parameters({}, run.net);
  parameters.allocate();
  launch<threads>(2, [&](communicator& world) {
    std::vector<float> memory;
    checkpoint_content content = run.at(1, world.rank(), 1, memory);
    auto const read = [&](detail::model_tensor const&, std::byte*) {
      world.barrier();
      return true;
    };
    content.shared
        .emplace(run.net, detail::tensor_source{.read = read, .is_deferred = true, .is_collective = true})
        .add_parameters(parameters);
    detail::checkpoint_save save(world, {folder.path()}, content);
    save.create_folder();
    save.begin(world);
    save.write_rank_file();
    save.exchange(world);
    if (world.rank() == 0) {
      fs::rename(save.path(), folder / "elsewhere");
      fs::create_directory(save.path());
    }
    if (world.rank() == 0)
      EXPECT_THROW(save.finish(&world), file_error);
    else
      EXPECT_NO_THROW(save.finish(&world));
    EXPECT_NO_THROW(world.barrier());
  });
}

TEST(checkpoint_directory, does_not_count_damaged_checkpoints_as_kept) {
  small_run const run;
  scratch_folder folder;
  for (int step : {1, 2, 3}) run.save(1, folder.path(), step, 1, 3);
  auto const damage = [&](int step, char const* file) {
    fs::resize_file(folder.path() + '/' + detail::checkpoint_name(step) + '/' + file, 7);
  };
  damage(2, "shared.safetensors");
  damage(3, "manifest.json");
  run.save(1, folder.path(), 4, 1, 2);
  EXPECT_EQ(folder.names(), steps({1, 2, 3, 4}));
  run.save(1, folder.path(), 5, 1, 2);
  EXPECT_EQ(folder.names(), steps({4, 5}));
}

TEST(checkpoint_directory, is_refused_while_another_run_saves_to_it) {
  small_run const run;
  scratch_folder folder;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  pid_t const other = ::fork();
  if (other == 0) {
    run.save(1, folder.path(), 10, 1);
    char const done = 1;
    ::syscall(SYS_write, ready[1], &done, 1);
    ::pause();
    end_process(0);
  }
  char done = 0;
  ASSERT_EQ(::read(ready[0], &done, 1), 1);
  scratch_folder links;
  fs::create_directory_symlink(folder.path(), links / "link");
  for (std::string const& directory : {folder.path(), links / "link"}) {
    std::string const why = refusal_of<file_error>([&] { run.save(2, directory, 12, 2); });
    EXPECT_NE(why.find("another run saves checkpoints to this directory"), std::string::npos) << why;
    EXPECT_NE(why.find("process " + std::to_string(other)), std::string::npos) << why;
  }
  EXPECT_EQ(folder.names(), steps({10}));
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
  run.save(2, folder.path(), 12, 2);
  EXPECT_EQ(folder.names(), steps({10, 12}));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(checkpoint_directory, does_not_change_other_files) {
  small_run const run;
  scratch_folder folder;
  std::ofstream(folder / "notes.txt") << "x";
  std::ofstream(folder / "step-000000000001") << "a file";
  fs::create_directory(folder / "step-2");
  fs::create_directory(folder / "step-000000000003.saved");
  scratch_folder device_passes;
  std::ofstream(device_passes / "manifest.json") << "x";
  fs::create_directory_symlink(device_passes.path(), folder / "step-000000000004");
  run.save(1, folder.path(), 5, 1);
  std::ofstream(step_path(folder.path(), 5) + "/notes.txt") << "x";
  run.save(1, folder.path(), 700, 1);  // saved later, by another run
  names const others = folder.names();
  for (int step : {6, 7}) run.save(1, folder.path(), step, 1, 1);
  names expected = others;
  expected.push_back("step-000000000007");
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(folder.names(), expected);
  EXPECT_EQ(names_of(step_path(folder.path(), 5)), names{"notes.txt"});
  EXPECT_EQ(device_passes.names(), names{"manifest.json"});
}

TEST(checkpoint_directory, removes_unfinished_checkpoints) {
  small_run const run;
  scratch_folder folder;
  for (int step : {1, 2, 3}) run.save(2, folder.path(), step, 1);
  fs::remove(step_path(folder.path(), 2) + "/manifest.json");
  std::ofstream(step_path(folder.path(), 2) + "/rank-1.safetensors.partial-123-0") << "half";
  run.save(2, folder.path(), 4, 1);
  EXPECT_EQ(folder.names(), steps({1, 3, 4}));
}

TEST(checkpoint_directory, replaces_a_checkpoint_of_the_same_step) {
  small_run const run;
  scratch_folder folder;
  run.save(3, folder.path(), 5, 1);
  run.save(2, folder.path(), 5, 2);
  EXPECT_EQ(folder.names(), steps({5}));
  checkpoint_reader const saved = *find_newest_checkpoint(folder.path());
  EXPECT_EQ(shared_value(saved), 2);
  EXPECT_EQ(saved.ranks(), 2);
  fs::resize_file(saved.path() + "/rank-1.safetensors", 9);  // damaged
  run.save(1, folder.path(), 5, 3);
  EXPECT_EQ(folder.names(), steps({5}));
  EXPECT_EQ(shared_value(*find_newest_checkpoint(folder.path())), 3);
}

/// Saves `step` after the steps 1 and 2, keeping two checkpoints. In successive runs, the process ends at
/// each of the operations.
void cut_everywhere(int ranks, int step) {
  small_run const run;
  scratch_folder before;
  // Each save runs in a separate process, because a process that still runs would own the directory.
  for (int old : {1, 2})
    ASSERT_TRUE(ended_before(more_than_enough,
                             [&] { run.save(ranks, before.path(), old, static_cast<float>(old)); }));
  int cuts = 0;
  for (bool ended = false; !ended; ++cuts) {
    SCOPED_TRACE("operation " + std::to_string(cuts + 1) + " of step " + std::to_string(step));
    ASSERT_LT(cuts, more_than_enough);
    scratch_folder folder;
    fs::copy(before.path(), folder.path(), fs::copy_options::recursive);
    ended = ended_before(cuts + 1, [&] { run.save(ranks, folder.path(), step, 7, 2); });

    names lines;
    auto const newest =
        find_newest_checkpoint(folder.path(), [&](std::string_view line) { lines.emplace_back(line); });
    ASSERT_TRUE(newest);
    EXPECT_EQ(lines, names()) << "an unfinished one is not a damaged one";
    for (std::string const& name : detail::finished_checkpoints(folder.path()))
      EXPECT_NO_THROW(checkpoint_reader(folder / name).check()) << name << " is half removed";
    bool const is_new = shared_value(*newest) == 7;
    EXPECT_EQ(newest->position().step, is_new ? step : 2);
    EXPECT_EQ(shared_value(*newest), is_new ? 7 : 2);
    EXPECT_EQ(own_value(*newest, ranks - 1), (is_new ? 7000 : 2000) + static_cast<float>(ranks - 1));
    EXPECT_TRUE(is_new || !ended);

    // The next run continues from this checkpoint.
    int const next = newest->position().step < step ? step : step + 1;
    run.save(ranks, folder.path(), next, 8, 2);
    EXPECT_EQ(folder.names(), steps({static_cast<int>(newest->position().step), next}));
    EXPECT_EQ(names_of(step_path(folder.path(), next)).size(), static_cast<std::size_t>(ranks) + 2)
        << "leftovers";
    EXPECT_EQ(shared_value(*find_newest_checkpoint(folder.path())), 8);
  }
  EXPECT_GT(cuts, 30);
}

TEST(checkpoint_directory, survives_a_power_cut_at_any_point) { cut_everywhere(2, 3); }
TEST(checkpoint_directory, survives_a_power_cut_while_a_checkpoint_is_replaced) { cut_everywhere(2, 2); }

TEST(checkpoint_directory, is_unchanged_if_the_disk_is_full) {
  small_run const run;
  scratch_folder folder;
  run.save(3, folder.path(), 5, 1);
  for (int step : {5, 6}) {
    names why(3);
    {
      small_disk disk(20'000);
      launch<threads>(3, [&](communicator& world) {
        std::vector<float> memory, large(world.rank() == 1 ? 10'000 : 1);
        checkpoint_content content = run.at(step, world.rank(), 2, memory);
        content.rank_local.add("strategy/large", tensor_view(large.data(), {static_cast<int>(large.size())}));
        why[static_cast<std::size_t>(world.rank())] =
            refusal_of<file_error>([&] { save_checkpoint(world, folder.path(), content); });
        world.barrier();  // training may continue
      });
    }
    for (std::string const& one : why)
      EXPECT_EQ(one, "cannot save the checkpoint (" + folder.path() + "): rank 1: cannot write the file ("
                         + step_path(folder.path(), step) + "/rank-1.safetensors): File too large");
    EXPECT_EQ(folder.names(), steps({5}));
    EXPECT_EQ(shared_value(*find_newest_checkpoint(folder.path())), 1);
  }
  run.save(3, folder.path(), 6, 3);
  EXPECT_EQ(shared_value(*find_newest_checkpoint(folder.path())), 3);
}

/// Returns the error texts of the ranks if rank r uses directories[r] and is at step at[r].
names refused(small_run const& run, names const& directories, std::vector<int> const& at) {
  names why(directories.size());
  launch<threads>(static_cast<int>(directories.size()), [&](communicator& world) {
    auto const rank = static_cast<std::size_t>(world.rank());
    why[rank] = refusal_of<file_error>([&] { run.save(world, directories[rank], at[rank], 2); });
  });
  return why;
}

TEST(checkpoint_directory, is_refused_if_ranks_do_not_share_it) {
  small_run const run;
  scratch_folder folder;
  std::string const shared = folder / "shared", own = folder / "own";
  run.save(1, shared, 5, 1);
  for (std::string const& why : refused(run, {shared, shared, own}, {6, 6, 6}))
    EXPECT_NE(
        why.find("): rank 2: this rank does not see the folder that rank 0 created (" + step_path(own, 6)
                 + "): expected a directory that all ranks share, got no such folder"),
        std::string::npos)
        << why;
  fs::create_directories(step_path(own, 6));
  for (std::string const& why : refused(run, {shared, shared, own}, {6, 6, 6}))
    EXPECT_NE(why.find("): rank 0: rank 0 does not see the complete file of rank 2 (" + step_path(shared, 6)
                       + "/rank-2.safetensors): expected a directory that all ranks share, got no such file"),
              std::string::npos)
        << why;
  EXPECT_EQ(names_of(shared), steps({5}));
}

TEST(checkpoint_directory, is_refused_if_ranks_are_at_different_steps) {
  small_run const run;
  scratch_folder folder;
  run.save(2, folder.path(), 5, 1);
  for (std::string const& why : refused(run, {folder.path(), folder.path()}, {6, 5}))
    EXPECT_NE(why.find("rank 1: this rank is at another step than rank 0: expected step-000000000006, got "
                       "step-000000000005"),
              std::string::npos)
        << why;
  EXPECT_EQ(folder.names(), steps({5}));
  find_newest_checkpoint(folder.path())->check();
}

TEST(checkpoint_directory, is_unchanged_if_saving_cannot_begin) {
  small_run const run;
  scratch_folder folder;
  std::ofstream(folder / "file") << "x";
  for (std::string const& why : refused(run, {folder / "file", folder / "file"}, {6, 6}))
    EXPECT_NE(why.find("): rank 0: cannot read the folder (" + (folder / "file") + "): Not a directory"),
              std::string::npos)
        << why;
  // If the old checkpoint cannot be renamed, it must not be lost.
  run.save(2, folder.path(), 5, 1);
  fs::create_directories(step_path(folder.path(), 5) + ".old/of_somebody");
  for (std::string const& why : refused(run, {folder.path(), folder.path()}, {5, 5}))
    EXPECT_NE(why.find("): rank 0: cannot rename the folder ("), std::string::npos) << why;
  EXPECT_EQ(shared_value(*find_newest_checkpoint(folder.path())), 1);
}

TEST(checkpoint_directory, requires_shared_content_on_rank_0) {
  small_run const run;
  scratch_folder folder;
  std::string const why = refusal_of<file_error>([&] {
    launch<self>([&](communicator& world) {
      std::vector<float> memory;
      checkpoint_content content = run.at(6, 0, 1, memory);
      content.shared.reset();
      save_checkpoint(world, folder.path(), content);
    });
  });
  EXPECT_EQ(why, "cannot save the checkpoint (" + folder.path() + "): rank 0 has no shared content to save ("
                     + step_path(folder.path(), 6)
                     + "): expected a value in checkpoint_content::shared on rank 0");
  EXPECT_EQ(folder.names(), names());
}

TEST(checkpoint_directory, keeps_the_previous_checkpoint_if_a_rank_fails_before_saving) {
  small_run const run;
  scratch_folder folder;
  run.save(3, folder.path(), 5, 1);
  EXPECT_THROW(launch<threads>(3, {.deadline = std::chrono::milliseconds(5000)},
                               [&](communicator& world) {
                                 if (world.rank() == 1) throw numeric_error({.what = "lost"});
                                 run.save(world, folder.path(), 6, 2);
                               }),
               numeric_error);
  EXPECT_EQ(shared_value(*find_newest_checkpoint(folder.path())), 1);
  run.save(3, folder.path(), 6, 3);
  EXPECT_EQ(folder.names(), steps({5, 6}));
}

}  // namespace
