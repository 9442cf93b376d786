// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mpi.h>

#include <chrono>

namespace cohort::detail {

/// Throws communicator_error with MPI's own text unless the routine has succeeded.
void mpi_call(int code, char const* routine);

/// Sleeps between two looks at what MPI has done.
void nap(std::chrono::microseconds time = std::chrono::microseconds(200));

/// A duplicate of a communicator, so that nobody else's messages get mixed with ours; its errors return.
///
/// Order     made collectively, over all ranks of the communicator. It stays for ever unless free() is called: a
///           communicator with messages under way must not be freed, and may become another one's number.
/// Errors    communicator_error if not all ranks have come within `patience`.
class mpi_duplicate {
 public:
  mpi_duplicate(MPI_Comm original, std::chrono::milliseconds patience);
  mpi_duplicate(mpi_duplicate const&) = delete;
  mpi_duplicate& operator=(mpi_duplicate const&) = delete;

  MPI_Comm get() const { return comm_; }
  void free() noexcept { MPI_Comm_free(&comm_); }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace cohort::detail

#ifndef COHORT_MPI_COMPILED
#include <cohort/mpi/impl/call.ipp>
#endif
