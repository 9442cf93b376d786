// SPDX-License-Identifier: Apache-2.0
// covers: training/checkpoint_listener
// alone: it replaces system calls and operator new
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cohort/checkpoint/checkpoint_reader.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/training/checkpoint_listener.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <cohort/training/stop_on_signal.hpp>
#include <condition_variable>
#include <csignal>
#include <cstdarg>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <sstream>
#include <thread>

#include "../checkpoint/scratch_folder.hpp"
#include "../strategy/rank_cases.hpp"
#include "../strategy/sharing_cases.hpp"

namespace {

thread_local std::int64_t large_allocations = 0;
constexpr std::size_t large_bytes = 65536;

/// A disk below `root` whose operations can be held up, and can fail.
struct disk_gate {
  std::mutex mutex{};
  std::condition_variable changed{};
  std::string root{};  // empty: any operation passes
  bool is_open = true;
  int operations = 0;
  int failing = 0;  // number of the operation that fails
  int passing = 0;  // number of operations that do not wait
  std::set<int> files{};

  /// Waits while the gate is closed. Returns whether the operation fails.
  bool fails(std::unique_lock<std::mutex>& lock) {
    changed.wait_for(lock, std::chrono::seconds(60), [&] { return is_open || operations < passing; });
    return ++operations == failing;
  }
  bool fails(char const* path) {
    std::unique_lock lock(mutex);
    return !root.empty() && std::string_view(path).starts_with(root + '/') && fails(lock);
  }
  bool fails(int file) {
    std::unique_lock lock(mutex);
    return files.contains(file) && fails(lock);
  }
  void set(bool open) {
    std::lock_guard const lock(mutex);
    is_open = open;
    changed.notify_all();
  }
  void watch(std::string folder, int fault = 0) {
    std::lock_guard const lock(mutex);
    root = std::move(folder);
    operations = 0;
    failing = fault;
    passing = 0;
  }
} disk;

thread_local bool threads_fail = false;  // pthread_create returns an error

int failed(int why) {
  errno = why;
  return -1;
}

}  // namespace

extern "C" {
int open(char const* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t const mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  bool const writes = (flags & (O_CREAT | O_DIRECTORY)) != 0;
  if (writes && disk.fails(path)) return failed(EROFS);
  int const file = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
  std::lock_guard const lock(disk.mutex);
  if (file >= 0 && writes && !disk.root.empty() && std::string_view(path).starts_with(disk.root + '/'))
    disk.files.insert(file);
  return file;
}
int close(int file) {
  {
    std::lock_guard const lock(disk.mutex);
    disk.files.erase(file);
  }
  return static_cast<int>(::syscall(SYS_close, file));
}
ssize_t write(int file, void const* data, size_t bytes) {
  return disk.fails(file) ? failed(ENOSPC) : ::syscall(SYS_write, file, data, bytes);
}
int fsync(int file) { return disk.fails(file) ? failed(EIO) : static_cast<int>(::syscall(SYS_fsync, file)); }
int rename(char const* from, char const* to) noexcept {
  return disk.fails(from) ? failed(EIO) : ::renameat(AT_FDCWD, from, AT_FDCWD, to);
}
int pthread_create(pthread_t* made, pthread_attr_t const* how, void* (*run)(void*), void* argument) noexcept {
  using function = int (*)(pthread_t*, pthread_attr_t const*, void* (*)(void*), void*);
  if (threads_fail) return EAGAIN;
  return reinterpret_cast<function>(::dlsym(RTLD_NEXT, "pthread_create"))(made, how, run, argument);
}
int mkdir(char const* path, mode_t mode) noexcept {
  return disk.fails(path) ? failed(ENOSPC) : ::mkdirat(AT_FDCWD, path, mode);
}
}

