// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <boost/mpi/environment.hpp>
#include <chrono>
#include <cohort/error/exceptions.hpp>
#include <cohort/mpi/detail/control.hpp>
#include <cohort/mpi/detail/transport.hpp>
#include <cohort/mpi/detail/watchdog.hpp>
#include <exception>
#include <memory>
#include <optional>
#include <string>

namespace cohort::detail {

struct mpi_world {
  std::shared_ptr<mpi_control> control;
  std::unique_ptr<communicator> ranks;
};

mpi_world make_mpi_world(MPI_Comm original, communicator_settings const& settings, mpi_patience patience);

/// A rank's life between MPI_Init_thread and MPI_Finalize.
class mpi_process {
 public:
  mpi_process(int argc, char** argv, communicator_settings const& settings);

  template <class Body>
  int run(Body& body) {
    try {
      body(*world_.ranks);
      world_.ranks.reset();  // leaves, and waits for the others
      if (auto const why = world_.control->trouble()) throw communicator_error({.what = *why});
    } catch (communicator_error const& error) {
      fail(error.what(), communicator_exit_status);
    } catch (std::exception const& error) {
      fail(error.what(), 1);
    } catch (...) {
      fail("an exception that is no std::exception", 1);
    }
    watchdog const limit(std::max(settings_.deadline, for_mpi_itself),
                         text_of({"rank ", rank_, ": MPI_Finalize has not come back"}));
    environment_.reset();
    return 0;
  }

 private:
  /// To start and to end, on a busy machine.
  static constexpr std::chrono::milliseconds for_mpi_itself{30'000};
  static constexpr auto as_long_as_they_live = std::chrono::hours(24 * 365);
  /// mpirun reports the status of who ends first: that is to be who has failed.
  static constexpr auto before_who_was_told = std::chrono::milliseconds(250);

  /// Says why, sees to it that the others hear it, and ends the process: MPI_Finalize would wait for ranks that are lost.
  [[noreturn, gnu::cold]] void fail(std::string const& why, int status);

  communicator_settings settings_;
  std::optional<boost::mpi::environment> environment_;
  mpi_world world_;
  int rank_ = 0;
};

}  // namespace cohort::detail

#ifndef COHORT_MPI_COMPILED
#include <cohort/mpi/impl/launch.ipp>
#endif
