// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/cudnn/detail/compute_stream.hpp>
#include <cohort/cudnn/detail/gpu_event.hpp>
#include <cohort/detail/chrono.hpp>
#include <cohort/nccl/detail/nccl_functions.hpp>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace cohort::detail {

/// An NCCL communicator with one GPU per rank, and a stream for its sums, separate from the computing stream.
///
/// Order     created collectively by all ranks of `over`, which broadcasts NCCL's identifier. All ranks start
///           the same sums in the same order.
/// Errors    communicator_error on every rank if NCCL fails or an operation exceeds the deadline. A barrier
///           of `over`, with a further deadline, then determines the missing ranks; `over` is unusable
///           afterwards. setting_error on every rank if two ranks have the same GPU.
class nccl_ranks {
 public:
  nccl_ranks(std::shared_ptr<nccl_functions const> by, std::shared_ptr<communicator> over,
             std::shared_ptr<gpu const> on);
  nccl_ranks(nccl_ranks const&) = delete;
  nccl_ranks& operator=(nccl_ranks const&) = delete;
  /// Aborts pending sums, unless ended().
  ~nccl_ranks();

  std::shared_ptr<gpu const> const& shared_device() const { return on_; }

  /// Enqueues a sum, which runs after all work that is already enqueued in `computed` (event `begin`). The
  /// event `end` is recorded after the sum.
  void start(elements const& data, reduction how, compute_stream const& computed, gpu_event const& begin,
             gpu_event const& end);

  /// Returns whether the sum with this end event has ended.
  bool done(gpu_event const& end);
  /// Blocks until the sum with this end event has ended, at most until the deadline.
  void await(gpu_event const& end);

  /// Starts to finalise the NCCL communicator. Finalisation completes when all ranks have called it; until
  /// then, other ranks may read this rank's memory.
  void end() noexcept;
  /// Returns whether all ranks have finalised.
  bool ended();
  /// Blocks until ended(), a failure, or the deadline.
  void wait_for_end() noexcept;

  /// Aborts pending sums without a result and allows no new sums. Returns within a second even if NCCL's
  /// abort does not return: NCCL's abort joins threads and waits for the GPU.
  void abort() noexcept;

 private:
  using clock = std::chrono::steady_clock;

  driver_functions const& driver() const { return on_->driver(); }

  static ncclDataType_t type_of(element_type type);

  /// Throws setting_error if ranks share a GPU. The error names these ranks; NCCL's error would not.
  void require_distinct_gpus();

  bool was_aborted();
  /// Returns the state of the NCCL communicator; ncclInProgress after abort, because `over_` then has the
  /// reason.
  ncclResult_t state();
  void wait_for_nccl(char const* doing);

  /// Polls until ended() returns true, because NCCL's operations have no deadline. After a millisecond,
  /// sleeps between polls and checks for failures of other ranks.
  template <class Ended>
  void poll_until(char const* doing, Ended ended) {
    clock::time_point const begin = clock::now();
    while (!ended()) {
      clock::duration const waited = clock::now() - begin;
      if (waited <= std::chrono::milliseconds(1)) continue;
      check_other_ranks();
      if (waited > over_->settings().deadline) fail_at_deadline(doing);
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  /// Aborts and throws if another rank has announced a failure to `over_`.
  void check_other_ranks();

  /// Throws the error of an exceeded deadline. First calls a barrier, whose error names the missing ranks:
  /// after an abort, they would be unknown.
  [[noreturn, gnu::cold]] void fail_at_deadline(char const* doing);
  [[noreturn, gnu::cold]] void fail(std::string const& why);
  void check(ncclResult_t status, char const* doing);
  void check(CUresult status, char const* doing);

  std::shared_ptr<nccl_functions const> functions_;
  std::shared_ptr<communicator> over_;
  std::shared_ptr<gpu const> on_;
  CUstream stream_ = nullptr;
  std::mutex mutex_;
  ncclComm_t ranks_ = nullptr;  // null after abort
  bool ending_ = false;
};

}  // namespace cohort::detail
