// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/batch.hpp>
#include <cohort/data/dataset.hpp>
#include <cohort/data/detail/epoch_sequence.hpp>
#include <cohort/data/loader_settings.hpp>
#include <cstdint>
#include <memory>
#include <vector>

namespace cohort::detail {

class batch_readers;

/// Prepares the batches of one rank in order.
///
/// Order     for use by one thread at a time.
class batch_source {
 public:
  batch_source(dataset data, loader_settings settings);
  ~batch_source();

  /// Begins an epoch after its first `position` examples.
  void start(std::int64_t epoch, std::int64_t position);

  /// Fills the next batch; returns false at the end of the epoch.
  bool fill(batch& out);

 private:
  /// Implements fill for sharding::local. At position p, each rank has used its first min(p, size) examples.
  bool fill_local(batch& out);

  bool fill_indexed(batch& out);

  void order_examples(int rank);
  void gather(batch& out);

  bool fill_stream(batch& out);

  dataset data_;
  loader_settings settings_;
  batch_writer writer_;
  example_view example_;
  std::unique_ptr<batch_readers> readers_;  // null: only the calling thread reads
  epoch_sequence order_;
  std::vector<int> lengths_;  // one per example, if examples are sorted by length
  std::unique_ptr<stream_cursor> cursor_;
  std::int64_t epoch_ = 0;
  std::int64_t position_ = 0;
};

}  // namespace cohort::detail
