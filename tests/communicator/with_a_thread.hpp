// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cohort/communicator/detail/transport.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

/// A transport like a library that only one thread may call: announcements, too, are sent only when that
/// thread makes progress. A call by another thread is an error.
class with_a_thread final : public cohort::detail::transport {
 public:
  explicit with_a_thread(std::unique_ptr<transport> real) : real_(std::move(real)) {}

  std::string_view name() const override { return "with_a_thread"; }
  int rank() const override { return real_->rank(); }
  int size() const override { return real_->size(); }
  ticket send(int to, cohort::detail::channel on, std::uint32_t tag,
              std::span<std::byte const> data) override {
    check();
    return real_->send(to, on, tag, data);
  }
  ticket receive(int from, cohort::detail::channel on, std::uint32_t tag,
                 std::span<std::byte> data) override {
    check();
    return real_->receive(from, on, tag, data);
  }
  bool done(ticket one) override {
    check();
    return real_->done(one);
  }
  std::optional<waiting> probe(int from, cohort::detail::channel on, std::uint32_t tag) override {
    check();
    return real_->probe(from, on, tag);
  }
  bool needs_progress_thread() const override { return true; }
  void make_progress() override {
    check();
    real_->make_progress();
    std::lock_guard const lock(mutex_);
    if (said_) real_->announce(*said_);
  }
  void wait_for_event(std::chrono::microseconds) override {
    throw std::logic_error("a thread of its own does not doze");
  }
  void note(cohort::rank_progress here) noexcept override { real_->note(here); }
  void note_wait(int waits_for) noexcept override { real_->note_wait(waits_for); }
  std::vector<cohort::detail::rank_status> query_ranks(std::chrono::milliseconds patience) override {
    check();
    return real_->query_ranks(patience);
  }
  void announce(cohort::detail::failure_report const& why) noexcept override {
    std::lock_guard const lock(mutex_);
    if (!said_) said_ = why;
  }
  std::optional<cohort::detail::failure_report> trouble() const override {
    if (auto heard = real_->trouble()) return heard;
    std::lock_guard const lock(mutex_);
    return said_;
  }
  void abandon() noexcept override { real_->abandon(); }
  void leave() noexcept override { real_->leave(); }

 private:
  void check() {
    std::thread::id none{};
    auto const me = std::this_thread::get_id();
    if (!mover_.compare_exchange_strong(none, me) && none != me)
      throw std::logic_error("two threads call the transport");
  }

  std::unique_ptr<transport> real_;
  std::atomic<std::thread::id> mover_{};
  mutable std::mutex mutex_;
  std::optional<cohort::detail::failure_report> said_;
};
