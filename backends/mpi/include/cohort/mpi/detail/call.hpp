// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mpi.h>

#include <cohort/detail/build_check.hpp>
#include <cohort/detail/chrono.hpp>

namespace cohort::detail {

/// Throws a communicator_error with MPI's error text unless the routine has succeeded.
void mpi_call(int code, char const* routine);

/// Sleeps between two polls of MPI.
void sleep_between_polls(std::chrono::microseconds time = std::chrono::microseconds(200));

/// A duplicate of a communicator. Its messages are separate from the original's, and MPI's errors are
/// returned, not fatal.
///
/// Order     created collectively, over all ranks of the communicator. Freed only by free(): a communicator
///           with pending messages must not be freed, because a new communicator may reuse its context id.
/// Errors    communicator_error if not all ranks have joined within `patience`.
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
