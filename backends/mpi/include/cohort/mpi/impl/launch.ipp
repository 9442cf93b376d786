// SPDX-License-Identifier: Apache-2.0
#include <cohort/communicator/detail/exit_at_once.hpp>
#include <cohort/communicator/message_communicator.hpp>
#include <cohort/mpi/detail/launch.hpp>
#include <cstdlib>
#include <utility>

namespace cohort::detail {

/// Throws setting_error, naming the missing property, if a progress thread cannot call this MPI, or if its
/// largest tag is too small.
void check_mpi(MPI_Comm original) {
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
  constexpr int largest_tag = (1 << transport::tag_bits) - 1;
  int* bound = nullptr;
  int known = 0;
  mpi_call(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &known), "MPI_Comm_get_attr");
  if (!known || *bound < largest_tag)
    refuse({"tags up to ", largest_tag}, {"tags up to ", known ? *bound : 0});
}

void check_mpi_settings(communicator_settings const& settings) {
  check_settings(settings);
  if (settings.heartbeat < std::chrono::milliseconds(100) || settings.heartbeat > std::chrono::hours(1000))
    throw setting_error({.what = "the heartbeat of a communicator is out of range",
                         .where = "communicator_settings.heartbeat",
                         .expected = "100 ms to 1,000 hours",
                         .got = {settings.heartbeat.count(), " ms"}});
}

mpi_world make_mpi_world(MPI_Comm original, communicator_settings const& settings, mpi_timeouts patience) {
  check_mpi_settings(settings);
  check_mpi(original);
  auto control = std::make_shared<mpi_control>(original, settings.heartbeat, patience.to_begin);
  auto ranks = make_communicator(std::make_unique<mpi_transport>(original, control, patience), settings);
  return {std::move(control), std::move(ranks)};
}

/// Makes Open MPI stream large messages over TCP (flags send and in-place). By default, a receiver requests
/// each piece; if both directions of a link are busy, these requests are queued behind the data that the
/// receiver sends. An allreduce of 1.77 MB between two hosts at 100 Mbit/s takes 212 ms by default and 149 ms
/// streamed. Without a bandwidth limit, the times are 1.4 ms and 0.6 ms. Keeps a value that is set in the
/// environment or by mpirun --mca.
///
/// Before    MPI_Init_thread has not been called; the process has only one thread.
void stream_over_tcp() { ::setenv("OMPI_MCA_btl_tcp_flags", "9", 0); }

mpi_process::mpi_process(int argc, char** argv, communicator_settings const& settings) : settings_(settings) {
  check_mpi_settings(settings);
  watchdog const limit(std::max(settings.deadline, time_for_mpi),
                       "all ranks had called MPI_Init_thread and MPI_Comm_idup", &ranks_of_host_);
  stream_over_tcp();
  environment_.emplace(argc, argv, boost::mpi::threading::multiple, false);
  world_ = make_mpi_world(MPI_COMM_WORLD, settings, {no_limit, no_limit});
  rank_ = world_.ranks->rank();
}

void mpi_process::fail(failure_report const& why) {
  auto const first = world_.control->trouble();
  int status = (first ? *first : why).exit_status;
  if (world_.ranks && !first) status = world_.ranks->abort(why.text, status);
  stderr_sink()(text_of({"rank ", rank_, ": ", why.text}));
  world_.control->wait_for_delivery();
  if (world_.control->another_rank_failed()) std::this_thread::sleep_for(secondary_failure_delay);
  exit_at_once(status);
}

}  // namespace cohort::detail
