// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mpi.h>

#include <cohort/detail/build_check.hpp>
#include <cohort/detail/chrono.hpp>

namespace cohort::detail {

/// Throws communicator_error with MPI's error text if `code`, returned by `routine`, is not MPI_SUCCESS.
void mpi_call(int code, char const* routine);

/// Sleeps for `time` between two polls of MPI.
void sleep_between_polls(std::chrono::microseconds time = std::chrono::microseconds(200));

/// A duplicate of a communicator, with separate messages. MPI returns errors instead of aborting.
///
/// Order     created collectively by all ranks of the communicator. Freed only by free(): a communicator with
///           pending messages must not be freed, because a new communicator may reuse its context id.
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
