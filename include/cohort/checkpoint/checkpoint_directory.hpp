// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/model_content.hpp>
#include <cohort/communicator/communicator.hpp>
#include <cstdint>
#include <optional>
#include <string>

namespace cohort {

/// Content that one rank contributes to a checkpoint.
struct checkpoint_content {
  training_position position{};
  std::optional<model_content> shared{};  ///< model that all ranks share; rank 0 writes it. The other ranks
                                          ///< have a value if the model's tensors are deferred
  model_content rank_local;               ///< content of this rank's file: network, and own state if any
  std::uint64_t settings_hash = 0;        ///< only rank 0's value is used
  std::uint64_t seed = 0;                 ///< only rank 0's value is used
};

/// Saves a run as DIRECTORY/step-000000000812: one shared file, one file per rank and, once these are on
/// disk, a manifest. Returns the path of the checkpoint.
///
/// Order     collective. All ranks must see the same directory; it is created if it does not exist.
/// After     the newest `keep` complete checkpoints up to this step are kept; older and unfinished ones are
///           removed. A damaged checkpoint is removed only if `keep` newer ones are complete. Other files and
///           checkpoints of later steps are unchanged. A file that cannot be removed is reported in rank 0's
///           log.
/// Moves     three allgathervs of less than 100 bytes per rank.
/// Errors    file_error with the same text on all ranks, naming ranks, files and reasons. The directory is
///           then restored, and training may continue. One such reason: another process saved the newest
///           complete checkpoint, and still runs on rank 0's host. setting_error for keep < 1.
///           communicator_error if a rank is lost, or if the ranks wait longer than the communicator's
///           deadline for a rank that writes.
/// Exact     after a crash at any point, the directory contains either the earlier checkpoints, including a
///           previous one of the same step, or the new checkpoint.
std::string save_checkpoint(communicator& world, std::string const& directory,
                            checkpoint_content const& content, int keep = 3);

}  // namespace cohort
