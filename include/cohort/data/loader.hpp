// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cohort/data/batch.hpp>
#include <cohort/data/dataset.hpp>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace cohort {

/// Field order: how much, for whom, in which order, how early.
struct loader_settings {
  int batch = 32;  ///< examples a rank and step
  int rank = 0;
  int ranks = 1;
  std::uint64_t seed = 0;
  bool shuffle = true;
  bool drop_last = false;  ///< leaves out an incomplete last global batch
  int prefetch = 0;        ///< batches made ahead by a thread; 0: made when asked for
  std::chrono::milliseconds deadline = std::chrono::seconds(120);  ///< for one batch
  /// sharding::local: how many examples each rank holds, −1 each for streams. Empty: sharding::global.
  std::vector<std::int64_t> local_sizes{};

  bool is_local() const { return !local_sizes.empty(); }
};

namespace detail {

/// Makes the batches of one rank in order; used by one thread at a time.
class batch_source {
 public:
  batch_source(dataset data, loader_settings settings);

  void start(std::int64_t epoch, std::int64_t position);

  /// Fills the next batch; false at the epoch's end.
  bool fill(batch& out);

 private:
  /// Position p: each rank has used its first p examples, or all it has.
  bool fill_local(batch& out);

  bool fill_indexed(batch& out);

  bool fill_stream(batch& out);

  dataset data_;
  loader_settings settings_;
  batch_writer writer_;
  example_view example_;
  std::vector<std::int64_t> order_;
  std::unique_ptr<stream_cursor> cursor_;
  std::int64_t epoch_ = 0;
  std::int64_t position_ = 0;
};

/// What the loader and its thread share; the thread holds a part in it, so that a loader that gives up
/// waiting for a data set that hangs leaves nothing dangling.
class batch_queue {
 public:
  batch_queue(dataset data, loader_settings settings);

  void start(std::int64_t epoch, std::int64_t position);

  /// Waits for a batch: false if none came in time. `out` is null at the epoch's end.
  bool take(std::chrono::milliseconds deadline, batch const*& out);

  /// Asks the thread to end: false if it has not within the deadline.
  bool stop(std::chrono::milliseconds deadline);

  void run();

 private:
  batch_source source_;  // the thread's alone
  std::vector<batch> slots_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t generation_ = 0;
  std::int64_t epoch_ = 0;
  std::int64_t position_ = 0;
  std::size_t next_ = 0;   // the slot to be taken next; the one before it is in the caller's hands
  std::size_t ready_ = 0;  // slots filled from next_ on
  bool ended_ = false;
  std::exception_ptr failure_;
  bool stopping_ = false;
  bool stopped_ = false;
};

loader_settings checked(loader_settings s, dataset const& data);

}  // namespace detail

/// The batches of one rank, epoch by epoch: for (loader.start(e); batch const* b = loader.next();) …
///
/// Shapes    a batch has at most `batch` examples; its memory belongs to the loader and is filled again later.
/// Order     start, then next until it gives null, then start again. A batch is valid until the next call of either.
/// Moves     after the first epoch nothing is allocated when prefetch is 0 and the data set has no keys.
/// Errors    setting_error for settings that make no sense; deadline_error if no batch came in time; what the data set
///           throws arrives at the next() that would have given that batch, and at later ones.
/// Exact     the sequence depends on (data, seed, epoch, batch, rank, ranks, local_sizes) alone, not on prefetch.
class loader {
 public:
  loader(dataset data, loader_settings settings);
  loader(loader&& other) = delete;
  ~loader();

  /// Begins epoch `epoch`, after `position` of its examples: 0, or what position() was when a run was saved.
  /// For a stream the position counts this rank's own examples; with sharding::local those of the rank that has most.
  void start(std::int64_t epoch, std::int64_t position = 0);

  /// The next batch of the epoch; null at its end.
  batch const* next();

  std::int64_t epoch() const { return epoch_; }
  /// Examples of this epoch that all ranks have consumed with the batches given so far; the same for any ranks.
  std::int64_t position() const { return position_; }
  /// Batches that the whole epoch has on every rank; −1 for a stream.
  std::int64_t batches() const;
  loader_settings const& settings() const { return settings_; }

 private:
  batch const* made_now();

  loader_settings settings_;
  std::int64_t size_;
  std::unique_ptr<detail::batch_source> source_;
  batch own_;
  std::shared_ptr<detail::batch_queue> queue_;
  std::thread thread_;
  std::int64_t epoch_ = 0;
  std::int64_t position_ = 0;
  bool started_ = false;
  bool ended_ = false;
  std::exception_ptr failure_;
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/data/impl/loader.ipp>
#endif
