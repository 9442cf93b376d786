// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/model_content.hpp>
#include <cohort/communicator/communicator.hpp>
#include <cstdint>
#include <optional>
#include <string>

namespace cohort {

/// What a rank has to say for a checkpoint.
struct checkpoint_content {
  training_position position{};
  std::optional<model_content> shared{};  ///< rank 0's is written; the others need none
  model_content own;                      ///< this rank's file: a network alone if it has nothing of its own
  std::uint64_t settings_hash = 0;        ///< rank 0's is written
  std::uint64_t seed = 0;                 ///< rank 0's is written
};

/// Saves a run as DIRECTORY/step-000000000812: what ranks share, a file a rank and, when all is on the disk, a manifest.
///
/// Order     collective. The directory is made if need be, and is one that all ranks see.
/// After     the path of the checkpoint. Of those up to this step the newest `keep` are left, and no unfinished one;
///           other files and later steps are left alone. What cannot be removed is a line of the communicator's log.
/// Moves     three allgathervs of less than 100 bytes a rank.
/// Errors    file_error on all ranks alike, naming ranks, files and reasons: then the directory is as before, and
///           training may go on. setting_error for keep < 1. communicator_error if a rank is lost, or if others wait
///           for its writing longer than the communicator's deadline.
/// Exact     a crash at any point leaves the checkpoints of before, also one of the same step, or the new one.
std::string save_checkpoint(communicator& world, std::string const& directory,
                            checkpoint_content const& content, int keep = 3);

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/checkpoint/impl/checkpoint_directory.ipp>
#endif
