// SPDX-License-Identifier: Apache-2.0
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>
#include <filesystem>

#include <cohort/io/fetch.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/io/folder.hpp>
#include <csignal>
#include <fstream>
#include <thread>

#include "../checkpoint/scratch_folder.hpp"
#include "../data/refused.hpp"

namespace fetch_test {

using namespace cohort;
using io::fetch;
using io::fetch_settings;

struct remote {
  scratch_folder there, here;
  fetch_settings settings{.command = {"cp", "{name}", "{file}"}, .folder = here / "copies"};

  std::string file(std::string const& name, std::string const& content) const {
    io::write_file(there / name, content);
    return there / name;
  }
  /// Runs a command of the shell with $1 = name and $2 = file.
  fetch_settings shell(std::string const& command) const {
    fetch_settings changed = settings;
    changed.command = {"sh", "-c", command, "sh", "{name}", "{file}"};
    return changed;
  }
  /// Returns the names in the folder of the copies, without locks.
  std::vector<std::string> copies() const {
    std::vector<std::string> names = io::list_folder(settings.folder).value();
    std::erase_if(names, [](std::string const& name) { return name.ends_with(".lock"); });
    return names;
  }
};

TEST(fetch, copies_files_in_order) {
  remote const far;
  std::vector<std::string> const copies = fetch({far.file("a", "one"), far.file("b", "two")}, far.settings);
  ASSERT_EQ(copies.size(), 2U);
  EXPECT_EQ(io::read_text(copies[0]), "one");
  EXPECT_EQ(io::read_text(copies[1]), "two");
  EXPECT_TRUE(copies[0].starts_with(far.settings.folder + "/") && copies[0].ends_with("-a")) << copies[0];
}

TEST(fetch, does_not_fetch_a_file_again_and_removes_temporary_files) {
  remote const far;
  std::string const name = far.file("a", "one");
  std::string const copy = fetch({name}, far.settings)[0];
  far.file("a", "changed");
  EXPECT_EQ(fetch({name}, far.settings)[0], copy);
  EXPECT_EQ(io::read_text(copy), "one");
  std::size_t entries = 0;
  for (auto const& entry : std::filesystem::directory_iterator(far.settings.folder))
    entries += entry.exists();
  EXPECT_EQ(entries, 1U);
}

TEST(fetch, accepts_the_longest_deadline) {
  remote const far;
  fetch_settings settings = far.settings;
  settings.deadline = std::chrono::milliseconds::max();
  EXPECT_EQ(io::read_text(fetch({far.file("a", "one")}, settings)[0]), "one");
}

TEST(fetch, gives_every_command_a_different_temporary_file) {
  remote const far;
  // Each command writes to a separate file and adds its name to a list: the first call fails.
  std::string const names = far.here / "names";
  fetch_settings const second =
      far.shell("echo \"$2\" >> '" + names + "'; touch \"$2\"; [ $(wc -l < '" + names + "') = 2 ]");
  EXPECT_THROW(fetch({"a"}, second), file_error);
  fetch({"a"}, second);
  std::string const both = io::read_text(names);
  std::size_t const line = both.find('\n') + 1;
  EXPECT_NE(both.substr(0, line), both.substr(line));
}

TEST(fetch, removes_incomplete_copies_of_killed_processes) {
  remote const far;
  std::string const copy = fetch({far.file("a", "one")}, far.settings)[0];
  io::write_file(copy + ".aB3xYz.partial", "on");
  io::write_file(copy + ".aB3xYz.partial._COPYING_", "on");
  std::filesystem::create_directories(copy + ".cD4xYz.partial/folder");
  io::write_file(copy + "b.aB3xYz.partial", "of another file");
  std::filesystem::remove(copy);
  EXPECT_EQ(fetch({far.there / "a"}, far.settings)[0], copy);
  EXPECT_TRUE(std::filesystem::exists(copy + "b.aB3xYz.partial"));
  EXPECT_EQ(far.copies().size(), 2U);
}

TEST(fetch, removes_everything_that_a_failed_command_wrote) {
  remote const far;
  fetch_settings const folder = far.shell("mkdir \"$2\"; echo content > \"$2/file\"");
  for (int call = 0; call < 2; ++call)
    expect_parts(refused<file_error>([&] { fetch({"s3://b/folder"}, folder); }),
                 {"did not fetch the file", "s3://b/folder", "a folder; name a file"});
  EXPECT_EQ(far.copies(), std::vector<std::string>());
  std::string const writes = "echo > \"$2._COPYING_\"; echo > \"$2.tmp\"; mkdir -p \"$2/x\"; ";
  EXPECT_THROW(fetch({"a"}, far.shell(writes + "exit 3")), file_error);
  EXPECT_THROW(fetch({"a"}, far.shell(writes + "kill -9 $$")), file_error);
  EXPECT_EQ(far.copies(), std::vector<std::string>());
  fetch_settings slow = far.shell(writes + "sleep 1000");
  slow.deadline = std::chrono::milliseconds(500);
  EXPECT_THROW(fetch({"a"}, slow), deadline_error);
  EXPECT_EQ(far.copies(), std::vector<std::string>());
}

TEST(fetch, names_copies_by_the_last_part_of_the_path_without_a_query) {
  remote const far;
  fetch_settings const settings = far.shell("printf %s \"$1\" > \"$2\"");
  std::string const path = "https://host/x/t.csv.gz", text(300, 'a');
  std::vector<std::string> const names{path + "?download=true&to=/b.c", path + "?download=false",
                                       path + "#part", "https://host/" + text + ".csv.gz"};
  std::vector<std::string> const copies = fetch(names, settings);
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(io::read_text(copies[i]), names[i]);
    EXPECT_TRUE(copies[i].ends_with(i < 3 ? "-t.csv.gz" : "a.csv.gz")) << copies[i];
  }
  EXPECT_TRUE(fetch({"s3://bucket/part#1?.csv"}, settings)[0].ends_with("-part#1?.csv"));
}

