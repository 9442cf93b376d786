// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mpi.h>
#include <cohort/detail/build_check.hpp>

#include <atomic>
#include <memory>

namespace cohort::detail {

/// Detects that the program calls MPI_Finalize while a progress thread still calls MPI: prints a sentence and
/// exits with status 1, instead of a crash in MPI.
///
/// Order     end(), free() or the destructor when no thread calls MPI for the communicator any more; from any
///           thread.
/// Source    MPI 4.1, 11.2.4: MPI_Finalize first deletes the attributes of MPI_COMM_SELF.
class finalize_check {
 public:
  finalize_check();
  finalize_check(finalize_check const&) = delete;
  finalize_check& operator=(finalize_check const&) = delete;
  ~finalize_check() { end(); }

  /// MPI_Finalize is allowed from now on.
  void end() noexcept { *in_use_ = false; }
  /// As end(). Also frees the attribute.
  ///
  /// Before    MPI can be called.
  void free() noexcept;

 private:
  std::shared_ptr<std::atomic<bool>> in_use_;
  int key_ = MPI_KEYVAL_INVALID;
};

}  // namespace cohort::detail

#ifndef COHORT_MPI_COMPILED
#include <cohort/mpi/impl/finalize_check.ipp>
#endif
