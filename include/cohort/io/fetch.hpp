// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cohort/detail/chrono.hpp>
#include <string>
#include <vector>

namespace cohort::io {

/// Settings of fetch.
struct fetch_settings {
  /// The program, which is searched in PATH, and its arguments. In every argument "{name}" is replaced by the
  /// name of the file, and "{file}" by the path that the command writes.
  std::vector<std::string> command{};
  std::string folder{};  ///< folder of the copies; created if it does not exist
  std::chrono::milliseconds deadline = std::chrono::minutes(10);  ///< limit for one file
};

/// Copies remote files to a local folder, each by one call of a command, and returns the paths of the
/// copies. A copy of the same name by the same command is not fetched again: a hash of name, program and
/// arguments is part of the copy's path.
///
///     record_set shards(io::fetch(names, {.command = {"aws", "s3", "cp", "{name}", "{file}"},
///                                         .folder = "/local/shards"}), webdataset());
///
/// Order     several processes may share a folder: one of them fetches a file while the others wait.
/// Before    the command reads nothing from its standard input; its standard output is ignored. It is started
///           without a shell, so names may contain any character.
/// After     copies are renamed when they are complete. If this process ends during a command, also by a
///           signal, the kernel kills the command's process group: processes that the command has moved to
///           another group continue. The incomplete copy remains under another name; the next fetch of the
///           same file removes it.
/// Errors    setting_error without a command, without a folder, or if no argument contains "{file}".
///           file_error naming the file if the program cannot be started, fails or writes no file. If the
///           program fails, the error contains the end of its standard error. deadline_error naming the file
///           if the deadline expires; the command's process group is then killed.
std::vector<std::string> fetch(std::vector<std::string> const& names, fetch_settings const& settings);

}  // namespace cohort::io
