// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cohort/detail/hash.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/detail/scratch_memory.hpp>
#include <cohort/io/fetch.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/io/folder.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace cohort::detail {

/// A file descriptor, closed by the destructor.
struct owned_descriptor {
  int const number;
  explicit owned_descriptor(int opened) : number(opened) {}
  owned_descriptor(owned_descriptor const&) = delete;
  owned_descriptor& operator=(owned_descriptor const&) = delete;
  ~owned_descriptor() {
    if (number >= 0) ::close(number);
  }
};

/// Returns a copy of a descriptor that is not a standard stream and is closed by exec; -1 with errno if there
/// is none.
inline int above_standard_streams(int descriptor) {
  return ::fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

/// The two ends of a pipe, closed by the destructor and by exec. They are not standard streams, which this
/// process may have closed and the command gets.
struct owned_pipe {
  int ends[2];
  owned_pipe() {
    int opened[2];
    if (::pipe2(opened, O_CLOEXEC) != 0) refuse_file("cannot create a pipe", "fetch", errno);
    owned_descriptor const reading(opened[0]), writing(opened[1]);
    ends[0] = above_standard_streams(reading.number);
    if (ends[0] >= 0) ends[1] = above_standard_streams(writing.number);
    if (ends[0] >= 0 && ends[1] >= 0) return;
    int const error_number = errno;
    if (ends[0] >= 0) ::close(ends[0]);
    refuse_file("cannot create a pipe", "fetch", error_number);
  }
  owned_pipe(owned_pipe const&) = delete;
  owned_pipe& operator=(owned_pipe const&) = delete;
  ~owned_pipe() {
    ::close(ends[0]);
    close_writing_end();
  }
  void close_writing_end() {
    if (ends[1] >= 0) ::close(std::exchange(ends[1], -1));
  }
};

/// Kills the process group of a command when this process ends in any way before the destructor. The command
/// inherits the reading end of a pipe, whose other end only this process has. When the other end is closed,
/// the kernel sends the signal of the reading end to its owner, the process group.
class killed_with_this_process {
 public:
  ~killed_with_this_process() { ::fcntl(pipe_.ends[0], F_SETFL, 0); }

  /// Called by the leader of the group before it executes the command. If the other process has ended, the
  /// last line kills the leader. Returns false with errno if the group would not be killed.
  bool watch() {
    int const inherited = pipe_.ends[0];
    bool const is_set = ::fcntl(inherited, F_SETFD, 0) == 0  // not closed by exec
                        && ::fcntl(inherited, F_SETSIG, SIGKILL) == 0
                        && ::fcntl(inherited, F_SETOWN, -::getpid()) == 0
                        && ::fcntl(inherited, F_SETFL, O_ASYNC) == 0;
    if (is_set) pipe_.close_writing_end();
    return is_set;
  }

 private:
  owned_pipe pipe_{};
};

/// Fetches one file at a time.
class file_fetcher {
 public:
  explicit file_fetcher(io::fetch_settings const& settings) : settings_(settings) {}

  /// Returns the path of the copy of a file.
  std::string copy_of(std::string const& name) const {
    std::string const path = path_of(name);
    if (io::size_of_file(path)) return path;
    constexpr std::chrono::milliseconds longest = std::chrono::hours(24 * 365);  // avoids an overflow
    auto const end = std::chrono::steady_clock::now() + std::min(settings_.deadline, longest);
    owned_descriptor const lock(::open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (lock.number < 0) refuse_file("cannot open the file", path + ".lock", errno);
    wait_until(end, name, "another process that fetches the file", [&]() -> std::optional<int> {
      if (::flock(lock.number, LOCK_EX | LOCK_NB) == 0) return 0;
      if (errno != EWOULDBLOCK && errno != EINTR) refuse_file("cannot lock the file", path + ".lock", errno);
      return std::nullopt;
    });
    if (!io::size_of_file(path)) run(name, path, end);
    io::remove_file(path + ".lock");
    return path;
  }

 private:
  using time_point = std::chrono::steady_clock::time_point;
  static constexpr std::string_view incomplete = ".partial";  // end of an incomplete copy's name
  static constexpr std::string_view unused = ".XXXXXX";       // replaced by mkostemps

  /// Returns the path of a copy: a hash of the command and the name, and the last part of the name.
  std::string path_of(std::string const& name) const {
    std::uint64_t key = fnv1a(name);
    for (std::string const& argument : settings_.command)
      key = fnv1a(argument, fnv1a(std::string_view("\0", 1), key));
    char hash[24];
    std::snprintf(hash, sizeof hash, "%016llx-", static_cast<unsigned long long>(key));
    std::string_view last = name;
    if (name.starts_with("http://") || name.starts_with("https://"))
      last = last.substr(0, last.find_first_of("?#"));  // without the query
    last.remove_prefix(last.find_last_of('/') + 1);
    // File systems allow 255 bytes; commands add endings to the names of incomplete copies.
    constexpr std::size_t longest = 150;
    if (last.size() > longest) last.remove_prefix(last.size() - longest);
    return settings_.folder + '/' + hash + std::string(last);
  }

  /// Calls `attempt` until it returns a number.  Errors: deadline_error.
  template <class Attempt>
  int wait_until(time_point end, std::string const& name, char const* what, Attempt attempt) const {
    for (auto pause = std::chrono::milliseconds(1);; pause = std::min(2 * pause, decltype(pause)(50))) {
      if (std::optional<int> const result = attempt()) return *result;
      if (std::chrono::steady_clock::now() >= end)
        throw deadline_error(
            {.what = "a file was not fetched in time",
             .where = name,
             .expected = {"the end of ", what, " within ", settings_.deadline.count(), " ms"},
             .got = "still running"});
      std::this_thread::sleep_for(pause);
    }
  }

  std::vector<std::string> arguments_for(std::string const& name, std::string const& file) const {
    std::vector<std::string> made = settings_.command;
    for (std::string& argument : made) {
      std::string replaced;
      for (std::size_t at = 0; at < argument.size();) {
        std::string_view const rest = std::string_view(argument).substr(at);
        bool const is_name = rest.starts_with("{name}"), is_file = rest.starts_with("{file}");
        replaced += is_name ? name : is_file ? file : std::string(1, argument[at]);
        at += is_name || is_file ? 6 : 1;
      }
      argument = replaced;
    }
    return made;
  }

  /// Prepares a child process and executes the command. Calls only functions that are safe after a fork of
  /// several threads. Returns with errno if one of them fails.
  static void execute(char* const* arguments, int error_output, killed_with_this_process& guard) {
    if (::setpgid(0, 0) != 0 || !guard.watch()) return;
    int const nothing = ::open("/dev/null", O_RDWR);
    if (nothing < 0) return;
    for (auto const& [from, to] : {std::pair(nothing, STDIN_FILENO), std::pair(nothing, STDOUT_FILENO),
                                   std::pair(error_output, STDERR_FILENO)})
      if (::dup2(from, to) < 0) return;
    if (nothing > STDERR_FILENO) ::close(nothing);
    ::execvp(arguments[0], arguments);
  }

  /// Starts the command in a new process group.
  ::pid_t start(std::vector<std::string> arguments, int error_output, killed_with_this_process& guard,
                std::string const& name, time_point end) const {
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    owned_pipe failure;  // receives the error number of execute
    if (::fcntl(failure.ends[0], F_SETFL, O_NONBLOCK) != 0)
      refuse_file("cannot start a process", name, errno);
    ::pid_t const child = ::fork();
    if (child < 0) refuse_file("cannot start a process", name, errno);
    if (child == 0) {
      execute(pointers.data(), error_output, guard);
      int const error_number = errno;
      ::ssize_t const written = ::write(failure.ends[1], &error_number, sizeof error_number);
      ::_exit(written > 0 ? 127 : 126);
    }
    ::setpgid(child, child);  // in both processes: the group may be killed before the child has run
    failure.close_writing_end();
    int error_number = 0;
    try {
      int const got = wait_until(end, name, "the command's start", [&]() -> std::optional<int> {
        ::ssize_t const count = ::read(failure.ends[0], &error_number, sizeof error_number);
        if (count < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
        return static_cast<int>(count);
      });
      if (got <= 0) return child;
    } catch (...) {
      kill_group(child);
      throw;
    }
    wait_for_end(child);
    throw file_error({.what = "the command that fetches files cannot be started",
                      .where = name,
                      .expected = {"the program ", arguments[0]},
                      .got = std::generic_category().message(error_number)});
  }

  static void kill_group(::pid_t leader) {
    ::kill(-leader, SIGKILL);
    wait_for_end(leader);
  }

  /// Waits for the end of a process, at most a second: a process blocked on a dead network file system does
  /// not end.
  static void wait_for_end(::pid_t child) {
    for (int poll = 0; poll < 100 && ::waitpid(child, nullptr, WNOHANG) == 0; ++poll)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }

  /// Returns the last characters of a file.
  static std::string end_of(int file) {
    char text[400];
    ::off_t const size = ::lseek(file, 0, SEEK_END), length = std::min<::off_t>(size, sizeof text);
    ::ssize_t const got = ::pread(file, text, static_cast<std::size_t>(length), size - length);
    std::string found(text, static_cast<std::size_t>(std::max<::ssize_t>(got, 0)));
    while (found.ends_with('\n')) found.pop_back();
    return found;
  }

  /// Removes incomplete copies of this call and of earlier calls that were killed, which may be folders, and
  /// the files beside them whose names begin with theirs, such as NAME._COPYING_ of hdfs. What cannot be
  /// removed stays: no later call uses its name.
  void remove_incomplete(std::string const& path) const {
    std::string const begin = path.substr(path.rfind('/') + 1) + '.';
    std::optional<std::vector<std::string>> const names = io::list_folder(settings_.folder);
    for (std::string const& name : names.value_or(std::vector<std::string>())) {
      if (!name.starts_with(begin) || name.find(incomplete, begin.size()) != begin.size() + unused.size() - 1)
        continue;
      std::error_code ignored;
      std::filesystem::remove_all(settings_.folder + '/' + name, ignored);
    }
  }

  /// Returns an unused name for an incomplete copy: the command of an earlier call that was killed may still
  /// write to its own incomplete copy.
  static std::string unused_name(std::string const& path) {
    std::string name = path + std::string(unused) + std::string(incomplete);
    owned_descriptor const created(::mkostemps(name.data(), static_cast<int>(incomplete.size()), O_CLOEXEC));
    if (created.number < 0) refuse_file("cannot create the file", name, errno);
    io::remove_file(name);  // the command creates it
    return name;
  }

  void run(std::string const& name, std::string const& path, time_point end) const {
    remove_incomplete(path);
    try {
      run_command(name, path, end);
    } catch (...) {
      remove_incomplete(path);
      throw;
    }
  }

  void run_command(std::string const& name, std::string const& path, time_point end) const {
    std::string const partial = unused_name(path);
    owned_descriptor const scratch(open_scratch_file(settings_.folder)),
        errors(above_standard_streams(scratch.number));
    if (errors.number < 0) refuse_file("cannot make a temporary file in the folder", settings_.folder, errno);
    killed_with_this_process guard;
    ::pid_t const child = start(arguments_for(name, partial), errors.number, guard, name, end);
    int status = 0;
    try {
      wait_until(end, name, "the command", [&]() -> std::optional<int> {
        ::pid_t const ended = ::waitpid(child, &status, WNOHANG);
        // If this program ignores SIGCHLD, the exit status is unknown, and the copy may be incomplete.
        if (ended < 0 && errno != EINTR) refuse_file("cannot wait for the command", name, errno);
        return ended == 0 || (ended < 0 && errno == EINTR) ? std::nullopt : std::optional(0);
      });
    } catch (...) {
      kill_group(child);
      throw;
    }
    if (status == 0 && io::size_of_file(partial)) {
      if (::rename(partial.c_str(), path.c_str()) != 0) refuse_file("cannot rename the file", partial, errno);
      return;
    }
    std::string got = WIFSIGNALED(status)      ? text_of({"signal ", WTERMSIG(status)})
                      : status != 0            ? text_of({"exit status ", WEXITSTATUS(status)})
                      : io::is_folder(partial) ? "a folder; name a file"
                                               : "no file";
    if (std::string const text = end_of(errors.number); !text.empty()) got += ": " + text;
    throw file_error({.what = "the command did not fetch the file",
                      .where = name,
                      .expected = {"exit status 0 and a file at ", partial},
                      .got = std::move(got)});
  }

  io::fetch_settings const& settings_;
};

}  // namespace cohort::detail

namespace cohort::io {

std::vector<std::string> fetch(std::vector<std::string> const& names, fetch_settings const& settings) {
  auto const refuse = [](char const* where, char const* expected, std::string got) {
    throw setting_error(
        {.what = "invalid settings of fetch", .where = where, .expected = expected, .got = std::move(got)});
  };
  auto const writes = [](std::string const& argument) { return argument.find("{file}") != argument.npos; };
  if (settings.command.empty()) refuse("fetch_settings::command", "a program and its arguments", "none");
  if (std::ranges::none_of(settings.command, writes))
    refuse("fetch_settings::command", "an argument that contains {file}", "none");
  if (settings.folder.empty()) refuse("fetch_settings::folder", "a folder for the copies", "\"\"");
  io::make_folder(settings.folder);
  detail::file_fetcher const fetcher(settings);
  std::vector<std::string> copies;
  for (std::string const& name : names) copies.push_back(fetcher.copy_of(name));
  return copies;
}

}  // namespace cohort::io
