// SPDX-License-Identifier: Apache-2.0
#include <cohort/error/exceptions.hpp>
#include <cohort/mpi/detail/call.hpp>
#include <ctime>
#include <memory>
#include <string>

namespace cohort::detail {

void mpi_call(int code, char const* routine) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw communicator_error(
      {.what = {routine, " failed"}, .got = std::string(text, static_cast<std::size_t>(length))});
}

void sleep_between_polls(std::chrono::microseconds time) {
  timespec const its{time.count() / 1'000'000, time.count() % 1'000'000 * 1000};
  ::nanosleep(&its, nullptr);
}

mpi_duplicate::mpi_duplicate(MPI_Comm original, std::chrono::milliseconds patience) {
  auto made = std::make_unique<MPI_Comm>(MPI_COMM_NULL);
  MPI_Request request = MPI_REQUEST_NULL;
  mpi_call(MPI_Comm_idup(original, made.get(), &request), "MPI_Comm_idup");
  auto const limit = std::chrono::steady_clock::now() + patience;
  for (int done = 0;; sleep_between_polls()) {
    mpi_call(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done) break;
    if (std::chrono::steady_clock::now() < limit) continue;
    made.release();  // MPI may still write there
    throw communicator_error({.what = "not all ranks have joined a new communicator",
                              .where = "MPI_Comm_idup",
                              .expected = {"within ", patience.count(), " ms"}});
  }
  comm_ = *made;
  mpi_call(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

}  // namespace cohort::detail