// Weak, so that a sanitizer's operators take precedence. GCC considers the pair mismatched if it inlines one
// of the two.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif
[[gnu::weak]] void* operator new(std::size_t bytes) {
  if (bytes >= large_bytes) ++large_allocations;
  if (void* const memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::weak]] void* operator new(std::size_t bytes, std::align_val_t boundary) {
  if (bytes >= large_bytes) ++large_allocations;
  auto const b = static_cast<std::size_t>(boundary);
  if (void* const memory = std::aligned_alloc(b, (bytes + b - 1) / b * b)) return memory;
  throw std::bad_alloc();
}
[[gnu::weak]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::weak]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::weak]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::weak]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace checkpoint_writer_test {

using namespace cohort_test;

/// Calls a function after each step.
struct after_steps final : listener {
  std::function<void(training&, std::int64_t)> act;
  std::string called;
  explicit after_steps(std::function<void(training&, std::int64_t)> what, std::string name = "")
      : act(std::move(what)), called(std::move(name)) {}
  void on_step(training& run, step_report const& done) override {
    if (act) act(run, done.step + 1);
  }
  std::string name() const override { return called; }
};

/// Names and bytes of the files of a folder.
std::map<std::string, std::string> files_in(std::string const& folder) {
  std::map<std::string, std::string> all;
  for (auto const& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    std::ostringstream bytes;
    bytes << file.rdbuf();
    all[entry.path().lexically_relative(folder)] = bytes.str();
  }
  return all;
}

training_settings averaged() {
  training_settings settings = with_state();
  settings.average_decay = 0.9;
  return settings;
}

template <class Strategy>
void has_the_bytes_of_save_checkpoint(int ranks, Strategy const& how, training_settings const& settings) {
  bright_thirds const examples(103);
  scratch_folder const background, foreground;
  launch<threads>(ranks, [&](communicator& world) {
    training made = trainer<narrow>(small, world, how, settings);
    checkpoint_listener saving(background.path(), 6, 100, {});
    after_steps same([&](training& run, std::int64_t step) {
      if (step % 6 == 0) save_checkpoint(run, foreground.path(), 100);
    });
    made.fit(examples.data(), {.batch = ranks == 1 ? 7 : 3, .epochs = 2, .listeners = {&saving, &same}});
    EXPECT_EQ(saving.failures(), 0);
  });
  auto const written = files_in(background.path());
  EXPECT_GE(written.size(), 15U);
  EXPECT_TRUE(written == files_in(foreground.path()));
}

TEST(checkpoint_writer, has_the_bytes_of_save_checkpoint) {
  for (int ranks : {1, 2}) {
    has_the_bytes_of_save_checkpoint(ranks, allreduce{}, averaged());
    has_the_bytes_of_save_checkpoint(ranks, parameter_averaging{.every = 3, .outer = outer::diloco{}},
                                     with_state());
    has_the_bytes_of_save_checkpoint(ranks, sharing(), with_state());
    has_the_bytes_of_save_checkpoint(ranks, late_sharing(), with_state());
  }
  has_the_bytes_of_save_checkpoint(2, allreduce{.shard = shard::optimizer_state}, with_state());
}

/// The thread begins to read the snapshot three steps after it was made.
template <class Strategy>
void is_not_disturbed(int ranks, Strategy const& how, training_settings const& settings) {
  bright_thirds const examples(103);
  scratch_folder const background, foreground;
  fit_settings const fitting{.batch = ranks == 1 ? 7 : 3};
  launch<threads>(ranks, [&](communicator& world) {
    training made = trainer<narrow>(small, world, how, settings);
    after_steps saving(
        [&](training& run, std::int64_t step) {
          if (step == 4) save_checkpoint(run, foreground.path());
        },
        "checkpoint every 4 steps");
    fit_settings with = fitting;
    with.listeners = {&saving};
    made.fit(examples.data(), with);
  });
  disk.watch(background.path());
  disk.set(false);
  launch<threads>(ranks, [&](communicator& world) {
    training made = trainer<narrow>(small, world, how, settings);
    checkpoint_listener saving(background.path(), 4, 100, {});
    after_steps opening([&](training& run, std::int64_t step) {
      if (step == 7) {
        run.world().barrier();
        EXPECT_EQ(saving.newest_step(), -1) << "training waits for the disk";
        run.world().barrier();
        disk.set(true);
      }
      if (step == 8) {
        EXPECT_EQ(saving.newest_step(), 4) << "at most one checkpoint is pending";
      }
    });
    fit_settings with = fitting;
    with.listeners = {&saving, &opening};
    made.fit(examples.data(), with);
  });
  disk.watch("");
  std::string const step = '/' + detail::checkpoint_name(4);
  EXPECT_TRUE(files_in(background.path() + step) == files_in(foreground.path() + step));
}

TEST(checkpoint_writer, is_not_disturbed_by_training_that_continues) {
  for (int ranks : {1, 2}) {
    is_not_disturbed(ranks, allreduce{}, averaged());
    is_not_disturbed(ranks, sharing(), with_state());
    is_not_disturbed(ranks, parameter_averaging{.every = 3, .outer = outer::diloco{}}, with_state());
  }
}

TEST(checkpoint_writer, copies_the_state_once_to_memory_that_it_reuses) {
  bright_thirds const examples(80);
  scratch_folder const folder;
  training made = trainer<narrow>(broad, averaged());
  checkpoint_listener saving(folder.path(), 2, 1, {});
  std::size_t const arena = made.parameters().arena_bytes(), arrays = 3;  // master, velocity, average
  struct counting final : listener {
    checkpoint_listener& counted;
    std::vector<std::int64_t> large{};
    std::vector<std::size_t> copied{}, held{};
    explicit counting(checkpoint_listener& of) : counted(of) {}
    void on_step(training& run, step_report const& done) override {
      std::int64_t const before = large_allocations;
      counted.on_step(run, done);
      if ((done.step + 1) % 2 != 0) return;
      large.push_back(large_allocations - before);
      copied.push_back(run.state().checkpoints.memory()->copied_bytes());
      held.push_back(run.state().checkpoints.memory()->bytes());
    }
    void on_end(training& run) override { counted.on_end(run); }
  } counter(saving);
  made.fit(examples.data(), {.batch = 10, .listeners = {&counter}});
  ASSERT_EQ(counter.copied.size(), 4U);
  for (std::size_t k = 0; k < 4; ++k) {
    EXPECT_EQ(counter.copied[k], (k + 1) * arrays * arena);
    EXPECT_EQ(counter.held[k], arrays * arena);
  }
  EXPECT_EQ(made.state().checkpoints.memory(), nullptr) << "fit frees the memory";
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer has its own operator new";
#endif
  for (std::int64_t const count : counter.large) EXPECT_EQ(count, 0);
}

TEST(checkpoint_writer, reports_every_fault_of_the_disk_and_loses_nothing) {
  bright_thirds const examples(60);
  auto const train = [&](std::string const& folder, std::vector<std::string>& lines, int ranks) {
    std::string checksum;
    launch<threads>(ranks, [&](communicator& world) {
      training made = trainer<narrow>(small, world, allreduce{}, with_state());
      checkpoint_listener saving(folder, 3, 2, [&](std::string_view line) { lines.emplace_back(line); });
      made.fit(examples.data(), {.batch = 10 / ranks, .listeners = {&saving}});
      EXPECT_EQ(saving.failures(), disk.operations >= disk.failing && disk.failing > 0 ? 1 : 0);
      EXPECT_EQ(saving.last_error().empty(), saving.newest_step() == made.step());
      if (world.rank() == 0) checksum = made.checksum();
    });
    return checksum;
  };
  for (int ranks : {1, 2}) {
    scratch_folder const whole;
    std::vector<std::string> none;
    std::string const expected = train(whole.path(), none, ranks);
    EXPECT_TRUE(none.empty());
    std::set<std::int64_t> newest;
    bool has_failed = true;
    for (int fault = 1; has_failed; ++fault) {
      SCOPED_TRACE("fault of operation " + std::to_string(fault));
      scratch_folder const folder;
      std::vector<std::string> lines;
      disk.watch(folder.path(), fault);
      EXPECT_EQ(train(folder.path(), lines, ranks), expected);
      has_failed = disk.operations >= fault;
      disk.watch("");
      ASSERT_EQ(lines.size(), has_failed ? 1U : 0U);
      for (std::string const& line : lines) EXPECT_TRUE(line.starts_with("no checkpoint at step ")) << line;
      for (std::string const& name : detail::finished_checkpoints(folder.path()))
        EXPECT_NO_THROW(checkpoint_reader(folder / name).check()) << name;
      newest.insert(find_newest_checkpoint(folder.path())->position().step);
    }
    EXPECT_EQ(newest, (std::set<std::int64_t>{3, 6}));
  }
}

TEST(checkpoint_writer, counts_a_failure_at_a_step_before_that_of_an_older_success) {
  bright_thirds const examples(60);
  for (int ranks : {1, 2}) {
    scratch_folder const folder;
    launch<threads>(ranks, [&](communicator& world) {
      checkpoint_listener saving(folder.path(), 2, 2, {});
      fit_settings with{.batch = 10 / ranks, .listeners = {&saving}};
      trainer<narrow>(small, world, allreduce{}, with_state()).fit(examples.data(), with);
      EXPECT_EQ(saving.newest_step(), 6);
      world.barrier();
      if (world.rank() == 0) {
        std::filesystem::remove_all(folder.path());
        disk.watch(folder.path(), 1);
      }
      world.barrier();
      after_steps checking([&](training&, std::int64_t step) {
        if (step == 4) {
          EXPECT_EQ(saving.failures(), 1);
        }
        if (step == 6) {
          EXPECT_EQ(saving.newest_step(), 4) << "rank " << world.rank();
        }
      });
      with.listeners = {&saving, &checking};
      trainer<narrow>(small, world, allreduce{}, with_state()).fit(examples.data(), with);
      EXPECT_EQ(saving.failures(), 1);
    });
    disk.watch("");
  }
}

TEST(checkpoint_writer, writes_on_the_training_thread_if_no_thread_can_be_started) {
  bright_thirds const examples(60);
  scratch_folder const folder;
  training made = trainer<narrow>(small, with_state());
  checkpoint_listener saving(folder.path(), 2, 9, {});
  threads_fail = true;
  EXPECT_NO_THROW(made.fit(examples.data(), {.batch = 10, .listeners = {&saving}}));
  threads_fail = false;
  EXPECT_EQ(saving.failures(), 0);
  EXPECT_EQ(detail::finished_checkpoints(folder.path()).size(), 3U);
}

void wait_for_thread(training const& run) {
  auto const limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (run.state().checkpoints.is_writing() && std::chrono::steady_clock::now() < limit)
    std::this_thread::yield();
}

TEST(checkpoint_writer, that_makes_no_progress_does_not_hold_up_fit) {
  bright_thirds const examples(60);
  scratch_folder const folder;
  std::vector<std::string> lines;
  disk.watch(folder.path());
  disk.set(false);
  {
    training made = trainer<narrow>(graph(small), make_self({.deadline = std::chrono::milliseconds(400)}),
                                    std::make_unique<no_exchange>(), with_state());
    checkpoint_listener saving(folder.path(), 2, 2, [&](std::string_view line) { lines.emplace_back(line); });
    EXPECT_EQ(made.fit(examples.data(), {.batch = 10, .listeners = {&saving}}).steps, 6);
    EXPECT_EQ(saving.failures(), 3);
    EXPECT_NE(saving.last_error().find("makes no progress"), std::string::npos) << saving.last_error();
    EXPECT_TRUE(made.state().checkpoints.is_writing());
    EXPECT_EQ(detail::finished_checkpoints(folder.path()), std::vector<std::string>());
    disk.set(true);
    wait_for_thread(made);
  }
  disk.watch("");
  EXPECT_EQ(lines.size(), 3U);
  EXPECT_EQ(find_newest_checkpoint(folder.path())->position().step, 2);
}

/// The thread of rank 0 waits for the disk longer than the communicator's deadline, and that of rank 1 for
/// rank 0.
TEST(checkpoint_writer, that_makes_no_progress_does_not_hold_up_fit_of_several_ranks) {
  bright_thirds const examples(60);
  std::chrono::milliseconds const deadline(2000);
  for (int gated : {1, 5}) {  // before the folder is created, and while the file of rank 0 is written
    scratch_folder const folder;
    disk.watch(folder.path());
    disk.passing = gated - 1;
    disk.set(false);
    launch<threads>(2, {.deadline = deadline}, [&](communicator& world) {
      training made = trainer<narrow>(small, world, allreduce{}, with_state());
      checkpoint_listener saving(folder.path(), 2, 2, {});
      auto const begin = std::chrono::steady_clock::now();
      after_steps waiting([&](training& run, std::int64_t step) {
        std::uint64_t continues = step == 5 ? 1 : 0;
        while (continues > 0) {
          continues = std::chrono::steady_clock::now() - begin < deadline * 3 / 2 ? 1 : 0;
          run.world().allreduce(std::span<std::uint64_t>(&continues, 1), reduction::maximum);
        }
      });
      fit_settings const with{.batch = 5, .listeners = {&saving, &waiting}};
      EXPECT_EQ(made.fit(examples.data(), with).steps, 6);
      EXPECT_EQ(saving.failures(), 3);
      EXPECT_NE(saving.last_error().find("makes no progress"), std::string::npos) << saving.last_error();
      EXPECT_EQ(detail::finished_checkpoints(folder.path()), std::vector<std::string>());
      world.barrier();
      disk.set(true);
      wait_for_thread(made);
      EXPECT_EQ(made.fit(examples.data(), with).steps, 6);
      EXPECT_EQ(saving.failures(), 3);
      EXPECT_EQ(saving.newest_step(), 12);
    });
    disk.watch("");
  }
}

TEST(checkpoint_writer, completes_a_checkpoint_after_an_exception_and_reports_its_error) {
  bright_thirds const examples(60);
  for (int fault : {0, 7}) {
    scratch_folder const folder;
    std::vector<std::string> lines;
    disk.watch(folder.path(), fault);
    disk.set(false);
    {
      training made = trainer<narrow>(small, with_state());
      checkpoint_listener saving(folder.path(), 2, 2,
                                 [&](std::string_view line) { lines.emplace_back(line); });
      after_steps failing([&](training&, std::int64_t step) {
        if (step < 3) return;
        disk.set(true);
        throw std::runtime_error("as it must");
      });
      EXPECT_THROW(made.fit(examples.data(), {.batch = 10, .listeners = {&failing, &saving}}),
                   std::runtime_error);
    }
    disk.watch("");
    EXPECT_EQ(find_newest_checkpoint(folder.path()).has_value(), fault == 0);
    EXPECT_EQ(lines.size(), fault == 0 ? 0U : 1U);
    for (std::string const& line : lines) EXPECT_TRUE(line.starts_with("no checkpoint at step 2: ")) << line;
  }
}

TEST(checkpoint_writer, is_awaited_when_a_signal_stops_the_run) {
  bright_thirds const examples(200);
  scratch_folder const folder;
  disk.watch(folder.path());
  disk.set(false);
  stop_on_signal stopping;
  training made = trainer<narrow>(small, with_state());
  checkpoint_listener saving(folder.path(), 4, 9, {});
  struct opening final : listener {
    void on_vote(training&, votes const&) override { disk.set(true); }
  } opener;
  after_steps raising([&](training&, std::int64_t step) {
    if (step == 6) std::raise(SIGINT);
  });
  fit_report const report =
      made.fit(examples.data(), {.batch = 10, .listeners = {&raising, &stopping, &opener, &saving}});
  disk.watch("");
  EXPECT_TRUE(report.stopped);
  EXPECT_EQ(saving.newest_step(), made.step());
  std::vector<std::string> const names = detail::finished_checkpoints(folder.path());
  ASSERT_EQ(names.size(), 2U);
  EXPECT_EQ(names[0], detail::checkpoint_name(made.step()));
  EXPECT_EQ(names[1], detail::checkpoint_name(4));
}

TEST(checkpoint_writer, is_awaited_by_save_checkpoint_and_resume) {
  bright_thirds const examples(60);
  scratch_folder const folder;
  training made = trainer<narrow>(small, with_state());
  checkpoint_listener saving(folder.path(), 2, 9, {});
  after_steps also([&](training& run, std::int64_t step) {
    if (step == 2 || step == 5) save_checkpoint(run, folder.path(), 9);
  });
  made.fit(examples.data(), {.batch = 10, .listeners = {&saving, &also}});
  EXPECT_EQ(saving.failures(), 0);
  std::vector<std::string> expected;
  for (int step : {6, 5, 4, 2}) expected.push_back(detail::checkpoint_name(step));
  EXPECT_EQ(detail::finished_checkpoints(folder.path()), expected);
}

}  // namespace checkpoint_writer_test
