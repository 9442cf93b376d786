// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <cohort/communicator/detail/engine.hpp>
#include <cohort/communicator/detail/message_communicator.hpp>
#include <cohort/communicator/detail/virtual_time.hpp>
#include <cohort/random/stream.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "network_model.hpp"
#include "schedule.hpp"

namespace benchmarks {

/// Speed of the ranks.
///
/// Units     `jitter`: standard deviation of the logarithm of a step's compute time, drawn for each rank and
///           step. The compute time of rank `slow_rank` is multiplied by `slow_factor`; −1: no rank is slow.
///           Times of encoding and decoding are multiplied by `codec_factor`.
struct speeds {
  double jitter = 0;
  double codec_factor = 1;
  int slow_rank = -1;
  double slow_factor = 1;
  std::uint64_t seed = 1;
};

/// Result of a simulation.
///
/// Units     `seconds`: time until the last rank has ended. The other numbers are means over the ranks:
///           seconds in wait, bytes and messages sent.
struct simulated {
  double seconds = 0;
  double waiting_seconds = 0;
  double bytes_sent = 0;
  double messages_sent = 0;
};

/// Runs the schedules of all ranks in virtual time, with the library's collectives.
///
/// Each rank has a communicator (detail::message_communicator) whose transport is the network model. The
/// collectives are those of the library: the algorithm, its messages and their dependencies. A message has a
/// size but no content, so memory does not grow with the number of ranks times the size of the model.
///
/// Order     events of equal time are processed in the order of their creation: the same schedules and seed
///           give the same result.
/// Exact     a send ends at once, because the message is buffered; a receive ends when the last byte has been
///           processed. Collectives make progress during compute without slowing it down.
class simulated_cluster {
 public:
  /// Schedule of a rank.
  using schedule_function = std::function<schedule const&(int rank)>;

  simulated_cluster(int ranks, fabric const& how, speeds const& speed = {})
      : network_(ranks, how), speed_(speed) {
    auto const group = [&](int rank, std::uint32_t context) {
      auto one = std::make_shared<cohort::detail::rank_group>();
      one->members.resize(static_cast<std::size_t>(ranks));
      std::iota(one->members.begin(), one->members.end(), 0);
      one->rank = rank;
      one->context = context;
      return one;
    };
    for (int r = 0; r < ranks; ++r) {
      auto wire = std::make_unique<simulated_transport>(*this, r, ranks);
      rank_state& next = ranks_.emplace_back();
      next.wire = wire.get();
      next.engine = {new cohort::detail::engine(std::move(wire), {}), cohort::detail::engine::close};
      next.group = group(r, 1);
      next.world = std::make_unique<cohort::detail::message_communicator>(next.engine, group(r, 0));
    }
  }

  /// Runs each rank's schedule `repeats` times.  Order: called once.
  ///
  /// Errors    communicator_error if the ranks wait for messages that nobody sends.
  simulated run(schedule_function const& schedule_of, int repeats) {
    std::size_t most = 1;
    for (int r = 0; r < size(); ++r) {
      rank_state& one = at(r);
      one.todo = &schedule_of(r);
      one.repeats = repeats;
      one.operations.resize(one.todo->size());
      for (action const& a : *one.todo)
        if (a.what == action::kind::start) most = std::max(most, a.count * bytes_of(a.type));
    }
    payload_.reset(new std::byte[most]);  // not initialised: only small sums access it
    for (int r = 0; r < size(); ++r) resume(r);
    while (time_.has_events()) {
      event const next = time_.next();
      if (next.message < 0)
        resume(next.rank);
      else
        handle(next);
    }
    simulated all;
    for (int r = 0; r < size(); ++r) {
      rank_state const& one = at(r);
      if (one.repeats > 0) {
        for (rank_state const& each : ranks_) each.world->abort("a schedule never ends", 1);
        throw cohort::communicator_error(
            {.what = "a schedule never ends",
             .where = {"rank ", r, ", action ", one.next, " of ", one.todo->size()},
             .expected = "a message of another rank for each receive"});
      }
      all.seconds = std::max(all.seconds, one.ended);
      all.waiting_seconds += one.waited;
      all.bytes_sent += static_cast<double>(one.engine->bytes_sent.load());
      all.messages_sent += static_cast<double>(one.engine->messages_sent.load());
    }
    for (double* const sum : {&all.waiting_seconds, &all.bytes_sent, &all.messages_sent}) *sum /= size();
    return all;
  }

 private:
  using channel = cohort::detail::channel;

