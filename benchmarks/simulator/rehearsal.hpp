// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cohort/codec/message.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/execution/isa.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/strategy/parameter_averaging.hpp>
#include <cohort/strategy/threshold_sharing.hpp>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "rehearsed_rank.hpp"
#include "schedule.hpp"

namespace benchmarks {

/// A strategy with the settings that matter for its messages.
struct simulated_strategy {
  std::string_view name;  // allreduce, averaging or sharing
  int every = 5;          // averaging: the period in steps
  double density = 1e-3;  // sharing: share of the elements in a rank's message

  /// Steps after which the schedule repeats.
  int period() const { return name == "averaging" ? every : 1; }
  std::unique_ptr<cohort::strategy> on(cohort::communicator& world) const {
    if (name == "allreduce") return cohort::allreduce{}.on(world);
    if (name == "averaging") return cohort::parameter_averaging{.every = every}.on(world);
    return cohort::threshold_sharing{.threshold = cohort::threshold::quantile{.density = density},
                                     .settings = {.group = cohort::sharing_group::rank}}
        .on(world);
  }
};

/// Records the schedules of all ranks of a training: a period of steady training.
///
/// Ranks exchange nothing, so a rank receives messages that are made for it. Merged messages of several ranks
/// have the size of a union of independent sets of elements: of k ranks, 1 − (1 − density)^k of the elements.
/// Gradients of real ranks have elements in common, so real merged messages are shorter.
///
/// Units     `step_seconds`: forward and backward of a rank. Times of encoding and decoding are measured.
/// Before    with the strategy sharing, `ranks` is a power of two.
class rehearsal {
 public:
  rehearsal(trained_network what, handle_maker backend, simulated_strategy how, int ranks,
            double step_seconds)
      : what_(std::move(what)), backend_(backend), how_(how), ranks_(ranks), step_seconds_(step_seconds) {
    if (how.name == "sharing" && !std::has_single_bit(static_cast<unsigned>(ranks)))
      throw cohort::setting_error({.what = "the schedules of this number of ranks cannot be recorded",
                                   .where = "threshold sharing",
                                   .expected = "a power of two",
                                   .got = {ranks}});
  }

  std::vector<schedule> schedules() {
    schedule const leader = recorded(0);
    if (!sends_to_ranks(leader)) return std::vector<schedule>(static_cast<std::size_t>(ranks_), leader);
    // Ranks with equally large subtrees act alike, with other partners.
    std::map<int, schedule> by_subtree{{ranks_, leader}};
    for (int size = 1; size < ranks_; size *= 2) by_subtree[size] = recorded(size);
    for (auto& one : by_subtree) agree_on_sizes(one.second, by_subtree);
    std::vector<schedule> all{by_subtree[ranks_]};
    for (int rank = 1; rank < ranks_; ++rank) {
      int const like = rank & -rank;
      all.push_back(by_subtree[like]);
      for (action& one : all.back()) one.peer += rank - like;
    }
    return all;
  }

 private:
  static constexpr int rounds = 5;  // of which each time of encoding and decoding is the smallest
  static constexpr int up = 0;      // tag of messages to the parent in the tree

  struct captured {};

  static bool sends_to_ranks(schedule const& one) {
    return std::ranges::any_of(one, [](action const& a) {
      return a.what == action::kind::start
             && (a.which == action::collective::send || a.which == action::collective::receive);
    });
  }

  /// Sets the sizes of the messages to those that their first senders have recorded: a subtree's to those of
  /// its root, the answers to that of rank 0.
  void agree_on_sizes(schedule& one, std::map<int, schedule> const& by_subtree) const {
    for (action& a : one) {
      if (a.what != action::kind::start) continue;
      bool const receives = a.which == action::collective::receive;
      if (!receives && a.which != action::collective::send) continue;
      int const sender = a.tag != up ? ranks_ : receives ? a.peer & -a.peer : 0;
      if (sender > 0) a.count = size_of_sent(by_subtree.at(sender), a.tag);
    }
  }
  static std::size_t size_of_sent(schedule const& by, int tag) {
    return std::ranges::find_if(by,
                                [&](action const& a) {
                                  return a.which == action::collective::send && a.tag == tag && a.count > 0;
                                })
        ->count;
  }

