// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/chrono.hpp>
#include <cohort/training/training.hpp>
#include <optional>
#include <string>

namespace cohort {

/// Writes a checkpoint of the whole run to a new file set in `directory`, and keeps the newest `keep`
/// checkpoints there that are at most `max_age` old (0: any age). Returns the path of the new checkpoint.
/// checkpoint_listener writes such checkpoints while training continues.
///
/// Order     collective. Waits until the last checkpoint of a checkpoint_listener has been written.
/// After     the run is unchanged.
/// Errors    file_error, the same on every rank, with rank, path and reason. After an error, the older
///           checkpoints are unchanged.
std::string save_checkpoint(training& run, std::string const& directory, int keep = 3,
                            std::chrono::seconds max_age = {});

/// Restores the run from the newest complete checkpoint in `directory`. Returns the checkpoint's path;
/// nullopt if there is no checkpoint.
///
/// Order     collective; before fit.
/// Exact     with the same ranks, strategy, workers, threads, backend and build, the run continues bit by bit
///           as if it had not stopped. Otherwise the run continues from the ranks' consensus at the same
///           position in the data. With another number of ranks, the strategy restores its state from the
///           states of all ranks that wrote the checkpoint.
/// Errors    data_error for a checkpoint of another network, or if all checkpoints in the directory are
///           damaged. The first fit of an interrupted epoch throws setting_error unless its examples and
///           their order are those of the run that wrote the checkpoint (compared by fingerprint). If each
///           rank has its own examples or a stream, the number of ranks must be the same, too.
std::optional<std::string> resume(training& run, std::string const& directory);

}  // namespace cohort
