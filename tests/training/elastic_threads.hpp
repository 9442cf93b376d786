// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cohort/communicator/elastic_communicator.hpp>
#include <cohort/communicator/thread_ranks.hpp>
#include <cohort/error/exceptions.hpp>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace cohort_test {

/// Ends a process of elastic_threads, as kill -9 does.
struct killed {};

/// Called before each collective call. If the result is a function, it is called after the call, which then
/// throws as if it had been interrupted on this rank only.
using call_hook = std::function<std::function<void()>()>;

/// A communicator that calls `count` before each collective call of `inner`.
template <class Base>
class counted : public Base {
 public:
  std::string_view name() const override { return "elastic threads"; }
  int rank() const override { return inner().rank(); }
  int size() const override { return inner().size(); }
  cohort::communicator_settings const& settings() const override { return inner().settings(); }
  cohort::pending_operation start_broadcast(cohort::elements data, int root) override {
    return call([&](cohort::communicator& ranks) { return ranks.start_broadcast(data, root); });
  }
  cohort::pending_operation start_allreduce(cohort::elements data, cohort::reduction how) override {
    return call([&](cohort::communicator& ranks) { return ranks.start_allreduce(data, how); });
  }
  cohort::pending_operation start_reduce_scatter_phase(cohort::elements data,
                                                       cohort::reduction how) override {
    return call([&](cohort::communicator& ranks) { return ranks.start_reduce_scatter_phase(data, how); });
  }
  cohort::pending_operation start_allgather_phase(cohort::elements data) override {
    return call([&](cohort::communicator& ranks) { return ranks.start_allgather_phase(data); });
  }
  cohort::pending_operation start_reduce_scatter(cohort::elements data, cohort::reduction how) override {
    return call([&](cohort::communicator& ranks) { return ranks.start_reduce_scatter(data, how); });
  }
  cohort::pending_operation start_allgather(cohort::elements data) override {
    return call([&](cohort::communicator& ranks) { return ranks.start_allgather(data); });
  }
  cohort::pending_operation start_allgatherv(std::span<std::byte const> own, cohort::gathered& all) override {
    return call([&](cohort::communicator& ranks) { return ranks.start_allgatherv(own, all); });
  }
  cohort::pending_operation start_barrier() override {
    return call([&](cohort::communicator& ranks) { return ranks.start_barrier(); });
  }
  cohort::pending_operation start_send(std::span<std::byte const> data, int to, int tag) override {
    return call([&](cohort::communicator& ranks) { return ranks.start_send(data, to, tag); });
  }
  cohort::pending_operation start_receive(std::span<std::byte> data, int from, int tag) override {
    return call([&](cohort::communicator& ranks) { return ranks.start_receive(data, from, tag); });
  }
  std::optional<cohort::arrival> probe(int from, int tag) override { return inner().probe(from, tag); }
  cohort::arrival wait_for_message(int from, int tag) override { return inner().wait_for_message(from, tag); }
  std::unique_ptr<cohort::communicator> split(int color, int order) override {
    return call([&](cohort::communicator& ranks) { return ranks.split(color, order); });
  }
  std::unique_ptr<cohort::communicator> duplicate() override;
  int abort(std::string const& why, int exit_status) noexcept override {
    return inner().abort(why, exit_status);
  }
  void note(cohort::rank_progress here) noexcept override { inner().note(here); }
  cohort::traffic sent() const override { return inner().sent(); }

 protected:
  virtual cohort::communicator& inner() const = 0;
  virtual call_hook const& count() const = 0;

  template <class F>
  auto call(F f) {
    std::function<void()> const after = count()();
    auto result = f(inner());
    if (!after) return result;
    if constexpr (std::is_same_v<decltype(result), cohort::pending_operation>) result.wait();
    after();
    throw cohort::communicator_error({.what = "interrupted on this rank"}, cohort::communicator_exit_status);
  }
};

class counted_duplicate final : public counted<cohort::communicator> {
 public:
  counted_duplicate(std::unique_ptr<cohort::communicator> real, call_hook count)
      : real_(std::move(real)), count_(std::move(count)) {}

 private:
  cohort::communicator& inner() const override { return *real_; }
  call_hook const& count() const override { return count_; }

  std::unique_ptr<cohort::communicator> real_;
  call_hook count_;
};

template <class Base>
std::unique_ptr<cohort::communicator> counted<Base>::duplicate() {
  return call([&](cohort::communicator& ranks) -> std::unique_ptr<cohort::communicator> {
    return std::make_unique<counted_duplicate>(ranks.duplicate(), count());
  });
}

/// An elastic job whose processes are threads. The first `ranks` processes are the first membership; others
/// join.
class elastic_threads {
 public:
  static constexpr auto deadline = std::chrono::seconds(30);

  explicit elastic_threads(int ranks) : planned_(ranks) {
    for (int id = 0; id < ranks; ++id) members_.push_back(id);
    connect();
  }

  /// Called with the number of a process before its collective call with this number. Calls count when all
  /// processes of the first membership have begun fit. If the result is true, the call is interrupted on this
  /// process, after the others have completed it.
  std::function<bool(int process, int call)> before_call = [](int, int) { return false; };

