// SPDX-License-Identifier: Apache-2.0
#pragma once
// The records of a run document.
#include <atomic>
#include <cohort/configuration/data_source.hpp>
#include <cohort/data/dataset.hpp>
#include <cohort/data/skip_damaged.hpp>
#include <cohort/records/record_set.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace cohort::detail {

/// Training and test set of records. `records`: of the training set. `skipped` counts the reads of damaged
/// records that were skipped, `ignored_orientations` the reads of images whose EXIF orientation was not
/// applied; null without images.
struct record_sets {
  dataset train;
  record_set records;
  std::optional<dataset> test{};
  std::string where{};
  std::shared_ptr<std::atomic<std::int64_t>> skipped{};
  std::shared_ptr<std::atomic<std::int64_t>> ignored_orientations{};
};

/// Opens the records that a document names. `seed`: seed of augmentations.
record_sets load_records(records_source const& from, std::uint64_t seed);

/// Returns the records' examples with the records' keys, if the records have keys.
dataset with_record_keys(dataset const& examples, record_set const& records);

/// Returns reports of damaged examples: `skipped` counts the damaged examples; the first 20 are logged.
damage_reports reports_of(std::shared_ptr<std::atomic<std::int64_t>> const& skipped);

}  // namespace cohort::detail
