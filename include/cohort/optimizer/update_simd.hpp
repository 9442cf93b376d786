// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/error/exceptions.hpp>
#include <cohort/execution/isa.hpp>
#include <cohort/optimizer/updater.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace cohort {

/// What an update needs besides the updater: where the run stands (both from 0), a factor on the rate that
/// schedules give, the penalties of the role, and what is done to the gradient before these: a factor (1 / examples
/// where gradients come as sums, or a norm's), then elements clipped to ±clip (0: not).
struct update_scalars {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  double rate_factor = 1;
  double l1 = 0;
  double l2 = 0;
  double gradient_scale = 1;
  double clip = 0;
  double needed_norm = -1;     ///< of the whole parameter: updater::needed_norm(), of the gradient as scaled
  double parameter_norm = -1;  ///< likewise
};

namespace detail {

/// The scalars of one step, computed once in double; `c` in the order of the formula's enumerators.
struct update_constants {
  static constexpr int size = 8;
  double c[size] = {};
  double scale = 1;
  double clip = 0;
  double l1 = 0;
  double l2 = 0;
};

update_constants constants_of(updater const& rule, update_scalars const& now);

/// Those of the step at rate 1 whose norm lamb asks for.
update_constants constants_at_rate_1(updater const& rule, update_scalars now);

/// Elements that a pass takes at a time.
inline constexpr std::size_t update_block = 1024;

}  // namespace detail

/// Updates n parameters in one pass over memory: g = clipped((Σ gradient parts, in order)·gradient_scale) + l2·w +
/// l1·sign(w); u and the new state by the updater's rule; w −= u.
///
/// Shapes    w, each gradient part and each of the updater's state_arrays() state arrays (n), n a multiple of 16.
/// Before    the updater's check has passed; state arrays begun at initial_state(k); parts ≥ 1; `which` is at most
///           machine_isa() (double: ignored).
/// Moves     (2 + parts + 2·state_arrays())·n elements.
/// Errors    shape_error if n is no multiple of 16; setting_error if the updater needs norms and there are none.
/// Exact     the same bits wherever the range is cut at multiples of 16; padding (w = g = 0) stays zero. Between
///           instruction sets a few units in the last place differ (fused multiply-add).
template <class T>
void apply_update(isa which, updater const& settings, update_scalars const& now, T* w,
                  T const* const* gradient_parts, int parts, T* const* state, std::size_t n);

/// The square of the gradient's norm: Σ (Σ parts, in order)² over n elements.
///
/// Before    parts ≥ 1; n is a multiple of 16; `which` is at most machine_isa() (double: ignored).
/// Exact     products of floats are exact and sums in double; the order of summation is the instruction set's.
template <class T>
double square_sum(isa which, T const* const* parts, int count, std::size_t n);

/// The square of the norm of the step that the updater would take at rate 1; nothing is written.
///
/// Before    as apply_update; needed_norm() is that of a step.
template <class T>
double step_square_sum(isa which, updater const& settings, update_scalars const& now, T* w,
                       T const* const* gradient_parts, int parts, T* const* state, std::size_t n);

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/optimizer/impl/update_simd.ipp>
#endif