TEST(fetch, stores_copies_of_different_commands_separately) {
  remote const far;
  EXPECT_EQ(io::read_text(fetch({"s3://b/a"}, far.shell("printf first > \"$2\""))[0]), "first");
  EXPECT_EQ(io::read_text(fetch({"s3://b/a"}, far.shell("printf second > \"$2\""))[0]), "second");
}

TEST(fetch, stores_files_of_the_same_last_name_separately) {
  remote const far;
  std::filesystem::create_directory(far.there / "x");
  std::vector<std::string> const copies = fetch({far.file("a", "one"), far.file("x/a", "two")}, far.settings);
  EXPECT_EQ(io::read_text(copies[0]), "one");
  EXPECT_EQ(io::read_text(copies[1]), "two");
}

TEST(fetch, passes_names_to_the_command_without_shell_expansion) {
  remote const far;
  std::string const name = far.file("$(touch x); `touch y` {file} '\" *", "one");
  fetch_settings settings = far.settings;
  settings.command = {"cp", "--", "{name}", "{file}"};
  EXPECT_EQ(io::read_text(fetch({name}, settings)[0]), "one");
}

TEST(fetch, stores_copies_inside_the_folder_for_hostile_names) {
  remote const far;
  for (char const* name : {"../../escape", "/", "..", "", "a/../.."}) {
    std::string const copy = fetch({name}, far.shell("printf content > \"$2\""))[0];
    EXPECT_EQ(std::filesystem::weakly_canonical(copy).parent_path(),
              std::filesystem::weakly_canonical(far.settings.folder))
        << name;
  }
}

TEST(fetch, reports_a_command_that_fails) {
  remote const far;
  std::string const failure = refused<file_error>([&] {
    fetch({"s3://bucket/a"}, far.shell("printf part > \"$2\"; echo 'no credentials' >&2; exit 3"));
  });
  expect_parts(failure, {"did not fetch the file", "s3://bucket/a", "exit status 3: no credentials"});
  expect_parts(refused<file_error>([&] { fetch({"a"}, far.shell("kill -9 $$")); }), {"signal 9"});
  expect_parts(refused<file_error>([&] { fetch({"a"}, far.shell("true")); }), {"no file"});
  fetch_settings missing = far.settings;
  missing.command[0] = "no-such-program";
  expect_parts(refused<file_error>([&] { fetch({"a"}, missing); }),
               {"cannot be started", "no-such-program", "No such file"});
  EXPECT_EQ(far.copies(), std::vector<std::string>());
}

