// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <atomic>
#include <cohort/communicator/message_communicator.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tcp/detail/tcp_transport.hpp>
#include <iostream>
#include <mutex>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include "given_seeds.hpp"
#include "simulated_network.hpp"

namespace tcp_simulation {

/// Faults that a job must survive or report.
enum class fault {
  none,
  kill,        // ends a rank, as by SIGKILL
  stop,        // stops a rank, as by SIGSTOP
  cut,         // cuts all links of a rank
  cut_link,    // cuts one link
  short_stop,  // this and the next two are shorter than the heartbeat
  short_cut,
  short_cut_link,
  delay,  // slows down all links of a rank for some time
  flood,  // another host opens connections to a rank, and sends nothing
  kinds
};

constexpr char const* names[]{"none",       "kill",      "stop",           "cut",   "cut_link",
                              "short_stop", "short_cut", "short_cut_link", "delay", "flood"};

struct scenario {
  std::uint64_t seed = 0;
  bool encrypts = false;
  int ranks = 2;
  fault what = fault::none;
  int victim = 0, other = 1;  // other: the second end of a link
  std::chrono::microseconds begin{}, length{};
  std::size_t elements = 1;
  int steps = 0;
  std::chrono::microseconds longest_latency{500};  // largest latency of a link

  static constexpr auto heartbeat = 1000ms;

  static scenario drawn(std::uint64_t seed, bool encrypts) {
    std::mt19937_64 random(seed);
    auto const number = [&](int first, int last) {
      return std::uniform_int_distribution<int>(first, last)(random);
    };
    scenario made{.seed = seed, .encrypts = encrypts};
    made.ranks = number(2, 8);
    made.what = static_cast<fault>(number(0, static_cast<int>(fault::kinds) - 1));
    made.victim = number(0, made.ranks - 1);
    made.other = (made.victim + number(1, made.ranks - 1)) % made.ranks;
    made.begin = std::chrono::microseconds(number(0, 1'200'000));
    made.length = std::chrono::microseconds(number(1'000, 900'000));
    constexpr std::size_t sizes[]{1, 1000, 20'000, 100'000};
    made.elements = sizes[number(0, 3)];
    made.steps = number(40, 80);
    if (number(0, 2) == 0) {
      made.longest_latency = 50ms;  // opening a connection takes two of these round trips, with TLS three
      made.length = made.length * (encrypts ? 6 : 8) / 10;
      made.steps /= 3;
    }
    return made;
  }
  std::string text() const {
    std::ostringstream made;
    made << "seed " << seed << (encrypts ? " (TLS)" : "") << ": " << ranks << " ranks, "
         << names[static_cast<int>(what)] << " of rank " << victim;
    if (what == fault::cut_link || what == fault::short_cut_link) made << " and rank " << other;
    made << " at " << begin.count() / 1000 << " ms for " << length.count() / 1000 << " ms, " << elements
         << " elements, " << steps << " steps, latencies to " << longest_latency.count() << " us";
    return made.str();
  }
};

/// How a rank has ended.
struct outcome {
  bool is_complete = false;  // has made all steps, with the right sums
  bool is_wrong = false;     // has received a wrong sum
  bool leaves = false;       // has begun to leave after the last step
  std::string error{};
  clock::time_point at{};
};

/// The ranks that a message reports: the ranks at the beginning of its clauses.
inline std::set<int> named_in(std::string const& text) {
  static std::regex const clause(
      "(^|; )ranks? ([0-9, ]*[0-9]( and [0-9]+)?) (has|have|cannot|does|do|is|are|was)");
  static std::regex const number("[0-9]+");
  std::set<int> all;
  for (std::sregex_iterator one(text.begin(), text.end(), clause), end; one != end; ++one) {
    std::string const list = (*one)[2];
    for (std::sregex_iterator n(list.begin(), list.end(), number); n != end; ++n)
      all.insert(std::stoi(n->str()));
  }
  return all;
}

class simulated_job {
 public:
  explicit simulated_job(scenario const& what)
      : what_(what), outcomes_(static_cast<std::size_t>(what.ranks)), net_(what.seed, 20ms, 100ms) {
    if (what.encrypts) {
      detail::job_key key{};
      key[0] = std::byte{42};
      identity_ = {key, "test"};
    }
    members_.token[3] = std::byte{7};
    auto const number = [&](int first, int last) {
      return std::uniform_int_distribution<int>(first, last)(net_.random);
    };
    for (int r = 0; r < what.ranks; ++r) {
      simulated_host& host = net_.add_host();
      listening_.push_back(detail::tcp_socket::listening(host.address(), {}, host));
      members_.ranks.push_back({listening_.back().local()});
      members_.hosts.push_back(static_cast<std::uint32_t>(r));
      for (int other = 0; other < r; ++other)
        net_.between(r, other).latency =
            std::chrono::microseconds(number(20, static_cast<int>(what.longest_latency.count())));
    }
    for (int r = 0; r < what.ranks; ++r) net_.host(r).start([this, r] { run_rank(r); });
    net_.add_host();  // host of a process that is not a rank
    net_.at(net_.now() + what.begin, [this] { begin_fault(); });
  }

