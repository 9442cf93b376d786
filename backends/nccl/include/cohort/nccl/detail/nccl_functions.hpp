// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nccl.h>

#include <cohort/cudnn/detail/shared_library.hpp>
#include <memory>
#include <string>

namespace cohort::detail {

/// The functions of NCCL that are used.
struct nccl_functions {
  static constexpr int oldest = 21800;

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

/// "2.28.9" of 22809, as NCCL numbers its versions.
inline std::string nccl_version_text(int version) {
  return std::to_string(version / 10000) + '.' + std::to_string(version % 10000 / 100) + '.'
         + std::to_string(version % 100);
}

/// Errors    backend_error, a sentence for a user: the library is missing, lacks a function or is too old.
inline std::shared_ptr<nccl_functions const> load_nccl(library_source const& from) {
  std::string const names[]{"libnccl.so.2"};
  auto const made =
      std::make_shared<nccl_functions const>(load_functions<nccl_functions>(from, "NCCL 2", names));
  int version = 0;
  if (made->version(&version) != ncclSuccess || version < nccl_functions::oldest)
    throw backend_error({.what = "NCCL is too old",
                         .expected = {nccl_version_text(nccl_functions::oldest), " or newer"},
                         .got = nccl_version_text(version)});
  return made;
}

}  // namespace cohort::detail
