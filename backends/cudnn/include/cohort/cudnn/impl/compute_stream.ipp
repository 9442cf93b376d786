// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/cudnn/detail/compute_stream.hpp>
#include <cstdint>
#include <cstring>
#include <utility>

namespace cohort::detail {

CUdeviceptr device_address(void const* address) { return reinterpret_cast<CUdeviceptr>(address); }

compute_stream::compute_stream(std::shared_ptr<gpu const> on, std::string const& cache,
                               std::chrono::milliseconds deadline)
    : on_(std::move(on)), kernels_(on_, cache), deadline_(deadline), staging_(on_) {
  driver().check(driver().create_stream(&stream_, CU_STREAM_NON_BLOCKING), "creating a stream on the GPU");
}

compute_stream::~compute_stream() {
  try {
    finish();
  } catch (error const&) {
    staging_.abandon();
  }
  on_->make_current();
  driver().destroy_stream(stream_);
}

std::byte* compute_stream::allocate(std::size_t bytes) {
  CUdeviceptr taken = 0;
  CUresult status = CUDA_SUCCESS;
  {
    auto const held = lock_queue();
    status = driver().allocate(&taken, bytes);
  }
  if (status == CUDA_ERROR_OUT_OF_MEMORY) {
    auto const [free, total] = on_->memory();
    throw memory_error({.what = "the GPU has too little free memory",
                        .where = on_->name(),
                        .expected = {bytes, " bytes"},
                        .got = {free, " of ", total, " bytes free"}});
  }
  driver().check(status, "allocating GPU memory");
  auto* const memory = reinterpret_cast<std::byte*>(taken);
  {
    std::lock_guard const one_at_a_time(allocations_mutex_);
    allocations_[memory] = bytes;
  }
  clear(memory, bytes);
  return memory;
}

void compute_stream::deallocate(std::byte* memory) noexcept try {
  wait();
  {
    std::lock_guard const one_at_a_time(allocations_mutex_);
    allocations_.erase(memory);
  }
  auto const held = lock_queue();
  driver().free(device_address(memory));
} catch (error const&) {
}

std::size_t compute_stream::available_bytes() const {
  std::size_t bytes = on_->memory().free;
  std::lock_guard const one_at_a_time(allocations_mutex_);
  for (auto const& one : allocations_) bytes += one.second;
  return bytes;
}

void compute_stream::clear(std::byte* memory, std::size_t bytes) const {
  auto const held = lock_queue();
  driver().check(driver().set_bytes(device_address(memory), 0, bytes, stream_), "clearing GPU memory");
}

void compute_stream::upload(void const* from, std::byte* to, std::size_t bytes) const {
  require_not_recording("a copy to the GPU");
  std::unique_lock staging_lock(staging_mutex_);
  if (bytes > staging_memory::capacity)
    return upload_by_halves(staging_lock, static_cast<std::byte const*>(from), to, bytes);
  std::span<std::byte> const piece = staging_piece(staging_lock, bytes);
  std::memcpy(piece.data(), from, bytes);
  auto const held = lock_queue();
  driver().check(driver().upload(device_address(to), piece.data(), bytes, stream_), "copying to the GPU");
}

void compute_stream::upload_by_halves(std::unique_lock<std::mutex>& lock, std::byte const* from,
                                      std::byte* to, std::size_t bytes) const {
  // The other half of the staging memory stays free for later uploads.
  std::span<std::byte> const all = staging_piece(lock, staging_memory::capacity / 2);
  staging_reader const until_it_is_filled(lock, readers_);
  gpu_event const read[]{gpu_event(on_), gpu_event(on_)};  // recorded after the GPU has read each half
  std::size_t const half = all.size() / 2;
  for (std::size_t done = 0, turn = 0; done < bytes; ++turn) {
    std::size_t const count = std::min(half, bytes - done);
    std::byte* const piece = all.data() + turn % 2 * half;
    if (turn >= 2) finish(read[turn % 2]);
    std::memcpy(piece, from + done, count);
    auto const held = lock_queue();
    driver().check(driver().upload(device_address(to + done), piece, count, stream_), "copying to the GPU");
    driver().check(driver().record(read[turn % 2].handle(), stream_), "marking a copy's end");
    done += count;
  }
}

void compute_stream::download(std::byte const* from, void* to, std::size_t bytes) const {
  require_not_recording("a copy to the processor");
  for (std::size_t done = 0; done < bytes;) {
    std::unique_lock staging_lock(staging_mutex_);
    std::span<std::byte> const piece = staging_piece(staging_lock, bytes - done);
    download_async(from + done, piece.data(), piece.size());
    staging_reader const until_it_is_read(staging_lock, readers_);
    finish();
    std::memcpy(static_cast<std::byte*>(to) + done, piece.data(), piece.size());
    done += piece.size();
  }
}

void compute_stream::download_async(std::byte const* from, void* to, std::size_t bytes) const {
  auto const held = lock_queue();
  driver().check(driver().download(to, device_address(from), bytes, stream_), "copying from the GPU");
}

void compute_stream::copy(std::byte const* from, std::byte* to, std::size_t bytes) const {
  auto const held = lock_queue();
  driver().check(driver().copy(device_address(to), device_address(from), bytes, stream_),
                 "copying on the GPU");
}

void compute_stream::wait() const {
  require_not_recording("waiting for the GPU");
  std::unique_lock staging_lock(staging_mutex_);
  free_staging(staging_lock);
}

std::shared_lock<std::shared_mutex> compute_stream::lock_queue() const {
  on_->use();
  std::shared_lock<std::shared_mutex> held(recording_, std::defer_lock);
  if (!records()) held.lock();
  return held;
}

CUgraphExec compute_stream::record(std::function<void()> const& work) const {
  wants_to_record_ = true;
  std::unique_lock const alone(recording_);
  wants_to_record_ = false;
  on_->use();
  if (driver().begin_capture(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) != CUDA_SUCCESS) return nullptr;
  recorder_ = std::this_thread::get_id();
  bool whole = true;
  try {
    work();
  } catch (...) {  // the caller runs the work directly, which throws again
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

void compute_stream::launch(CUgraphExec recorded) const {
  auto const held = lock_queue();
  driver().check(driver().launch_graph(recorded, stream_), "launching a graph");
}

void compute_stream::destroy_recorded(CUgraphExec recorded) const noexcept {
  on_->make_current();
  driver().destroy_executable(recorded);
}

void compute_stream::finish() const {
  repeat_until_done([&] { return driver().query(stream_); });
}

void compute_stream::finish(gpu_event const& event) const {
  repeat_until_done([&] { return driver().query_event(event.handle()); });
}

template <class Ask>
void compute_stream::repeat_until_done(Ask ask) const {
  using clock = std::chrono::steady_clock;
  clock::time_point const begin = clock::now();
  auto const status_now = [&] {
    while (wants_to_record_ && !records()) std::this_thread::yield();
    auto const held = lock_queue();
    return ask();
  };
  for (CUresult status; (status = status_now()) != CUDA_SUCCESS;) {
    if (status != CUDA_ERROR_NOT_READY) driver().check(status, "waiting for the GPU", on_->name());
    clock::duration const waited = clock::now() - begin;
    if (waited > deadline_ || deadline_passed_) {
      deadline_passed_ = true;
      throw deadline_error({.what = "the GPU did not finish its work in time",
                            .where = on_->name(),
                            .expected = {"at most ", deadline_.count(), " ms"}});
    }
    if (waited > std::chrono::milliseconds(1)) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  deadline_passed_ = false;
}

compute_stream::staging_reader::staging_reader(std::unique_lock<std::mutex>& lock, int& readers)
    : lock_(lock), readers_(readers) {
  ++readers_;
  lock_.unlock();
}

compute_stream::staging_reader::~staging_reader() {
  lock_.lock();
  --readers_;
}

void compute_stream::free_staging(std::unique_lock<std::mutex>& lock) const {
  std::uint64_t const before = staging_.given();
  lock.unlock();
  finish();
  lock.lock();
  if (staging_.given() == before && readers_ == 0) staging_.clear();
}

std::span<std::byte> compute_stream::staging_piece(std::unique_lock<std::mutex>& lock,
                                                   std::size_t bytes) const {
  for (;;) {
    {
      auto const held = lock_queue();  // reserve() allocates page-locked memory on the first call
      if (std::span<std::byte> const piece = staging_.reserve(bytes); !piece.empty()) return piece;
    }
    free_staging(lock);
  }
}

void compute_stream::require_not_recording(char const* what) const {
  if (records()) throw backend_error({.what = {what, " cannot be recorded"}});
}

}  // namespace cohort::detail
