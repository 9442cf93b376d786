// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/detail/manifest.hpp>
#include <cohort/checkpoint/model_content.hpp>
#include <cohort/communicator/communicator.hpp>
#include <cohort/detail/chrono.hpp>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cohort {

/// Content that one rank contributes to a checkpoint.
struct checkpoint_content {
  training_position position{};
  std::optional<model_content> shared{};  ///< model that all ranks share; rank 0 writes it. The other ranks
                                          ///< have a value if the tensors are collected from all ranks
  model_content rank_local;               ///< content of this rank's file: network, and own state if any
  std::uint64_t settings_hash = 0;        ///< only rank 0's value is used
  std::uint64_t seed = 0;                 ///< only rank 0's value is used
};

/// Saves a run as DIRECTORY/step-000000000812: one shared file, one file per rank and, once these are on
/// disk and have been read back, a manifest. Returns the path of the checkpoint.
///
/// Order     collective. All ranks must see the same directory; it is created if it does not exist.
/// After     of the complete checkpoints up to this step, the newest `keep` are kept, without those that were
///           written more than `max_age` before it (0: no limit); the new one is always kept. Older and
///           unfinished ones are removed. A damaged checkpoint is removed only if `keep` newer ones are
///           complete, or for its age. Other files and checkpoints of later steps are unchanged. A file that
///           cannot be removed is reported in rank 0's log.
/// Moves     three allgathervs of less than 100 bytes per rank.
/// Errors    file_error with the same text on all ranks, naming ranks, files and reasons. The directory is
///           then restored, and training may continue. One such reason: another process saved the newest
///           complete checkpoint, and still runs on rank 0's host. setting_error for keep < 1 or a negative
///           max_age. communicator_error if a rank is lost, or if the ranks wait longer than the
///           communicator's deadline for a rank that writes.
/// Exact     after a crash at any point, the directory contains either the earlier checkpoints, including a
///           previous one of the same step, or the new checkpoint.
std::string save_checkpoint(communicator& world, std::string const& directory,
                            checkpoint_content const& content, int keep = 3,
                            std::chrono::seconds max_age = {});

namespace detail {

class checkpoint_transaction;

/// Where and how long checkpoints are kept; see save_checkpoint.
struct checkpoint_target {
  std::string directory{};
  int keep = 3;
  std::chrono::seconds max_age{};
  bool is_shared = false;  ///< another process that still runs may have saved the newest checkpoint
  std::function<void()> on_progress{};  ///< called after each file and each tensor that was read back
};

/// The steps of save_checkpoint. Only `begin` and `exchange` need the other ranks, and `finish` if the shared
/// tensors are collected from all ranks. `begin` and `exchange` do not use the disk.
///
/// Order     create_folder, begin, write_rank_file, exchange, finish; roll_back after a file_error.
/// Errors    begin and exchange: file_error with the same text on all ranks. finish: on rank 0, any error of
///           its files; the directory is then restored.
class checkpoint_save {
 public:
  /// Errors    the setting_error of save_checkpoint.
  checkpoint_save(communicator const& world, checkpoint_target target, checkpoint_content const& content);
  checkpoint_save(checkpoint_save const&) = delete;
  checkpoint_save& operator=(checkpoint_save const&) = delete;
  ~checkpoint_save();

  /// Rank 0 creates the folder of the checkpoint. begin throws an error.
  void create_folder();
  /// The name of the checkpoint becomes known to all ranks. Collective.
  void begin(communicator& world);
  /// Writes this rank's file. exchange throws an error.
  void write_rank_file();
  /// All ranks' files become known to rank 0. Collective.
  void exchange(communicator& world);
  /// Rank 0 writes the shared file and the manifest, and removes old checkpoints. `world` may be null if the
  /// shared tensors are not collected.
  void finish(communicator* world);
  /// Rank 0 restores the directory.
  void roll_back() const noexcept;

  std::string const& path() const;
  /// Why `finish` could not remove old checkpoints; empty: it has removed them.
  std::string const& removal_error() const { return removal_error_; }
  /// Throws the file_error of save_checkpoint. refuse_rank_0: with the reason of an error of `finish`.
  [[noreturn]] void refuse(std::string trouble) const;
  [[noreturn]] void refuse_rank_0(std::string const& reason) const;

 private:
  template <class Action>
  std::vector<std::string> on_all_ranks(communicator& world, Action action);

  checkpoint_target target_;
  checkpoint_content const& content_;
  int rank_, ranks_;
  std::unique_ptr<checkpoint_transaction> transaction_;
  std::string begun_{};
  std::exception_ptr failure_{};  // of create_folder or write_rank_file
  checkpoint_file own_file_{};
  std::vector<checkpoint_file> files_{};
  std::string removal_error_{};
};

/// The save_checkpoint of this header.
std::string save_checkpoint(communicator& world, checkpoint_target const& target,
                            checkpoint_content const& content);

}  // namespace detail

}  // namespace cohort
