// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mpi.h>
#include <cohort/detail/build_check.hpp>

#include <atomic>
#include <memory>

namespace cohort::detail {

/// Detects that the program calls MPI_Finalize while a progress thread still calls MPI. Then prints an error
/// and exits the process with status 1, because MPI would crash.
///
/// Order     call end() or free(), or destroy the object, as soon as no thread calls MPI for the communicator
///           any more. Any thread may do this.
/// Source    MPI 4.1, 11.2.4: MPI_Finalize first deletes the attributes of MPI_COMM_SELF.
class finalize_check {
 public:
  finalize_check();
  finalize_check(finalize_check const&) = delete;
  finalize_check& operator=(finalize_check const&) = delete;
  ~finalize_check() { end(); }

  /// Allows MPI_Finalize from now on.
  void end() noexcept { *in_use_ = false; }
  /// Like end(), but also frees the attribute.
  ///
  /// Before    MPI can be called.
  void free() noexcept;

 private:
  std::shared_ptr<std::atomic<bool>> in_use_;
  int key_ = MPI_KEYVAL_INVALID;
};

}  // namespace cohort::detail
