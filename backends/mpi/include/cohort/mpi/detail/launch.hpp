// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <boost/mpi/environment.hpp>
#include <cohort/communicator/detail/failure_report.hpp>
#include <cohort/communicator/detail/launch_scope.hpp>
#include <cohort/detail/chrono.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/mpi/detail/control.hpp>
#include <cohort/mpi/detail/roll_call.hpp>
#include <cohort/mpi/detail/transport.hpp>
#include <cohort/mpi/detail/watchdog.hpp>
#include <exception>
#include <memory>
#include <optional>
#include <string>

namespace cohort::detail {

/// The communicator of all ranks, and its control messages.
struct mpi_world {
  std::shared_ptr<mpi_control> control;
  std::unique_ptr<communicator> ranks;
};

/// Creates the control messages and the communicator. Collective over `original`.
///
/// Errors    setting_error for settings out of range, or an MPI that make_mpi rejects; communicator_error if
///           not all ranks join in time.
mpi_world make_mpi_world(MPI_Comm original, communicator_settings const& settings, mpi_timeouts patience);

/// Initialises MPI, runs a body on this rank, and finalises MPI.
class mpi_process {
 public:
  mpi_process(int argc, char** argv, communicator_settings const& settings);

  template <class Body>
  int run(Body& body) {
    try {
      launch_scope const launched(world_.ranks->size());
      body(*world_.ranks);
      world_.ranks.reset();  // leaves and waits for the other ranks
      if (auto const why = world_.control->trouble())
        throw communicator_error({.what = why->text}, why->exit_status);
    } catch (...) {
      fail(failure_of(std::current_exception()));
    }
    watchdog const limit(std::max(settings_.deadline, time_for_mpi),
                         text_of({"MPI_Finalize returned on rank ", rank_}));
    environment_.reset();
    return 0;
  }

 private:
  /// Minimum of the time limits for starting and ending MPI, because both are slow on a busy machine.
  static constexpr std::chrono::milliseconds time_for_mpi{10'000};
  static constexpr auto no_limit = std::chrono::hours(24 * 365);
  /// Delay of a rank's exit after another rank has failed. mpirun names the first process that ends, which
  /// should be the failed rank.
  static constexpr auto secondary_failure_delay = std::chrono::milliseconds(250);

  /// Logs the reason, announces it to the other ranks, and exits the process with the status of the first
  /// failure of a rank. Does not call MPI_Finalize, which would wait for lost ranks.
  [[noreturn, gnu::cold]] void fail(failure_report const& why);

  communicator_settings settings_;
  roll_call ranks_of_host_;
  std::optional<boost::mpi::environment> environment_;
  mpi_world world_;
  int rank_ = 0;
};

}  // namespace cohort::detail