  /// Runs the job to its end. Returns a contradiction to the oracle; empty if there is none.
  std::string run() {
    bool const ended = net_.run(clock::time_point(200s)) || all_ended();
    std::string const wrong = ended ? verdict() : "not all ranks have ended";
    return wrong.empty() ? wrong : what_.text() + ": " + wrong + course();
  }
  /// How the ranks have ended.
  std::string course() {
    std::ostringstream all;
    for (int r = 0; r < what_.ranks; ++r) {
      outcome const& one = of(r);
      all << "\n  rank " << r << " at "
          << std::chrono::duration_cast<std::chrono::microseconds>(one.at.time_since_epoch()).count()
          << " us: "
          << (one.is_wrong      ? "a wrong sum"
              : one.is_complete ? "complete"
                                : one.error);
    }
    return all.str();
  }

 private:
  outcome& of(int rank) { return outcomes_[static_cast<std::size_t>(rank)]; }
  bool all_ended() {
    for (int r = 0; r < what_.ranks; ++r)
      if (!net_.host(r).has_ended()) return false;
    return true;
  }

  void run_rank(int rank) {
    simulated_host& host = net_.host(rank);
    outcome& mine = of(rank);
    std::mt19937_64 random(what_.seed * 16 + static_cast<std::uint64_t>(rank));
    std::unique_ptr<communicator> world;
    auto const last_trouble = std::make_shared<std::optional<detail::failure_report>>();
    try {
      detail::tcp_membership members = members_;
      members.rank = rank;
      std::vector<detail::tcp_socket> listening;
      listening.push_back(std::move(listening_[static_cast<std::size_t>(rank)]));
      communicator_settings const how{
          .deadline = 10s, .heartbeat = scenario::heartbeat, .log = [&](std::string_view line) {
            std::string const itself = " for rank " + std::to_string(rank) + " ";
            if (line.find(itself) != line.npos) waits_for_itself_ = line;
          }};
      auto wire = std::make_unique<detail::tcp_transport>(
          detail::acceptor(std::move(listening), identity_, how.log, host), std::move(members), identity_,
          how, last_trouble, host);
      detail::tcp_transport& transport = *wire;
      world = make_communicator(std::move(wire), how);
      std::vector<float> data(what_.elements);
      bool right = true;
      for (int step = 0; step < what_.steps; ++step) {
        auto const computes = std::chrono::milliseconds(std::uniform_int_distribution<int>(5, 30)(random));
        for (auto const end = host.now() + computes; host.now() < end;) {
          world->probe(rank, 1);  // as a progress thread does
          transport.wait_for_event(std::min<clock::duration>(end - host.now(), 5ms) < 1ms
                                       ? std::chrono::microseconds(1000)
                                       : std::chrono::microseconds(5000));
        }
        std::ranges::fill(data, static_cast<float>(rank + step));
        world->note({.step = step, .bucket = 0});
        world->allreduce(std::span(data));
        auto const expected = static_cast<float>(what_.ranks * (what_.ranks - 1) / 2 + what_.ranks * step);
        right = right && std::ranges::all_of(data, [&](float one) { return one == expected; });
      }
      mine.leaves = true;
      world.reset();
      mine.is_wrong = !right;
      mine.is_complete = right && !*last_trouble;
      mine.error = last_trouble->value_or(detail::failure_report{}).text;
    } catch (communicator_error const& failed) {
      mine.error = failed.what();
    }
    mine.at = host.now();
    if (mine.error.empty()) return;
    if (world) world->abort(mine.error);
    host.exit();
  }

