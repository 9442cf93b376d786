// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cohort/detail/chrono.hpp>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <thread>
#include <vector>

namespace cohort::detail {

/// State that a batch_readers and its threads own jointly. If a data set hangs and the batch_readers is
/// destroyed, the detached threads still have valid memory.
struct batch_reading {
  batch_reading(dataset from, int readers);

  /// Claims and reads examples of the current batch until all are claimed. Releases `lock` while it reads.
  void read_rows(std::unique_lock<std::mutex>& lock, example_view& example);

  /// Thread function of reader 1, 2, …
  void run(std::size_t reader);

  dataset const data;
  batch_writer const writer;
  std::vector<example_view> examples;  // one per reader
  std::mutex mutex;                    // guards the members below, except `abandoned`
  std::condition_variable changed;
  batch* out = nullptr;
  std::vector<std::int64_t> indices;
  std::size_t next_row = 0;  // rows are claimed in ascending order
  std::size_t reading = 0;   // rows that are claimed and not yet written
  std::size_t failed_row = 0;
  std::exception_ptr failure;  // exception of the lowest row that failed
  std::size_t running = 0;     // number of running threads
  bool stopping = false;
  std::shared_mutex writing;  // held shared while a row is written, and exclusively to set `abandoned`
  bool abandoned = false;     // the batch may no longer exist, so no more rows are written
};

/// Threads that read the examples of one batch at a time.
///
/// Order     for use by one thread at a time, which is reader 0.
/// Errors    if several examples fail, the exception of the first one in the batch. deadline_error if the
///           other readers do not finish within the deadline after reader 0; later calls throw it, too.
/// Exact     every example is written to its own row: the batch does not depend on the number of readers.
class batch_readers {
 public:
  batch_readers(dataset data, int readers, std::chrono::milliseconds deadline);
  batch_readers(batch_readers const&) = delete;
  batch_readers& operator=(batch_readers const&) = delete;
  ~batch_readers() { stop(); }

  /// Writes the examples `indices` to the rows of a batch.
  ///
  /// Before    out.epoch, out.indices, and the sizes of weights and keys are set.
  void gather(std::span<std::int64_t const> indices, batch& out);

 private:
  [[noreturn]] void refuse_late_readers() const;
  void stop();

  std::chrono::milliseconds deadline_;
  std::shared_ptr<batch_reading> state_;
  std::vector<std::thread> threads_;
};

}  // namespace cohort::detail
