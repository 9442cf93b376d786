// SPDX-License-Identifier: Apache-2.0
// ranks: 2 3
#include <gtest/gtest.h>
#include <mpi.h>

#include <chrono>
#include <cohort/error/exceptions.hpp>
#include <cohort/mpi/detail/transport.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "under_mpirun.hpp"

namespace {

using cohort::detail::channel;
using cohort::detail::mpi_control;
using cohort::detail::mpi_transport;
using namespace std::chrono_literals;

/// A transport of all ranks; the destructor leaves.
struct connected {
  explicit connected(std::chrono::milliseconds heartbeat = 5s)
      : control(std::make_shared<mpi_control>(MPI_COMM_WORLD, heartbeat, test_deadline)) {}

  std::shared_ptr<mpi_control> control;
  mpi_transport wire{MPI_COMM_WORLD, control, {test_deadline, test_deadline}};
  int rank = wire.rank();
  int size = wire.size();
  int next = (rank + 1) % size;
  int previous = (rank + size - 1) % size;

  template <class Holds>
  void until(Holds holds) {
    auto const limit = std::chrono::steady_clock::now() + test_deadline;
    while (!holds()) {
      ASSERT_LT(std::chrono::steady_clock::now(), limit);
      wire.make_progress();
      wire.wait_for_event(50us);
    }
  }
  /// A barrier during which each rank continues to answer.
  void meet() {
    MPI_Request everybody = MPI_REQUEST_NULL;
    MPI_Ibarrier(MPI_COMM_WORLD, &everybody);
    until([&] {
      int done = 0;
      MPI_Test(&everybody, &done, MPI_STATUS_IGNORE);
      return done != 0;
    });
  }
  ~connected() { wire.leave(); }
};

std::vector<std::byte> text(std::size_t bytes, int from) {
  return std::vector<std::byte>(bytes, static_cast<std::byte>(from));
}

/// Error of a rank that expects one number of bytes and receives another.
std::string refusal(std::size_t sent, std::size_t expected) {
  connected ranks;
  auto const data = text(sent, ranks.rank);
  std::vector<std::byte> room(expected);
  auto const receiving = ranks.wire.receive(ranks.previous, channel::peer, 7, room);
  auto const sending = ranks.wire.send(ranks.next, channel::peer, 7, data);
  std::string said;
  ranks.until([&] {
    try {
      return ranks.wire.done(receiving);
    } catch (cohort::communicator_error const& error) {
      said = error.what();
      return true;
    }
  });
  ranks.until([&] { return ranks.wire.done(sending); });
  return said;
}

TEST(mpi_transport, delivers_messages_of_any_size) {
  connected ranks;
  for (std::size_t const bytes : {0U, 1U, 4096U, 5'000'000U}) {
    auto const data = text(bytes, ranks.rank);
    auto room = text(bytes, 99);
    auto const receiving = ranks.wire.receive(ranks.previous, channel::collective, 3, room);
    auto const sending = ranks.wire.send(ranks.next, channel::collective, 3, data);
    ranks.until([&] { return ranks.wire.done(receiving); });
    ranks.until([&] { return ranks.wire.done(sending); });
    EXPECT_EQ(room, text(bytes, ranks.previous));
  }
}

TEST(mpi_transport, matches_messages_by_channel_tag_and_order) {
  connected ranks;
  constexpr std::uint32_t largest_tag = (1U << cohort::detail::transport::tag_bits) - 1;
  struct letter {
    channel on;
    std::uint32_t tag;
    std::vector<std::byte> data;
    std::vector<std::byte> room = std::vector<std::byte>(data.size());
  };
  std::vector<letter> letters;
  for (auto const on : {channel::collective, channel::peer})
    for (std::uint32_t const tag : {0U, 1U, largest_tag})
      for (int k = 0; k < 2; ++k) letters.push_back({on, tag, text(10, static_cast<int>(letters.size()))});
  std::vector<mpi_transport::ticket> tickets;
  for (auto const& one : letters) tickets.push_back(ranks.wire.send(ranks.next, one.on, one.tag, one.data));
  for (std::size_t i = letters.size() - 2; i < letters.size(); i -= 2)  // the last pair first
    for (std::size_t k = i; k < i + 2; ++k)
      tickets.push_back(ranks.wire.receive(ranks.previous, letters[k].on, letters[k].tag, letters[k].room));
  for (auto const ticket : tickets) ranks.until([&] { return ranks.wire.done(ticket); });
  for (auto const& one : letters) EXPECT_EQ(one.room, one.data);
}

TEST(mpi_transport, probe_finds_a_message_that_has_not_been_received) {
  connected ranks;
  auto const data = text(12, ranks.rank);
  EXPECT_FALSE(ranks.wire.probe(-1, channel::collective, 5));
  auto const sending = ranks.wire.send(ranks.next, channel::peer, 5, data);
  std::optional<mpi_transport::waiting> found;
  ranks.until([&] { return (found = ranks.wire.probe(-1, channel::peer, 5)).has_value(); });
  EXPECT_EQ(found->from, ranks.previous);
  EXPECT_EQ(found->bytes, 12U);
  std::vector<std::byte> room(12);
  auto const receiving = ranks.wire.receive(found->from, channel::peer, 5, room);
  ranks.until([&] { return ranks.wire.done(receiving); });
  ranks.until([&] { return ranks.wire.done(sending); });
  EXPECT_EQ(room, text(12, ranks.previous));
}

TEST(mpi_transport, reports_sender_and_sizes_of_a_message_of_another_size) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::string const head = "a message from rank " + std::to_string((rank + size - 1) % size)
                           + " has the wrong size (tag 7): expected ";
  EXPECT_EQ(refusal(10, 20), head + "20 bytes, got 10 bytes");
  EXPECT_EQ(refusal(20, 10), head + "10 bytes, got 20 bytes");
  EXPECT_EQ(refusal(1'000'000, 10), head + "10 bytes, got 1000000 bytes");
}