  /// Records the period of a rank.
  schedule recorded(int rank) {
    auto const log = std::make_shared<recording>();
    std::int64_t step = 0;
    recorder world(rank, ranks_, log, {.receive = [&](int from, int tag) {
                     int const sender = tag == up ? from : 0;
                     return message_of(tag == up ? from & -from : ranks_, sender, step);
                   }});
    rehearsed_rank one(
        what_, backend_, rank, ranks_, how_.on(world), step_seconds_,
        {.compute = [&](double seconds) { log->add({.what = action::kind::compute, .seconds = seconds}); },
         .exchange = [&](auto const& hook) { log->time(hook); }});
    auto const make_step = [&] {
      one.step(step);
      ++step;
    };
    do make_step();  // the first one also broadcasts parameters
    while (step % how_.period() != 0);
    std::vector<schedule> all;
    for (int round = 0; round < rounds; ++round) {
      std::size_t const begin = log->actions().size();
      for (int k = 0; k < how_.period(); ++k) {
        log->add({.what = action::kind::step});
        make_step();
      }
      all.push_back(
          renumbered({log->actions().begin() + static_cast<std::ptrdiff_t>(begin), log->actions().end()},
                     static_cast<int>(begin)));
    }
    for (schedule const& other : all)
      for (std::size_t k = 0; k < std::min(all.back().size(), other.size()); ++k)
        if (other[k].what == action::kind::code && all.back()[k].what == action::kind::code)
          all.back()[k].seconds = std::min(all.back()[k].seconds, other[k].seconds);
    return all.back();
  }

  /// A part of a recording as a schedule of its own.
  static schedule renumbered(schedule part, int begin) {
    for (action& one : part) one.operation -= begin;
    std::erase_if(part,
                  [](action const& one) { return one.what == action::kind::wait && one.operation < 0; });
    return numbered(std::move(part));
  }
  /// Operations are numbered by the positions of their starts, which removed actions change.
  static schedule numbered(schedule part) {
    std::map<int, int> numbers;
    for (std::size_t k = 0; k < part.size(); ++k)
      if (part[k].what == action::kind::start)
        numbers[std::exchange(part[k].operation, static_cast<int>(k))] = static_cast<int>(k);
    for (action& one : part)
      if (one.what == action::kind::wait) one.operation = numbers.at(one.operation);
    return part;
  }

  /// A message that merges those of `merged` ranks, the first of which is `rank`.
  std::vector<std::byte> const& message_of(int merged, int rank, std::int64_t step) {
    // Ranks check that messages are of their run, which a hash of the settings identifies.
    if (messages_.empty()) messages_[1] = message_of_density(how_.density);
    std::vector<std::byte>& bytes = messages_[merged];
    if (bytes.empty()) bytes = message_of_density(1 - std::pow(1 - how_.density, merged));
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
  /// The message that a rank without children sends in its first step.
  std::vector<std::byte> message_of_density(double density) {
    simulated_strategy leaf = how_;
    leaf.density = density;
    std::vector<std::byte> sent;
    recorder world(1, ranks_, std::make_shared<recording>(),
                   {.receive = [](int, int) -> std::vector<std::byte> { throw captured(); },
                    .send = [&](std::span<std::byte const> bytes, int,
                                int) { sent.assign(bytes.begin(), bytes.end()); }});
    try {
      rehearsed_rank one(what_, backend_, static_cast<int>(1e9 * density), ranks_, leaf.on(world), 0,
                         {.compute = [](double) {}, .exchange = [](auto const& hook) { hook(); }});
      one.step(0);
    } catch (captured const&) {  // it waits for the answer
    }
    return sent;
  }

  trained_network what_;
  handle_maker backend_;
  simulated_strategy how_;
  int ranks_;
  double step_seconds_;
  std::map<int, std::vector<std::byte>> messages_;  // by the number of merged ranks
};

}  // namespace benchmarks
