// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cohort/cudnn/detail/gpu_event.hpp>
#include <cohort/cudnn/detail/kernel_module.hpp>
#include <cohort/cudnn/detail/staging_memory.hpp>
#include <cohort/detail/chrono.hpp>
#include <cohort/tensor/memory_space.hpp>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>
#include <thread>

namespace cohort::detail {

/// One queue of work on a GPU, the kernels that it launches, and the GPU's memory.
///
/// Order     work runs in the order in which the threads enqueue it. wait, download and deallocate block
///           until all enqueued work has run. upload does so only if the staging memory has no room. An
///           upload of more than staging_memory's capacity waits, from its third piece on, until the GPU has
///           read the piece before the last one. While one thread records, calls from other threads block.
/// Errors    backend_error with the driver's message; memory_error if the GPU has too little free memory;
///           deadline_error if the GPU's work takes longer than `deadline`.
class compute_stream final : public memory_space {
 public:
  explicit compute_stream(std::shared_ptr<gpu const> on,
                          std::string const& cache = io::cache_folder("kernels"),
                          std::chrono::milliseconds deadline = std::chrono::seconds(120));
  compute_stream(compute_stream const&) = delete;
  compute_stream& operator=(compute_stream const&) = delete;
  ~compute_stream() override;

  std::byte* allocate(std::size_t bytes) override;
  /// Frees memory after waiting for the queue; if that fails, the memory is leaked because the GPU may still
  /// write to it.
  void deallocate(std::byte* memory) noexcept override;

  std::size_t available_bytes() const override;

  void clear(std::byte* memory, std::size_t bytes) const;
  /// Copies to the GPU. On return `from` has been read.
  void upload(void const* from, std::byte* to, std::size_t bytes) const;
  /// Copies to the processor. On return the bytes have arrived.
  void download(std::byte const* from, void* to, std::size_t bytes) const;
  /// Enqueues a copy to the processor. The bytes have arrived after wait().  Before: `to` is page-locked.
  void download_async(std::byte const* from, void* to, std::size_t bytes) const;
  void copy(std::byte const* from, std::byte* to, std::size_t bytes) const;
  template <class Kernel>
  void launch(Kernel const& kernel, std::size_t n) const {
    auto const held = lock_queue();
    kernels_.launch(kernel, n, stream_);
  }
  void wait() const;

  /// Lock to hold while enqueuing work directly. It also makes the GPU's context current on this thread.
  std::shared_lock<std::shared_mutex> lock_queue() const;

  /// Records the operations that `work` enqueues, without running them, as a graph for launch(). Returns null
  /// if recording fails: `work` waits, uploads, downloads or throws, or the driver or a library rejects the
  /// recording.
  CUgraphExec record(std::function<void()> const& work) const;
  /// Number of successful recordings.
  int recorded() const { return recorded_; }
  /// Enqueues recorded work.
  void launch(CUgraphExec recorded) const;
  /// Before    the GPU no longer runs `recorded`.
  void destroy_recorded(CUgraphExec recorded) const noexcept;

  gpu const& device() const { return *on_; }
  std::shared_ptr<gpu const> const& shared_device() const { return on_; }
  CUstream handle() const { return stream_; }

 private:
  driver_functions const& driver() const { return on_->driver(); }

  /// Polls until the queue is empty, because the driver's own waits have no deadline. Sleeps between polls
  /// after the first millisecond. If a call has exceeded the deadline, later calls poll only once until one
  /// succeeds.
  void finish() const;
  /// Polls, as finish, until the work before an event has run.
  void finish(gpu_event const& event) const;
  template <class Ask>
  void repeat_until_done(Ask ask) const;

  /// Fills one half of a part of the staging memory while the GPU reads the other.
  ///
  /// Before    the staging lock is held. It is released while the halves are filled.
  void upload_by_halves(std::unique_lock<std::mutex>& lock, std::byte const* from, std::byte* to,
                        std::size_t bytes) const;
  /// Counts a thread that uses a staging piece, and releases the staging lock while that thread uses it.
  class staging_reader {
   public:
    staging_reader(std::unique_lock<std::mutex>& lock, int& readers);
    staging_reader(staging_reader const&) = delete;
    staging_reader& operator=(staging_reader const&) = delete;
    ~staging_reader();

   private:
    std::unique_lock<std::mutex>& lock_;
    int& readers_;
  };
  /// Waits for the queue, then frees all pieces, unless another thread received a piece meanwhile or still
  /// reads one.
  /// Before    the lock is held. It is also held on return.
  void free_staging(std::unique_lock<std::mutex>& lock) const;
  /// Returns a staging piece, waiting for one if necessary. The caller keeps the lock until the copy is
  /// enqueued.
  std::span<std::byte> staging_piece(std::unique_lock<std::mutex>& lock, std::size_t bytes) const;
  bool records() const { return recorder_.load() == std::this_thread::get_id(); }
  void require_not_recording(char const* what) const;

  std::shared_ptr<gpu const> on_;
  kernel_module kernels_;
  std::chrono::milliseconds deadline_;
  mutable std::mutex allocations_mutex_;
  std::map<std::byte const*, std::size_t> allocations_;  // bytes of each
  CUstream stream_ = nullptr;
  mutable std::shared_mutex recording_;
  mutable std::atomic<std::thread::id> recorder_{};
  mutable std::atomic<bool> wants_to_record_ = false, deadline_passed_ = false;
  mutable std::atomic<int> recorded_ = 0;
  mutable std::mutex staging_mutex_;
  mutable staging_memory staging_;
  mutable int readers_ = 0;  // of staging pieces
};

}  // namespace cohort::detail
