// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <chrono>
#include <cohort/cudnn/detail/kernel_module.hpp>
#include <cohort/cudnn/detail/staging_memory.hpp>
#include <cohort/tensor/memory_space.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>

namespace cohort::detail {

inline CUdeviceptr device_address(void const* address) { return reinterpret_cast<CUdeviceptr>(address); }

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
                          std::chrono::milliseconds longest = std::chrono::seconds(120))
      : on_(std::move(on)), kernels_(on_, cache), longest_(longest), staging_(on_) {
    driver().check(driver().create_stream(&stream_, CU_STREAM_NON_BLOCKING), "making a stream on the GPU");
  }
  compute_stream(compute_stream const&) = delete;
  compute_stream& operator=(compute_stream const&) = delete;
  ~compute_stream() override {
    try {
      finish();
    } catch (error const&) {
      staging_.abandon();
    }
    on_->make_current();
    driver().destroy_stream(stream_);
  }

  std::byte* take(std::size_t bytes) override {
    CUdeviceptr taken = 0;
    CUresult status = CUDA_SUCCESS;
    {
      auto const held = turn();
      status = driver().allocate(&taken, bytes);
    }
    if (status == CUDA_ERROR_OUT_OF_MEMORY) {
      auto const [free, total] = on_->memory();
      throw memory_error({.what = "the GPU has too little memory left",
                          .where = on_->name(),
                          .expected = {bytes, " bytes"},
                          .got = {free, " of ", total}});
    }
    driver().check(status, "taking memory of the GPU");
    auto* const memory = reinterpret_cast<std::byte*>(taken);
    {
      std::lock_guard const one_at_a_time(taken_mutex_);
      taken_[memory] = bytes;
    }
    clear(memory, bytes);
    return memory;
  }
  /// Memory that a GPU does not finish with is not given back.
  void give_back(std::byte* memory) noexcept override try {
    wait();
    {
      std::lock_guard const one_at_a_time(taken_mutex_);
      taken_.erase(memory);
    }
    auto const held = turn();
    driver().free(device_address(memory));
  } catch (error const&) {
  }

  std::size_t room() const override {
    std::size_t bytes = on_->memory().free;
    std::lock_guard const one_at_a_time(taken_mutex_);
    for (auto const& one : taken_) bytes += one.second;
    return bytes;
  }

  void clear(std::byte* memory, std::size_t bytes) const {
    auto const held = turn();
    driver().check(driver().set_bytes(device_address(memory), 0, bytes, stream_),
                   "clearing the GPU's memory");
  }
  /// On return the bytes on the processor have been read.
  void bring(void const* from, std::byte* to, std::size_t bytes) const {
    refuse_to_record("what is brought");
    std::unique_lock in_turn(staging_mutex_);
    for (std::size_t done = 0; done < bytes;) {
      std::span<std::byte> const piece = staged(in_turn, bytes - done);
      std::memcpy(piece.data(), static_cast<std::byte const*>(from) + done, piece.size());
      auto const held = turn();
      driver().check(driver().bring(device_address(to + done), piece.data(), piece.size(), stream_),
                     "copying to the GPU");
      done += piece.size();
    }
  }
  /// On return the bytes are there.
  void fetch(std::byte const* from, void* to, std::size_t bytes) const {
    refuse_to_record("what is fetched");
    for (std::size_t done = 0; done < bytes;) {
      std::unique_lock in_turn(staging_mutex_);
      std::span<std::byte> const piece = staged(in_turn, bytes - done);
      fetch_later(from + done, piece.data(), piece.size());
      reading const until_it_is_read(in_turn, readers_);
      finish();
      std::memcpy(static_cast<std::byte*>(to) + done, piece.data(), piece.size());
      done += piece.size();
    }
  }
  /// The bytes are there after wait().  Before: `to` is page-locked.
  void fetch_later(std::byte const* from, void* to, std::size_t bytes) const {
    auto const held = turn();
    driver().check(driver().fetch(to, device_address(from), bytes, stream_), "copying from the GPU");
  }
  void copy(std::byte const* from, std::byte* to, std::size_t bytes) const {
    auto const held = turn();
    driver().check(driver().copy(device_address(to), device_address(from), bytes, stream_),
                   "copying on the GPU");
  }
  template <class Kernel>
  void launch(Kernel const& kernel, std::size_t n) const {
    auto const held = turn();
    kernels_.launch(kernel, n, stream_);
  }
  void wait() const {
    refuse_to_record("what is waited for");
    std::unique_lock in_turn(staging_mutex_);
    free_staging(in_turn);
  }

  /// To be held by whoever puts something into the queue by itself; the GPU's context is current on this thread.
  std::shared_lock<std::shared_mutex> turn() const {
    on_->use();
    std::shared_lock<std::shared_mutex> held(recording_, std::defer_lock);
    if (!records()) held.lock();
    return held;
  }

  /// What `work` puts into the queue, to be put in by launch; nothing of it is done. Null where it cannot be recorded: it waits, brings,
  /// fetches or throws, or the driver or a library refuses.
  CUgraphExec record(std::function<void()> const& work) const {
    wants_to_record_ = true;
    std::unique_lock const alone(recording_);
    wants_to_record_ = false;
    on_->use();
    if (driver().begin_capture(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) != CUDA_SUCCESS) return nullptr;
    recorder_ = std::this_thread::get_id();
    bool whole = true;
    try {
      work();
    } catch (...) {  // it comes again where the work is done
      whole = false;
    }
    recorder_ = std::thread::id();
    CUgraph graph = nullptr;
    CUgraphExec made = nullptr;
    if (driver().end_capture(stream_, &graph) != CUDA_SUCCESS || !graph) return nullptr;
    if (whole && driver().make_executable(&made, graph, 0) != CUDA_SUCCESS) made = nullptr;
    driver().destroy_graph(graph);
    if (made) ++recorded_;
    return made;
  }
  /// How often work was recorded.
  int recorded() const { return recorded_; }
  void launch(CUgraphExec recorded) const {
    auto const held = turn();
    driver().check(driver().launch_graph(recorded, stream_), "launching a graph");
  }
  void forget(CUgraphExec recorded) const noexcept {
    on_->make_current();
    driver().destroy_executable(recorded);
  }

  gpu const& device() const { return *on_; }
  std::shared_ptr<gpu const> const& shared_device() const { return on_; }
  CUstream handle() const { return stream_; }

 private:
  driver_functions const& driver() const { return on_->driver(); }

  /// Asks again and again: the driver's own waits have no deadline. After a millisecond it sleeps in between. Once a deadline has
  /// passed it asks a single time.
  void finish() const {
    using clock = std::chrono::steady_clock;
    clock::time_point const begin = clock::now();
    auto const ask = [&] {
      while (wants_to_record_ && !records()) std::this_thread::yield();
      auto const held = turn();
      return driver().query(stream_);
    };
    for (CUresult status; (status = ask()) != CUDA_SUCCESS;) {
      if (status != CUDA_ERROR_NOT_READY) driver().check(status, "waiting for the GPU");
      clock::duration const waited = clock::now() - begin;
      if (waited > longest_ || late_) {
        late_ = true;
        throw deadline_error({.what = "the GPU does not finish its work",
                              .where = on_->name(),
                              .expected = {"at most ", longest_.count(), " ms"}});
      }
      if (waited > std::chrono::milliseconds(1)) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    late_ = false;
  }

  /// Counts who reads a piece; meanwhile others may use the staging memory.
  class reading {
   public:
    reading(std::unique_lock<std::mutex>& lock, int& readers) : lock_(lock), readers_(readers) {
      ++readers_;
      lock_.unlock();
    }
    reading(reading const&) = delete;
    reading& operator=(reading const&) = delete;
    ~reading() {
      lock_.lock();
      --readers_;
    }

   private:
    std::unique_lock<std::mutex>& lock_;
    int& readers_;
  };
  /// Waits, and takes all pieces back if no thread was given one meanwhile or reads one.  Before: the lock is held, and after.
  void free_staging(std::unique_lock<std::mutex>& lock) const {
    std::uint64_t const before = staging_.given();
    lock.unlock();
    finish();
    lock.lock();
    if (staging_.given() == before && readers_ == 0) staging_.clear();
  }
  /// A piece for bytes on their way; until they are put in the lock stays.
  std::span<std::byte> staged(std::unique_lock<std::mutex>& lock, std::size_t bytes) const {
    for (;;) {
      {
        auto const held = turn();  // the first one takes memory
        if (std::span<std::byte> const piece = staging_.take(bytes); !piece.empty()) return piece;
      }
      free_staging(lock);
    }
  }
  bool records() const { return recorder_.load() == std::this_thread::get_id(); }
  void refuse_to_record(char const* what) const {
    if (records()) throw backend_error({.what = {what, " cannot be recorded"}});
  }

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
