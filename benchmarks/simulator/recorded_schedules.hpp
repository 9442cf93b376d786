// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cohort/codec/message.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/execution/isa.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/strategy/detail/message_tree.hpp>
#include <cohort/strategy/parameter_averaging.hpp>
#include <cohort/strategy/threshold_sharing.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "schedule.hpp"
#include "strategy_driver.hpp"

namespace benchmarks {

/// A strategy with the settings that determine its messages.
///
/// Units     `every`: period of averaging in steps. `density`: share of the elements in a rank's message.
struct simulated_strategy {
  enum class kind { allreduce, averaging, sharing };

  kind which = kind::allreduce;
  int every = 5;
  double density = 1e-3;

  /// Steps after which the schedule repeats.
  int period() const { return which == kind::averaging ? every : 1; }
  std::unique_ptr<cohort::strategy> on(cohort::communicator& world) const {
    switch (which) {
      case kind::allreduce:
        return cohort::allreduce{}.on(world);
      case kind::averaging:
        return cohort::parameter_averaging{.every = every}.on(world);
      default:
        return cohort::threshold_sharing{.threshold = cohort::threshold::quantile{.density = density},
                                         .settings = {.group = cohort::sharing_group::rank}}
            .on(world);
    }
  }
};

/// Records the schedules of all ranks for one period of training, without the first steps.
///
/// The ranks exchange nothing during the recording; they receive generated messages. A merged message of k
/// ranks has the size of a union of independent sets of elements: a fraction 1 − (1 − density)^k of all
/// elements. The large elements of real gradients often coincide on several ranks, so real merged messages
/// are shorter.
///
/// Units     `step_seconds`: time of forward and backward of a rank. Times of encoding and decoding are
///           measured; the shortest time of several periods is used.
/// Before    with sharing, `ranks` is a power of two.
class recorded_schedules {
 public:
  recorded_schedules(trained_network what, handle_maker backend, simulated_strategy how, int ranks,
                     double step_seconds)
      : what_(std::move(what)), backend_(backend), how_(how), ranks_(ranks), step_seconds_(step_seconds) {
    if (ranks < 1 || ranks > most_ranks) refuse({"1 to ", most_ranks, " ranks"}, {ranks});
    if (how.which == simulated_strategy::kind::sharing && !std::has_single_bit(static_cast<unsigned>(ranks)))
      refuse("a power of two of ranks, for threshold sharing", {ranks});
  }

  /// Returns the schedules in the order of the ranks.
  std::vector<schedule> all() {
    schedule const leader = recorded(0);
    if (!sends_to_ranks(leader)) return std::vector<schedule>(static_cast<std::size_t>(ranks_), leader);
    // Ranks whose subtrees have equal sizes have the same schedule, with shifted peers.
    std::map<int, schedule> by_subtree{{ranks_, leader}};
    for (int size = 1; size < ranks_; size *= 2) by_subtree[size] = recorded(size);
    for (auto& one : by_subtree) set_message_sizes(one.second, by_subtree);
    std::vector<schedule> made{by_subtree[ranks_]};
    for (int rank = 1; rank < ranks_; ++rank) {
      int const like = rank & -rank;
      made.push_back(by_subtree[like]);
      for (action& one : made.back())
        if (is_message(one)) one.peer += rank - like;
    }
    return made;
  }

 private:
  static constexpr int most_ranks = 4096;
  static constexpr int periods = 5;  // number of recorded periods

  /// Thrown to end the recording of a rank that waits for an answer from another rank.
  struct message_captured {};

  [[noreturn]] static void refuse(cohort::detail::clause expected, cohort::detail::clause got) {
    throw cohort::setting_error({.what = "these schedules cannot be recorded",
                                 .expected = std::move(expected),
                                 .got = std::move(got)});
  }
  static bool is_message(action const& a) {
    return a.what == action::kind::start
           && (a.which == action::collective::send || a.which == action::collective::receive);
  }
  static bool sends_to_ranks(schedule const& one) { return std::ranges::any_of(one, is_message); }

  /// Sets the sizes of the messages: for messages from a subtree, the size that the subtree's root has
  /// recorded; for answers, the size that rank 0 has recorded.
  void set_message_sizes(schedule& one, std::map<int, schedule> const& by_subtree) const {
    for (action& a : one) {
      if (!is_message(a)) continue;
      bool const receives = a.which == action::collective::receive;
      if (a.tag == cohort::detail::tag_down)
        a.count = size_of_sent(by_subtree.at(ranks_), a.tag);
      else if (receives)
        a.count = size_of_sent(by_subtree.at(a.peer & -a.peer), a.tag);
    }
  }
  static std::size_t size_of_sent(schedule const& by, int tag) {
    auto const found = std::ranges::find_if(by, [&](action const& a) {
      return a.which == action::collective::send && a.tag == tag && a.count > 0;
    });
    if (found == by.end()) refuse("a rank that sends messages up or down the tree", "none");
    return found->count;
  }