TEST(mpi_transport, reports_the_progress_of_all_ranks) {
  connected ranks;
  ranks.wire.note({100 + ranks.rank, ranks.rank});
  // Other ranks must continue to answer after one rank's query.
  std::vector<cohort::detail::rank_status> all;
  auto const arrived = [&] {
    all = ranks.wire.query_ranks(100ms);
    for (int r = 0; r < ranks.size; ++r) {
      auto const& one = all[static_cast<std::size_t>(r)];
      if (!one.answers || one.ended || one.where != cohort::rank_progress{100 + r, r}) return false;
    }
    return true;
  };
  ranks.until(arrived);
  EXPECT_EQ(ranks.wire.query_ranks(0ms).size(), static_cast<std::size_t>(ranks.size));
  ranks.meet();
}

TEST(mpi_transport, reports_progress_that_returns_to_an_earlier_step) {
  connected ranks;
  auto const everybody_is = [&](cohort::rank_progress here) {
    ranks.wire.note(here);
    ranks.until([&] {
      auto const all = ranks.wire.query_ranks(0ms);
      for (int r = 0; r < ranks.size; ++r)
        if (r != ranks.rank && all[static_cast<std::size_t>(r)].where != here) return false;
      return true;
    });
    ranks.meet();
  };
  everybody_is({99, 3});
  everybody_is({0, 1});
}

TEST(mpi_transport, reports_all_ranks_that_are_lost_together) {
  connected ranks(400ms);
  if (ranks.rank == 0) {
    ranks.until([&] { return ranks.wire.trouble().has_value(); });
    std::string const text = ranks.wire.trouble()->text;
    EXPECT_TRUE(text.starts_with(
        ranks.size == 2 ? "rank 1 has sent no heartbeat for 0."
                        : "rank 0 is cut off from ranks 1, 2, or they are lost: no heartbeat for 0."))
        << text;
  }
  MPI_Barrier(MPI_COMM_WORLD);  // the other ranks send nothing
}

TEST(mpi_transport, reports_ended_ranks_and_their_last_progress) {
  connected ranks;
  ranks.wire.note({50, ranks.rank});
  if (ranks.rank == 0) return;  // leaves
  ranks.until([&] { return ranks.wire.query_ranks(0ms)[0].ended; });
  EXPECT_EQ(ranks.wire.query_ranks(0ms)[0].where, (cohort::rank_progress{50, 0}));
}

TEST(mpi_transport, broadcasts_a_failure_that_any_thread_reports) {
  connected ranks;
  EXPECT_FALSE(ranks.wire.trouble());
  std::string const why = "the bridge is closed" + std::string(3000, '.');
  if (ranks.rank == 0) {
    std::thread([&] { ranks.wire.announce({why}); }).join();
    ranks.wire.announce({"too late"});
  }
  ranks.until([&] { return ranks.wire.trouble().has_value(); });
  EXPECT_EQ(ranks.wire.trouble()->text, why);
  ranks.until([&] { return ranks.control->delivered(); });
  EXPECT_EQ(ranks.control->another_rank_failed(), ranks.rank != 0);
}

TEST(mpi_transport, sends_a_reported_failure_before_abandon_returns) {
  connected ranks;
  if (ranks.rank == 0) {
    ranks.wire.announce({"enough"});
    ranks.wire.abandon();
    EXPECT_TRUE(ranks.control->delivered());
  } else {
    ranks.until([&] { return ranks.wire.trouble().has_value(); });
    EXPECT_EQ(ranks.wire.trouble()->text, "enough");
  }
}

TEST(mpi_transport, does_not_wait_for_deliveries_after_it_has_ended) {
  auto const control = std::make_shared<mpi_control>(MPI_COMM_WORLD, 5s, test_deadline);
  control->leave();
  control->announce({"too late"});
  EXPECT_FALSE(control->wait_for_farewells(test_deadline));
  auto const begin = std::chrono::steady_clock::now();
  control->wait_for_delivery();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, mpi_control::longest_delivery / 2);
}

TEST(mpi_transport, does_not_write_to_buffers_after_abandon) {
  connected ranks;
  auto room = std::make_unique<std::vector<std::byte>>(text(1000, 99));
  ranks.wire.receive(ranks.previous, channel::peer, 1, *room);
  MPI_Barrier(MPI_COMM_WORLD);
  ranks.wire.abandon();
  MPI_Barrier(MPI_COMM_WORLD);
  auto const data = text(1000, ranks.rank);
  auto const sending = ranks.wire.send(ranks.next, channel::peer, 1, data);
  ranks.until([&] { return ranks.wire.done(sending); });
  ranks.until([&] { return ranks.wire.probe(ranks.previous, channel::peer, 1).has_value(); });
  EXPECT_EQ(*room, text(1000, 99));
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
