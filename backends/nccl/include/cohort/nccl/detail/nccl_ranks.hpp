// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cohort/communicator/communicator.hpp>
#include <cohort/cudnn/detail/compute_stream.hpp>
#include <cohort/cudnn/detail/gpu_event.hpp>
#include <cohort/nccl/detail/nccl_functions.hpp>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace cohort::detail {

/// NCCL's ranks, a GPU each, and a stream beside the one that computes, in which they sum.
///
/// Order     made collectively by all ranks of `over`, which tells them NCCL's identifier. All start the same sums in the same order.
/// Errors    communicator_error on every rank where NCCL fails or something outlasts the deadline: who is missing is named by `over`,
///           which has its own deadline for that, and is poisoned. setting_error on every rank where two have the same GPU.
class nccl_ranks {
 public:
  nccl_ranks(std::shared_ptr<nccl_functions const> by, std::shared_ptr<communicator> over,
             std::shared_ptr<gpu const> on);
  nccl_ranks(nccl_ranks const&) = delete;
  nccl_ranks& operator=(nccl_ranks const&) = delete;
  /// Leaves at once, unless it has ended.
  ~nccl_ranks();

  std::shared_ptr<gpu const> const& shared_device() const { return on_; }

  /// Puts a sum into the stream of sums, between marks: it begins when all is done that was put into `computed` until now.
  void start(elements const& data, reduction how, compute_stream const& computed, gpu_event const& begin,
             gpu_event const& end);

  bool done(gpu_event const& end);
  void await(gpu_event const& end);

  /// Begins to end together with the other ranks: until then they may read this one's memory.
  void end() noexcept;
  /// Whether all have.
  bool ended();
  /// Waits until all have, or it cannot be any more.
  void wait_for_end() noexcept;

  /// What is under way ends without a result, and nothing begins any more. It has a second for that: NCCL joins threads and waits for
  /// the GPU, which may never come back.
  void leave() noexcept;

 private:
  using clock = std::chrono::steady_clock;

  driver_functions const& driver() const { return on_->driver(); }

  static ncclDataType_t type_of(element_type type);

  /// NCCL would refuse them with fewer words.
  void refuse_shared_gpus();

  bool was_left();
  /// In progress once left: `over_` knows why.
  ncclResult_t state();
  void settle(char const* doing);

  /// Asks again and again: what waits here has no deadline of its own. After a millisecond it sleeps in between, and listens to what
  /// `over_` hears of the other ranks.
  template <class Ended>
  void wait_until(char const* doing, Ended ended) {
    clock::time_point const begin = clock::now();
    while (!ended()) {
      clock::duration const waited = clock::now() - begin;
      if (waited <= std::chrono::milliseconds(1)) continue;
      listen();
      if (waited > over_->settings().deadline) give_up(doing);
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  void listen();

  /// Meets the other ranks first, which names those that do not come. Who leaves before tells the others nothing.
  [[noreturn, gnu::cold]] void give_up(char const* doing);
  [[noreturn, gnu::cold]] void fail(std::string const& why);
  void check(ncclResult_t status, char const* doing);
  void check(CUresult status, char const* doing);

  std::shared_ptr<nccl_functions const> by_;
  std::shared_ptr<communicator> over_;
  std::shared_ptr<gpu const> on_;
  CUstream stream_ = nullptr;
  std::mutex mutex_;
  ncclComm_t ranks_ = nullptr;  // null once left
  bool ending_ = false;
};

}  // namespace cohort::detail

#ifndef COHORT_NCCL_COMPILED
#include <cohort/nccl/impl/nccl_ranks.ipp>
#endif
