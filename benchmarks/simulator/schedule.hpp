// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <chrono>
#include <cohort/communicator/communicator.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace benchmarks {

/// One action of a rank.
///
/// `step` begins a step and draws the rank's speed for it. `compute` occupies the rank for `seconds`,
/// multiplied by a factor for stragglers. `codec`: as compute, but for encoding and decoding, at the same
/// speed on all ranks. `start` begins operation number `operation`; `wait` blocks until the operation has
/// ended.
struct action {
  enum class kind { step, compute, codec, start, wait };
  enum class collective {
    broadcast,
    allreduce,
    reduce_scatter_phase,
    allgather_phase,
    reduce_scatter,
    allgather,
    allgatherv,
    barrier,
    send,
    receive
  };

  kind what = kind::step;
  double seconds = 0;
  int operation = 0;
  collective which = collective::barrier;
  cohort::element_type type = cohort::element_type::u8;
  std::size_t count = 0;  // number of elements, or bytes of this rank's contribution
  int peer = 0;           // root of the collective, or the other rank
  int tag = 0;
};

using schedule = std::vector<action>;

/// A schedule that is being recorded.
class recording {
 public:
  void add(action const& next) {
    add_codec();
    actions_.push_back(next);
  }
  /// Calls f. Records as codec the time that f spends between the actions that f adds.
  template <class F>
  void time(F f) {
    since_ = clock::now();
    f();
    add_codec();
    since_.reset();
  }
  /// While this object exists, time is not recorded as codec.
  class pause {
   public:
    explicit pause(recording& of) : of_(of), was_timed_(of.since_.has_value()) {
      of_.add_codec();
      of_.since_.reset();
    }
    pause(pause const&) = delete;
    ~pause() {
      if (was_timed_) of_.since_ = clock::now();
    }

   private:
    recording& of_;
    bool was_timed_;
  };
  schedule const& actions() const { return actions_; }

 private:
  using clock = std::chrono::steady_clock;

  void add_codec() {
    if (!since_) return;
    auto const now = clock::now();
    double const seconds = std::chrono::duration<double>(now - std::exchange(*since_, now)).count();
    actions_.push_back({.what = action::kind::codec, .seconds = seconds});
  }

  schedule actions_;
  std::optional<clock::time_point> since_;
};

/// Functions for the point-to-point messages of a recorded rank. `receive` returns the message from a rank,
/// valid until the next call; `send` is called with each message to a rank.
struct mailbox {
  std::function<std::span<std::byte const>(int from, int tag)> receive{};
  std::function<void(std::span<std::byte const> bytes, int to, int tag)> send{};
};

/// Communicator of one rank of P. It records the calls and exchanges nothing: each operation ends at once, as
/// if all other ranks had contributed zeros. An allgatherv returns P copies of the caller's bytes.
///
/// Before    `others.receive` is set if the rank receives messages.
class recorder final : public cohort::communicator {
 public:
  recorder(int rank, int ranks, std::shared_ptr<recording> to, mailbox others = {})
      : rank_(rank), ranks_(ranks), log_(std::move(to)), others_(std::move(others)) {}

  std::string_view name() const override { return "recorder"; }
  int rank() const override { return rank_; }
  int size() const override { return ranks_; }
  cohort::communicator_settings const& settings() const override { return settings_; }

  cohort::pending_operation start_broadcast(cohort::elements data, int root) override {
    return record(action::collective::broadcast, data, root);
  }
  cohort::pending_operation start_allreduce(cohort::elements data, cohort::reduction) override {
    return record(action::collective::allreduce, data);
  }
  cohort::pending_operation start_reduce_scatter_phase(cohort::elements data, cohort::reduction) override {
    return record(action::collective::reduce_scatter_phase, data);
  }
  cohort::pending_operation start_allgather_phase(cohort::elements data) override {
    return record(action::collective::allgather_phase, data);
  }
  cohort::pending_operation start_reduce_scatter(cohort::elements data, cohort::reduction) override {
    return record(action::collective::reduce_scatter, data);
  }
  cohort::pending_operation start_allgather(cohort::elements data) override {
    return record(action::collective::allgather, data);
  }
  cohort::pending_operation start_allgatherv(std::span<std::byte const> mine,
                                             cohort::gathered& all) override {
    recording::pause const copying(*log_);
    all.bytes.clear();
    all.first.assign(1, 0);
    for (int r = 0; r < ranks_; ++r) {
      all.bytes.insert(all.bytes.end(), mine.begin(), mine.end());
      all.first.push_back(all.bytes.size());
    }
    return record(action::collective::allgatherv, {nullptr, cohort::element_type::u8, mine.size()});
  }
  cohort::pending_operation start_barrier() override { return record(action::collective::barrier, {}); }
  cohort::pending_operation start_send(std::span<std::byte const> data, int to, int tag) override {
    recording::pause const not_timed(*log_);
    if (others_.send) others_.send(data, to, tag);
    return record(action::collective::send, {nullptr, cohort::element_type::u8, data.size()}, to, tag);
  }
  cohort::pending_operation start_receive(std::span<std::byte> data, int from, int tag) override {
    recording::pause const copying(*log_);
    auto const bytes = others_.receive(from, tag);
    std::copy_n(bytes.begin(), std::min(bytes.size(), data.size()), data.begin());
    return record(action::collective::receive, {nullptr, cohort::element_type::u8, data.size()}, from, tag);
  }
  std::optional<cohort::arrival> probe(int, int) override { return std::nullopt; }
  cohort::arrival wait_for_message(int from, int tag) override {
    recording::pause const not_timed(*log_);
    return {from, tag, others_.receive(from, tag).size()};
  }
  /// Supports only communicators of all ranks.
  std::unique_ptr<communicator> split(int, int) override { return duplicate(); }
  std::unique_ptr<communicator> duplicate() override {
    return std::make_unique<recorder>(rank_, ranks_, log_, others_);
  }
  int abort(std::string const&, int exit_status) noexcept override { return exit_status; }
  void note(cohort::rank_progress) noexcept override {}
  cohort::traffic sent() const override { return {}; }

 private:
  struct recorded final : cohort::detail::activity {
    recorded(std::shared_ptr<recording> to, int operation) : log(std::move(to)), operation(operation) {}
    bool done() override { return true; }
    std::chrono::steady_clock::time_point wait() override {
      if (!std::exchange(waited, true)) log->add({.what = action::kind::wait, .operation = operation});
      return {};
    }
    std::shared_ptr<recording> log;
    int operation;
    bool waited = false;
  };

  cohort::pending_operation record(action::collective which, cohort::elements const& data, int peer = 0,
                                   int tag = 0) {
    int const operation = static_cast<int>(log_->actions().size());  // a number that no other operation has
    log_->add({.what = action::kind::start,
               .operation = operation,
               .which = which,
               .type = data.type,
               .count = data.count,
               .peer = peer,
               .tag = tag});
    return cohort::pending_operation(std::make_shared<recorded>(log_, operation));
  }

  int rank_, ranks_;
  std::shared_ptr<recording> log_;
  mailbox others_;
  cohort::communicator_settings settings_{};
};

}  // namespace benchmarks
