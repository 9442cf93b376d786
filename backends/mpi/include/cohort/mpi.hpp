// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mpi.h>

#include <cohort/communicator/communicator.hpp>
#include <cohort/mpi/detail/launch.hpp>
#include <memory>
#include <utility>

namespace cohort {

/// Whether this process was started by mpirun or another launcher that speaks PMI(x). Does not call MPI.
bool mpi_started();

/// Ranks that are processes, started together by mpirun: launch<mpi>(argc, argv, body).
///
/// Order     starts MPI, and ends it after every rank has returned from its body. Once in a process.
/// After     0, when all have returned. Else the process ends without MPI_Finalize, and says why on the standard error
///           stream: with communicator_exit_status if other ranks are lost or have failed, with 1 if this one's body has
///           thrown anything but a communicator_error. What a body throws of its own, the others are told.
/// Errors    setting_error for a deadline or heartbeat out of range, before MPI is started; for an MPI without
///           MPI_THREAD_MULTIPLE, or with fewer tags than 2³⁰.
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

/// The ranks of an MPI_Comm (or boost::mpi::communicator) that the program has: it starts and ends MPI itself.
///
/// Order     collective over `original`, and so is its end: the last communicator that is made of it waits there for the
///           other ranks, until the deadline. Ends before MPI_Finalize.
/// Moves     as MPI does; only a thread of the communicator's own calls MPI in between.
/// Errors    setting_error for an MPI that is not initialised, has not been given MPI_THREAD_MULTIPLE, or has fewer tags
///           than 2³⁰; for MPI_COMM_NULL and intercommunicators; for a deadline or heartbeat out of range.
///           communicator_error if not all ranks come within the deadline.
std::unique_ptr<communicator> make_mpi(MPI_Comm original, communicator_settings settings = {});

}  // namespace cohort

#ifndef COHORT_MPI_COMPILED
#include <cohort/mpi/impl/mpi.ipp>
#endif