  /// One rank's transport: posted receives, and messages that arrived before their receives.
  class simulated_transport final : public cohort::detail::transport {
   public:
    simulated_transport(simulated_cluster& all, int rank, int ranks)
        : all_(all), rank_(rank), ranks_(ranks) {}
    std::string_view name() const override { return "simulated"; }
    int rank() const override { return rank_; }
    int size() const override { return ranks_; }
    ticket send(int to, channel on, std::uint32_t tag, std::span<std::byte const> data) override {
      all_.send(rank_, to, key_of(on, tag), data.size());
      return 0;
    }
    ticket receive(int from, channel on, std::uint32_t tag, std::span<std::byte> data) override {
      return expect({from, key_of(on, tag), data.size()});
    }
    bool combines() const override { return true; }
    ticket receive_combining(int from, channel on, std::uint32_t tag, cohort::elements into,
                             cohort::reduction) override {
      return expect({from, key_of(on, tag), into.bytes()});
    }
    bool done(ticket one) override {
      return std::none_of(receives_.begin(), receives_.end(), [&](auto const& r) { return r.number == one; });
    }
    std::optional<waiting> probe(int, channel, std::uint32_t) override { return std::nullopt; }
    bool needs_progress_thread() const override { return false; }
    void wait_for_event(std::chrono::microseconds) override {}
    void note(cohort::rank_progress) noexcept override {}
    void note_wait(int) noexcept override {}
    std::vector<cohort::detail::rank_status> query_ranks(std::chrono::milliseconds) override { return {}; }
    void announce(cohort::detail::failure_report const&) noexcept override {}
    std::optional<cohort::detail::failure_report> trouble() const override { return std::nullopt; }
    void leave() noexcept override {}

    void arrive(int from, std::uint64_t key, std::size_t bytes) {
      auto const found = std::find_if(receives_.begin(), receives_.end(),
                                      [&](auto const& r) { return r.from == from && r.key == key; });
      if (found == receives_.end()) return arrived_.push_back({from, key, bytes});
      check(*found, bytes);
      receives_.erase(found);
    }

   private:
    struct message {
      int from;
      std::uint64_t key;
      std::size_t bytes;
      ticket number = 0;
    };
    static std::uint64_t key_of(channel on, std::uint32_t tag) {
      return static_cast<std::uint64_t>(on) << 32 | tag;
    }
    static void check(message const& wanted, std::size_t bytes) {
      if (wanted.bytes != bytes)
        throw cohort::communicator_error({.what = "a message has another size than its receive",
                                          .where = {"from rank ", wanted.from},
                                          .expected = {wanted.bytes, " bytes"},
                                          .got = {bytes}});
    }
    ticket expect(message one) {
      auto const found = std::find_if(arrived_.begin(), arrived_.end(),
                                      [&](auto const& a) { return a.from == one.from && a.key == one.key; });
      if (found != arrived_.end()) {
        check(one, found->bytes);
        arrived_.erase(found);
        return 0;
      }
      one.number = ++last_;
      receives_.push_back(one);
      return last_;
    }

    simulated_cluster& all_;
    int rank_, ranks_;
    ticket last_ = 0;
    std::vector<message> receives_, arrived_;
  };

  struct rank_state {
    simulated_transport* wire = nullptr;
    std::shared_ptr<cohort::detail::engine> engine;
    std::shared_ptr<cohort::detail::rank_group const> group;  // used by allgatherv
    std::unique_ptr<cohort::detail::message_communicator> world;
    schedule const* todo = nullptr;
    std::size_t next = 0;
    int repeats = 0;
    std::vector<cohort::pending_operation> operations{};  // indexed by operation number
    std::vector<int> pending{};                           // operations that may not have ended
    std::uint32_t gathers = 0;
    std::uint64_t steps = 0;
    double factor = 1;
    double blocked_at = -1;  // −1: the rank is not waiting
    double waited = 0, ended = 0;
  };

  struct event {
    /// Event of a message: its head reaches the next link, its tail reaches its receiver, or the receiver has
    /// processed it.
    enum class stage { link, tail, end };

    int rank;
    int message;  // −1: the rank's compute has ended
    stage at = stage::link;
  };

  int size() const { return static_cast<int>(ranks_.size()); }
  rank_state& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }

