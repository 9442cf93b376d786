// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/batch.hpp>
#include <cohort/data/dataset.hpp>
#include <cohort/data/loader_settings.hpp>
#include <cstdint>
#include <exception>
#include <memory>

namespace cohort {

namespace detail {

class batch_source;
class prefetcher;

/// Returns the settings.  Errors: setting_error for the first one that is invalid.
loader_settings checked_settings(loader_settings s, dataset const& data);

}  // namespace detail

/// Iterates over the batches of one rank, epoch by epoch:
///
///     for (loader.start(e); batch const* b = loader.next();) …
///
/// Shapes    a batch has at most `batch` examples. The loader owns and reuses its memory.
/// Order     call start, then next until it returns null, then start again. The next call invalidates the
///           batch.
/// Errors    setting_error for invalid settings. deadline_error if a prefetched batch is not ready within the
///           deadline. The call of next() that would have returned the batch throws the exceptions of the
///           data set; later calls throw them, too. If several examples of a batch fail, next() throws the
///           exception of the first one.
/// Exact     the sequence depends only on (data, seed, epoch, batch, rank, ranks, local_sizes, shuffle,
///           blocks, bucket, drop_last), not on prefetch and readers.
/// Cost      after the first epoch nothing is allocated if prefetch is 0 and the data set has no keys.
///           `readers` threads share the examples of each batch. With `prefetch`, all of them run in the
///           background; otherwise the caller of next() is one of them. Data in memory is copied by one
///           thread.
class loader {
 public:
  loader(dataset data, loader_settings settings);
  loader(loader&& other) = delete;
  ~loader();

  /// Begins epoch `epoch` after its first `position` examples: 0, or the position() at which a saved run
  /// stopped. `position` counts the examples of all ranks; for a stream, the examples of this rank; with
  /// sharding::local, the examples of the rank that has the most.
  ///
  /// Errors    setting_error if `position` is out of range.
  void start(std::int64_t epoch, std::int64_t position = 0);

  /// Returns the next batch of the epoch; null at the end of the epoch.
  batch const* next();

  std::int64_t epoch() const { return epoch_; }
  /// Returns the position in the epoch after the batches returned so far, counted as in start. For an indexed
  /// data set without local_sizes, a loader with another number of ranks may start there.
  std::int64_t position() const { return position_; }
  /// Returns the number of batches of a whole epoch, the same on every rank; −1 for a stream.
  std::int64_t batches() const;
  loader_settings const& settings() const { return settings_; }

 private:
  batch const* make_batch();

  loader_settings settings_;
  std::int64_t size_;
  std::unique_ptr<detail::batch_source> source_;
  batch batch_;                                     // used if prefetch is 0
  std::unique_ptr<detail::prefetcher> prefetcher_;  // used if prefetch > 0
  std::int64_t epoch_ = 0;
  std::int64_t position_ = 0;
  bool started_ = false;
  bool ended_ = false;
  std::exception_ptr failure_;
};

}  // namespace cohort