  void each_link(int victim, std::function<void(simulated_network::link&)> const& change) {
    for (int r = 0; r < what_.ranks; ++r)
      if (r != victim) change(net_.between(victim, r));
  }
  void begin_fault() {
    simulated_host& victim = net_.host(what_.victim);
    auto const end = net_.now() + what_.length;
    auto const set_cut = [this](bool cut) {
      each_link(what_.victim, [&](simulated_network::link& one) { one.is_cut = cut; });
    };
    auto const set_link_cut = [this](bool cut) { net_.between(what_.victim, what_.other).is_cut = cut; };
    switch (what_.what) {
      case fault::kill:
        is_needed_ = !of(what_.victim).leaves;
        return victim.kill();
      case fault::stop:
        is_needed_ = !of(what_.victim).leaves;
        return victim.stop(190s);
      case fault::short_stop:
        return victim.stop(what_.length);
      case fault::cut:
        return set_cut(true);
      case fault::short_cut:
        set_cut(true);
        return net_.at(end, [=] { set_cut(false); });
      case fault::cut_link:
        return set_link_cut(true);
      case fault::short_cut_link:
        set_link_cut(true);
        return net_.at(end, [=] { set_link_cut(false); });
      case fault::delay:
        each_link(what_.victim, [](simulated_network::link& one) { one.latency += 200ms; });
        return net_.at(end, [this] {
          each_link(what_.victim, [](simulated_network::link& one) { one.latency -= 200ms; });
        });
      case fault::flood:
        return open_connections(200);
      default:
        return;
    }
  }
  /// Another process opens a connection, and the next one after a short time.
  void open_connections(int count) {
    simulated_host& stranger = net_.host(what_.ranks);
    stranger.connect(stranger.open(AF_INET), members_.ranks[static_cast<std::size_t>(what_.victim)].front());
    if (count > 1) net_.at(net_.now() + 1ms, [this, count] { open_connections(count - 1); });
  }

  /// The oracle: returns a description of the first error; empty if there is none.
  std::string verdict() {
    bool const ends_victim = what_.what == fault::kill || what_.what == fault::stop;
    bool const lasts = ends_victim || what_.what == fault::cut || what_.what == fault::cut_link;
    bool const by_itself = what_.ranks == 2 && lasts && !ends_victim;  // a rank cannot know whose link is cut
    if (!waits_for_itself_.empty()) return waits_for_itself_;
    bool is_named = false;
    for (int r = 0; r < what_.ranks; ++r) {
      outcome const& one = of(r);
      if (one.is_wrong) return "a sum is wrong";
      if (one.is_complete || (r == what_.victim && ends_victim)) continue;
      if (!lasts) return "a rank has failed";
      std::set<int> right{what_.victim};
      if (what_.what == fault::cut_link) right.insert(what_.other);
      if (by_itself) right = {1 - r};
      std::set<int> const named = named_in(one.error);
      is_named = is_named || !named.empty();
      if (named == right) continue;
      right.insert(r);
      bool const has_witnesses = std::ranges::none_of(outcomes_, &outcome::is_complete);  // no rank has left
      bool const plausible = r == what_.victim || std::ranges::includes(right, named);
      if (has_witnesses || named.empty() || !plausible)
        return "rank " + std::to_string(r) + " names the wrong ranks";
    }
    return is_needed_ && !is_named ? "nobody is named" : "";
  }

  scenario what_;
  detail::tls_identity identity_{};
  detail::tcp_membership members_;
  std::vector<outcome> outcomes_;
  std::string waits_for_itself_;  // a log line
  bool is_needed_ = false;        // other ranks need the victim of a kill or stop
  simulated_network net_;
  std::vector<detail::tcp_socket> listening_;
};

/// Runs jobs with as many of these seeds as the time allows, and prints their number.
inline void run_seeds(seed_range all, bool encrypts, std::chrono::duration<double> time, unsigned threads) {
  auto const begin = clock::now();
  std::atomic<std::uint64_t> next = all.first, done = 0, failed = 0;
  std::mutex mutex;
  std::map<std::string, int> kinds;
  auto const run_some = [&] {
    while (clock::now() - begin < time) {
      std::uint64_t const seed = next++;
      if (seed > all.last) return;
      scenario const what = scenario::drawn(seed, encrypts);
      std::string const wrong = simulated_job(what).run();
      std::lock_guard const lock(mutex);
      ++done;
      if (wrong.empty()) continue;
      ++kinds[names[static_cast<int>(what.what)]];
      if (++failed <= 10) ADD_FAILURE() << wrong;
    }
  };
  std::vector<std::thread> running;
  for (unsigned k = 1; k < threads; ++k) running.emplace_back(run_some);
  run_some();
  for (std::thread& one : running) one.join();
  std::cout << done << " seeds from " << all.first << " on" << (encrypts ? ", with TLS" : "") << ": "
            << failed << " failed";
  for (auto const& [kind, count] : kinds) std::cout << ", " << count << " " << kind;
  std::cout << std::endl;
  EXPECT_EQ(failed, 0U);
  EXPECT_GT(done, 0U);
}

}  // namespace tcp_simulation
