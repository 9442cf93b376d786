// SPDX-License-Identifier: Apache-2.0
#include <cohort/configuration/detail/document_paths.hpp>
#include <cohort/documents/detail/remote_paths.hpp>
#include <cohort/documents/remote.hpp>
#include <cohort/documents/settings.hpp>
#include <cohort/io/data_folders.hpp>
#include <cohort/io/fetch.hpp>
#include <cohort/records/record_set.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace cohort {

bool detail::reads_remote_files(run_document run) {
  bool is_remote = false;
  for_each_path(run, [&](path_kind, char const*, std::string const& path) {
    is_remote = is_remote || !scheme_of(path).empty();
  });
  return is_remote;
}

}  // namespace cohort

namespace cohort::documents {

namespace {

/// Returns the command that copies a file of a scheme.
std::vector<std::string> command_of(std::string_view scheme, char const* field, std::string const& path) {
  if (scheme == "hdfs") return {"hdfs", "dfs", "-get", "{name}", "{file}"};
  if (scheme == "s3") return {"aws", "s3", "cp", "--only-show-errors", "{name}", "{file}"};
  if (scheme == "gs") return {"gcloud", "storage", "cp", "{name}", "{file}"};
  if (scheme == "http" || scheme == "https") return {"curl", "-fgsSL", "-o", "{file}", "{name}"};
  throw usage_error(std::string(field) + ": expected a scheme with a known command (hdfs, s3, gs, http, https), or "
                    "remote.command, such as [\"copy\", \"{name}\", \"{file}\"]; got '" + path + "'");
}

/// Replaces patterns such as hdfs://host/train-{000..146}.tar by the files that they number.
void number_files(std::vector<std::string>& patterns) {
  std::vector<std::string> paths;
  for (std::string const& pattern : patterns) {
    if (detail::scheme_of(pattern).empty()) {
      paths.push_back(pattern);
      continue;
    }
    std::vector<std::string> const files = numbered_paths(pattern);
    paths.insert(paths.end(), files.begin(), files.end());
  }
  patterns = std::move(paths);
}

}  // namespace

run_document with_local_files(run_document run) {
  if (auto* const records = std::get_if<records_source>(&run.data)) {
    number_files(records->files);
    number_files(records->test_files);
  }
  io::fetch_settings settings{.folder = run.remote.folder, .deadline = run.remote.deadline};
  if (settings.folder == "auto") settings.folder = io::cache_folder("remote");
  std::vector<std::string> const command = run.remote.command;
  detail::for_each_path(run, [&](detail::path_kind kind, char const* field, std::string& path) {
    std::string_view const scheme = detail::scheme_of(path);
    if (kind != detail::path_kind::read_file || scheme.empty()) return;
    settings.command = command.empty() ? command_of(scheme, field, path) : command;
    path = io::fetch({path}, settings)[0];
  });
  return run;
}

}  // namespace cohort::documents