TEST(fetch, gives_a_command_its_streams_if_this_process_has_closed_its_own) {
  remote const far;
  std::string const name = far.file("a", "one");
  ::pid_t const child = ::fork();
  if (child == 0) {
    for (int stream : {0, 1, 2}) ::close(stream);
    try {
      fetch({name}, far.shell("cat; echo ignored; cp \"$1\" \"$2\""));
      fetch({name}, far.shell("echo 'no credentials' >&2; exit 3"));
    } catch (file_error const& failure) {
      ::_exit(std::string(failure.what()).find("exit status 3: no credentials") != std::string::npos ? 42
                                                                                                     : 2);
    } catch (...) {
    }
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 42) << status;
  EXPECT_EQ(far.copies().size(), 1U);
}

TEST(fetch, stores_no_copy_if_the_exit_status_is_unknown) {
  remote const far;
  auto const before = std::signal(SIGCHLD, SIG_IGN);
  EXPECT_THROW(fetch({far.file("a", "one")}, far.shell("printf part > \"$2\"; exit 3")), file_error);
  std::signal(SIGCHLD, before);
  EXPECT_EQ(far.copies(), std::vector<std::string>());
}

TEST(fetch, reports_the_end_of_a_long_error_text) {
  remote const far;
  std::string const failure = refused<file_error>([&] {
    fetch({"a"}, far.shell("i=0; while [ $i -lt 5000 ]; do echo line $i >&2; i=$((i+1)); done; exit 1"));
  });
  expect_parts(failure, {"line 4999"});
  EXPECT_EQ(failure.find("line 100\n"), failure.npos);
}

TEST(fetch, succeeds_after_a_failed_call) {
  remote const far;
  fetch_settings const later = far.shell("cp \"$1\" \"$2\"");
  EXPECT_THROW(fetch({far.there / "a"}, later), file_error);
  EXPECT_EQ(io::read_text(fetch({far.file("a", "1")}, later)[0]), "1");
}

TEST(fetch, kills_a_command_at_the_deadline) {
  remote const far;
  fetch_settings slow = far.shell("echo $$ > \"$2\"; sleep 1000");
  slow.deadline = std::chrono::milliseconds(300);
  expect_parts(refused<deadline_error>([&] { fetch({"a"}, slow); }), {"a", "the command within 300 ms"});
  // Nothing holds the lock.
  expect_parts(refused<deadline_error>([&] { fetch({"a"}, slow); }), {"a", "the command within 300 ms"});
}

TEST(fetch, waits_for_another_process_until_the_deadline) {
  remote const far;
  std::string const name = far.file("a", "one");
  std::string const copy = fetch({name}, far.settings)[0];
  std::filesystem::remove(copy);
  int const lock = ::open((copy + ".lock").c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(::flock(lock, LOCK_EX), 0);
  fetch_settings impatient = far.settings;
  impatient.deadline = std::chrono::milliseconds(50);
  expect_parts(refused<deadline_error>([&] { fetch({name}, impatient); }), {name.c_str(), "another process"});
  std::thread other([&] {
    io::write_file(copy, "from the other process");
    ::close(lock);
  });
  EXPECT_EQ(io::read_text(fetch({name}, far.settings)[0]), "from the other process");
  other.join();
}

TEST(fetch, runs_a_command_once_for_several_threads) {
  remote const far;
  fetch_settings const counting = far.shell("echo >> \"$1\"; sleep 0.05; printf x > \"$2\"");
  std::string const name = far.file("count", "");
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) readers.emplace_back([&] { fetch({name}, counting); });
  for (std::thread& one : readers) one.join();
  EXPECT_EQ(io::read_text(name), "\n");
}

TEST(fetch, refuses_invalid_settings) {
  remote const far;
  auto const refused_settings = [](fetch_settings const& settings) {
    return refused<setting_error>([&] { fetch({"a"}, settings); });
  };
  expect_parts(refused_settings({.folder = "x"}), {"command", "a program and its arguments"});
  expect_parts(refused_settings({.command = {"cp", "{name}"}, .folder = "x"}), {"contains {file}"});
  expect_parts(refused_settings({.command = {"cp", "{file}"}}), {"folder"});
}

}  // namespace fetch_test
