// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <chrono>
#include <cohort/communicator/detail/rank_monitor.hpp>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace rank_monitor_test {

using namespace cohort::detail;
using namespace std::chrono_literals;
using cohort::rank_progress;

/// Virtual time, which advances only when a rank waits.
struct manual_time final : time_source {
  clock::time_point now() override { return now_; }
  void let_pass(clock::duration time) override { now_ += time; }
  bool is_virtual() const override { return true; }
  clock::time_point now_{};
};

/// Messages of all ranks. A failure or farewell is pending until the receiver has received it.
struct post {
  struct message {
    int from;
    control_message what;
    std::vector<std::byte> bytes;
  };
  explicit post(int ranks) : boxes(static_cast<std::size_t>(ranks)) {}
  std::vector<std::deque<message>> boxes;  // by receiver
  std::set<std::pair<int, int>> cut{};     // links whose messages are lost
};

class posted_monitor final : public rank_monitor {
 public:
  posted_monitor(post& all, int rank, std::chrono::milliseconds heartbeat, time_source& time)
      : rank_monitor(rank, static_cast<int>(all.boxes.size()), heartbeat, time), all_(all) {}
  using rank_monitor::finished;
  using rank_monitor::report_lost;

 private:
  void receive(int from) override {
    auto& box = all_.boxes[static_cast<std::size_t>(rank())];
    for (std::size_t k = 0; k < box.size();)
      if (box[k].from == from) {
        post::message const one = std::move(box[k]);
        box.erase(box.begin() + static_cast<std::ptrdiff_t>(k));
        handle(from, one.what, one.bytes);
      } else {
        ++k;
      }
  }
  void send(int to, control_message what, std::span<std::byte const> bytes) override {
    if (!all_.cut.contains(std::minmax(rank(), to)))
      all_.boxes[static_cast<std::size_t>(to)].push_back({rank(), what, {bytes.begin(), bytes.end()}});
  }
  void complete_sends() override {}
  bool shows_end() const override { return true; }
  bool is_sending(int to, control_message what) const override {
    auto const& box = all_.boxes[static_cast<std::size_t>(to)];
    return std::ranges::any_of(
        box, [&](post::message const& one) { return one.from == rank() && one.what == what; });
  }
  bool is_sending() const override {
    for (auto const& box : all_.boxes)
      for (post::message const& one : box)
        if (one.from == rank()) return true;
    return false;
  }

  post& all_;
};

struct three_ranks {
  explicit three_ranks(std::chrono::milliseconds heartbeat = 10s, time_source& time = system_time())
      : time(time) {
    for (int r = 0; r < 3; ++r) all.push_back(std::make_unique<posted_monitor>(messages, r, heartbeat, time));
  }
  posted_monitor& operator[](std::size_t r) { return *all[r]; }
  /// Lets the ranks make progress for some time; `silent`: a rank that does not.
  void run(std::chrono::milliseconds time, int silent = -1) {
    for (auto const end = this->time.now() + time; this->time.now() < end;) {
      for (auto& one : all)
        if (one->rank() != silent) one->make_progress();
      this->time.let_pass(100us);
    }
  }
  void expect_trouble(std::size_t rank, std::string const& begin) {
    ASSERT_TRUE(all[rank]->trouble()) << rank;
    EXPECT_TRUE(all[rank]->trouble()->text.starts_with(begin)) << rank << ": " << all[rank]->trouble()->text;
  }

  time_source& time;

  post messages{3};
  std::vector<std::unique_ptr<posted_monitor>> all;
};

TEST(rank_monitor, forwards_progress_in_heartbeats) {
  three_ranks ranks;
  ranks[2].note({.step = 7, .bucket = 1});
  ranks[2].note_wait(0);
  ranks.run(100ms);
  std::vector<rank_status> const all = ranks[0].query_ranks(0ms);
  EXPECT_EQ(all[2].where, (rank_progress{.step = 7, .bucket = 1}));
  EXPECT_EQ(all[2].waits_for, 0);
  EXPECT_EQ(all[1].waits_for, rank_status::nobody);
}

TEST(rank_monitor, broadcasts_a_failure_to_all_ranks) {
  three_ranks ranks;
  ranks[1].announce({"the disk is full", 1});
  EXPECT_FALSE(ranks[1].delivered());
  ranks.run(20ms);
  for (auto& one : ranks.all) {
    ASSERT_TRUE(one->trouble()) << one->rank();
    EXPECT_EQ(one->trouble()->text, "the disk is full") << one->rank();
    EXPECT_EQ(one->trouble()->exit_status, 1) << one->rank();
  }
  EXPECT_TRUE(ranks[1].delivered());
  EXPECT_TRUE(ranks[0].another_rank_failed());
  EXPECT_FALSE(ranks[1].another_rank_failed());
}

TEST(rank_monitor, reports_a_silent_rank_with_its_last_progress) {
  three_ranks ranks(200ms);
  ranks[2].note({.step = 3});
  ranks.run(100ms);
  ranks.run(400ms, 2);
  ASSERT_TRUE(ranks[0].trouble());
  EXPECT_EQ(ranks[0].trouble()->text.find("rank 2 has sent no heartbeat for 0."), 0U)
      << ranks[0].trouble()->text;
  EXPECT_NE(ranks[0].trouble()->text.find("it was last at step 3"), std::string::npos)
      << ranks[0].trouble()->text;
  EXPECT_EQ(ranks[0].trouble()->exit_status, cohort::communicator_exit_status);
  EXPECT_TRUE(ranks[0].delivered()) << "the lost rank need not receive the announcement";
}

