// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/data/dataset.hpp>
#include <cohort/interchange/prediction_file_settings.hpp>
#include <cohort/training/training.hpp>
#include <string>

namespace cohort {

/// Predicts a data set on all ranks of `world`, and writes the outputs to files while the computation runs.
///
/// The data set is divided into chunks. Each rank repeatedly gets the next free chunk, computes its outputs
/// and writes them to a part file in the folder `path`.parts. With sharding::local each rank computes the
/// chunks of its own data set. At the end rank 0 combines the part files and removes them. `path` is the CSV
/// file, or the NPY file of a single output. With the path "out.npy", several outputs are written to
/// "out.<output>.npy", and keys to "out.key.npy".
///
/// Order     collective over `world` and over the ranks of `model`. Without `world`, the ranks of `model` are
///           used.
/// Before    all ranks have the same model, and see the same folder. One call at a time writes to `path`.
/// After     the files at `path` are complete; until then, former files of these names remain. After an
///           interruption, also by SIGKILL, the same call resumes and keeps the complete chunks, so each rank
///           loses at most one chunk. The number of ranks may change, except with sharding::local.
/// Moves     32 bytes per chunk, and 16 bytes per second.
/// Errors    setting_error if settings, models or data differ between ranks, or if the part files belong to
///           another model, data set (compared by a sample of its examples) or setting; shape_error if the
///           data set does not fit the network. file_error; data_error of the data set, and for a duplicate
///           or invalid key. These errors name the file, the examples and the rank; the other ranks throw
///           data_error with the same text. Complete chunks are kept.
/// Exact     with sharding::global the bytes of the files depend neither on the number of ranks nor on
///           interruptions. As in training::features, the rounding of the outputs depends on backend,
///           instruction set, workers and batch size.
/// Cost      memory for one batch and its outputs; at the end, about 8 MB and 1 MB for each output. If rows
///           are sorted by key, or if keys are texts in NPY, also the keys of one chunk. Disk: twice the
///           result; if sorted, also the keys three times.
prediction_file_report write_predictions(training& model, dataset const& data, communicator& world,
                                         std::string const& path, prediction_file_settings const& how = {});
prediction_file_report write_predictions(training& model, dataset const& data, std::string const& path,
                                         prediction_file_settings const& how = {});

}  // namespace cohort
