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

/// One CUDA stream, the kernels that it launches, and allocation of GPU memory.
///
/// Order     work runs in the order in which threads enqueue it. wait, download and deallocate block until
///           all enqueued work has run; upload does so only if the staging memory has no room. An upload
///           larger than staging_memory's capacity alternates between two buffers: it refills a buffer only
///           after the GPU has read it. While one thread records, calls from other threads block.
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
  /// Frees memory after waiting for the queue. If waiting fails, leaks the memory, because the GPU may still
  /// write to it.
  void deallocate(std::byte* memory) noexcept override;

  std::size_t available_bytes() const override;

  void clear(std::byte* memory, std::size_t bytes) const;
  /// Enqueues a copy to the GPU. On return, `from` has been read.
  void upload(void const* from, std::byte* to, std::size_t bytes) const;
  /// Copies to host memory. On return, the bytes have arrived.
  void download(std::byte const* from, void* to, std::size_t bytes) const;
  /// Enqueues a copy to host memory. The bytes have arrived after wait().  Before: `to` is page-locked.
  void download_async(std::byte const* from, void* to, std::size_t bytes) const;
  void copy(std::byte const* from, std::byte* to, std::size_t bytes) const;
  template <class Kernel>
  void launch(Kernel const& kernel, std::size_t n) const {
    auto const held = lock_queue();
    kernels_.launch(kernel, n, stream_);
  }
  void wait() const;

  /// Returns the lock to hold while enqueuing work directly. Also makes the GPU's context current on this
  /// thread.
  std::shared_lock<std::shared_mutex> lock_queue() const;

  /// Captures the operations that `work` enqueues as a CUDA graph for launch(), without running them. Returns
  /// null if the capture fails: `work` waits, uploads, downloads or throws, or the driver or a library
  /// rejects it.
  CUgraphExec record(std::function<void()> const& work) const;
  /// Returns the number of successful recordings.
  int recorded() const { return recorded_; }
  /// Enqueues recorded work.
  void launch(CUgraphExec recorded) const;
  /// Destroys a recorded graph.
  ///
  /// Before    the GPU no longer runs `recorded`.
  void destroy_recorded(CUgraphExec recorded) const noexcept;

  gpu const& device() const { return *on_; }
  std::shared_ptr<gpu const> const& shared_device() const { return on_; }
  CUstream handle() const { return stream_; }

 private:
  driver_functions const& driver() const { return on_->driver(); }

  /// Polls until the stream is empty, because the driver's own waits have no deadline. Sleeps between polls
  /// after the first millisecond. After a call has exceeded the deadline, each later call polls only once,
  /// until a poll succeeds.
  void finish() const;
  /// Like finish(), but polls until the work before an event has run.
  void finish(gpu_event const& event) const;
  template <class Ask>
  void repeat_until_done(Ask ask) const;

  /// Uploads with double buffering: fills one half of a staging piece while the GPU reads the other half.
  ///
  /// Before    the staging lock is held. The lock is released while the halves are filled.
  void upload_by_halves(std::unique_lock<std::mutex>& lock, std::byte const* from, std::byte* to,
                        std::size_t bytes) const;
  /// While this object exists, its thread counts as a user of a staging piece, and the staging lock is
  /// released.
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
  /// Waits for the stream, then frees all staging pieces, unless another thread has reserved a piece during
  /// the wait or still uses a piece.
  /// Before    the lock is held. The wait releases the lock; on return, the lock is held again.
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
  std::map<std::byte const*, std::size_t> allocations_;  // address → bytes
  CUstream stream_ = nullptr;
  mutable std::shared_mutex recording_;
  mutable std::atomic<std::thread::id> recorder_{};
  mutable std::atomic<bool> wants_to_record_ = false, deadline_passed_ = false;
  mutable std::atomic<int> recorded_ = 0;
  mutable std::mutex staging_mutex_;
  mutable staging_memory staging_;
  mutable int readers_ = 0;  // number of staging_readers
};

}  // namespace cohort::detail
