// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/execution/team.hpp>
#include <cohort/plan/plan.hpp>
#include <cohort/trainer/detail/backend_handle.hpp>
#include <cstddef>
#include <memory>
#include <vector>

namespace cohort::detail {

/// What a plan of a worker is for. `layers`, at inference: nodes whose outputs it keeps; none: the network's outputs.
struct work_kind {
  int examples = 0;
  bool training = true;
  bool accumulates = false;
  std::vector<int> layers{};
  bool operator==(work_kind const&) const = default;
};

/// The plans of one rank and its workers' contexts, made when they are first asked for, each on the thread that is to use it.
/// A worker's contexts take turns in one memory: together they need what the largest of them needs.
///
/// Order     while no worker runs; but find may be called by a worker for itself.
class worker_contexts {
 public:
  worker_contexts(backend_handle const& port, team& threads, std::size_t max_bytes);

  std::shared_ptr<plan const> plan_for(work_kind const& what);

  /// Sees to it that a worker finds one. `gradients` is the worker's arena.
  void make(int worker, work_kind const& what, std::byte* gradients);
  /// Before    it was made.
  context& find(int worker, work_kind const& what);

  /// Takes the time of every kernel, or stops to.
  void profile(bool on);
  /// The rows of a worker's training plans for so many examples, added to those of others.
  void add_profile(int worker, int examples, std::vector<plan_row>& rows) const;

 private:
  template <class T>
  struct made_for {
    work_kind what;
    T made{};
  };
  /// There are few, so they are searched from front to back.
  template <class T>
  static T& entry(std::vector<made_for<T>>& list, work_kind const& what) {
    for (made_for<T>& one : list)
      if (one.what == what) return one.made;
    return list.emplace_back(made_for<T>{what}).made;
  }

  backend_handle const& port_;
  team& team_;
  std::size_t max_bytes_;
  std::vector<made_for<std::shared_ptr<plan const>>> plans_;
  std::vector<context_memory> memory_;  // of each worker
  std::vector<std::vector<made_for<std::unique_ptr<context>>>> contexts_;
  bool profiling_ = false;
};

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/trainer/impl/worker_contexts.ipp>
#endif