  /// Records the period of a rank.
  schedule recorded(int rank) {
    auto const log = std::make_shared<recording>();
    std::int64_t step = 0;
    recorder world(rank, ranks_, log, {.receive = [&](int from, int tag) {
                     bool const is_subtree = tag == cohort::detail::tag_up;
                     return message_of(is_subtree ? from & -from : ranks_, is_subtree ? from : 0, step);
                   }});
    strategy_driver one(
        what_, backend_, static_cast<std::uint64_t>(rank), ranks_, how_.on(world), step_seconds_,
        {.compute = [&](double seconds) { log->add({.what = action::kind::compute, .seconds = seconds}); },
         .call_hook = [&](auto const& hook) { log->time(hook); }});
    auto const make_step = [&] {
      one.step(step);
      ++step;
    };
    do make_step();  // the first one also broadcasts parameters
    while (step % how_.period() != 0);
    std::vector<schedule> all;
    for (int k = 0; k < periods; ++k) {
      auto const begin = static_cast<std::ptrdiff_t>(log->actions().size());
      for (int j = 0; j < how_.period(); ++j) {
        log->add({.what = action::kind::step});
        make_step();
      }
      all.push_back(numbered({log->actions().begin() + begin, log->actions().end()}));
    }
    return shortest_codec(all);
  }

  /// Returns the last period, with the shortest times of encoding and decoding of all periods.
  static schedule shortest_codec(std::vector<schedule> const& all) {
    schedule made = all.back();
    for (schedule const& other : all) {
      bool const same = std::ranges::equal(other, made, {}, &action::what, &action::what);
      if (!same) refuse("a strategy whose periods have the same operations", "other operations");
      for (std::size_t k = 0; k < made.size(); ++k)
        if (made[k].what == action::kind::codec)
          made[k].seconds = std::min(made[k].seconds, other[k].seconds);
    }
    return made;
  }

  /// Renumbers the operations of one period. In the recording, an operation's number is the index of its
  /// `start` action.
  static schedule numbered(schedule part) {
    std::map<int, int> numbers;
    for (std::size_t k = 0; k < part.size(); ++k)
      if (part[k].what == action::kind::start)
        numbers[std::exchange(part[k].operation, static_cast<int>(k))] = static_cast<int>(k);
    for (action& one : part) {
      if (one.what != action::kind::wait) continue;
      auto const found = numbers.find(one.operation);
      if (found == numbers.end())
        refuse("a strategy that ends its operations in the same period", "a later end");
      one.operation = found->second;
    }
    return part;
  }

  /// Returns a message that merges the messages of `merged` ranks, beginning with rank `rank`.
  std::span<std::byte const> message_of(int merged, int rank, std::int64_t step) {
    // A rank checks that a message belongs to its run, which is identified by a hash of the settings.
    if (messages_.empty()) messages_[1] = message_of_density(how_.density, 1);
    std::vector<std::byte>& bytes = messages_[merged];
    if (bytes.empty())
      bytes = message_of_density(1 - std::pow(1 - how_.density, merged), static_cast<std::uint64_t>(merged));
    auto header = header_of(bytes);
    header.run = header_of(messages_[1]).run;
    header.rank = static_cast<std::uint32_t>(rank);
    header.ranks = static_cast<std::uint32_t>(merged);
    header.step = static_cast<std::uint64_t>(step);
    header.examples = static_cast<std::uint64_t>(merged);
    header.weight = merged;
    std::memcpy(bytes.data(), &header, sizeof header);
    header.crc = cohort::detail::message_crc(cohort::best_isa(), bytes);
    std::memcpy(bytes.data(), &header, sizeof header);
    return bytes;
  }
  static cohort::message_header header_of(std::span<std::byte const> bytes) {
    cohort::message_header header;
    std::memcpy(static_cast<void*>(&header), bytes.data(), sizeof header);
    return header;
  }
  /// Returns the message of this density that a rank without children sends in its first step.
  std::vector<std::byte> message_of_density(double density, std::uint64_t seed) {
    simulated_strategy leaf = how_;
    leaf.density = density;
    std::vector<std::byte> sent;
    recorder world(1, ranks_, std::make_shared<recording>(),
                   {.receive = [](int, int) -> std::span<std::byte const> { throw message_captured(); },
                    .send = [&](std::span<std::byte const> bytes, int,
                                int) { sent.assign(bytes.begin(), bytes.end()); }});
    constexpr std::uint64_t other_gradients = 1 << 20;
    try {
      strategy_driver one(what_, backend_, other_gradients + seed, ranks_, leaf.on(world), 0,
                          {.compute = [](double) {}, .call_hook = [](auto const& hook) { hook(); }});
      one.step(0);
    } catch (message_captured const&) {
    }
    return sent;
  }

  trained_network what_;
  handle_maker backend_;
  simulated_strategy how_;
  int ranks_;
  double step_seconds_;
  std::map<int, std::vector<std::byte>> messages_;  // indexed by the number of merged ranks
};

}  // namespace benchmarks
