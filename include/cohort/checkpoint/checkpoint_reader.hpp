// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/manifest.hpp>
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/communicator/communicator.hpp>
#include <cohort/execution/sink.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// A checkpoint, seen from outside as one that may be damaged.
///
/// Order     opening reads the manifest and looks at every file's size; reading a file looks at its content's hash.
/// Before    the directory is untrusted.
/// Errors    file_error, data_error: see manifest_from_json and model_file.
class checkpoint_reader {
 public:
  explicit checkpoint_reader(std::string path);

  std::string const& path() const { return path_; }
  checkpoint_manifest const& manifest() const { return manifest_; }
  training_position position() const { return manifest_.position; }
  /// How many saved it.
  int ranks() const { return static_cast<int>(manifest_.ranks.size()); }

  model_file shared() const { return read(detail::shared_name, manifest_.shared); }
  model_file rank_file(int rank) const;

  /// Reads every file, one after another; of several readers that share the work, the files of one.
  void check(int reader = 0, int readers = 1) const;

 private:
  std::string file_of(std::string_view name) const { return path_ + '/' + std::string(name); }

  void check_size(std::string_view name, checkpoint_file const& wanted) const;

  model_file read(std::string_view name, checkpoint_file const& wanted) const;

  std::string path_;
  checkpoint_manifest manifest_;
};

namespace detail {

/// Names sort as steps do.
std::string checkpoint_name(std::int64_t step);

/// A checkpoint of a step that is being saved anew keeps this name until the new one is finished.
inline constexpr std::string_view replaced_suffix = ".old";

struct checkpoint_entry {
  std::string name;
  std::int64_t step = 0;
  bool replaced = false;
  bool finished = false;  ///< it has a manifest
};

/// What a name says; nothing if it is not one of a checkpoint.
std::optional<checkpoint_entry> entry_of(std::string const& name);

/// The checkpoints of a directory, also unfinished ones: the newest first; of a step's two the one that replaces first.
std::vector<checkpoint_entry> checkpoints_in(std::string const& directory);

}  // namespace detail

namespace detail {

std::vector<std::string> finished_checkpoints(std::string const& directory);

}  // namespace detail

/// Whether a directory has a finished checkpoint, damaged or not; false where there is no such directory.
bool has_checkpoints(std::string const& directory);

/// The newest checkpoint of a directory that is complete and undamaged, all its files read; nothing if there is none,
/// or no directory.
///
/// After     a line of the log tells of each damaged one that was passed over.
/// Errors    data_error naming them if all are damaged; file_error if the directory cannot be read.
std::optional<checkpoint_reader> find_newest_checkpoint(std::string const& directory, sink const& log = {});

/// The same for ranks that are to go on from it together: each reads some of the files.
///
/// Order     collective. `directory` is where each rank sees the same files; rank 0 says which checkpoints there are.
/// After     every rank has the same answer, or throws the same. Lines go to the communicator's log, on rank 0.
std::optional<checkpoint_reader> find_newest_checkpoint(communicator& world, std::string const& directory);

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/checkpoint/impl/checkpoint_reader.ipp>
#endif
