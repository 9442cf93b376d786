// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cohort/communicator/detail/memory_ring.hpp>
#include <cohort/error/exceptions.hpp>
#include <thread>
#include <vector>

namespace memory_ring_test {

using namespace cohort;
using detail::memory_ring;
using detail::ring_location;

std::vector<std::byte> numbers(std::size_t count, unsigned from = 0) {
  std::vector<std::byte> made(count);
  for (std::size_t k = 0; k < count; ++k) made[k] = std::byte((k + from) * 7);
  return made;
}

TEST(memory_ring, transfers_bytes_in_order_across_the_wrap_around) {
  std::optional<memory_ring> to = memory_ring::create();
  ASSERT_TRUE(to);
  std::optional<memory_ring> from = memory_ring::map(to->location());
  ASSERT_TRUE(from);
  std::vector<std::byte> const sent = numbers(3 * memory_ring::capacity + 12'345);
  std::vector<std::byte> got;
  std::span<std::byte const> rest = sent;
  while (got.size() < sent.size()) {
    rest = rest.subspan(to->write(rest.first(std::min<std::size_t>(rest.size(), 700'001))));
    std::span<std::byte const> const bytes = from->readable();
    std::size_t const now = std::min<std::size_t>(bytes.size(), 333'333);
    got.insert(got.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(now));
    from->consume(now);
  }
  EXPECT_EQ(got, sent);
}

TEST(memory_ring, is_full_at_its_capacity) {
  std::optional<memory_ring> ring = memory_ring::create();
  ASSERT_TRUE(ring);
  EXPECT_TRUE(ring->reader_sleeps(true));
  EXPECT_FALSE(ring->writer_waits(true));
  EXPECT_EQ(ring->write(numbers(memory_ring::capacity + 1)), memory_ring::capacity);
  EXPECT_TRUE(ring->must_wake_reader());
  EXPECT_FALSE(ring->must_wake_reader());
  EXPECT_FALSE(ring->reader_sleeps(false));
  EXPECT_TRUE(ring->writer_waits(true));
  EXPECT_EQ(ring->write(numbers(1)), 0U);
  ring->consume(10);
  EXPECT_TRUE(ring->must_wake_writer());
  EXPECT_FALSE(ring->must_wake_writer());
  EXPECT_EQ(ring->write(numbers(20)), 10U);
}

TEST(memory_ring, is_mapped_only_with_the_right_number_process_and_descriptor) {
  std::optional<memory_ring> ring = memory_ring::create();
  ASSERT_TRUE(ring);
  ring_location const where = ring_location::decoded(ring->location().encoded());
  EXPECT_TRUE(memory_ring::map(where));
  ring_location other = where;
  other.number[15] ^= std::byte{1};
  EXPECT_FALSE(memory_ring::map(other));
  other = where;
  other.process = 0x7fffffff;
  EXPECT_FALSE(memory_ring::map(other));
  other = where;
  other.descriptor = STDERR_FILENO;
  EXPECT_FALSE(memory_ring::map(other));
}

TEST(memory_ring, connects_processes_and_outlives_the_writer) {
  int pipes[2];
  ASSERT_EQ(::pipe(pipes), 0);
  int back[2];
  ASSERT_EQ(::pipe(back), 0);
  pid_t const child = ::fork();
  if (child == 0) {
    std::optional<memory_ring> ring = memory_ring::create();
    auto const where = ring->location().encoded();
    bool const told = ::write(pipes[1], where.data(), where.size()) == static_cast<ssize_t>(where.size());
    char go = 0;
    bool const asked = ::read(back[0], &go, 1) == 1;
    ring->write(numbers(1000, 3));
    ::_exit(told && asked ? 0 : 1);
  }
  std::array<std::byte, ring_location::bytes> where{};
  ASSERT_EQ(::read(pipes[0], where.data(), where.size()), static_cast<ssize_t>(where.size()));
  std::optional<memory_ring> ring = memory_ring::map(ring_location::decoded(where));
  ASSERT_TRUE(ring);
  EXPECT_TRUE(ring->readable().empty());
  ASSERT_EQ(::write(back[1], "g", 1), 1);
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  std::span<std::byte const> const got = ring->readable();
  EXPECT_EQ(std::vector<std::byte>(got.begin(), got.end()), numbers(1000, 3));
  for (int const one : {pipes[0], pipes[1], back[0], back[1]}) ::close(one);
}

TEST(memory_ring, throws_if_more_was_read_than_written) {
  std::optional<memory_ring> ring = memory_ring::create();
  ASSERT_TRUE(ring);
  ring->consume(1);  // more than was written
  EXPECT_THROW(ring->readable(), communicator_error);
  EXPECT_THROW(ring->write(numbers(1)), communicator_error);
}

TEST(memory_ring, wakes_a_side_that_sleeps) {
  std::optional<memory_ring> to = memory_ring::create();
  ASSERT_TRUE(to);
  std::optional<memory_ring> from = memory_ring::map(to->location());
  std::atomic<int> wakes_reader = 0, wakes_writer = 0;
  std::size_t const count = 50 * memory_ring::capacity;
  std::thread writer([&] {
    std::vector<std::byte> const piece = numbers(100'000);
    for (std::size_t sent = 0; sent < count;) {
      std::size_t const now = to->write(std::span(piece).first(std::min(piece.size(), count - sent)));
      sent += now;
      if (now > 0 && to->must_wake_reader()) ++wakes_reader;
      if (now == 0 && to->writer_waits(true))
        while (wakes_writer.exchange(0) == 0) std::this_thread::yield();
    }
  });
  for (std::size_t got = 0; got < count;) {
    std::size_t const now = from->readable().size();
    from->consume(now);
    got += now;
    if (now > 0 && from->must_wake_writer()) ++wakes_writer;
    if (now == 0 && from->reader_sleeps(true))
      while (wakes_reader.exchange(0) == 0) std::this_thread::yield();
  }
  writer.join();
}

}  // namespace memory_ring_test
