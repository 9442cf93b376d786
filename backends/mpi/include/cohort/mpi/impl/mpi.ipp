// SPDX-License-Identifier: Apache-2.0
#include <cohort/communicator/launch.hpp>
#include <cohort/mpi.hpp>
#include <cstdlib>

namespace cohort {

bool mpi_started() {
  return std::getenv("OMPI_COMM_WORLD_SIZE") || std::getenv("PMIX_RANK") || std::getenv("PMI_RANK");
}

std::unique_ptr<communicator> make_mpi(MPI_Comm original, communicator_settings settings) {
  return detail::make_mpi_world(original, settings, {settings.deadline, settings.deadline}).ranks;
}

}  // namespace cohort
