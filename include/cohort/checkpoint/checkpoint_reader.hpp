// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/detail/manifest.hpp>
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/communicator/communicator.hpp>
#include <cohort/execution/sink.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// Reads a checkpoint, which may be damaged.
///
/// Order     the constructor reads the manifest and checks the size of every file. Reading a file checks its
///           content hash.
/// Before    the directory is untrusted.
/// Errors    file_error, data_error: see manifest_from_json and model_file.
class checkpoint_reader {
 public:
  explicit checkpoint_reader(std::string path);

  std::string const& path() const& { return path_; }
  std::string const& path() const&& = delete;  // keep the reader in a variable
  detail::checkpoint_manifest const& manifest() const& { return manifest_; }
  detail::checkpoint_manifest const& manifest() const&& = delete;  // keep the reader in a variable
  training_position position() const { return manifest_.position; }
  /// Returns the number of ranks that saved the checkpoint.
  int ranks() const { return static_cast<int>(manifest_.ranks.size()); }

  /// Reads the file that all ranks share.
  model_file shared() const;
  /// The same with model_file::open_on_demand.
  model_file shared_on_demand() const;
  /// Reads the file of one rank.
  ///
  /// Errors    setting_error if the checkpoint has no such rank.
  model_file rank_file(int rank) const;

  /// Reads and checks every file, one after another. Several readers can share the work: reader r of
  /// `readers` reads every readers-th file, starting with file r.
  void check(int reader = 0, int readers = 1) const;

 private:
  std::string path_of(std::string_view name) const { return path_ + '/' + std::string(name); }

  void check_size(std::string_view name, detail::checkpoint_file const& wanted) const;

  /// Returns `opened`.  Errors: data_error if its hash is not that of the manifest.
  model_file checked(model_file opened, detail::checkpoint_file const& wanted) const;

  std::string path_;
  detail::checkpoint_manifest manifest_;
};

namespace detail {

/// Folder name of a step's checkpoint. Steps below 10¹² have zero-padded names that sort by step.
std::string checkpoint_name(std::int64_t step);

/// Suffix of a step's previous checkpoint while the step is saved again.
inline constexpr std::string_view replaced_suffix = ".old";

/// One checkpoint folder of a directory.
struct checkpoint_entry {
  std::string name;
  std::int64_t step = 0;
  bool replaced = false;  ///< the name ends in replaced_suffix
  bool finished = false;  ///< the folder has a manifest
};

/// Parses a folder name. Returns nullopt for any name that is not a checkpoint's.
std::optional<checkpoint_entry> parse_checkpoint_name(std::string const& name);

/// Lists the checkpoints of a directory, including unfinished ones, newest first. If there are two
/// checkpoints of one step, the replaced one is listed second.
std::vector<checkpoint_entry> list_checkpoints(std::string const& directory);

/// Names of the checkpoints that have a manifest, in the order of list_checkpoints.
std::vector<std::string> finished_checkpoints(std::string const& directory);

}  // namespace detail

/// Returns whether a directory has a finished checkpoint, damaged or not. Returns false if there is no such
/// directory.
bool has_checkpoints(std::string const& directory);

/// Returns a directory's newest complete and undamaged checkpoint, after reading all files of this
/// checkpoint. Returns nullopt if the directory has no finished checkpoint or does not exist.
///
/// After     the log has one line for each damaged checkpoint that was skipped.
/// Errors    data_error naming the checkpoints if all are damaged; file_error if the directory cannot be
///           read.
std::optional<checkpoint_reader> find_newest_checkpoint(std::string const& directory, sink const& log = {});

/// Returns the newest undamaged checkpoint to all ranks of a run. Each rank reads part of the files.
///
/// Order     collective. All ranks must see the same files in `directory`; rank 0 lists the checkpoints.
/// After     every rank returns the same checkpoint or throws the same error. Rank 0 writes lines about
///           skipped checkpoints to the communicator's log.
std::optional<checkpoint_reader> find_newest_checkpoint(communicator& world, std::string const& directory);

}  // namespace cohort