TEST(rank_monitor, reports_no_rank_if_all_ranks_were_suspended) {
  three_ranks ranks(200ms);
  ranks.run(50ms);
  for (auto const end = rank_monitor::clock::now() + 500ms; rank_monitor::clock::now() < end;)
    std::this_thread::yield();  // all ranks are suspended
  ranks.run(50ms);
  for (auto& one : ranks.all) EXPECT_FALSE(one->trouble()) << one->trouble()->text;
}

TEST(rank_monitor, forwards_the_first_failure_through_other_ranks) {
  manual_time time;
  three_ranks ranks(10s, time);
  ranks.messages.cut = {{1, 2}};
  ranks[1].announce({"rank 1 failed: the disk is full"});
  ranks.run(20ms);
  for (auto& one : ranks.all)
    EXPECT_EQ(one->trouble()->text, "rank 1 failed: the disk is full") << one->rank();
  for (auto& one : ranks.all) EXPECT_TRUE(one->delivered()) << one->rank();
  ranks[2].announce({"rank 2 failed: it follows from the first failure"});
  ranks.run(20ms);
  EXPECT_EQ(ranks[0].trouble()->text, "rank 1 failed: the disk is full");
  EXPECT_EQ(ranks[2].trouble()->text, "rank 1 failed: the disk is full");
}

TEST(rank_monitor, reports_the_cause_instead_of_a_rank_that_ended_because_of_it) {
  manual_time time;
  three_ranks ranks(10s, time);
  ranks[0].report_lost(1, "has closed its connection");
  ranks.run(100ms);
  EXPECT_FALSE(ranks[0].trouble());
  ranks.messages.boxes[0].push_back(
      {1, control_message::failure,
       failure_report{.text = "rank 2 has closed its connection", .lost = {2}}.encoded()});
  ranks.run(300ms);
  EXPECT_EQ(ranks[0].trouble()->text, "rank 2 has closed its connection");

  three_ranks others(10s, time);
  others[0].report_lost(1, "has closed its connection");
  others.run(300ms);
  for (std::size_t r : {0U, 1U, 2U})
    others.expect_trouble(
        r, r == 1 ? "rank 1 was reported lost by other ranks: " : "rank 1 has closed its connection");
}

TEST(rank_monitor, reports_both_ends_of_a_broken_link) {
  manual_time time;
  three_ranks ranks(1s, time);
  ranks.run(500ms);
  ranks.messages.cut = {{0, 2}};
  ranks.run(1600ms);
  for (std::size_t r : {0U, 1U, 2U}) ranks.expect_trouble(r, "ranks 0 and 2 cannot exchange messages");
}

TEST(rank_monitor, reports_this_rank_if_it_receives_no_heartbeat) {
  manual_time time;
  three_ranks ranks(1s, time);
  ranks.run(500ms);
  ranks.messages.cut = {{0, 2}, {1, 2}};
  ranks.run(1600ms);
  ranks.expect_trouble(0, "rank 2 has sent no heartbeat for 1.");
  ranks.expect_trouble(1, "rank 2 has sent no heartbeat for 1.");
  ranks.expect_trouble(2, "rank 2 is cut off from ranks 0, 1, or they are lost: no heartbeat for 1.");
}

TEST(rank_monitor, waits_for_the_answer_to_a_last_query_before_it_reports_a_loss) {
  manual_time time;
  three_ranks ranks(1s, time);
  ranks.run(500ms);
  ranks.messages.cut = {{0, 2}, {1, 2}};
  ranks.run(1000ms);
  ranks.messages.cut = {};
  ranks.run(1000ms);
  for (auto& one : ranks.all) EXPECT_FALSE(one->trouble()) << one->trouble()->text;
}

TEST(failure_report, round_trips_and_tolerates_damaged_bytes) {
  failure_report const made{"the disk is full", 1, {3, 1}};
  failure_report const read = failure_report::decoded(made.encoded());
  EXPECT_EQ(read.lost, made.lost);
  EXPECT_EQ(read.text, made.text);
  EXPECT_EQ(read.exit_status, made.exit_status);
  failure_report const long_one{.text = std::string(10'000, 'x'), .lost = std::vector<int>(1000, 7)};
  EXPECT_LE(long_one.encoded().size(), failure_report::longest);
  for (std::size_t size = 0; size < 20; ++size) {  // damaged
    std::vector<std::byte> const bytes(size, std::byte{0x7f});
    EXPECT_LE(failure_report::decoded(bytes).lost.size(), failure_report::most_lost);
  }
  EXPECT_EQ(failure_report::decoded({}).text, "");
}

TEST(rank_monitor, ends_once_all_ranks_have_ended) {
  three_ranks ranks(100ms);
  ranks[0].leave();
  ranks.run(300ms, 0);  // the other ranks expect no heartbeat of rank 0
  EXPECT_FALSE(ranks[1].trouble());
  EXPECT_FALSE(ranks[0].finished());
  EXPECT_TRUE(ranks[1].query_ranks(0ms)[0].ended);
  ranks[1].leave();
  ranks[2].leave();
  ranks.run(50ms);
  for (auto& one : ranks.all) EXPECT_TRUE(one->wait_for_farewells(1s)) << one->rank();
}

TEST(rank_monitor, ignores_damaged_heartbeats) {
  three_ranks ranks;
  std::vector<std::byte> const bytes(1000, std::byte{0x7f});
  for (std::size_t size : {0, 1, 31, 33, 1000})
    ranks.messages.boxes[0].push_back(
        {1, control_message::beat, {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)}});
  ranks.run(10ms);
  EXPECT_FALSE(ranks[0].trouble());
  for (rank_status const& one : ranks[0].query_ranks(0ms)) {
    EXPECT_EQ(one.where, rank_progress());
    EXPECT_EQ(one.waits_for, rank_status::nobody);
  }
}

}  // namespace rank_monitor_test
