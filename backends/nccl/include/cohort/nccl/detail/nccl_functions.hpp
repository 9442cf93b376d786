// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nccl.h>

#include <cohort/cudnn/detail/shared_library.hpp>
#include <memory>

namespace cohort::detail {

/// Function pointers of NCCL.
struct nccl_functions {
  static constexpr int oldest = 21800;  // version 2.18.0

  decltype(&::ncclGetVersion) version = nullptr;
  decltype(&::ncclGetErrorString) error_text = nullptr;
  decltype(&::ncclGetLastError) last_error = nullptr;
  decltype(&::ncclGetUniqueId) unique_id = nullptr;
  decltype(&::ncclCommInitRankConfig) join = nullptr;
  decltype(&::ncclCommGetAsyncError) state = nullptr;
  decltype(&::ncclAllReduce) allreduce = nullptr;
  decltype(&::ncclCommFinalize) finalize = nullptr;
  decltype(&::ncclCommDestroy) destroy = nullptr;
  decltype(&::ncclCommAbort) abort = nullptr;

  template <class Visit>
  void each(Visit visit) {
    visit("ncclGetVersion", version);
    visit("ncclGetErrorString", error_text);
    visit("ncclGetLastError", last_error);
    visit("ncclGetUniqueId", unique_id);
    visit("ncclCommInitRankConfig", join);
    visit("ncclCommGetAsyncError", state);
    visit("ncclAllReduce", allreduce);
    visit("ncclCommFinalize", finalize);
    visit("ncclCommDestroy", destroy);
    visit("ncclCommAbort", abort);
  }
};

/// Loads NCCL at run time.
///
/// Errors    backend_error if the library is missing, lacks a function or is too old.
std::shared_ptr<nccl_functions const> load_nccl(library_source const& from);

}  // namespace cohort::detail
