// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mpi.h>
#include <cohort/detail/build_check.hpp>

#include <climits>
#include <cstddef>

namespace cohort::detail {

/// Represents a number of bytes by MPI's count and datatype: `bytes` elements of MPI_BYTE or, above
/// `largest`, one element of a derived datatype.
class mpi_extent {
 public:
  explicit mpi_extent(std::size_t bytes, std::size_t largest = INT_MAX,
                      std::size_t part = std::size_t{1} << 30);
  mpi_extent(mpi_extent const&) = delete;
  mpi_extent& operator=(mpi_extent const&) = delete;
  ~mpi_extent();

  int count = 0;
  MPI_Datatype type = MPI_BYTE;
};

/// Returns the number of bytes of a received message.
std::size_t mpi_bytes(MPI_Status const& status);

}  // namespace cohort::detail