  void send(int from, int to, std::uint64_t key, std::size_t bytes) {
    int id = static_cast<int>(messages_.size());
    if (unused_.empty()) {
      messages_.emplace_back();
    } else {
      id = unused_.back();
      unused_.pop_back();
    }
    messages_[static_cast<std::size_t>(id)] = {network_.begin(time_.now(), from, to, bytes), key};
    add_event(id, messages_[static_cast<std::size_t>(id)].first.head, event::stage::link);
  }
  void add_event(int message, double time, event::stage at) {
    time_.add(time, {messages_[static_cast<std::size_t>(message)].first.to, message, at});
  }
  void handle(event const& what) {
    transit& one_message = messages_[static_cast<std::size_t>(what.message)].first;
    if (what.at == event::stage::link) {
      bool const continues = network_.advance(one_message);
      return continues ? add_event(what.message, one_message.head, event::stage::link)
                       : add_event(what.message, one_message.tail, event::stage::tail);
    }
    if (what.at == event::stage::tail)
      return add_event(what.message, network_.end(one_message), event::stage::end);
    auto const [message, key] = messages_[static_cast<std::size_t>(what.message)];
    unused_.push_back(what.message);
    rank_state& one = at(what.rank);
    one.wire->arrive(message.from, key, message.bytes);
    // The first operation that has not ended advances all operations.
    auto const first = std::find_if(one.pending.begin(), one.pending.end(), [&](int operation) {
      return !one.operations[static_cast<std::size_t>(operation)].done();
    });
    one.pending.erase(one.pending.begin(), first);
    if (one.blocked_at >= 0) resume(what.rank);
  }

  /// Continues a rank's schedule until it computes, waits or ends.
  void resume(int rank) {
    rank_state& one = at(rank);
    while (one.repeats > 0) {
      if (one.next == one.todo->size()) {
        one.next = 0;
        if (--one.repeats == 0) one.ended = time_.now();
        continue;
      }
      action const& now = (*one.todo)[one.next];
      auto const operation = static_cast<std::size_t>(now.operation);
      if (now.what == action::kind::wait) {
        if (!one.operations[operation].done()) {
          if (one.blocked_at < 0) one.blocked_at = time_.now();
          return;
        }
        if (one.blocked_at >= 0) one.waited += time_.now() - std::exchange(one.blocked_at, -1);
      } else if (now.what == action::kind::start) {
        one.operations[operation] = start(one, now);
        one.pending.push_back(now.operation);
      } else if (now.what == action::kind::step) {
        one.factor = factor_of(rank, one.steps++);
      } else if (now.seconds > 0) {
        ++one.next;
        double const time =
            now.seconds * (now.what == action::kind::compute ? one.factor : speed_.codec_factor);
        return time_.add(time_.now() + time, {rank, -1});
      }
      ++one.next;
    }
  }

  double factor_of(int rank, std::uint64_t step) const {
    double const slow = rank == speed_.slow_rank ? speed_.slow_factor : 1;
    if (speed_.jitter == 0) return slow;
    cohort::random_stream const drawn(speed_.seed, "compute", step, static_cast<std::uint64_t>(rank));
    return slow * std::exp(speed_.jitter * drawn.normal(0));
  }

  cohort::pending_operation start(rank_state& one, action const& what) {
    cohort::elements const data(payload_.get(), what.type, what.count);
    std::span<std::byte> const bytes(payload_.get(), what.count);
    switch (what.which) {
      case action::collective::broadcast:
        return one.world->start_broadcast(data, what.peer);
      case action::collective::allreduce:
        return one.world->start_allreduce(data, cohort::reduction::sum);
      case action::collective::reduce_scatter_phase:
        return one.world->start_reduce_scatter_phase(data, cohort::reduction::sum);
      case action::collective::allgather_phase:
        return one.world->start_allgather_phase(data);
      case action::collective::reduce_scatter:
        return one.world->start_reduce_scatter(data, cohort::reduction::sum);
      case action::collective::allgather:
        return one.world->start_allgather(data);
      case action::collective::barrier:
        return one.world->start_barrier();
      case action::collective::send:
        return one.world->start_send(bytes, what.peer, what.tag);
      case action::collective::receive:
        return one.world->start_receive(bytes, what.peer, what.tag);
      default:
        return start_allgatherv(one, what.count);
    }
  }

  /// Like communicator::start_allgatherv, but all ranks share the memory for the result, because the result
  /// is as large as all contributions together. All contributions have the same size.
  cohort::pending_operation start_allgatherv(rank_state& one, std::size_t bytes) {
    auto& [sizes, all] = gathered_[bytes];
    sizes.resize(static_cast<std::size_t>(size()), bytes);
    all.first.resize(sizes.size() + 1);
    return cohort::pending_operation(one.engine->start(
        {.name = "allgatherv", .ranks = one.group, .tag = 1U << 12 | (one.gathers++ & 4095)},
        cohort::detail::ring_allgatherv{{std::span(sizes)}, {}, &all}));
  }

  network_model network_;
  speeds speed_;
  cohort::detail::virtual_time<double, event> time_;
  std::vector<std::pair<transit, std::uint64_t>> messages_;
  std::vector<int> unused_;
  std::unique_ptr<std::byte[]> payload_;
  std::map<std::size_t, std::pair<std::vector<std::size_t>, cohort::gathered>> gathered_;  // indexed by size
  std::vector<rank_state> ranks_;
};

}  // namespace benchmarks
