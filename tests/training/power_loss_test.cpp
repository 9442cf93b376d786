// SPDX-License-Identifier: Apache-2.0
// alone: it replaces system calls
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cohort/communicator/launch.hpp>
#include <cohort/training/checkpoint_listener.hpp>
#include <cstdarg>
#include <functional>
#include <mutex>
#include <set>

#include "../checkpoint/scratch_folder.hpp"
#include "../checkpoint/small_run.hpp"
#include "../strategy/rank_cases.hpp"
#include "recorded_disk.hpp"

// Operations that change the disk are recorded here. A power failure after each of them is then replayed.
namespace {

using recorded_disk::operation;
using kind = operation::kind;

struct recorder {
  std::mutex mutex{};
  std::string root{};  // empty: nothing is recorded
  std::vector<operation> operations{};
  std::map<int, int> files{};            // descriptors and the number of their creation
  std::map<int, std::string> folders{};  // descriptors of folders
  int created = 0;

  bool has(std::string const& path) const { return !root.empty() && path.starts_with(root + '/'); }
} disk_calls;

/// Runs a system call. If it succeeds, records its operation.
template <class Call>
int recorded(Call call, operation done) {
  std::lock_guard const lock(disk_calls.mutex);
  int const result = call();
  if (result == 0 && disk_calls.has(done.path)) disk_calls.operations.push_back(std::move(done));
  return result;
}

}  // namespace

extern "C" {
int open(char const* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t const mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  std::lock_guard const lock(disk_calls.mutex);
  int const file = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
  bool const is_root = !disk_calls.root.empty() && path == disk_calls.root;
  if (file < 0 || !(is_root || disk_calls.has(path))) return file;
  if ((flags & O_CREAT) != 0) {
    disk_calls.files[file] = disk_calls.created++;
    disk_calls.operations.push_back({kind::create, path});
  } else if ((flags & O_DIRECTORY) != 0) {
    std::string folder = path;
    if (folder.ends_with('/')) folder.pop_back();
    disk_calls.folders[file] = folder;
  }
  return file;
}
int close(int file) {
  {
    std::lock_guard const lock(disk_calls.mutex);
    disk_calls.files.erase(file);
    disk_calls.folders.erase(file);
  }
  return static_cast<int>(::syscall(SYS_close, file));
}
ssize_t write(int file, void const* data, size_t bytes) {
  std::lock_guard const lock(disk_calls.mutex);
  ssize_t const written = ::syscall(SYS_write, file, data, bytes);
  if (auto const at = disk_calls.files.find(file); written > 0 && at != disk_calls.files.end())
    disk_calls.operations.push_back({.what = kind::write,
                                     .bytes = {static_cast<char const*>(data), static_cast<size_t>(written)},
                                     .file = at->second});
  return written;
}
int fsync(int file) {
  std::lock_guard const lock(disk_calls.mutex);
  int const result = static_cast<int>(::syscall(SYS_fsync, file));
  if (auto const at = disk_calls.files.find(file); at != disk_calls.files.end())
    disk_calls.operations.push_back({.what = kind::sync, .file = at->second});
  else if (auto const folder = disk_calls.folders.find(file); folder != disk_calls.folders.end())
    disk_calls.operations.push_back({kind::sync, folder->second});
  return result;
}
int rename(char const* from, char const* to) noexcept {
  return recorded([&] { return ::renameat(AT_FDCWD, from, AT_FDCWD, to); }, {kind::rename, from, to});
}
int mkdir(char const* path, mode_t mode) noexcept {
  return recorded([&] { return ::mkdirat(AT_FDCWD, path, mode); }, {kind::make_folder, path});
}
int unlink(char const* path) noexcept {
  return recorded([&] { return ::unlinkat(AT_FDCWD, path, 0); }, {kind::remove, path});
}
int rmdir(char const* path) noexcept {
  return recorded([&] { return ::unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }, {kind::remove, path});
}
}

