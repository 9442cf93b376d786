// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mpi.h>

#include <cohort/error/exceptions.hpp>
#include <string>

namespace cohort::detail {

/// Throws communicator_error with MPI's own text unless the routine has succeeded.
inline void mpi_call(int code, char const* routine) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw communicator_error(
      {.what = {routine, " failed"}, .got = std::string(text, static_cast<std::size_t>(length))});
}

/// A duplicate of a communicator, so that nobody else's messages get mixed with ours; its errors return.
///
/// Order     made collectively, over all ranks of the communicator. It stays for ever unless free() is called: a
///           communicator with messages under way must not be freed, and may become another one's number.
class mpi_duplicate {
 public:
  explicit mpi_duplicate(MPI_Comm original) {
    mpi_call(MPI_Comm_dup(original, &comm_), "MPI_Comm_dup");
    mpi_call(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  }
  mpi_duplicate(mpi_duplicate const&) = delete;
  mpi_duplicate& operator=(mpi_duplicate const&) = delete;

  MPI_Comm get() const { return comm_; }
  void free() noexcept { MPI_Comm_free(&comm_); }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace cohort::detail
