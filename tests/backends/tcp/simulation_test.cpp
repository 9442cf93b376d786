// SPDX-License-Identifier: Apache-2.0
// label: slow
// Runs the TCP code over simulated hosts, links and time, with faults drawn from seeds: as many seeds as fit
// into a minute, or those of COHORT_SIMULATION_SEEDS (FIRST-LAST, or one seed).
#include "simulated_job.hpp"

namespace tcp_simulation {

TEST(tcp_simulation, reports_exactly_the_failed_ranks) {
  run_seeds(given_seeds({1, 1'000'000}), false, 45s, 1);
}
TEST(tcp_simulation, with_tls_reports_exactly_the_failed_ranks) {
  run_seeds(given_seeds({1, 1'000'000}), true, 15s, 1);
}

TEST(tcp_simulation, is_reproducible_from_the_seed) {
  std::set<std::string> courses;
  for (std::uint64_t const seed : {3, 3, 4, 4, 9, 9}) {
    simulated_job job(scenario::drawn(seed, false));
    EXPECT_EQ(job.run(), "");
    courses.insert(job.course());
  }
  EXPECT_EQ(courses.size(), 3U);
}

/// A rank sends a megabyte to another rank; their link is cut during the transfer. Returns when the last byte
/// arrives.
clock::time_point arrival(clock::duration begin, clock::duration length) {
  simulated_network net(1, 20ms, 100ms);
  simulated_host &from = net.add_host(), &to = net.add_host();
  net.at(clock::time_point(begin), [&] { net.between(0, 1).is_cut = true; });
  net.at(clock::time_point(begin + length), [&] { net.between(0, 1).is_cut = false; });
  clock::time_point arrived{};
  std::size_t const bytes = 1'000'000;
  to.start([&] {
    detail::tcp_socket listening = detail::tcp_socket::listening(to.address(5000), {5000, 5000}, to);
    std::optional<detail::tcp_socket> one;
    while (!one) {
      to.let_pass(10us);
      one = listening.accept();
    }
    std::vector<std::byte> piece(10'000);
    for (std::size_t got = 0; got < bytes;) {
      std::size_t const now = one->receive(piece).value();
      for (std::size_t k = 0; k < now; ++k) EXPECT_EQ(piece[k], std::byte((got + k) % 251));
      got += now;
      to.let_pass(10us);
    }
    arrived = to.now();
  });
  from.start([&] {
    from.let_pass(1ms);
    detail::tcp_socket one = detail::tcp_socket::connecting(to.address(5000), from);
    std::vector<std::byte> all(bytes);
    for (std::size_t k = 0; k < bytes; ++k) all[k] = std::byte(k % 251);
    for (std::span<std::byte const> rest = all; !rest.empty(); from.let_pass(10us))
      if (from.remote(one.descriptor()).family() != 0) rest = rest.subspan(one.send(rest).value());
  });
  EXPECT_TRUE(net.run(clock::time_point(100s)));
  return arrived;
}

TEST(simulated_network, retransmits_lost_data_after_doubling_intervals) {
  clock::time_point const undisturbed = arrival(5s, 1s);
  EXPECT_LT(undisturbed, clock::time_point(10ms));
  EXPECT_EQ(arrival(2ms, 0ms), undisturbed);
  auto const cut_for = [](clock::duration length) { return arrival(2ms, length) - clock::time_point(2ms); };
  // Attempts begin about 20, 60, 140, 300, 620 and 1,260 ms after the first loss.
  EXPECT_LT(cut_for(55ms), 70ms);
  EXPECT_GT(cut_for(310ms), 610ms);
  EXPECT_LT(cut_for(600ms), 640ms);
  EXPECT_GT(cut_for(640ms), 1240ms);
  EXPECT_LT(cut_for(1200ms), 1290ms);
}

}  // namespace tcp_simulation