  class process final : public counted<cohort::elastic_communicator> {
   public:
    process(elastic_threads& job, int id)
        : job_(job), id_(id), count_([this]() -> std::function<void()> {
            if (!accepts_ || job_.accepting_ < job_.planned_) return {};
            job_.count_call(id_);
            if (!job_.before_call(id_, ++calls_)) return {};
            return [this] { job_.end_after_others(id_); };
          }) {
      std::lock_guard const lock(job_.mutex_);
      waits_to_join_ = id >= job_.planned_;
      if (waits_to_join_)
        real_ = cohort::make_self({.deadline = deadline});
      else
        connect();
    }
    ~process() override { disconnect(false); }

    std::int64_t membership() const override { return membership_; }
    bool has_ended() const override {
      std::lock_guard const lock(job_.mutex_);
      return job_.has_ended_;
    }
    bool waits_to_join() const override { return waits_to_join_; }
    int planned_size() const override { return job_.planned_; }
    int least_size() const override { return 1; }
    void regroup(std::int64_t step) override {
      std::unique_lock lock(job_.mutex_);
      job_.end_membership();
      job_.connected_.erase(id_);
      real_.reset();
      job_.waiting_[id_] = step;
      job_.form();
      auto const has_answer = [&] { return !job_.waiting_.contains(id_) || job_.members_.empty(); };
      bool const in_time = job_.changed_.wait_for(lock, deadline, has_answer);
      if (job_.waiting_.erase(id_) > 0 && in_time) throw killed();  // the job has ended
      if (!in_time) throw cohort::communicator_error({.what = "no membership has begun"}, 1);
      connect();
      waits_to_join_ = false;
    }
    void confirm() override { barrier(); }
    void accept_processes(bool accepts) override {
      if (!accepts_ && accepts) ++job_.accepting_;
      accepts_ = accepts;
    }
    bool leave() override {
      disconnect(true);
      return has_left_ = true;
    }
    bool has_left() const override { return has_left_; }
    /// Ends the process.  Errors: killed.
    [[noreturn]] void kill() {
      disconnect(true);
      throw killed();
    }

   private:
    void connect() {
      auto const rank = std::ranges::find(job_.members_, id_) - job_.members_.begin();
      membership_ = job_.number_;
      real_ = job_.ranks_->make(static_cast<int>(rank));
      job_.connected_[id_] = real_.get();
    }
    void disconnect(bool ends_membership) {
      std::lock_guard const lock(job_.mutex_);
      if (ends_membership) job_.end_membership();
      job_.connected_.erase(id_);
      std::erase(job_.members_, id_);
      job_.form();
      if (job_.members_.empty()) job_.changed_.notify_all();
    }
    cohort::communicator& inner() const override { return *real_; }
    call_hook const& count() const override { return count_; }

    elastic_threads& job_;
    int id_, calls_ = 0;
    call_hook count_;
    std::int64_t membership_ = 0;
    bool accepts_ = false, waits_to_join_ = false, has_left_ = false;
    std::unique_ptr<cohort::communicator> real_;
  };

 private:
  void connect() {
    ranks_ = std::make_unique<cohort::thread_ranks>(static_cast<int>(members_.size()),
                                                    cohort::communicator_settings{.deadline = deadline});
    ++number_;
    has_ended_ = false;
  }
  void end_membership() {
    has_ended_ = true;
    if (!connected_.empty())
      connected_.begin()->second->abort("the membership changes", cohort::communicator_exit_status);
  }
  void count_call(int id) {
    std::lock_guard const lock(mutex_);
    ++calls_[id];
    changed_.notify_all();
  }
  /// Ends the membership when the other processes have made another call, or do not make one soon.
  void end_after_others(int id) {
    std::unique_lock lock(mutex_);
    std::map<int, int> const before = calls_;
    changed_.wait_for(lock, std::chrono::milliseconds(5), [&] {
      return std::ranges::all_of(connected_, [&](auto const& other) {
        auto const made = before.find(other.first);
        return other.first == id || calls_[other.first] > (made == before.end() ? 0 : made->second);
      });
    });
    end_membership();
  }
  /// Begins the next membership if all members wait for it.
  void form() {
    auto const waits = [&](int id) { return waiting_.contains(id); };
    if (members_.empty() || waiting_.empty() || !std::ranges::all_of(members_, waits)) return;
    std::ranges::stable_sort(members_, std::ranges::greater(), [&](int id) { return waiting_.at(id); });
    for (auto const& [id, step] : waiting_)
      if (std::ranges::find(members_, id) == members_.end()) members_.push_back(id);
    waiting_.clear();
    connect();
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int planned_;
  std::int64_t number_ = 0;
  bool has_ended_ = false;
  std::atomic<int> accepting_ = 0;  // processes that have been in fit
  std::map<int, int> calls_;        // of the processes
  std::vector<int> members_;        // processes of the membership, in the order of their ranks
  std::map<int, cohort::communicator*> connected_;  // processes of the membership that have not left it
  std::map<int, std::int64_t> waiting_;  // steps of the processes that wait for the next membership
  std::unique_ptr<cohort::thread_ranks> ranks_;
};

}  // namespace cohort_test
