// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/host_kernel.hpp>
#include <cohort/optimizer/optimizer_rule.hpp>
#include <cohort/optimizer/update_simd.hpp>
#include <cohort/plan/detail/batch_moments.hpp>
#include <cohort/tensor/element.hpp>
#include <cohort/tensor/memory_space.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace cohort {

/// One optimizer step for n elements from `begin`.
struct update_range {
  optimizer_rule const* rule = nullptr;
  update_scalars now{};
  std::size_t begin = 0;
  std::size_t n = 0;
};

/// Memory space of the arenas, and operations (passes) on ranges of the arenas. Only passes and a backend's
/// kernels access arenas. A backend with arenas on a device returns its passes from `passes()`; other
/// backends use passes_on_processor.
///
/// Shapes    n elements of the master's type, from `begin` in each named arena. n and begin are multiples of
///           16, except in scale, in finite and where n counts channels.
/// Order     a call runs after all earlier work of the calling thread. On return, return values and data
///           outside arenas are complete; data in the memory of results() is complete after wait(). Ranges
///           of different threads do not overlap.
/// Exact     bitwise reproducible on one machine, for every split of the ranges.
class arena_passes {
 public:
  /// Number of elements per sum of squares (see square_sums).
  static constexpr std::size_t chunk = 4096;
  /// Maximum numbers of parts and of state arrays in a call.
  static constexpr std::size_t max_parts = 256;
  static constexpr std::size_t max_state_arrays = 3;

  virtual ~arena_passes() = default;

  /// Name of the instruction set or device: passes with equal names compute the same bits.
  virtual std::string name() const = 0;
  /// Memory space of the arenas; null: the processor's memory.
  virtual std::shared_ptr<memory_space> space() const = 0;
  /// Memory space of host buffers that kernels write; null: any host memory. The contents are complete after
  /// wait().
  virtual std::shared_ptr<memory_space> results() const = 0;
  /// Copies between host memory and space().  Before: space() is not null.
  virtual void upload(std::byte const* host, std::byte* to, std::size_t bytes) = 0;
  virtual void download(std::byte const* from, std::byte* host, std::size_t bytes) = 0;
  /// Calls run(part, parts) for each part, on the threads that the calling thread's kernels use. Returns when
  /// all calls have returned.
  ///
  /// Before    `run` does not throw.
  template <class Run>
  void in_parallel(Run const& run) {
    run_parts([](void const* with, int part, int parts) { (*static_cast<Run const*>(with))(part, parts); },
              &run);
  }
  /// Blocks until all kernels that this thread has started are done and their results on the host are
  /// complete.
  virtual void wait() = 0;
  /// Records the device work that `work` issues, without running it. The returned function runs that work,
  /// any number of times. Returns an empty function if recording is impossible.
  virtual std::function<void()> record(std::function<void()> const& work) { return (void)work, nullptr; }

  virtual void copy(std::byte const* from, std::byte* to, std::size_t bytes) = 0;
  virtual void fill(std::byte* arena, std::size_t begin, std::size_t n, double value) = 0;
  /// to += from
  virtual void add(std::byte const* from, std::byte* to, std::size_t n) = 0;
  /// x *= factor. A factor of 0 writes zeros, even over elements that are not finite.
  virtual void scale(std::byte* x, std::size_t n, double factor) = 0;
  /// Writes the sum of all parts, in their order, to the first part and zeros to the others.
  virtual void join(std::span<std::byte* const> parts, std::size_t begin, std::size_t n) = 0;
  /// Returns whether all n elements of this type are finite.
  virtual bool finite(element_type type, std::byte const* x, std::size_t n) = 0;

  /// Writes Σ (Σ parts, in order)² of each chunk of the range to a buffer of `results`. The last chunk may be
  /// shorter. Complete after wait().
  virtual void square_sums(std::span<std::byte* const> parts, std::size_t begin, std::size_t n,
                           double* sums) = 0;
  /// Like square_sums, but sums squares of the step that the optimizer would take at learning rate 1, not of
  /// the gradient.
  virtual void step_square_sums(optimizer_rule const& rule, update_scalars const& now, std::byte* master,
                                std::span<std::byte* const> parts, std::span<std::byte* const> state,
                                std::size_t begin, std::size_t n, double* sums) = 0;
  /// Runs apply_update on each range. Ranges do not overlap.
  virtual void update(std::span<update_range const> ranges, std::byte* master,
                      std::span<std::byte* const> parts, std::span<std::byte* const> state) = 0;

  /// Merges the statistics of part of a batch into `to`, for n channels. A kernel has written the means and
  /// variances to the arenas' space, which also contains `weight`, the part's weight. For the formula, see
  /// batch_statistics.
  virtual void merge_statistics(std::byte const* means, std::byte const* variances, double const* weight,
                                detail::batch_moments* to, std::size_t n) = 0;
  /// Merges `from` into `to`, for n channels.
  virtual void merge_moments(detail::batch_moments const* from, detail::batch_moments* to, std::size_t n) = 0;
  /// Updates the running statistics of n channels. `mean` and `variance` are the offsets of these statistics
  /// in the master.
  virtual void follow_statistics(std::byte* master, std::size_t mean, std::size_t variance,
                                 detail::batch_moments const* batch, std::size_t n, double momentum) = 0;

 protected:
  virtual void run_parts(void (*run)(void const* with, int part, int parts), void const* with) {
    run(with, 0, 1);
  }
};

namespace detail {

/// Calls run(with, part, parts) for each part, on a library's threads, and returns when all calls have
/// returned.
using parallel_parts = void (*)(void (*run)(void const* with, int part, int parts), void const* with);

/// Passes over arenas of float or double in the processor's memory. `parallel` runs the parts of long ranges
/// on several threads; null: one thread.
template <class T>
std::shared_ptr<arena_passes> passes_on_processor(parallel_parts parallel = nullptr);

}  // namespace detail

}  // namespace cohort
