// SPDX-License-Identifier: Apache-2.0
// ranks: 2
#include <gtest/gtest.h>
#include <mpi.h>

#include <cohort/mpi/detail/extent.hpp>
#include <cstddef>
#include <vector>

#include "under_mpirun.hpp"

namespace {

using cohort::detail::mpi_extent;

/// The two ranks exchange messages larger than `largest`; each is received into a buffer of `room` bytes.
void exchange(std::size_t bytes, std::size_t room, std::size_t largest, std::size_t part) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::vector<std::byte> sent(bytes), came(room, std::byte{99});
  for (std::size_t i = 0; i < bytes; ++i) sent[i] = static_cast<std::byte>(i * 31);
  mpi_extent const of_sent(bytes, largest, part), of_room(room, largest, part);
  EXPECT_EQ(of_sent.type == MPI_BYTE, bytes <= largest);
  EXPECT_EQ(of_sent.count, bytes <= largest ? static_cast<int>(bytes) : 1);
  MPI_Status status;
  MPI_Sendrecv(sent.data(), of_sent.count, of_sent.type, 1 - rank, 0, came.data(), of_room.count,
               of_room.type, 1 - rank, 0, MPI_COMM_WORLD, &status);
  EXPECT_EQ(cohort::detail::mpi_bytes(status), bytes);
  sent.resize(room, std::byte{99});
  EXPECT_EQ(came, sent);
}

TEST(mpi_extent, describes_messages_up_to_the_largest_count_in_bytes) {
  exchange(0, 0, 100, 64);
  exchange(100, 100, 100, 64);
}

TEST(mpi_extent, describes_longer_messages_in_larger_elements) {
  exchange(101, 101, 100, 64);
  exchange(128, 128, 100, 64);
  exchange(1'000'003, 1'000'003, 1000, 999);
}

TEST(mpi_extent, counts_the_bytes_of_a_message_shorter_than_the_buffer) {
  exchange(70, 200, 100, 64);
  exchange(150, 200, 100, 64);
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int const failed = run_tests_on_every_rank(rank);
  MPI_Finalize();
  return failed;
}
