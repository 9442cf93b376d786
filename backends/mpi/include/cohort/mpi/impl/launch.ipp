// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/exit_at_once.hpp>
#include <cohort/communicator/message_communicator.hpp>
#include <cohort/detail/config.hpp>
#include <cohort/mpi/detail/launch.hpp>
#include <cstdlib>
#include <utility>

namespace cohort::detail {

/// Refuses, by name, an MPI that a communicator's own thread cannot call, or whose messages cannot carry its tags.
COHORT_MPI_INLINE void check_mpi(MPI_Comm original) {
  auto const refuse = [](clause expected, clause got) {
    throw setting_error({.what = "a communicator cannot be made with this MPI",
                         .expected = std::move(expected),
                         .got = std::move(got)});
  };
  if (!boost::mpi::environment::initialized() || boost::mpi::environment::finalized())
    refuse("MPI between MPI_Init_thread and MPI_Finalize",
           boost::mpi::environment::finalized() ? "after MPI_Finalize" : "before MPI_Init_thread");
  auto const level = static_cast<int>(boost::mpi::environment::thread_level());
  if (level < MPI_THREAD_MULTIPLE)
    refuse("MPI_THREAD_MULTIPLE", level == MPI_THREAD_SERIALIZED ? "MPI_THREAD_SERIALIZED"
                                  : level == MPI_THREAD_FUNNELED ? "MPI_THREAD_FUNNELED"
                                                                 : "MPI_THREAD_SINGLE");
  if (original == MPI_COMM_NULL) refuse("an MPI_Comm with ranks", "MPI_COMM_NULL");
  int between_groups = 0;
  mpi_call(MPI_Comm_test_inter(original, &between_groups), "MPI_Comm_test_inter");
  if (between_groups) refuse("an intracommunicator", "an intercommunicator");
  constexpr int largest_tag = (1 << 30) - 1;
  int* bound = nullptr;
  int known = 0;
  mpi_call(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &known), "MPI_Comm_get_attr");
  if (!known || *bound < largest_tag)
    refuse({"tags up to ", largest_tag, " (Open MPI has them with --mca pml ob1)"}, {known ? *bound : 0});
}

COHORT_MPI_INLINE void check_mpi_settings(communicator_settings const& settings) {
  check_settings(settings);
  if (settings.heartbeat < std::chrono::milliseconds(100) || settings.heartbeat > std::chrono::hours(1000))
    throw setting_error({.what = "ranks cannot show that they live like this",
                         .where = "communicator_settings.heartbeat",
                         .expected = "100 ms to 1,000 hours",
                         .got = {settings.heartbeat.count(), " ms"}});
}

COHORT_MPI_INLINE mpi_world make_mpi_world(MPI_Comm original, communicator_settings const& settings,
                                           mpi_patience patience) {
  check_mpi_settings(settings);
  check_mpi(original);
  auto control = std::make_shared<mpi_control>(original, settings.heartbeat, patience.to_begin);
  auto ranks = make_communicator(std::make_unique<mpi_transport>(original, control, patience), settings);
  return {std::move(control), std::move(ranks)};
}

/// Lets Open MPI's TCP stream large messages (send, in place). By default a receiver asks for piece after piece, and where both
/// directions of a link are full, what it asks waits behind what it sends: an allreduce of 1.77 MB between two hosts takes 212
/// ms at 100 Mbit/s instead of 149, 1.4 instead of 0.6 without a limit. What is set in the environment or by mpirun --mca stays.
///
/// Before    MPI_Init_thread; one thread.
inline void stream_over_tcp() { ::setenv("OMPI_MCA_btl_tcp_flags", "9", 0); }

COHORT_MPI_INLINE mpi_process::mpi_process(int argc, char** argv, communicator_settings const& settings)
    : settings_(settings) {
  check_mpi_settings(settings);
  watchdog const limit(std::max(settings.deadline, for_mpi_itself),
                       "not all ranks have come to MPI_Init_thread and MPI_Comm_idup");
  stream_over_tcp();
  environment_.emplace(argc, argv, boost::mpi::threading::multiple, false);
  world_ = make_mpi_world(MPI_COMM_WORLD, settings, {as_long_as_they_live, as_long_as_they_live});
  rank_ = world_.ranks->rank();
}

COHORT_MPI_INLINE void mpi_process::fail(std::string const& why, int status) {
  if (world_.ranks && !world_.control->trouble()) world_.ranks->abort(why);
  stderr_sink()(text_of({"rank ", rank_, ": ", why}));
  world_.control->wait_for_delivery();
  if (world_.control->was_told()) std::this_thread::sleep_for(before_who_was_told);
  exit_at_once(status);
}

}  // namespace cohort::detail
