// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/detail/compute_stream.hpp>
#include <cohort/detail/config.hpp>
#include <cstdint>
#include <cstring>
#include <utility>

namespace cohort::detail {

inline CUdeviceptr device_address(void const* address) { return reinterpret_cast<CUdeviceptr>(address); }

COHORT_CUDNN_INLINE compute_stream::compute_stream(std::shared_ptr<gpu const> on, std::string const& cache,
                                                   std::chrono::milliseconds longest)
    : on_(std::move(on)), kernels_(on_, cache), longest_(longest), staging_(on_) {
  driver().check(driver().create_stream(&stream_, CU_STREAM_NON_BLOCKING), "making a stream on the GPU");
}

COHORT_CUDNN_INLINE compute_stream::~compute_stream() {
  try {
    finish();
  } catch (error const&) {
    staging_.abandon();
  }
  on_->make_current();
  driver().destroy_stream(stream_);
}

COHORT_CUDNN_INLINE std::byte* compute_stream::take(std::size_t bytes) {
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

COHORT_CUDNN_INLINE void compute_stream::give_back(std::byte* memory) noexcept try {
  wait();
  {
    std::lock_guard const one_at_a_time(taken_mutex_);
    taken_.erase(memory);
  }
  auto const held = turn();
  driver().free(device_address(memory));
} catch (error const&) {
}

COHORT_CUDNN_INLINE std::size_t compute_stream::room() const {
  std::size_t bytes = on_->memory().free;
  std::lock_guard const one_at_a_time(taken_mutex_);
  for (auto const& one : taken_) bytes += one.second;
  return bytes;
}

COHORT_CUDNN_INLINE void compute_stream::clear(std::byte* memory, std::size_t bytes) const {
  auto const held = turn();
  driver().check(driver().set_bytes(device_address(memory), 0, bytes, stream_), "clearing the GPU's memory");
}

COHORT_CUDNN_INLINE void compute_stream::bring(void const* from, std::byte* to, std::size_t bytes) const {
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

COHORT_CUDNN_INLINE void compute_stream::fetch(std::byte const* from, void* to, std::size_t bytes) const {
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

COHORT_CUDNN_INLINE void compute_stream::fetch_later(std::byte const* from, void* to,
                                                     std::size_t bytes) const {
  auto const held = turn();
  driver().check(driver().fetch(to, device_address(from), bytes, stream_), "copying from the GPU");
}

COHORT_CUDNN_INLINE void compute_stream::copy(std::byte const* from, std::byte* to, std::size_t bytes) const {
  auto const held = turn();
  driver().check(driver().copy(device_address(to), device_address(from), bytes, stream_),
                 "copying on the GPU");
}

COHORT_CUDNN_INLINE void compute_stream::wait() const {
  refuse_to_record("what is waited for");
  std::unique_lock in_turn(staging_mutex_);
  free_staging(in_turn);
}

COHORT_CUDNN_INLINE std::shared_lock<std::shared_mutex> compute_stream::turn() const {
  on_->use();
  std::shared_lock<std::shared_mutex> held(recording_, std::defer_lock);
  if (!records()) held.lock();
  return held;
}

COHORT_CUDNN_INLINE CUgraphExec compute_stream::record(std::function<void()> const& work) const {
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

COHORT_CUDNN_INLINE void compute_stream::launch(CUgraphExec recorded) const {
  auto const held = turn();
  driver().check(driver().launch_graph(recorded, stream_), "launching a graph");
}

COHORT_CUDNN_INLINE void compute_stream::forget(CUgraphExec recorded) const noexcept {
  on_->make_current();
  driver().destroy_executable(recorded);
}

COHORT_CUDNN_INLINE void compute_stream::finish() const {
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

COHORT_CUDNN_INLINE compute_stream::reading::reading(std::unique_lock<std::mutex>& lock, int& readers)
    : lock_(lock), readers_(readers) {
  ++readers_;
  lock_.unlock();
}

COHORT_CUDNN_INLINE compute_stream::reading::~reading() {
  lock_.lock();
  --readers_;
}

COHORT_CUDNN_INLINE void compute_stream::free_staging(std::unique_lock<std::mutex>& lock) const {
  std::uint64_t const before = staging_.given();
  lock.unlock();
  finish();
  lock.lock();
  if (staging_.given() == before && readers_ == 0) staging_.clear();
}

COHORT_CUDNN_INLINE std::span<std::byte> compute_stream::staged(std::unique_lock<std::mutex>& lock,
                                                                std::size_t bytes) const {
  for (;;) {
    {
      auto const held = turn();  // the first one takes memory
      if (std::span<std::byte> const piece = staging_.take(bytes); !piece.empty()) return piece;
    }
    free_staging(lock);
  }
}

COHORT_CUDNN_INLINE void compute_stream::refuse_to_record(char const* what) const {
  if (records()) throw backend_error({.what = {what, " cannot be recorded"}});
}

}  // namespace cohort::detail
