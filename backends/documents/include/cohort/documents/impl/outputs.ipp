// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>
#include <cerrno>
#include <cohort/checkpoint/checkpoint_reader.hpp>
#include <cohort/communicator/communicator.hpp>
#include <cohort/documents/outputs.hpp>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace cohort::documents {

std::string writable_folder(std::string const& path, bool is_folder) {
  namespace fs = std::filesystem;
  std::error_code unknown;
  fs::path const absolute = fs::absolute(path).lexically_normal();
  if (!is_folder) return absolute.parent_path().string();
  fs::path folder = absolute;   // the program creates it with its parents
  auto const is_absent = [&] {  // true also below a file; false for a dangling link
    return !fs::exists(folder, unknown) && !fs::is_symlink(folder, unknown);
  };
  while (is_absent() && folder.has_relative_path()) folder = folder.parent_path();
  return folder.string();
}

namespace {

/// Returns the error number if a file cannot be created in a folder; otherwise 0.
int failure_to_write(std::string const& folder) {
  std::string name = folder + "/cohort-XXXXXX";
  int const file = ::mkstemp(name.data());
  if (file < 0) return errno;
  ::close(file);
  ::unlink(name.c_str());
  return 0;
}

}  // namespace

void require_writable(std::initializer_list<output_place> places) {
  for (output_place const& place : places) {
    if (place.path.empty()) continue;
    std::error_code unknown;
    std::string const setting = place.setting;
    if (!place.is_folder && (place.path.back() == '/' || std::filesystem::is_directory(place.path, unknown)))
      throw usage_error{setting + ": expected a file, got the folder '" + place.path + "'"};
    std::string const folder = writable_folder(place.path, place.is_folder);
    int const why = std::filesystem::is_directory(folder, unknown) ? failure_to_write(folder)
                    : std::filesystem::exists(folder, unknown)     ? ENOTDIR
                                                                   : ENOENT;
    if (why != 0)
      throw usage_error{setting + ": expected a folder that can be written, got '" + folder
                        + "': " + std::strerror(why)};
  }
}

void require_no_checkpoints(output_place const& checkpoints, bool resumes) {
  if (!resumes && !checkpoints.path.empty() && has_checkpoints(checkpoints.path))
    throw usage_error{std::string(checkpoints.setting) + ": " + checkpoints.path
                      + " contains a checkpoint: expected --resume to continue from it, or another folder"};
}

void require_outputs(output_settings const& output, communicator const& world) {
  if (world.rank() != 0) return;
  output_place const checkpoints{output.checkpoints, "output.checkpoints", true};
  require_writable({{output.model, "output.model"},
                    {output.onnx, "output.onnx"},
                    {output.tokens, "output.tokens"},
                    {output.predictions, "output.predictions"},
                    {output.report, "output.report"},
                    {output.tensorboard, "output.tensorboard", true},
                    {output.html_report, "output.html_report"},
                    checkpoints});
  require_no_checkpoints(checkpoints, output.resume);
}

}  // namespace cohort::documents
