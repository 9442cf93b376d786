// SPDX-License-Identifier: Apache-2.0
#include <cohort/mpi/detail/call.hpp>
#include <cohort/mpi/detail/extent.hpp>
#include <vector>

namespace cohort::detail {

mpi_extent::mpi_extent(std::size_t bytes, std::size_t largest, std::size_t part) {
  if (bytes <= largest) {
    count = static_cast<int>(bytes);
    return;
  }
  std::vector<int> lengths(bytes / part, static_cast<int>(part));
  if (bytes % part != 0) lengths.push_back(static_cast<int>(bytes % part));
  std::vector<MPI_Aint> places(lengths.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<MPI_Aint>(i * part);
  mpi_call(MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), places.data(), MPI_BYTE,
                                    &type),
           "MPI_Type_create_hindexed");
  mpi_call(MPI_Type_commit(&type), "MPI_Type_commit");
  count = 1;
}

mpi_extent::~mpi_extent() {
  if (type != MPI_BYTE) MPI_Type_free(&type);
}

std::size_t mpi_bytes(MPI_Status const& status) {
  MPI_Count bytes = 0;
  mpi_call(MPI_Get_elements_x(&status, MPI_BYTE, &bytes), "MPI_Get_elements_x");
  return static_cast<std::size_t>(bytes);
}

}  // namespace cohort::detail
