// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <chrono>
#include <cohort/cudnn/detail/kernel_module.hpp>
#include <cohort/cudnn/detail/staging_memory.hpp>
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

/// One queue of work on a GPU, with the kernels that go into it, and the GPU's memory.
///
/// Order     work is done in the order in which it was put in, by whatever threads; wait() comes back when it is done. Only fetch
///           waits by itself, and bring for room where more than staging_memory's is on its way. Memory is given back when
///           nothing in the queue uses it any more.
///           While a thread records, others' work waits.
/// Errors    backend_error with what the driver says; memory_error where the GPU has too little left; deadline_error where its
///           work takes longer than `longest`.
class compute_stream final : public memory_space {
 public:
  explicit compute_stream(std::shared_ptr<gpu const> on, std::string const& cache = cache_folder("kernels"),
                          std::chrono::milliseconds longest = std::chrono::seconds(120));
  compute_stream(compute_stream const&) = delete;
  compute_stream& operator=(compute_stream const&) = delete;
  ~compute_stream() override;

  std::byte* take(std::size_t bytes) override;
  /// Memory that a GPU does not finish with is not given back.
  void give_back(std::byte* memory) noexcept override;

  std::size_t room() const override;

  void clear(std::byte* memory, std::size_t bytes) const;
  /// On return the bytes on the processor have been read.
  void bring(void const* from, std::byte* to, std::size_t bytes) const;
  /// On return the bytes are there.
  void fetch(std::byte const* from, void* to, std::size_t bytes) const;
  /// The bytes are there after wait().  Before: `to` is page-locked.
  void fetch_later(std::byte const* from, void* to, std::size_t bytes) const;
  void copy(std::byte const* from, std::byte* to, std::size_t bytes) const;
  template <class Kernel>
  void launch(Kernel const& kernel, std::size_t n) const {
    auto const held = turn();
    kernels_.launch(kernel, n, stream_);
  }
  void wait() const;

  /// To be held by whoever puts something into the queue by itself; the GPU's context is current on this thread.
  std::shared_lock<std::shared_mutex> turn() const;

  /// What `work` puts into the queue, to be put in by launch; nothing of it is done. Null where it cannot be recorded: it waits, brings,
  /// fetches or throws, or the driver or a library refuses.
  CUgraphExec record(std::function<void()> const& work) const;
  /// How often work was recorded.
  int recorded() const { return recorded_; }
  void launch(CUgraphExec recorded) const;
  void forget(CUgraphExec recorded) const noexcept;

  gpu const& device() const { return *on_; }
  std::shared_ptr<gpu const> const& shared_device() const { return on_; }
  CUstream handle() const { return stream_; }

 private:
  driver_functions const& driver() const { return on_->driver(); }

  /// Asks again and again: the driver's own waits have no deadline. After a millisecond it sleeps in between. Once a deadline has
  /// passed it asks a single time.
  void finish() const;

  /// Counts who reads a piece; meanwhile others may use the staging memory.
  class reading {
   public:
    reading(std::unique_lock<std::mutex>& lock, int& readers);
    reading(reading const&) = delete;
    reading& operator=(reading const&) = delete;
    ~reading();

   private:
    std::unique_lock<std::mutex>& lock_;
    int& readers_;
  };
  /// Waits, and takes all pieces back if no thread was given one meanwhile or reads one.  Before: the lock is held, and after.
  void free_staging(std::unique_lock<std::mutex>& lock) const;
  /// A piece for bytes on their way; until they are put in the lock stays.
  std::span<std::byte> staged(std::unique_lock<std::mutex>& lock, std::size_t bytes) const;
  bool records() const { return recorder_.load() == std::this_thread::get_id(); }
  void refuse_to_record(char const* what) const;

  std::shared_ptr<gpu const> on_;
  kernel_module kernels_;
  std::chrono::milliseconds longest_;
  mutable std::mutex taken_mutex_;
  std::map<std::byte const*, std::size_t> taken_;  // bytes
  CUstream stream_ = nullptr;
  mutable std::shared_mutex recording_;
  mutable std::atomic<std::thread::id> recorder_{};
  mutable std::atomic<bool> wants_to_record_ = false, late_ = false;
  mutable std::atomic<int> recorded_ = 0;
  mutable std::mutex staging_mutex_;
  mutable staging_memory staging_;
  mutable int readers_ = 0;  // of its pieces
};

}  // namespace cohort::detail

#ifndef COHORT_CUDNN_COMPILED
#include <cohort/cudnn/impl/compute_stream.ipp>
#endif
