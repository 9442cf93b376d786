// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cohort/communicator/communicator.hpp>
#include <cohort/cudnn/compute_stream.hpp>
#include <cohort/cudnn/gpu_event.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/nccl/nccl_functions.hpp>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace cohort::detail {

/// NCCL's ranks, a GPU each, and a stream beside the one that computes, in which they sum.
///
/// Order     made collectively by all ranks of `over`, which tells them NCCL's identifier. All start the same sums in the same order.
/// Errors    communicator_error on every rank where NCCL fails, or something outlasts the deadline: who is missing is named by `over`,
///           which is poisoned.
class nccl_ranks {
 public:
  nccl_ranks(std::shared_ptr<nccl_functions const> by, std::shared_ptr<communicator> over,
             std::shared_ptr<gpu const> on)
      : by_(std::move(by)), over_(std::move(over)), on_(std::move(on)) {
    ncclUniqueId id{};
    if (over_->rank() == 0) check(by_->unique_id(&id), "making an identifier");
    over_->broadcast({reinterpret_cast<std::byte*>(&id), element_type::u8, sizeof id}, 0);
    on_->use();
    check(driver().create_stream(&stream_, CU_STREAM_NON_BLOCKING), "making a stream for sums");
    try {
      ncclConfig_t how = NCCL_CONFIG_INITIALIZER;
      how.blocking = 0;
      check(by_->join(&ranks_, over_->size(), id, over_->rank(), &how), "joining the ranks");
      settle("joining the ranks");
    } catch (...) {
      leave();
      driver().destroy_stream(stream_);
      throw;
    }
  }
  nccl_ranks(nccl_ranks const&) = delete;
  nccl_ranks& operator=(nccl_ranks const&) = delete;
  ~nccl_ranks() {
    on_->make_current();
    if (ranks_ && std::uncaught_exceptions() == 0 && ends_together())
      by_->destroy(std::exchange(ranks_, nullptr));
    leave();
    driver().destroy_stream(stream_);
  }

  std::shared_ptr<gpu const> const& shared_device() const { return on_; }

  /// Puts a sum into the stream of sums, between marks: it begins when all is done that was put into `computed` until now.
  ///
  /// Errors    setting_error for types that GPUs do not sum.
  void start(elements const& data, reduction how, compute_stream const& computed, gpu_event const& begin,
             gpu_event const& end) {
    ncclDataType_t const type = type_of(data.type);
    on_->use();
    check(driver().record(begin.handle(), computed.handle()), "marking a sum's begin");
    check(driver().wait_for_event(stream_, begin.handle(), 0), "waiting for a sum's begin");
    ncclResult_t status = ncclSuccess;
    {
      std::lock_guard const lock(mutex_);
      if (ranks_)
        status =
            by_->allreduce(data.data, data.data, data.count, type, how == reduction::sum ? ncclSum : ncclMax,
                           ranks_, reinterpret_cast<cudaStream_t>(stream_));
    }
    check(status, "starting a sum");
    settle("starting a sum");
    check(driver().record(end.handle(), stream_), "marking a sum's end");
  }

  bool done(gpu_event const& end) {
    on_->use();
    CUresult const status = driver().query_event(end.handle());
    if (status == CUDA_SUCCESS) return true;
    if (status != CUDA_ERROR_NOT_READY) check(status, "a sum");
    check(state(), "a sum");
    return false;
  }
  void await(gpu_event const& end) {
    wait_until("a sum", [&] { return done(end); });
  }

  /// What is under way ends at once, and nothing begins any more.
  void leave() noexcept {
    std::lock_guard const lock(mutex_);
    if (ranks_) by_->abort(std::exchange(ranks_, nullptr));
  }

 private:
  driver_functions const& driver() const { return on_->driver(); }
  static ncclDataType_t type_of(element_type type) {
    switch (type) {
      case element_type::f32:
        return ncclFloat32;
      case element_type::f64:
        return ncclFloat64;
      case element_type::bf16:
        return ncclBfloat16;
      default:
        throw setting_error(
            {.what = "GPUs do not sum this type", .expected = "f32, f64 or bf16", .got = {name_of(type)}});
    }
  }

  using clock = std::chrono::steady_clock;

  /// A communicator that was left has nothing to say: `over_` has.
  ncclResult_t state() {
    std::lock_guard const lock(mutex_);
    ncclResult_t now = ncclInProgress;
    if (!ranks_) return now;
    ncclResult_t const asked = by_->state(ranks_, &now);
    return asked == ncclSuccess ? now : asked;
  }
  void settle(char const* doing) {
    wait_until(doing, [&] {
      ncclResult_t const now = state();
      check(now, doing);
      return now == ncclSuccess;
    });
  }

  /// Whether all ranks have done what they had started: until then others may read this one's memory.
  bool ends_together() noexcept {
    clock::time_point const begin = clock::now();
    if (ncclResult_t const status = by_->finalize(ranks_); status != ncclSuccess && status != ncclInProgress)
      return false;
    for (ncclResult_t now; (now = state()) != ncclSuccess;) {
      if (now != ncclInProgress || clock::now() - begin > over_->settings().deadline) return false;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return true;
  }

  /// Asks again and again: what waits here has no deadline of its own. After a millisecond it sleeps in between, and listens to what
  /// `over_` hears of the other ranks.
  template <class Ended>
  void wait_until(char const* doing, Ended ended) {
    clock::time_point const begin = clock::now();
    while (!ended()) {
      clock::duration const waited = clock::now() - begin;
      if (waited <= std::chrono::milliseconds(1)) continue;
      if (waited > over_->settings().deadline) give_up(doing);
      listen();
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  void listen() {
    try {
      over_->probe(communicator::any_source, communicator::largest_tag);
    } catch (...) {
      leave();
      throw;
    }
  }

  /// Meets the other ranks, which names those that do not come.
  [[noreturn, gnu::cold]] void give_up(char const* doing) {
    leave();
    over_->barrier();
    fail(text_of({doing, " has not ended within ", over_->settings().deadline.count(), " ms"}));
  }
  [[noreturn, gnu::cold]] void fail(std::string const& why) {
    leave();
    std::string const text = "NCCL: " + why;
    over_->abort(text);
    over_->barrier();  // says the same on all ranks
    throw communicator_error({.what = text});
  }
  void check(ncclResult_t status, char const* doing) {
    if (status == ncclSuccess || status == ncclInProgress) return;
    char const* const more = by_->last_error(nullptr);
    fail(text_of(
        {doing, " failed (", by_->error_text(status), more && *more ? "; " : "", more ? more : "", ")"}));
  }
  void check(CUresult status, char const* doing) {
    if (status == CUDA_SUCCESS) return;
    char const* name = nullptr;
    driver().error_name(status, &name);
    fail(text_of({doing, " failed (", name ? name : "an unknown error", ")"}));
  }

  std::shared_ptr<nccl_functions const> by_;
  std::shared_ptr<communicator> over_;
  std::shared_ptr<gpu const> on_;
  CUstream stream_ = nullptr;
  std::mutex mutex_;
  ncclComm_t ranks_ = nullptr;  // null once left
};

}  // namespace cohort::detail