namespace power_loss_test {

using namespace cohort_test;

/// Records what `action` does to the folder `root`.
std::vector<operation> operations_of(std::string const& root, std::function<void()> const& action) {
  {
    std::lock_guard const lock(disk_calls.mutex);
    disk_calls.root = root;
    disk_calls.operations.clear();
  }
  action();
  std::lock_guard const lock(disk_calls.mutex);
  disk_calls.root.clear();
  return std::move(disk_calls.operations);
}

/// Replays a power failure after each operation that `save` makes after `before`. `state_of` returns a number
/// that identifies a checkpoint's content.
void lose_power_everywhere(std::function<void(std::string const&)> const& before,
                           std::function<void(std::string const&)> const& save,
                           std::function<double(checkpoint_reader const&)> const& state_of) {
  scratch_folder const folder;
  std::string const root = folder / "runs";
  std::filesystem::create_directory(root);
  disk_calls.created = 0;
  std::vector<operation> const old = operations_of(root, [&] { before(root); });
  double const old_state = state_of(*find_newest_checkpoint(root));
  std::vector<operation> const all = operations_of(root, [&] { save(root); });
  double const new_state = state_of(*find_newest_checkpoint(root));
  ASSERT_NE(old_state, new_state);
  EXPECT_GT(all.size(), 20U);

  recorded_disk::disk disk(root);
  for (operation const& one : old) disk.apply(one);
  disk.synchronise();
  std::set<std::map<std::string, std::string>> seen;
  std::size_t news = 0;
  for (std::size_t made = 0; made <= all.size(); ++made) {
    if (made > 0) disk.apply(all[made - 1]);
    disk.each_survivor([&](std::map<std::string, std::string> const& files) {
      bool const is_complete = made == all.size();
      if (!seen.insert(files).second && !is_complete) return;
      scratch_folder const after;
      recorded_disk::write(files, after.path());
      std::string trouble;
      try {
        auto const newest =
            find_newest_checkpoint(after.path(), [&](std::string_view line) { trouble += line; });
        double const state = newest ? state_of(*newest) : 0;
        EXPECT_TRUE(newest && (state == new_state || (state == old_state && !is_complete)))
            << "after operation " << made << ": " << state << ' ' << trouble;
        if (state == new_state) ++news;
      } catch (error const& refused) {
        ADD_FAILURE() << "after operation " << made << ": " << refused.what();
      }
    });
  }
  EXPECT_GT(news, 0U);
  EXPECT_GT(seen.size(), all.size());
  testing::Test::RecordProperty("operations", static_cast<int>(all.size()));
  testing::Test::RecordProperty("survivors", static_cast<int>(seen.size()));
}

TEST(power_loss, leaves_the_old_or_the_new_checkpoint) {
  small_run const run;
  for (int keep : {1, 2})
    lose_power_everywhere([&](std::string const& root) { run.save(2, root, 1, 1, 2); },
                          [&](std::string const& root) { run.save(2, root, 2, 7, keep); }, shared_value);
}

TEST(power_loss, leaves_a_checkpoint_while_it_is_replaced) {
  small_run const run;
  lose_power_everywhere([&](std::string const& root) { run.save(2, root, 1, 1, 2); },
                        [&](std::string const& root) { run.save(2, root, 1, 7, 1); }, shared_value);
}

TEST(power_loss, leaves_the_old_or_the_new_checkpoint_of_the_writing_thread) {
  bright_thirds const examples(40);
  graph const net(small);
  std::unique_ptr<training> made;
  auto const train = [&](std::string const& root) {
    if (!made) made = std::make_unique<training>(trainer<narrow>(net, with_state()));
    checkpoint_listener saving(root, 2, 1, {});
    made->fit(examples.data(), {.batch = 20, .epochs = 1, .listeners = {&saving}});
    ASSERT_EQ(saving.failures(), 0);
  };
  lose_power_everywhere(
      train, train, [](checkpoint_reader const& from) { return static_cast<double>(from.position().step); });
}

}  // namespace power_loss_test
