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

/// State shared by a communicator and its relatives: the NCCL library, the traffic counters, and the NCCL
/// communicators of destroyed relatives. An NCCL communicator ends only when all ranks have finalised it, and
/// ranks may destroy relatives in different orders. Therefore only the last relative's destructor waits until
/// all NCCL communicators have ended.
class nccl_family {
 public:
  explicit nccl_family(library_source const& from) : functions_(load_nccl(from)) {}
  nccl_family(nccl_family const&) = delete;
  nccl_family& operator=(nccl_family const&) = delete;
  ~nccl_family();

  std::shared_ptr<nccl_functions const> const& functions() const { return functions_; }
  /// Starts to finalise the NCCL communicator of a destroyed relative, and keeps the NCCL communicator until
  /// it has ended.
  void retire(std::shared_ptr<nccl_ranks> one);

  std::atomic<std::uint64_t> bytes_sent = 0, sums_started = 0;

 private:
  std::shared_ptr<nccl_functions const> functions_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<nccl_ranks>> ending_;
};

}  // namespace cohort::detail
