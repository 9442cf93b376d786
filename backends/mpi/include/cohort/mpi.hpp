// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mpi.h>

#include <cohort/communicator/communicator.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/mpi/detail/implementation.hpp>
#include <cohort/mpi/detail/launch.hpp>
#include <memory>
#include <utility>

namespace cohort {

/// Returns whether this process was started by mpirun or another launcher with PMI or PMIx. Does not call
/// MPI.
bool mpi_started();

/// Ranks that are processes, started together by mpirun: launch<mpi>(argc, argv, body).
///
/// Order     at most one call per process. Initialises MPI before the body, and finalises it when every rank
///           has returned from its body. Starting and ending MPI each time out at the deadline, but not
///           before 10 s. While MPI starts, a rank observes only the ranks of its host. If a rank of the host
///           ends, the observing rank reports this and exits at once. At the deadline, each rank reports
///           which ranks of its host are stopped, and how many have not started.
/// After     returns 0 if all ranks have returned. Otherwise exits the process without MPI_Finalize and
///           prints the reason to the standard error stream. Every rank exits with the status of the first
///           failure: communicator_exit_status if a rank is lost, and 1 if a rank's body has thrown an
///           exception other than communicator_error. The other ranks receive the text of that exception.
/// Errors    setting_error for a deadline or heartbeat out of range, before MPI is initialised; for an MPI
///           without MPI_THREAD_MULTIPLE, or with fewer than 2²³ tags.
struct mpi {
  template <class Body>
  static int launch(int argc, char** argv, Body&& body) {
    return launch(argc, argv, communicator_settings(), body);
  }
  template <class Body>
  static int launch(int argc, char** argv, communicator_settings settings, Body&& body) {
    return detail::mpi_process(argc, argv, std::move(settings)).run(body);
  }
};

/// Creates a communicator of the ranks of an MPI_Comm (or boost::mpi::communicator), in a program that
/// initialises and finalises MPI itself.
///
/// Order     collective over `original`. The last destructor of the communicator and of all communicators
///           split or duplicated from it is also collective. This destructor waits for the other ranks, at
///           most until the deadline, and must run before MPI_Finalize. Between this call and the last
///           destructor, Cohort calls MPI only in the communicator's progress thread. If the program calls
///           MPI_Finalize earlier, Cohort prints an error and exits the process with status 1.
/// Errors    setting_error if MPI is not initialised, does not provide MPI_THREAD_MULTIPLE, or has fewer than
///           2²³ tags; for MPI_COMM_NULL and intercommunicators; for a deadline or heartbeat out of range.
///           communicator_error if not all ranks join within the deadline.
std::unique_ptr<communicator> make_mpi(MPI_Comm original, communicator_settings settings = {});

}  // namespace cohort
