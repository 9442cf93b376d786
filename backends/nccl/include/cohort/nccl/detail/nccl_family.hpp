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

/// State shared by a communicator and its relatives: the NCCL library, the traffic, and the NCCL
/// communicators of destroyed relatives. NCCL communicators end together with those of the other ranks, which
/// may destroy theirs in another order. Only the destruction of the last relative waits for their end.
class nccl_family {
 public:
  explicit nccl_family(library_source const& from) : functions_(load_nccl(from)) {}
  nccl_family(nccl_family const&) = delete;
  nccl_family& operator=(nccl_family const&) = delete;
  ~nccl_family();

  std::shared_ptr<nccl_functions const> const& functions() const { return functions_; }
  /// Starts to end the NCCL communicator of a destroyed relative, and keeps it until its end.
  void retire(std::shared_ptr<nccl_ranks> one);

  std::atomic<std::uint64_t> bytes_sent = 0, sums_started = 0;

 private:
  std::shared_ptr<nccl_functions const> functions_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<nccl_ranks>> ending_;
};

}  // namespace cohort::detail

#ifndef COHORT_NCCL_COMPILED
#include <cohort/nccl/impl/nccl_family.ipp>
#endif
