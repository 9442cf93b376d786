// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4
// A program that initialises MPI itself and creates communicators on its MPI_Comms.
#include <gtest/gtest.h>
#include <mpi.h>

#include <chrono>
#include <cohort/mpi.hpp>
#include <span>
#include <string>

#include "under_mpirun.hpp"

namespace {

cohort::communicator_settings settings() {
  cohort::communicator_settings patient;
  patient.deadline = test_deadline;
  return patient;
}

int own_rank(MPI_Comm of) {
  int rank = 0;
  MPI_Comm_rank(of, &rank);
  return rank;
}
int own_size(MPI_Comm of) {
  int size = 0;
  MPI_Comm_size(of, &size);
  return size;
}

int sum(cohort::communicator& ranks, int mine) {
  ranks.allreduce(std::span(&mine, 1));
  return mine;
}

std::string refused(MPI_Comm original, cohort::communicator_settings how = {}) {
  try {
    cohort::make_mpi(original, how);
  } catch (cohort::setting_error const& error) {
    return error.what();
  }
  return "accepted";
}

TEST(make_mpi, has_the_ranks_of_the_programs_communicator) {
  auto const world = cohort::make_mpi(MPI_COMM_WORLD, settings());
  EXPECT_EQ(world->name(), "mpi");
  EXPECT_EQ(world->rank(), own_rank(MPI_COMM_WORLD));
  EXPECT_EQ(world->size(), own_size(MPI_COMM_WORLD));
  EXPECT_EQ(sum(*world, 1), world->size());
}

TEST(make_mpi, has_the_ranks_of_a_subcommunicator) {
  int const rank = own_rank(MPI_COMM_WORLD);
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &part);
  {
    auto const ranks = cohort::make_mpi(part, settings());
    EXPECT_EQ(ranks->rank(), own_rank(part));
    EXPECT_EQ(sum(*ranks, 1), own_size(part));
  }
  MPI_Comm_free(&part);
}

TEST(make_mpi, does_not_finalise_mpi) {
  for (int again = 0; again < 3; ++again) cohort::make_mpi(MPI_COMM_WORLD, settings())->barrier();
  int ended = 1;
  MPI_Finalized(&ended);
  EXPECT_FALSE(ended);
  EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
}

TEST(make_mpi, does_not_mix_messages_with_the_program_or_other_communicators) {
  int const rank = own_rank(MPI_COMM_WORLD);
  int const size = own_size(MPI_COMM_WORLD);
  int letter = -1;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(&letter, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
  {
    auto const one = cohort::make_mpi(MPI_COMM_WORLD, settings());
    auto const other = cohort::make_mpi(MPI_COMM_WORLD, settings());
    int a = 1;
    int b = 10;
    auto first = one->start_allreduce(std::span(&a, 1), cohort::reduction::sum);
    auto second = other->start_allreduce(std::span(&b, 1), cohort::reduction::sum);
    second.wait();
    first.wait();
    EXPECT_EQ(a, size);
    EXPECT_EQ(b, 10 * size);
  }
  EXPECT_EQ(letter, -1);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);  // already sent: the deadline is ctest's limit
  EXPECT_EQ(letter, (rank + size - 1) % size);
}

TEST(make_mpi, refuses_a_communicator_without_ranks) {
  EXPECT_EQ(
      refused(MPI_COMM_NULL),
      "a communicator cannot be made with this MPI: expected an MPI_Comm with ranks, got MPI_COMM_NULL");
}

TEST(make_mpi, refuses_an_intercommunicator) {
  int const rank = own_rank(MPI_COMM_WORLD);
  if (own_size(MPI_COMM_WORLD) == 1) return;
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm between = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? 0 : 1, rank, &part);
  MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, rank == 0 ? 1 : 0, 0, &between);
  EXPECT_EQ(
      refused(between),
      "a communicator cannot be made with this MPI: expected an intracommunicator, got an intercommunicator");
  MPI_Comm_free(&between);
  MPI_Comm_free(&part);
}

TEST(make_mpi, refuses_a_heartbeat_out_of_range) {
  cohort::communicator_settings hectic;
  hectic.heartbeat = std::chrono::milliseconds(0);
  EXPECT_EQ(
      refused(MPI_COMM_WORLD, hectic),
      "the heartbeat of a communicator is out of range (communicator_settings.heartbeat): expected 100 ms "
      "to 1,000 "
      "hours, got 0 ms");
}

TEST(make_mpi, refuses_a_deadline_out_of_range_before_communicating) {
  cohort::communicator_settings forever;
  forever.deadline = std::chrono::hours(1001);
  if (own_rank(MPI_COMM_WORLD) > 0) return;
  EXPECT_EQ(refused(MPI_COMM_WORLD, forever),
            "the deadline of a communicator is out of range (communicator_settings.deadline): expected 1 ms "
            "to 1,000 "
            "hours, got "
            "3603600000 ms");
}

TEST(make_mpi, waits_for_the_other_ranks_until_the_deadline) {
  int const rank = own_rank(MPI_COMM_WORLD);
  if (own_size(MPI_COMM_WORLD) == 1) return;
  static MPI_Comm all = MPI_COMM_NULL;  // not used elsewhere, and never freed
  MPI_Comm_dup(MPI_COMM_WORLD, &all);
  if (rank == 0) {
    cohort::communicator_settings hasty;
    hasty.deadline = std::chrono::milliseconds(200);
    auto const begin = std::chrono::steady_clock::now();
    try {
      cohort::make_mpi(all, hasty);
      ADD_FAILURE() << "made";
    } catch (cohort::communicator_error const& error) {
      EXPECT_STREQ(error.what(),
                   "not all ranks have joined a new communicator (MPI_Comm_idup): expected within 200 ms");
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST(make_mpi, may_be_destroyed_before_pending_operations) {
  cohort::pending_operation under_way;
  {
    auto const world = cohort::make_mpi(MPI_COMM_WORLD, settings());
    under_way = world->start_barrier();
  }
  EXPECT_TRUE(under_way.done());
  under_way.wait();
}

TEST(mpi_started, recognises_mpirun) { EXPECT_TRUE(cohort::mpi_started()); }

bool refuses_to_start_with_no_deadline(int argc, char** argv) {
  cohort::communicator_settings none;
  none.deadline = std::chrono::milliseconds(0);
  try {
    cohort::launch<cohort::mpi>(argc, argv, none, [](cohort::communicator&) {});
  } catch (cohort::setting_error const&) {
    int started = 1;
    MPI_Initialized(&started);
    return !started;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (refused(MPI_COMM_WORLD).find("before MPI_Init_thread") == std::string::npos) return 3;
  if (!refuses_to_start_with_no_deadline(argc, argv)) return 3;
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  int const failed = run_tests_on_every_rank(own_rank(MPI_COMM_WORLD));
  MPI_Finalize();
  if (refused(MPI_COMM_WORLD).find("after MPI_Finalize") == std::string::npos) return 3;
  return failed;
}
