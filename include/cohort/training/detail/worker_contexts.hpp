// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/execution/team.hpp>
#include <cohort/plan/plan.hpp>
#include <cohort/training/detail/backend_handle.hpp>
#include <cstddef>
#include <memory>
#include <vector>

namespace cohort::detail {

/// Key of a worker's plan. `layers`: the nodes whose outputs are kept; empty: the network's outputs. In
/// training only with `output_gradients`; see plan_settings.
struct work_kind {
  int examples = 0;
  bool training = true;
  bool accumulates = false;
  std::vector<int> layers{};
  bool output_gradients = false;
  bool input_gradients = false;
  bool operator==(work_kind const&) const = default;
};

/// Plans of one rank and contexts of its workers, made at the first request. Each context is made on the
/// thread that uses it. Only one context of a worker runs at a time, so all its contexts share one memory
/// block of the largest context's size.
///
/// Order     called while no worker runs, except find, which a worker may call for its index.
class worker_contexts {
 public:
  worker_contexts(backend_handle const& backend, team& threads, std::size_t max_bytes);

  /// Returns the cached plan, or makes it.
  std::shared_ptr<plan const> plan_for(work_kind const& what);

  /// Makes a worker's context unless it exists. `gradients`: the worker's gradient arena.
  void make(int worker, work_kind const& what, std::byte* gradients);
  /// Returns the context of a worker.   Before  make was called.
  plan_context& find(int worker, work_kind const& what);

  /// Starts or stops timing every kernel.
  void profile(bool on);
  /// Adds the times of a worker's training plans for `examples` examples to `rows`.
  void add_profile(int worker, int examples, std::vector<plan_row>& rows) const;

 private:
  template <class T>
  struct cache_entry {
    work_kind what;
    T made{};
  };
  /// Returns the entry for a key, or adds it. Linear search: there are few entries.
  template <class T>
  static T& entry(std::vector<cache_entry<T>>& list, work_kind const& what) {
    for (cache_entry<T>& one : list)
      if (one.what == what) return one.made;
    return list.emplace_back(cache_entry<T>{what}).made;
  }

  backend_handle const& backend_;
  team& team_;
  std::size_t max_bytes_;
  std::vector<cache_entry<std::shared_ptr<plan const>>> plans_;
  std::vector<context_memory> memory_;  // memory of each worker's contexts
  std::vector<std::vector<cache_entry<std::unique_ptr<plan_context>>>> contexts_;
  bool profiling_ = false;
};

}  // namespace cohort::detail
