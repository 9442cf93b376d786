// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/optimizer/update_simd.hpp>
#include <cohort/optimizer/updater.hpp>
#include <cohort/tensor/element.hpp>
#include <cohort/tensor/memory_space.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>

namespace cohort {

/// The step that an updater takes on n elements from `begin`.
struct update_range {
  updater const* rule = nullptr;
  update_scalars now{};
  std::size_t begin = 0;
  std::size_t n = 0;
};

/// Where arenas lie, and what is done to whole ranges of them. Nobody else reads or writes an arena but a backend's kernels. A
/// backend whose arenas lie on a device has `passes()`, which gives its own; others get passes_on_host.
///
/// Shapes    n elements of the master's type, from `begin` in each arena that is named; n and begin are multiples of 16 but
///           where `x` and `n` stand alone.
/// Order     what a call does comes after all that this thread had done before; what it returns, or writes outside of arenas, is
///           there on return, but what goes to `results`. Two threads' ranges do not overlap.
/// Exact     one machine gives one result, bit by bit, wherever ranges are cut.
class arena_passes {
 public:
  /// Elements whose squares are summed together.
  static constexpr std::size_t chunk = 4096;
  /// Parts that a call can take, and state arrays.
  static constexpr std::size_t max_parts = 256;
  static constexpr std::size_t max_state_arrays = 3;

  virtual ~arena_passes() = default;

  /// Of arenas' buffers; null: the processor's memory.
  virtual std::shared_ptr<memory_space> space() const = 0;
  /// Of buffers on the processor that kernels write; null: any memory of the processor. What they write is there after wait().
  virtual std::shared_ptr<memory_space> results() const = 0;
  /// Between the processor's memory and the space; only where there is one.
  virtual void bring(std::byte const* host, std::byte* to, std::size_t bytes) = 0;
  virtual void fetch(std::byte const* from, std::byte* host, std::size_t bytes) = 0;
  /// All kernels that this thread has started are done, and what they leave on the processor is there.
  virtual void wait() = 0;
  /// What `work` would have a device do, to be done by a call, again and again; nothing is done now. Empty where that cannot be.
  virtual std::function<void()> record(std::function<void()> const& work) { return (void)work, nullptr; }

  virtual void copy(std::byte const* from, std::byte* to, std::size_t bytes) = 0;
  virtual void fill(std::byte* arena, std::size_t begin, std::size_t n, double value) = 0;
  /// to += from
  virtual void add(std::byte const* from, std::byte* to, std::size_t n) = 0;
  /// x *= factor; 0 leaves zeros whatever was there.
  virtual void scale(std::byte* x, std::size_t n, double factor) = 0;
  /// The first part gets the sum of all, in their order, the others zeros.
  virtual void join(std::span<std::byte* const> parts, std::size_t begin, std::size_t n) = 0;
  /// Whether none of n elements of this type is infinite or NaN.
  virtual bool finite(element_type type, std::byte const* x, std::size_t n) = 0;

  /// Σ (Σ parts, in order)² of each chunk of the range, the last of which may be shorter, to a buffer of `results`: there after
  /// wait().
  virtual void square_sums(std::span<std::byte* const> parts, std::size_t begin, std::size_t n,
                           double* sums) = 0;
  /// The same of the step that the updater would take at rate 1.
  virtual void step_square_sums(updater const& rule, update_scalars const& now, std::byte* master,
                                std::span<std::byte* const> parts, std::span<std::byte* const> state,
                                std::size_t begin, std::size_t n, double* sums) = 0;
  /// apply_update on each range; no two overlap.
  virtual void update(std::span<update_range const> ranges, std::byte* master,
                      std::span<std::byte* const> parts, std::span<std::byte* const> state) = 0;
  /// The step that running_statistics.hpp describes, of n channels whose mean and variance begin there.
  virtual void follow_statistics(std::byte* master, std::span<std::byte* const> parts, std::size_t mean,
                                 std::size_t variance, std::size_t n, double kept) = 0;
};

namespace detail {

/// The passes over arenas of float or double in the processor's memory.
template <class T>
std::shared_ptr<arena_passes> passes_on_processor();

}  // namespace detail

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/plan/impl/arena_passes.ipp>
#endif
