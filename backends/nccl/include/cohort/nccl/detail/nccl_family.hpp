// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cohort/nccl/detail/nccl_functions.hpp>
#include <cohort/nccl/detail/nccl_ranks.hpp>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace cohort::detail {

/// What a communicator shares with its relatives: NCCL, what was sent, and the ranks that they have left behind. These end together with
/// other ranks', which may let theirs go in another order: nobody waits for that but the last relative.
class nccl_family {
 public:
  explicit nccl_family(library_source const& from) : by_(load_nccl(from)) {}
  nccl_family(nccl_family const&) = delete;
  nccl_family& operator=(nccl_family const&) = delete;
  ~nccl_family();

  std::shared_ptr<nccl_functions const> const& functions() const { return by_; }
  void leave_behind(std::shared_ptr<nccl_ranks> one);

  std::atomic<std::uint64_t> bytes_sent = 0, sums_started = 0;

 private:
  std::shared_ptr<nccl_functions const> by_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<nccl_ranks>> ending_;
};

}  // namespace cohort::detail

#ifndef COHORT_NCCL_COMPILED
#include <cohort/nccl/impl/nccl_family.ipp>
#endif
